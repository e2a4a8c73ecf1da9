"""One connection between an agent and a real MCP server, message by message.

`recording` owns it and keeps what it notes; `replayed_session` is its counterpart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from flowproof.boundary.mcp.interface import Command, Hang, ToAgent, ToServer
from flowproof.boundary.mcp.jsonrpc import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    PARSE_ERROR,
    REFUSED_CODE,
    Invalid,
    Notification,
    Request,
    Response,
    Unreadable,
    answer,
    classify,
    error,
    has_batches,
    key,
    read,
)
from flowproof.boundary.mcp.lanes import LISTEN, named_subscription, named_token, progress_token
from flowproof.boundary.mcp.notes import CallNote, EventNote
from flowproof.boundary.mcp.refusing import NOTIFICATIONS, no_call, refused_batch
from flowproof.model.jsonvalue import JsonObject, JsonValue, same
from flowproof.model.mcp import Broken, RequestId, Result, RpcError, tool_of
from flowproof.model.outcome import CANNOT_RECORD

if TYPE_CHECKING:
    from flowproof.boundary.mcp.recording import RecordingBoundary


class RecordedSession:
    """Fulfils `interface.Session`. Counts of calls are those of this connection."""

    def __init__(self, boundary: RecordingBoundary) -> None:
        self._boundary = boundary
        self._number = 0
        self._arrived = 0
        self._answered = 0
        # Requests of either side that are not answered yet, by id, in the order of arrival.
        self._open: dict[str, CallNote] = {}
        self._asked: dict[str, EventNote] = {}
        self._names: dict[str, str] = {}
        self._listed: set[str] = set()
        self._batches = False
        self._over: str | None = None
        self._closed = False

    def from_agent(self, data: bytes) -> Iterable[Command]:
        """Take a message of the agent."""
        self._number = self._number or self._boundary.connect()
        try:
            value = read(data)
        except Unreadable as unreadable:
            reason = self._boundary.problem(f"a message of the agent {unreadable}")
            told = ToAgent(error(None, PARSE_ERROR, f"{CANNOT_RECORD}: {reason}"))
            return [told, Hang(None, 413, reason)] if unreadable.too_large else [told]
        if not isinstance(value, list):
            return self._agent_said(value)
        if not value or not self._batches:
            commands, reason = refused_batch(value, CANNOT_RECORD)
            self._boundary.problem(reason)
            return commands
        return [command for one in value for command in self._agent_said(one)]

    def _agent_said(self, value: JsonValue) -> list[Command]:
        match classify(value):
            case Request() as request:
                return self._called(request)
            case Notification(method, message) if not method.startswith(NOTIFICATIONS):
                # A server may run it all the same, mocked or not, and no lane would hold the call.
                self._boundary.problem(no_call(method))
                return []
            case Notification(method, message):
                kept = _without_meta(message)
                self._event("agent", kept | {"method": method})
                return [ToServer(message)]
            case Response(request_id, outcome, message):
                return self._agent_answered(request_id, outcome, message)
            case Invalid(request_id, reason):
                sentence = self._boundary.problem(f"the agent sent what is no message: {reason}")
                return [self._refusal(request_id, INVALID_REQUEST, sentence)]
            case never:
                assert_never(never)

    def _called(self, request: Request) -> list[Command]:
        if key(request.id) in self._open:
            shown = key(request.id)[:80]
            sentence = self._boundary.problem(f"the agent used the id {shown} for two open calls")
            return [self._refusal(request.id, INVALID_REQUEST, sentence)]
        if self._over is not None:
            return [ToAgent(error(request.id, CONNECTION_CLOSED, self._over), request.id)]
        tool = tool_of(request.method, request.params)
        mocked = tool in self._boundary.mocks
        note = CallNote(request, self._number, self._answered, mocked)
        number = self._boundary.called(note)
        if number is None:
            return [self._refusal(request.id, REFUSED_CODE, self._boundary.problems[-1])]
        self._arrived += 1
        self._names[key(request.id)] = f"call {number} ({note.call().shown})"
        self._open[key(request.id)] = note
        if not mocked or tool is None:
            return [ToServer(request.message)]
        outcome = self._boundary.mocked(tool, request.params)
        if isinstance(outcome, str):
            outcome = RpcError({"code": REFUSED_CODE, "message": f"{CANNOT_RECORD}: {outcome}"})
        self._settle(note, outcome)
        return [ToAgent(answer(request.id, outcome), request.id)]

    def _settle(self, note: CallNote, outcome: Result | RpcError | Broken) -> None:
        """A call is being answered."""
        del self._open[key(note.request.id)]
        self._answered += 1
        note.outcome, note.answered = outcome, self._answered

    def _agent_answered(
        self, request_id: RequestId, outcome: Result | RpcError, message: JsonObject
    ) -> list[Command]:
        event = self._asked.pop(key(request_id), None)
        if event is None:
            shown = key(request_id)[:80]
            self._boundary.problem(f"the agent answered the id {shown}, which nobody asked with")
            return []
        event.answer, event.answer_after = outcome, self._answered
        return [ToServer(message)]

    def _event(self, sender: str, message: JsonObject) -> EventNote:
        note = EventNote(
            self._number,
            "agent" if sender == "agent" else "server",
            {name: message[name] for name in ("id", "method", "params") if name in message},
            self._answered,
            self._arrived,
        )
        self._boundary.happened(note)
        return note

    def from_server(self, data: bytes) -> Iterable[Command]:
        """Take a message of the real server."""
        if self._closed or not self._number:
            return []
        try:
            value = read(data)
        except Unreadable as unreadable:
            return self._unusable(f"a message of the server {unreadable}")
        if not isinstance(value, list):
            return self._server_said(value)
        if not value or not self._batches:
            return self._unusable(refused_batch(value, CANNOT_RECORD)[1])
        return [command for one in value for command in self._server_said(one)]

    def _server_said(self, value: JsonValue) -> list[Command]:
        match classify(value):
            case Request(request_id, _, _, message):
                if key(request_id) in self._asked:
                    return self._unusable(
                        f"the server used the id {key(request_id)[:80]} for two open requests"
                    )
                within = self._within(message)
                self._asked[key(request_id)] = self._event("server", message)
                return [ToAgent(message, within=within)]
            case Notification(_, message):
                within = self._within(message)
                self._event("server", message)
                return [ToAgent(message, within=within)]
            case Response(request_id, outcome, message):
                return self._server_answered(request_id, outcome, message)
            case Invalid(_, reason):
                return self._unusable(f"the server sent what is no message: {reason}")
            case never:
                assert_never(never)

    def _server_answered(
        self, request_id: RequestId, outcome: Result | RpcError, message: JsonObject
    ) -> list[Command]:
        note = self._open.get(key(request_id))
        if note is None:
            if request_id is None:
                return self._unusable(f"the server refused an unnamed message: {key(message)}")
            shown = key(request_id)[:80]
            return self._unusable(f"the server answered the id {shown}, which is no open call's")
        request = note.request
        told = self._boundary.mocks.told(request.method, request.params, outcome, self._listed)
        self._settle(note, told)
        if request.method == "initialize":
            self._batches = has_batches(told)
        if told is not outcome:
            message = answer(request_id, told)
        return [ToAgent(message, request_id)]

    def _within(self, message: JsonObject) -> RequestId:
        """In the course of which open call the server says something: the one that it names, else
        the latest that does not stay open by its nature."""
        token, subscription = named_token(message), named_subscription(message.get("params"))
        if subscription is not None:
            note = self._open.get(key(subscription))
            return None if note is None else note.request.id
        for note in reversed(self._open.values()):
            if token is None and note.request.method != LISTEN:
                return note.request.id
            if token is not None and same(progress_token(note.request.params), token):
                return note.request.id
        return None

    def _unusable(self, reason: str) -> list[Command]:
        """What the server said may have been meant as an answer: nobody is left waiting for it."""
        sentence = f"{CANNOT_RECORD}: {self._boundary.problem(reason)}"
        return self._give_up(RpcError({"code": REFUSED_CODE, "message": sentence}))

    def _give_up(self, outcome: RpcError | Broken) -> list[Command]:
        waiting = [note for note in self._open.values() if note.request.method != LISTEN]
        commands: list[Command] = []
        for note in waiting:
            self._settle(note, outcome)
            commands.append(ToAgent(answer(note.request.id, outcome), note.request.id))
        return commands

    def server_broke(self, answers: RequestId, status: int | None, text: str) -> Iterable[Command]:
        """The real server gave no answer: an HTTP status is one for the recording, an end of the
        connection is none, and is told to the agent as a JSON-RPC error."""
        if self._closed:
            return []
        if answers is not None:
            note = self._open.get(key(answers))
            if note is None:
                return []
            name = self._names[key(answers)]
            self._settle(note, Broken(status, text))
            if status is not None:
                return [Hang(answers, status, text)]
            sentence = self._boundary.problem(f"it gave no answer to {name}: {text}")
            return [ToAgent(error(answers, CONNECTION_CLOSED, sentence), answers)]
        names = [self._names[known] for known in self._open]
        during = f" while {', '.join(names[:3])} waited for an answer" if names else ""
        self._over = self._boundary.problem(f"its connection ended{during}: {text}")
        return [*self._give_up(Broken(None, self._over)), Hang(None, None, self._over)]

    def closed(self) -> None:
        """The agent has closed its connection: what is still open stays unanswered."""
        self._closed = True

    def _refusal(self, request_id: RequestId, code: int, sentence: str) -> ToAgent:
        return ToAgent(error(request_id, code, f"{CANNOT_RECORD}: {sentence}"), request_id)


def _without_meta(message: JsonObject) -> JsonObject:
    params = message.get("params")
    if not isinstance(params, dict) or "_meta" not in params:
        return message
    rest: JsonObject = {name: value for name, value in params.items() if name != "_meta"}
    kept = {name: value for name, value in message.items() if name != "params"}
    return {**kept, "params": rest} if rest else kept
