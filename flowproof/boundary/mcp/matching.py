"""The recorded calls of one connection, being used up by one run, and why a call is none of them.

`replayed_session` asks it. As `cassette` and `divergence` do for turns, in other words of order.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from flowproof.boundary.change import Change, Difference, explained, first_change, same_or_missing
from flowproof.boundary.mcp.lanes import LISTEN
from flowproof.model.jsonvalue import MISSING, JsonObject, JsonValue, Missing, canonical
from flowproof.model.mcp import McpCall, matched_params, tool_of
from flowproof.model.outcome import Divergence
from flowproof.model.visible import member_path, visible

_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call with its number in the lane and its place in its connection, both from 1. Before
    `mock_index` calls of its tool had been answered from mocks."""

    call: McpCall
    number: int
    place: int
    mock_index: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """A call of this run, `number` from 1 among all to this server."""

    method: str
    params: JsonValue
    number: int

    @property
    def shown(self) -> str:
        """Method and tool, printable."""
        return shown(self.method, self.params)


def shown(method: str, params: JsonValue) -> str:
    """Method and tool of a call, printable, such as `tools/call read_file`."""
    tool = tool_of(method, params)
    return visible(method if tool is None else f"{method} {tool}")[:_LONGEST_NAME]


@dataclass(frozen=True, slots=True)
class _Equal:
    """Indexes of equal calls that are not used up: those that may come, by place of their answer,
    and those after them."""

    ready: list[tuple[int, int]] = field(default_factory=list)
    later: deque[int] = field(default_factory=deque)


class Positions:
    """Serves each recorded call once. One may come once all are used up that had been answered
    before it came: only those that overlapped may change places. Of equal calls nobody can tell
    which is which, so any of them counts as the one that was answered first.

    A subscription need not be made again, as a client need not ask for what a server pushes.
    """

    def __init__(self, calls: Sequence[RecordedCall]) -> None:
        """`calls` are in the order in which they came; `after` never decreases among them."""
        self._calls = tuple(calls)
        self._equal: dict[str, _Equal] = defaultdict(_Equal)
        # By index: what a call is known by, and as which of those equal to it it was answered.
        self._known = [_known_by(one.call.method, one.call.params) for one in self._calls]
        self._turn: dict[int, int] = {}
        for index, known in enumerate(self._known):
            self._equal[known].later.append(index)
        for equal in self._equal.values():
            answered = sorted(equal.later, key=self._rank)
            self._turn.update({index: turn for turn, index in enumerate(answered, 1)})
        self._at_rank = {
            recorded.call.answered: index
            for index, recorded in enumerate(self._calls)
            if recorded.call.answered
        }
        # Mutable, touched by `take`: what is used up, how many of those equal to it, how many
        # ranks from 1 are, how many calls may come by now, and before which index all are used up.
        self._used: set[int] = set()
        self._count: Counter[str] = Counter()
        self._ranks = 0
        self._reach = 0
        self._first = 0
        self._advance()

    def take(self, method: str, params: JsonValue) -> RecordedCall | None:
        """Use up one that is equal and may come, None if there is none: of several the one that
        was answered first, so that what came after its answer may come."""
        equal = self._equal.get(_known_by(method, matched_params(method, params)))
        if equal is None:
            return None
        while equal.later and equal.later[0] < self._reach:
            index = equal.later.popleft()
            heappush(equal.ready, (self._rank(index), index))
        if not equal.ready:
            return None
        _, index = heappop(equal.ready)
        self._used.add(index)
        self._count[self._known[index]] += 1
        self._advance()
        return self._calls[index]

    def _rank(self, index: int) -> int:
        """As which call this one was answered; last of all if it was not."""
        return self._calls[index].call.answered or len(self._calls) + 1

    def _advance(self) -> None:
        while (index := self._at_rank.get(self._ranks + 1)) is not None and self._over(index):
            self._ranks += 1
        while self._reach < len(self._calls) and (
            self._calls[self._reach].call.after <= self._ranks
        ):
            self._reach += 1
        while self._first < len(self._calls) and self._passed(self._first):
            self._first += 1

    def _over(self, index: int) -> bool:
        """Whether so many calls equal to this one are used up as had been answered with it."""
        is_listen = self._calls[index].call.method == LISTEN
        return is_listen or self._count[self._known[index]] >= self._turn[index]

    def _passed(self, index: int) -> bool:
        return index in self._used or self._calls[index].call.method == LISTEN

    @property
    def left(self) -> Iterator[RecordedCall]:
        """Those that nobody asked for and somebody should have, in the order in which they
        came."""
        return (one for index, one in enumerate(self._calls) if not self._passed(index))

    @property
    def used(self) -> Iterator[RecordedCall]:
        """Those that were asked for, in the order in which they were recorded."""
        return (self._calls[index] for index in sorted(self._used))

    def miss(self, server: str, sent: Sent) -> Divergence:
        """Why there is none for a call: told against the first that may come."""
        pinned = matched_params(sent.method, sent.params)
        subject = f"call {sent.number} to MCP server `{server}` ({sent.shown})"
        if self._first >= len(self._calls):
            held = len(self._calls)
            which = {0: "no call", 1: "1 call"}.get(held, f"{held} calls")
            again = ", which it made" if held == 1 else ", which it made all" if held else ""
            message = f"{subject}: the recording holds {which} of this connection{again}"
            return Divergence("extra call", message, sent.number)
        recorded = self._calls[self._first]
        found = _difference(recorded.call, sent.method, pinned, self._elsewhere(sent, pinned))
        other = shown(recorded.call.method, recorded.call.params)
        named = "" if other == sent.shown else f" ({other})"
        return explained(
            f"{subject} differs from recorded call {recorded.number}{named}",
            found,
            request=sent.number,
            turn=recorded.number,
        )

    def _elsewhere(self, sent: Sent, pinned: JsonValue) -> str:
        """What else the recording has to say of a call: that it came later, or just once."""
        equal = self._equal.get(_known_by(sent.method, pinned))
        if equal is None:
            return ""
        if equal.later:
            return f"it equals recorded call {self._calls[equal.later[0]].number}, which is later"
        return "the recording holds an equal call, which was made already"


