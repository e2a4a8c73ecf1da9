"""Which boundary a step about tool calls reads: the model's, or that of the MCP server it names.

Counterpart: `flow` calls this once the steps and servers are read; `checks.tool_calls` judges.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from flowproof.model.flow_spec import (
    AssertNoToolCall,
    AssertToolCall,
    AssertToolCalls,
    McpServer,
    Mock,
    Step,
)
from flowproof.spec.source import Mark, Report, choices, nearest, quoted


def addressed(
    steps: Sequence[Step], servers: Sequence[McpServer], mocks: Sequence[Mock], report: Report
) -> tuple[Step, ...]:
    """The steps, those about tools of an MCP server with its name.

    A name with a `/` is `server/tool` in a flow that has servers, unless `tools` declares a tool
    of all of it. Notes a server that there is none of, and a list that mixes boundaries.
    """
    names = {server.name for server in servers}
    if not names:
        return tuple(steps)
    plain = {mock.tool for mock in mocks}
    return tuple(_addressed(step, names, plain, report) for step in steps)


def _addressed(
    step: Step, servers: Collection[str], plain: Collection[str], report: Report
) -> Step:
    match step:
        case AssertToolCall() | AssertNoToolCall():
            return replace(step, server=_server(step, step.tool, servers, plain, report))
        case AssertToolCalls():
            found = [_server(step, tool, servers, plain, report) for tool in step.tools]
            different = dict.fromkeys(found)
            if len(different) > 1:
                report.note(
                    _mark(step),
                    f"the list mixes calls of {_sides(different)}, between which a recording "
                    "knows no order",
                    accepted="one `assert_tool_calls` step for each of them",
                )
            return replace(step, server=found[0] if found else "")
        case _:
            return step


def _server(
    step: AssertToolCall | AssertToolCalls | AssertNoToolCall,
    tool: str,
    servers: Collection[str],
    plain: Collection[str],
    report: Report,
) -> str:
    server, slash, rest = tool.partition("/")
    if not slash or tool in plain:
        return ""
    if not rest:
        report.note(_mark(step), f"{quoted(tool)} names no tool", accepted="`<server>/<tool>`")
    elif server not in servers:
        close = nearest(server, servers)
        report.note(
            _mark(step),
            f"{quoted(tool)} names a tool of the MCP server {quoted(server)}, which `mcp` does "
            "not declare",
            accepted=f"one of {choices(sorted(servers))} before the `/`; a tool of the model "
            "whose own name has a `/` is declared under `tools`",
            suggestion=f"{close}/{rest}" if close else "",
        )
    return server


def _sides(servers: Collection[str]) -> str:
    sides = ["the model" if not name else f"the server {quoted(name)}" for name in servers]
    return f"{', '.join(sides[:-1])} and {sides[-1]}"


def _mark(step: AssertToolCall | AssertToolCalls | AssertNoToolCall) -> Mark:
    return Mark(step.position.line, step.position.column)
