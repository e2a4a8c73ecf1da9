"""The lanes of MCP servers in a trace file, both ways; what goes without saying is not written.

Calls made one after another need neither times nor ids; `encode` and `decode` hold the rest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from flowproof.errors import TraceTooLarge
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText
from flowproof.model.mcp import (
    MOST_CALLS,
    Broken,
    CallOutcome,
    Lane,
    McpCall,
    McpEvent,
    Result,
    RpcError,
    Unanswered,
)
from flowproof.trace.document import RecordedMock, RecordedServer
from flowproof.trace.node import Node

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_LONGEST_NAME = 200


def written_servers(servers: Mapping[str, RecordedServer]) -> JsonObject:
    """Servers as they stand in the file.

    :raises TraceTooLarge: if there are more calls or events than are read.
    """
    return {name: _written(name, server) for name, server in servers.items()}


def _written(name: str, server: RecordedServer) -> JsonObject:
    lane = server.lane
    for count, what in ((len(lane.calls), "calls"), (len(lane.events), "events")):
        if count > MOST_CALLS:
            raise TraceTooLarge(
                f"the MCP server `{name}` has {count} {what}; a trace holds at most {MOST_CALLS}; "
                "split the flow"
            )
    written: JsonObject = {}
    if server.mocks:
        written["mocks"] = {tool: _written_mock(mock) for tool, mock in server.mocks.items()}
    before: dict[int, int] = defaultdict(int)
    written["calls"] = [_written_call(call, before) for call in lane.calls]
    if lane.events:
        written["events"] = [_written_event(event) for event in lane.events]
    return written


def _written_mock(mock: RecordedMock) -> JsonObject:
    written: JsonObject = {}
    if mock.results:
        written |= {"results": list(mock.results), "repeat_last": mock.repeat_last}
    if mock.error is not None:
        written["error"] = dict(mock.error)
    if mock.schema is not None:
        written["schema"] = dict(mock.schema)
    return written


def _written_call(call: McpCall, before: dict[int, int]) -> JsonObject:
    written: JsonObject = {} if call.connection == 1 else {"connection": call.connection}
    if call.id is not None:
        written["id"] = call.id
    if call.progress_token is not None:
        written["token"] = call.progress_token
    answered = before[call.connection]
    if call.after != answered:
        written["after"] = call.after
    if not isinstance(call.outcome, Unanswered):
        before[call.connection] += 1
        if call.answered != answered + 1:
            written["answered"] = call.answered
    if call.mocked:
        written["mocked"] = True
    written["method"] = call.method
    if call.params is not None:
        written["params"] = call.params
    return written | _written_outcome(call.outcome)


def _written_outcome(outcome: CallOutcome) -> JsonObject:
    match outcome:
        case Result(value):
            return {"result": value}
        case RpcError(value):
            return {"error": value}
        case Broken(None, text):
            return {"broken": {"text": text}}
        case Broken(status, text):
            return {"broken": {"status": status, "text": text}}
        case Unanswered():
            return {"unanswered": True}


def _written_event(event: McpEvent) -> JsonObject:
    written: JsonObject = {} if event.sender == "server" else {"from": event.sender}
    if event.connection != 1:
        written["connection"] = event.connection
    written["after"] = event.after
    if event.seen != event.after:
        written["seen"] = event.seen
    written |= {key: event.message[key] for key in _MESSAGE if key in event.message}
    if event.answer is not None:
        written["answer"] = _written_outcome(event.answer)
        if event.answer_after != event.after:
            written["answer_after"] = event.answer_after
    return written


_MESSAGE = ("id", "method", "params")


def read_servers(node: Node) -> dict[str, RecordedServer]:
    """The servers that stand in a file.

    :raises Defect: if they are not as `written_servers` writes them.
    """
    return {name: _server(name, child) for name, child in named_servers(node)}


def named_servers(node: Node) -> list[tuple[str, Node]]:
    """Each server by its name.

    :raises Defect: if a flow could not declare one of that name.
    """
    found = node.entries()
    for name, child in found.items():
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            raise child.defect("no MCP server is named so: a lower-case letter, then `a-z 0-9 _ -`")
    return list(found.items())


def bounded_items(node: Node, what: str) -> list[Node]:
    """The elements of a list of calls or events.

    :raises Defect: if it is no list, or too long.
    """
    items = node.items()
    if len(items) > MOST_CALLS:
        raise node.defect(f"more than {MOST_CALLS} {what}")
    return items


def _server(name: str, node: Node) -> RecordedServer:
    members = node.members("calls", "mocks events")
    mocks = members["mocks"].entries() if "mocks" in members else {}
    calls = _calls(members["calls"])
    events = _events(members["events"]) if "events" in members else ()
    return RecordedServer(
        Lane(name, calls, events), {tool: _mock(mock) for tool, mock in mocks.items()}
    )


def _mock(node: Node) -> RecordedMock:
    members = node.members("", "results repeat_last error schema")
    results, repeat = members.get("results"), members.get("repeat_last")
    if (results is None) is not (repeat is None):
        raise node.defect("`results` and `repeat_last` stand together")
    error, schema = (
        None if one is None else {key: child.value for key, child in one.entries().items()}
        for one in (members.get("error"), members.get("schema"))
    )
    return RecordedMock(
        tuple(item.value for item in results.items()) if results else (),
        repeat.flag() if repeat else False,
        error,
        schema,
    )


def _calls(node: Node) -> tuple[McpCall, ...]:
    items = bounded_items(node, "calls")
    before: dict[int, int] = defaultdict(int)
    calls = tuple(_call(item, before) for item in items)
    _check_order(items, calls)
    return calls


def _call(node: Node, before: dict[int, int]) -> McpCall:
    entries = node.entries()
    kind = next((key for key in _OUTCOMES if key in entries), "result")
    members = node.members(f"method {kind}", "connection id token after answered mocked params")
    connection = _connection(members)
    answered = before[connection]
    outcome = _outcome(kind, members[kind])
    after = members["after"].count() if "after" in members else answered
    rank = 0
    if isinstance(outcome, Unanswered):
        if "answered" in members:
            raise members["answered"].defect("a call that was never answered has no such place")
    else:
        before[connection] += 1
        rank = members["answered"].count() if "answered" in members else answered + 1
        if not rank:
            raise members["answered"].defect("answers are counted from 1")
    return McpCall(
        connection=connection,
        id=_id(members["id"]) if "id" in members else None,
        method=members["method"].text(),
        params=members["params"].value if "params" in members else None,
        outcome=outcome,
        after=after,
        answered=rank,
        progress_token=_id(members["token"]) if "token" in members else None,
        mocked=members["mocked"].flag() if "mocked" in members else False,
    )


_OUTCOMES = ("result", "error", "broken", "unanswered")


def _outcome(kind: str, node: Node) -> CallOutcome:
    match kind:
        case "result":
            return Result(node.value)
        case "error":
            return RpcError(node.value)
        case "broken":
            members = node.members("text", "status")
            status = members["status"].count() if "status" in members else None
            if status is not None and not 100 <= status <= 599:
                raise members["status"].defect(f"{str(status)[:20]} is not an HTTP status")
            return Broken(status, members["text"].text())
        case _:
            if not node.flag():
                raise node.defect("expected true")
            return Unanswered()


def _connection(members: Mapping[str, Node]) -> int:
    if "connection" not in members:
        return 1
    number = members["connection"].count()
    if not 1 <= number <= MOST_CALLS:
        raise members["connection"].defect(f"connections are numbered from 1 to {MOST_CALLS}")
    return number


def _id(node: Node) -> JsonValue:
    if isinstance(node.value, bool) or not isinstance(node.value, str | int | float | NumberText):
        raise node.defect("expected a string or a number")
    return node.value


def _check_order(items: list[Node], calls: tuple[McpCall, ...]) -> None:
    """Check that calls could have come and been answered in the order that they claim."""
    of: dict[int, list[int]] = defaultdict(list)
    for index, call in enumerate(calls):
        of[call.connection].append(index)
    for indexes in of.values():
        ranks: dict[int, int] = {}
        for index in indexes:
            call = calls[index]
            if call.answered and ranks.setdefault(call.answered, index) != index:
                raise items[index].defect(f"two calls are the {call.answered}. to be answered")
        reached = latest = after = 0
        for index in indexes:
            call = calls[index]
            if call.after < after or (call.answered and call.answered <= call.after):
                raise items[index].defect("it comes after calls that were answered later")
            after = call.after
            while reached < after:
                reached += 1
                if reached not in ranks:
                    raise items[index].defect(f"fewer than {after} calls were answered before it")
                latest = max(latest, ranks[reached])
            if after and latest >= index:
                raise items[index].defect(f"fewer than {after} calls were answered before it")
        answered = len(ranks)
        if ranks and max(ranks) != answered:
            raise items[indexes[-1]].defect("the places of the answers are not 1, 2, 3 and so on")


def _events(node: Node) -> tuple[McpEvent, ...]:
    latest: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    events: list[McpEvent] = []
    for item in bounded_items(node, "events"):
        event = _event(item)
        after, seen = latest[event.connection]
        if event.after < after or event.seen < max(seen, event.after):
            raise item.defect("it stands after what came later")
        latest[event.connection] = event.after, event.seen
        events.append(event)
    return tuple(events)


def _event(node: Node) -> McpEvent:
    members = node.members("method after", "from connection seen id params answer answer_after")
    members["method"].text()
    if "from" in members and members["from"].value != "agent":
        raise members["from"].defect('expected "agent"; what the server sent has no such key')
    if "id" in members:
        _id(members["id"])
    after = members["after"].count()
    answer: CallOutcome | None = None
    answer_after = 0
    if "answer" in members:
        entries = members["answer"].entries()
        kind = "error" if "error" in entries else "result"
        answer = _outcome(kind, members["answer"].members(kind)[kind])
        answer_after = members["answer_after"].count() if "answer_after" in members else after
    elif "answer_after" in members:
        raise members["answer_after"].defect("there is no answer")
    if isinstance(answer, Broken | Unanswered):
        raise members["answer"].defect("expected `result` or `error`")
    return McpEvent(
        connection=_connection(members),
        sender="agent" if "from" in members else "server",
        message={key: members[key].value for key in _MESSAGE if key in members},
        after=after,
        seen=members["seen"].count() if "seen" in members else after,
        answer=answer,
        answer_after=answer_after,
    )