def _known_by(method: str, params: JsonValue) -> str:
    """A text that two calls share exactly if they are equal. `params` are those matched."""
    return canonical([method, params])


def _difference(call: McpCall, method: str, params: JsonValue, note: str) -> Difference:
    if call.method != method:
        return Difference("method", Change("$.method", call.method, method), note=note)
    recorded, sent = _members(call.params), _members(params)
    for name, kind in (("name", "tool"), ("arguments", "arguments")):
        old, new = recorded.get(name, MISSING), sent.get(name, MISSING)
        if method == "tools/call" and _differ(old, new):
            path = member_path("$.params", name)
            change = first_change(path, old, new)
            return Difference(kind, change, _others(path, old, new, change.path), note)
    change = first_change("$.params", call.params or MISSING, params or MISSING)
    version = change.path.startswith(("$.params.protocolVersion", "$.params._meta"))
    kind = "protocol version" if version else "parameters"
    return Difference(kind, change, _others("$.params", recorded, sent, change.path), note)


def _differ(old: JsonValue | Missing, new: JsonValue | Missing) -> bool:
    return old is not new and not same_or_missing(old, new)


def _members(value: JsonValue | Missing) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _others(
    path: str, old: JsonValue | Missing, new: JsonValue | Missing, told: str
) -> Sequence[str]:
    """The other members of two objects that differ, by path."""
    recorded, sent = _members(old), _members(new)
    names = [*recorded, *(name for name in sent if name not in recorded)]
    paths = [
        member_path(path, name)
        for name in names
        if _differ(recorded.get(name, MISSING), sent.get(name, MISSING))
    ]
    return [one for one in paths if one != told and not told.startswith((f"{one}.", f"{one}["))]


def differing_answers(
    subject: str, recorded: JsonValue, answered: JsonValue, request: int
) -> Divergence:
    """Why what the agent answered a server is not what it answered when this was recorded."""
    found = Difference("answer", first_change("$", recorded, answered))
    return explained(subject, found, request=request)
