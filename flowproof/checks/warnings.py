"""What a green result does not show: said beside the results, changing none of them.

Counterpart: `registry`, which judges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from flowproof.model.flow_spec import Assertion, AssertNoToolCall, AssertToolCall, Matcher, Mock

if TYPE_CHECKING:
    from flowproof.checks.lane_warnings import Offers
    from flowproof.model.trajectory import Trajectory


def interception_warnings(
    mocks: Sequence[Mock],
    assertions: Sequence[Assertion],
    intercepted: Collection[str],
    trajectory: Trajectory,
) -> tuple[str, ...]:
    """At most one warning, naming every tool that is mocked or forbidden and still runs.

    `intercepted` are the tools that MCP servers run, which do not exist at replay. A tool that the
    model was neither offered nor asked for is no matter of interception, and nor is one that the
    provider runs: it ran while the answer was made, and at replay nothing runs it.
    """
    known = known_tools(trajectory) - trajectory.served_tools()
    mocked = {mock.tool: None for mock in mocks if mock.results}
    forbidden = {item.tool: None for item in assertions if _is_guard(item) and not item.server}
    tools = [t for t in mocked | forbidden if t in known and t not in intercepted]
    if not tools:
        return ()
    from flowproof.checks import showing

    said = [f"{showing.name(tool)} ({_role(tool in mocked, tool in forbidden)})" for tool in tools]
    return (
        f"nothing intercepts {showing.some(said)}: the agent really runs what the model asks "
        "for, at every replay too; stub it there if that does harm",
    )


@dataclass(frozen=True, slots=True)
class VacuousGuard:
    """A guard that passes whatever the agent does, why, and what to do if that is meant."""

    guard: AssertNoToolCall | AssertToolCall
    reason: str
    remedy: str


def vacuous_guards(
    assertions: Sequence[Assertion],
    trajectory: Trajectory,
    declared: Collection[str],
    offers: Offers | None = None,
) -> tuple[VacuousGuard, ...]:
    """The guards on a tool, or an argument of it, that was never offered and never called.

    A misspelt name looks the same. A tool that the flow declares under `tools:` is known, and
    its absence meant. `offers` has what MCP servers offer, in a flow with such.
    """
    if not trajectory.turns:
        return ()
    known = known_tools(trajectory) | set(declared)
    found: list[VacuousGuard] = []
    for guard in assertions:
        if not _is_guard(guard):
            continue
        if guard.server:
            found += _vacuous_in_lane(guard, offers)
        elif guard.tool not in known:
            found.append(VacuousGuard(guard, *_not_offered(guard.tool, trajectory, offers)))
        elif reason := _unknown_argument(guard, trajectory):
            found.append(VacuousGuard(guard, reason, _NAME_ARGUMENT))
    return tuple(found)


_NAME_ARGUMENT = "name an argument that the tool has"


def _not_offered(tool: str, trajectory: Trajectory, offers: Offers | None) -> tuple[str, str]:
    """Why a guard on a tool of the model passes whatever happens, and what to do about it."""
    from flowproof.checks import showing

    named = offers.elsewhere(tool) if offers is not None else ""
    if not named:
        return unknown_tool(tool, trajectory), "declare it under `tools:` if that is meant"
    server = showing.name(named.partition("/")[0])
    told = f"no request offered a tool named {showing.name(tool)}, only the MCP server {server} has"
    return f"{told} it ({showing.name(named)})", f"write {showing.name(named)}"


def _vacuous_in_lane(
    guard: AssertNoToolCall | AssertToolCall, offers: Offers | None
) -> Iterator[VacuousGuard]:
    if offers is None or not offers.seen(guard.server):
        return
    tool, server = guard.tool, guard.server
    if tool not in offers.tools(server):
        remedy = "declare it under the server's `tools:` if that is meant"
        yield VacuousGuard(guard, offers.unknown(tool, server), remedy)
    elif reason := _no_argument(
        guard, offers.parameters(tool, server), offers.made_with(tool, server)
    ):
        yield VacuousGuard(guard, reason, _NAME_ARGUMENT)


def _is_guard(item: Assertion) -> TypeGuard[AssertNoToolCall | AssertToolCall]:
    """Whether an assertion forbids, and so holds where nothing was called."""
    if isinstance(item, AssertToolCall):
        return item.times is not None and item.times.minimum == 0
    return isinstance(item, AssertNoToolCall)


def _unknown_argument(guard: AssertNoToolCall | AssertToolCall, trajectory: Trajectory) -> str:
    """That a tool takes no argument of a name, and which one may have been meant; else empty."""
    names = next((one.names for one in trajectory.parameters if one.tool == guard.tool), ())
    calls = [placed.call for placed in trajectory.calls() if placed.call.name == guard.tool]
    made = {key for call in calls if isinstance(call.arguments, dict) for key in call.arguments}
    return _no_argument(guard, names, made)


def _no_argument(
    guard: AssertNoToolCall | AssertToolCall, names: Collection[str], made: Collection[str]
) -> str:
    if not names:
        return ""
    for clause in guard.clauses:
        # A key may hold dots itself. What must be absent is so: such a guard can fail.
        starts = {".".join(clause.path[:end]) for end in range(1, len(clause.path) + 1)}
        if clause.matcher is Matcher.ABSENT or starts & {*names, *made}:
            continue
        from flowproof.checks import showing

        near = showing.nearest(clause.path[0], {*names, *made})
        hint = f"did you mean {showing.name(near)}?" if near else ""
        hint = hint or f"it takes {showing.some(map(showing.name, names))}"
        return f"{showing.name(guard.tool)} takes no {showing.name(clause.path[0])} ({hint})"
    return ""


def guard_warnings(vacuous: Sequence[VacuousGuard]) -> tuple[str, ...]:
    """One warning for each guard that could not fail."""
    return tuple(
        f"{found.guard.position}: {found.reason}, so this guard could not fail" for found in vacuous
    )


def mock_warnings(mocks: Sequence[Mock], trajectory: Trajectory) -> tuple[str, ...]:
    """One warning for each mock of a tool that the model was never offered and never called, or
    that the provider runs itself."""
    if not trajectory.turns:
        return ()
    known, served = known_tools(trajectory), trajectory.served_tools()
    return tuple(
        f"{mock.position}: {_unmockable(mock.tool, trajectory)}, so this result was never used"
        for mock in mocks
        if mock.results and (mock.tool not in known or mock.tool in served)
    )


def _unmockable(tool: str, trajectory: Trajectory) -> str:
    """Why no result of a tool is ever asked for."""
    if tool not in trajectory.served_tools():
        return unknown_tool(tool, trajectory)
    from flowproof.checks import showing

    return f"the provider runs {showing.name(tool)} itself"


def unknown_tool(tool: str, trajectory: Trajectory) -> str:
    """That no request offered a tool, and which one may have been meant."""
    from flowproof.checks import showing

    near = showing.nearest(tool, known_tools(trajectory))
    offered = showing.some(map(showing.name, sorted(trajectory.offered_tools())))
    hint = f"did you mean {showing.name(near)}?" if near else f"offered were {offered or 'none'}"
    return f"no request offered a tool named {showing.name(tool)} ({hint})"


def known_tools(trajectory: Trajectory) -> set[str]:
    """The names of all tools that the model was offered or asked for."""
    return set(trajectory.offered_tools()) | {placed.call.name for placed in trajectory.calls()}


def _role(mocked: bool, forbidden: bool) -> str:
    if mocked and forbidden:
        return "mocked and forbidden"
    return "mocked" if mocked else "forbidden"
