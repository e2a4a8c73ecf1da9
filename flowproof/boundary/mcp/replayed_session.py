"""One connection of an agent at replay, answered from what the recorded one held.

`replaying` owns it; `recorded_session` is its counterpart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from flowproof.boundary.mcp.anchored import Anchored
from flowproof.boundary.mcp.interface import Command, Hang, ToAgent
from flowproof.boundary.mcp.jsonrpc import (
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
from flowproof.boundary.mcp.lanes import LISTEN, Live, Names, progress_token
from flowproof.boundary.mcp.matching import Positions, RecordedCall, Sent, differing_answers
from flowproof.boundary.mcp.refusing import NOTIFICATIONS, no_call, refused_batch
from flowproof.model.jsonvalue import JsonObject, JsonValue, same
from flowproof.model.mcp import (
    Broken,
    McpEvent,
    RequestId,
    Result,
    RpcError,
    Unanswered,
)
from flowproof.model.outcome import REFUSED, Divergence
from flowproof.model.visible import visible

if TYPE_CHECKING:
    from flowproof.boundary.mcp.replaying import ReplayingBoundary


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one connection of the recording held."""

    positions: Positions
    events: tuple[McpEvent, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    """A call that was found in the recording and is not answered yet."""

    request: Request
    recorded: RecordedCall


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request of the server that the agent is to answer, the `number`-th of the connection."""

    event: McpEvent
    number: int


class ReplayedSession:
    """Fulfils `interface.Session`. Counts of calls are those of this connection."""

    def __init__(self, boundary: ReplayingBoundary) -> None:
        self._boundary = boundary
        self._number = 0
        self._positions = Positions(())
        self._events = Anchored(())
        self._arrived = 0
        self._answered = 0
        self._requests = 0
        # By id: calls that wait for an answer, those that never got one, and requests of the
        # server that wait for one, which keep calls waiting if the recorded agent answered them.
        self._held: dict[str, _Held] = {}
        self._silent: set[str] = set()
        self._asked: dict[str, _Asked] = {}
        self._names = Names()
        # What names a call that was not made yet, as calls that overlapped change places.
        self._late: dict[str, list[McpEvent]] = {}
        self._batches = False

    def from_agent(self, data: bytes) -> Iterable[Command]:
        """Take a message of the agent."""
        if not self._number:
            self._number, recorded = self._boundary.connect()
            self._positions, self._events = recorded.positions, Anchored(recorded.events)
        try:
            value = read(data)
        except Unreadable as unreadable:
            refused = self._reject("message", f"a message of the agent {unreadable}")
            told = ToAgent(error(None, PARSE_ERROR, f"{REFUSED}: {refused}"))
            return [told, Hang(None, 413, str(refused))] if unreadable.too_large else [told]
        if not isinstance(value, list):
            return self._agent_said(value)
        if not value or not self._batches:
            commands, reason = refused_batch(value, REFUSED)
            self._reject("batch", reason)
            return commands
        return [command for one in value for command in self._agent_said(one)]

    def _agent_said(self, value: JsonValue) -> list[Command]:
        match classify(value):
            case Request() as request:
                return self._called(request)
            case Notification(method, _) if not method.startswith(NOTIFICATIONS):
                self._reject("message", no_call(method))
                return []
            case Notification():
                return self._told()
            case Response(request_id, outcome, _):
                return self._agent_answered(request_id, outcome)
            case Invalid(request_id, reason):
                refused = self._reject("message", f"the agent sent what is no message: {reason}")
                return [ToAgent(self._refusal(request_id, refused, INVALID_REQUEST), request_id)]
            case never:
                assert_never(never)

    def _called(self, request: Request) -> list[Command]:
        sent = Sent(request.method, request.params, self._boundary.count())
        if (divergence := self._boundary.divergence) is not None:
            return [ToAgent(self._refusal(request.id, divergence), request.id)]
        if key(request.id) in self._held or key(request.id) in self._silent:
            shown = visible(key(request.id)[:80])
            return self._diverged(
                Divergence("id", f"the agent used the id {shown} for two open calls", sent.number),
                request.id,
            )
        recorded = self._positions.take(request.method, request.params)
        if recorded is None:
            return self._diverged(self._positions.miss(self._boundary.server, sent), request.id)
        self._arrived += 1
        live = Live(request.id, progress_token(request.params))
        names = list(self._names.learn(recorded.call, live))
        if isinstance(recorded.call.outcome, Unanswered):
            self._silent.add(key(request.id))
        else:
            self._held[key(request.id)] = _Held(request, recorded)
        rank = 0 if recorded.call.method == LISTEN else recorded.call.answered
        commands = self._told(rank, request.id)
        late = [event for name in names for event in self._late.pop(name, ())]
        for event in (*late, *self._events.progress(recorded.call)):
            commands += self._say(event, request.id)
        return [*commands, *self._release()]

    def _told(self, rank: int = 0, within: RequestId = None) -> list[Command]:
        """What the server said by now, or before it gave the answer of this rank."""
        due = self._events.due(self._answered, self._arrived, rank)
        return [command for event in due for command in self._say(event, within)]

    def _say(self, event: McpEvent, within: RequestId) -> list[Command]:
        if (missing := self._names.missing(event.message)) is not None:
            self._late.setdefault(missing, []).append(event)
            return []
        found = self._names.message(event.message)
        if found is None:
            return []
        message, named = found
        if "id" in event.message:
            self._requests += 1
            self._asked[key(event.message["id"])] = _Asked(event, self._requests)
        self._boundary.emitted(self._number, event)
        if named is None:
            named = within if within is not None else self._latest()
        return [ToAgent(message, within=named)]

    def _latest(self) -> RequestId:
        for held in reversed(self._held.values()):
            if held.recorded.call.method != LISTEN:
                return held.request.id
        return None

    def _release(self) -> list[Command]:
        """Answer the calls that wait for nothing more."""
        commands: list[Command] = []
        released = True
        while released:
            released = False
            for held in list(self._held.values()):
                if not self._waits(held.recorded):
                    commands += self._answer(held)
                    released = True
        return commands

    def _waits(self, recorded: RecordedCall) -> bool:
        # The answer to a subscription is its end.
        if recorded.call.method == LISTEN and self._answered + 1 < recorded.call.answered:
            return True
        return any(self._waits_for(recorded, asked) for asked in self._asked.values())

    @staticmethod
    def _waits_for(recorded: RecordedCall, asked: _Asked) -> bool:
        """Whether the server had the agent's answer before it gave its own."""
        event = asked.event
        return event.answer is not None and event.answer_after < recorded.call.answered

    def _answer(self, held: _Held) -> list[Command]:
        request = held.request
        del self._held[key(request.id)]
        self._answered += 1
        outcome = self._boundary.outcome(held.recorded, request.params)
        commands: list[Command]
        match outcome:
            case str():
                refused = self._reject("mock", outcome)
                return [ToAgent(self._refusal(request.id, refused), request.id)]
            case Broken(status, text):
                commands = [Hang(request.id, status, text)]
            case Result(value):
                outcome = Result(self._names.result(value))
                commands = [ToAgent(answer(request.id, outcome), request.id)]
            case RpcError() | Unanswered():
                commands = [ToAgent(answer(request.id, outcome), request.id)]
            case never:
                assert_never(never)
        if request.method == "initialize":
            self._batches = has_batches(outcome)
        return [*commands, *self._told()]

    def _agent_answered(self, request_id: RequestId, outcome: Result | RpcError) -> list[Command]:
        asked = self._asked.pop(key(request_id), None)
        if asked is None:
            shown = visible(key(request_id)[:80])
            reason = f"the agent answered the id {shown}, which nobody asked with"
            return self._diverged(Divergence("answer", reason, self._boundary.calls))
        recorded = asked.event.answer
        if recorded is None:
            return []
        old, new = _compared(recorded), _compared(outcome)
        if not same(old, new):
            method = visible(str(asked.event.message.get("method"))[:80])
            subject = (
                f"what the agent answered MCP server `{self._boundary.server}` when it asked "
                f"for {method} (its request {asked.number}) differs from the recording"
            )
            return self._diverged(differing_answers(subject, old, new, self._boundary.calls))
        return self._release()

    def _diverged(self, divergence: Divergence, request_id: RequestId = None) -> list[Command]:
        """Fail the run; nobody is left waiting for an answer."""
        refused = self._boundary.refuse(divergence)
        waiting = [held.request.id for held in self._held.values()]
        self._held.clear()
        if request_id is not None:
            waiting.append(request_id)
        return [ToAgent(self._refusal(one, refused), one) for one in waiting]

    def _reject(self, kind: str, message: str) -> Divergence:
        sentence = f"MCP server `{self._boundary.server}`: {message}"
        return self._boundary.refuse(Divergence(kind, sentence, self._boundary.count()))

    def _refusal(
        self, request_id: RequestId, divergence: Divergence, code: int = REFUSED_CODE
    ) -> JsonObject:
        return error(request_id, code, f"{REFUSED}: {divergence}")

    @property
    def waiting(self) -> Iterator[str]:
        """Requests of the server that the agent did not answer, though calls waited for it."""
        for asked in self._asked.values():
            if any(self._waits_for(held.recorded, asked) for held in self._held.values()):
                method = visible(str(asked.event.message.get("method"))[:80])
                yield f"the answer to request {asked.number} of the server: {method}"

    def from_server(self, data: bytes) -> Iterable[Command]:
        """There is no server."""
        return []

    def server_broke(self, answers: RequestId, status: int | None, text: str) -> Iterable[Command]:
        """There is no server."""
        return []

    def closed(self) -> None:
        """The agent has closed its connection: what it did not ask for is left."""


def _compared(outcome: Result | RpcError) -> JsonValue:
    """What is matched of an answer of the agent."""
    match outcome:
        case Result(dict() as value):
            return {"result": {name: one for name, one in value.items() if name != "_meta"}}
        case Result(value):
            return {"result": value}
        case RpcError(value):
            return {"error": value}
        case never:
            assert_never(never)
