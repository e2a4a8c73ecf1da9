"""What a green result does not show: said beside the results, changing none of them.

Counterpart: `registry`, which judges.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from flowproof.model.flow_spec import Assertion, AssertNoToolCall, Mock

if TYPE_CHECKING:
    from flowproof.model.trajectory import Trajectory


def interception_warnings(
    mocks: Sequence[Mock], assertions: Sequence[Assertion], intercepted: Collection[str]
) -> tuple[str, ...]:
    """At most one warning, naming every tool that is mocked or forbidden and still runs.

    `intercepted` are the tools that a mock of an MCP server keeps from running.
    """
    mocked = {mock.tool: None for mock in mocks if mock.results}
    forbidden = {item.tool: None for item in assertions if isinstance(item, AssertNoToolCall)}
    tools = [tool for tool in mocked | forbidden if tool not in intercepted]
    if not tools:
        return ()
    # Loaded only to say something: this runs before the agent is launched.
    from flowproof.checks import showing

    said = [f"{showing.name(tool)} ({_role(tool in mocked, tool in forbidden)})" for tool in tools]
    return (
        f"nothing intercepts {showing.some(said)}: at the model boundary flowproof changes only "
        "what the model is told, so the agent itself runs a tool that the model asks for, at "
        "record and again at every replay. A tool declared under `mcp:` with a `result:` does "
        "not run; otherwise stub it in the agent.",
    )


def guard_warnings(assertions: Sequence[Assertion], trajectory: Trajectory) -> tuple[str, ...]:
    """One warning for each guard on a tool that the model was never offered and never called.

    Such a guard passes whatever the agent does: a misspelt name looks the same.
    """
    if not trajectory.turns:
        return ()
    from flowproof.checks import showing

    offered = trajectory.offered_tools()
    known = offered | {placed.call.name for placed in trajectory.calls()}
    warnings: list[str] = []
    for item in assertions:
        if not isinstance(item, AssertNoToolCall) or item.tool in known:
            continue
        near = showing.nearest(item.tool, known)
        hint = f"did you mean {showing.name(near)}?" if near else f"offered were {_names(offered)}"
        warnings.append(
            f"{item.position}: no request offered a tool named {showing.name(item.tool)}, "
            f"so this guard could not fail; {hint}"
        )
    return tuple(warnings)


def _role(mocked: bool, forbidden: bool) -> str:
    if mocked and forbidden:
        return "mocked and forbidden"
    return "mocked" if mocked else "forbidden"


def _names(tools: Collection[str]) -> str:
    from flowproof.checks import showing

    return showing.some(map(showing.name, sorted(tools))) or "none at all"
