"""Finds the connection that a request over HTTP belongs to, the same way in both phases.

Up to version 2025-11-25 a session id tells. Without sessions a client is told from another by its
ids: no client uses one twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowproof.boundary.mcp.http_connection import Connection
from flowproof.boundary.mcp.http_posted import Posted
from flowproof.boundary.mcp.interface import Boundary
from flowproof.model.mcp import RequestId

REPLAYED = "flowproof-replay"
"""The id of the first session of a replay; a recording has those of the real server."""
_RECENT = 64
"""Among how many clients one is looked for that sends no session id."""
_MISSING = "this request needs the Mcp-Session-Id that the answer to initialize gave"
_UNKNOWN = "there is no session with this Mcp-Session-Id; begin one with initialize"


@dataclass(frozen=True, slots=True)
class Unroutable:
    """A request that belongs to no connection: the HTTP status and words that say so."""

    status: int
    message: str


class Sessions:
    """The connections of one server."""

    def __init__(self, boundary: Boundary) -> None:
        self._boundary = boundary
        # Mutable: all of them; those that are sessions by id; those of the version without.
        self._all: list[Connection] = []
        self._by_id: dict[str, Connection] = {}
        self._without: list[Connection] = []
        self._begun = 0

    def of_post(self, session: str | None, posted: Posted) -> Connection | Unroutable:
        """Where a POST belongs; `initialize` begins a session."""
        if session is not None:
            return self.of_id(session)
        if posted.method == "initialize":
            return self._begin()
        if self._begun and not posted.modern:
            return Unroutable(400, _MISSING)
        return self._client(posted)

    def of_id(self, session: str | None) -> Connection | Unroutable:
        """The session that a header names."""
        if session is None:
            return Unroutable(400, _MISSING)
        found = self._by_id.get(session)
        return Unroutable(404, _UNKNOWN) if found is None or found.ended else found

    def establish(self, connection: Connection, named: str | None) -> str:
        """Give a session its id: that which the real server `named`, else one of our own."""
        connection.upstream_id = named
        if connection.id is None:
            self._begun += 1
            suffix = "" if self._begun == 1 else f"-{self._begun}"
            connection.id = named or REPLAYED + suffix
            self._by_id[connection.id] = connection
        return connection.id

    def end(self) -> None:
        """All connections are over."""
        for connection in self._all:
            connection.end()

    @property
    def open(self) -> list[Connection]:
        """Those that have not ended."""
        return [one for one in self._all if not one.ended]

    def _begin(self) -> Connection:
        """A client that found no newer version begins anew where it probed."""
        probed = next((one for one in self._without if one.only_probed), None)
        if probed is None:
            return self._open(pushes=True)
        self._without.remove(probed)
        probed.pushes = True
        return probed

    def _client(self, posted: Posted) -> Connection:
        """The connection of the client that sent this."""
        if not posted.requests:
            able = self._without
        else:
            first = posted.requests[0]
            recent = self._without[-_RECENT:]
            able = [one for one in recent if _can_be_of(one, first, posted.method)]
            # Clients count: of several that are possible, the one that had come so far.
            able.sort(key=lambda one: _precedes(one.last, first))
        if able:
            found = able[-1]
            self._without.remove(found)
            self._without.append(found)
            return found
        connection = self._open(pushes=False)
        self._without.append(connection)
        return connection

    def _open(self, *, pushes: bool) -> Connection:
        connection = Connection(self._boundary.open(), pushes=pushes)
        self._all.append(connection)
        return connection


def _can_be_of(connection: Connection, request: RequestId, method: str) -> bool:
    """Whether the client of a connection can have sent a request with this id. One that gives
    all its requests the same id is one client as well, if it waits for each answer."""
    if not connection.used(request):
        return True
    same = connection.last == request and type(connection.last) is type(request)
    return same and connection.idle and method != "server/discover"


def _precedes(last: RequestId, request: RequestId) -> bool:
    return isinstance(last, int) and isinstance(request, int) and last + 1 == request
