"""What the lane of an MCP server tells about guards: whether they name a tool that there is.

Counterpart: `warnings`, which does the same with what the model was offered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from flowproof.checks import showing
from flowproof.model.mcp import Lane
from flowproof.model.mcp_calls import names_tool, offered, tool_calls


class Offers:
    """The tools of all MCP servers of a flow, as far as lanes and spec tell. `declared` has those
    that the spec names, by server."""

    def __init__(self, lanes: Sequence[Lane], declared: Mapping[str, Collection[str]]) -> None:
        self._seen = {lane.server for lane in lanes if lane.calls}
        self._calls = {lane.server: tool_calls(lane) for lane in lanes}
        self._listed = {lane.server: tuple(offered(lane)) for lane in lanes}
        self._declared = declared

    def seen(self, server: str) -> bool:
        """Whether anything of a server was seen."""
        return server in self._seen

    def tools(self, server: str) -> frozenset[str]:
        """The names of all tools of a server that are known, each as `server/tool`."""
        names = {name for name, _ in self._listed.get(server, ())} | {
            *self._declared.get(server, ())
        }
        made = {placed.call.name for placed in self._calls.get(server, ())}
        return frozenset({f"{server}/{name}" for name in names} | made)

    def unknown(self, tool: str, server: str) -> str:
        """That a server lists no tool named `server/tool`, and which one may be meant."""
        known = self.tools(server)
        near = showing.nearest(tool, known)
        listed = showing.some(map(showing.name, sorted(known)))
        hint = f"did you mean {showing.name(near)}?" if near else f"known are {listed or 'none'}"
        shown = showing.name(server)
        if not self._listed.get(server):
            return f"the agent was told of no tools of {shown}, so {showing.name(tool)} is unknown"
        return f"{shown} lists no tool named {showing.name(tool)} ({hint})"

    def parameters(self, tool: str, server: str) -> tuple[str, ...]:
        """All arguments that a tool named `server/tool` takes; empty where that is left open."""
        from flowproof.dialects.parameters import parameters_of

        names = ((f"{server}/{name}", schema) for name, schema in self._listed.get(server, ()))
        return parameters_of(names).get(tool, ())

    def made_with(self, tool: str, server: str) -> frozenset[str]:
        """The arguments that calls of a tool named `server/tool` had."""
        calls = self._calls.get(server, ())
        found = (placed.call.arguments for placed in calls if placed.call.name == tool)
        return frozenset(key for one in found if isinstance(one, dict) for key in one)

    def elsewhere(self, tool: str) -> str:
        """How a tool that the model was not offered is named if an MCP server has it; else
        empty."""
        for server in self._calls:
            if f"{server}/{tool}" in self.tools(server):
                return f"{server}/{tool}"
        return ""

    def kept(self, names: Iterable[str]) -> frozenset[str]:
        """Those of a model's tools that MCP servers run: at replay there is no such server."""
        tools = [
            (server, tool.removeprefix(f"{server}/"))
            for server in {*self._calls, *self._declared}
            for tool in self.tools(server)
        ]
        return frozenset(
            name for name in names if any(names_tool(name, *tool) for tool in tools[:_MOST])
        )


_MOST = 1_000
"""Tools of servers that are looked through for one that the model was offered."""
