"""The tool calls of a lane as assertions and reports see them, and which call of the model led to
each.

Counterparts: `checks.tool_calls` judges them, `flow.report` puts them into the run record.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flowproof.model.jsonvalue import JsonValue, canonical, write
from flowproof.model.mcp import Lane, McpCall, Result
from flowproof.model.trajectory import PlacedCall, ToolCall, Trajectory

_NAMES = 100
"""Most tools that are looked through for one that was called with the same arguments."""


def arguments_of(call: McpCall) -> JsonValue:
    """The arguments of a call of a tool; an empty object where it has none."""
    return call.params.get("arguments", {}) if isinstance(call.params, dict) else {}


def tool_calls(lane: Lane) -> tuple[PlacedCall, ...]:
    """The calls of tools in a lane, each named `server/tool` and placed by its number in the lane.

    A call that the agent sends again with what the server had asked for meanwhile is one call,
    not two. One that names no tool is named `server/`.
    """
    resumed = _resumed(lane)
    return tuple(
        PlacedCall(number, _as_asked(lane.server, call), lane.server)
        for number, call in enumerate(lane.calls, 1)
        if call.method == "tools/call" and number not in resumed
    )


def _as_asked(server: str, call: McpCall) -> ToolCall:
    arguments = arguments_of(call)
    return ToolCall(None, f"{server}/{call.tool or ''}", write(arguments), arguments)


def _resumed(lane: Lane) -> frozenset[int]:
    """The numbers of calls that only go on with an earlier one, which waited for input."""
    waiting: dict[tuple[int, str, str], int] = defaultdict(int)
    found: set[int] = set()
    for number, call in enumerate(lane.calls, 1):
        params = call.params if isinstance(call.params, dict) else {}
        goes_on = bool(params.keys() & {"inputResponses", "requestState"})
        match call.outcome:
            case Result({"resultType": "input_required"}):
                waits = True
            case _:
                waits = False
        if call.tool is None or not (goes_on or waits):
            continue
        known = call.connection, call.tool, canonical(arguments_of(call))
        if goes_on and waiting[known]:
            waiting[known] -= 1
            found.add(number)
        waiting[known] += waits
    return frozenset(found)


def offered(lane: Lane) -> Iterator[tuple[str, JsonValue]]:
    """The tools that a server said it has, each by its name with the schema of its arguments."""
    for call in lane.calls:
        match call.method, call.outcome:
            case "tools/list", Result({"tools": list(tools)}):
                for tool in tools:
                    name = tool.get("name") if isinstance(tool, dict) else None
                    if isinstance(tool, dict) and isinstance(name, str):
                        yield name, tool.get("inputSchema")


def names_tool(name: str, server: str, tool: str) -> bool:
    """Whether a model's tool of this name may be that tool of an MCP server: agents put the name
    of the server, as they know it, before the tool's (`mcp__files__read`)."""
    return _closeness(name, server, tool) is not None


def _closeness(name: str, server: str, tool: str) -> int | None:
    """How closely a name fits a tool, 0 best; None if it does not."""
    if name == tool:
        return 0
    if not tool or not name.endswith(tool) or name[-len(tool) - 1] not in "_./:-":
        return None
    before = name[: -len(tool)].rstrip("_./:-")
    return 1 if _folded(before).endswith(_folded(server)) else 2


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def led_to(trajectory: Trajectory, lanes: Iterable[Lane]) -> Mapping[tuple[str, int], int]:
    """For calls of tools, by server and number in its lane, which of the trajectory's calls
    (from 1, in the order of `Trajectory.calls`) led to it.

    It is one with the same arguments that names the tool, the earliest that no other call is of.
    Nothing else connects the two, so an agent that changes arguments on the way has none.
    """
    asked = _Asked(trajectory)
    found: dict[tuple[str, int], int] = {}
    for lane in lanes:
        for placed in tool_calls(lane):
            tool = placed.call.name.removeprefix(f"{lane.server}/")
            number = asked.take(lane.server, tool, placed.call.arguments)
            if number is not None:
                found[lane.server, placed.turn] = number
    return found


class _Asked:
    """The calls that a model left to the agent, by what they ask for; each is taken once."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._left: dict[str, dict[str, deque[int]]] = defaultdict(dict)
        for number, placed in enumerate(trajectory.calls(), 1):
            call = placed.call
            if not call.served and not call.malformed:
                known = self._left[canonical(call.arguments or {})]
                known.setdefault(call.name, deque()).append(number)

    def take(self, server: str, tool: str, arguments: JsonValue) -> int | None:
        left = self._left.get(canonical(arguments or {}), {})
        fitting: list[tuple[int, int, str]] = []
        for name in _some(left):
            closeness = _closeness(name, server, tool)
            if closeness is not None and left[name]:
                fitting.append((closeness, left[name][0], name))
        return left[min(fitting)[2]].popleft() if fitting else None


def _some(names: Mapping[str, object]) -> Sequence[str]:
    return list(names)[:_NAMES]
