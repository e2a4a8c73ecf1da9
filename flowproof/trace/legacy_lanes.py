"""Reads what a trace of flowproof 0.23 holds of MCP servers; `lanes` is its counterpart today.

It held one call after another, without ids, and of errors of the protocol nothing but null.
"""

from __future__ import annotations

from bisect import bisect_left

from flowproof.model.jsonvalue import JsonObject
from flowproof.model.mcp import Lane, McpCall, McpEvent, Result, matched_params, tool_of
from flowproof.trace.document import RecordedMock, RecordedServer
from flowproof.trace.lanes import bounded_items, named_servers
from flowproof.trace.node import Node


def read_servers(node: Node) -> dict[str, RecordedServer]:
    """The servers of such a trace. Each `initialize` opens a connection, but the first call does
    so anyway.

    :raises Defect: if they are not shaped as flowproof 0.23 wrote them.
    """
    return {name: _server(name, child) for name, child in named_servers(node)}


def _server(name: str, node: Node) -> RecordedServer:
    members = node.entries()
    mocks = members["mocks"].entries() if "mocks" in members else {}
    recorded = {tool: RecordedMock((mock.value,), True) for tool, mock in mocks.items()}
    calls: list[McpCall] = []
    starts = [0]
    for child in bounded_items(members["calls"], "calls") if "calls" in members else ():
        call = _call(child, calls, starts, recorded)
        calls.append(call)
    events = bounded_items(members["events"], "events") if "events" in members else ()
    read = [_event(child, starts, len(calls)) for child in events]
    # Anchors count all calls, so that a recording is in order even if its events are not.
    ordered = tuple(sorted(read, key=lambda event: (event.connection, event.after)))
    return RecordedServer(Lane(name, tuple(calls), ordered), recorded)


def _call(
    node: Node, earlier: list[McpCall], starts: list[int], mocks: dict[str, RecordedMock]
) -> McpCall:
    members = node.entries()
    if "method" not in members:
        raise node.defect("the key `method` is missing")
    method = members["method"].text()
    params = members["params"].value if "params" in members else None
    if method == "initialize" and earlier:
        starts.append(len(earlier))
    after = len(earlier) - starts[-1]
    return McpCall(
        connection=len(starts),
        id=None,
        method=method,
        params=matched_params(method, params),
        outcome=Result(members["result"].value if "result" in members else None),
        after=after,
        answered=after + 1,
        mocked=tool_of(method, params) in mocks,
    )


def _event(node: Node, starts: list[int], calls: int) -> McpEvent:
    members = node.entries()
    if "method" not in members:
        raise node.defect("the key `method` is missing")
    anchor = min(members["after"].count() if "after" in members else 0, calls)
    # What crossed when as many calls had been answered as the connections before this one made
    # belongs to the last of them.
    connection = bisect_left(starts, max(anchor, 1))
    message: JsonObject = {"method": members["method"].text()}
    if "params" in members and members["params"].value is not None:
        message["params"] = members["params"].value
    after = anchor - starts[connection - 1]
    return McpEvent(connection, "server", message, after, after)
