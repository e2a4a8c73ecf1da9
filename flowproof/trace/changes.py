"""What an author changed since a trace was recorded, so that the agent need not be launched to
learn of it. `document` says what a trace keeps for the comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flowproof.model.flow_spec import McpServer, Mock
from flowproof.trace.document import RecordedMock, RecordedServer, recorded_mocks


def mock_changes(declared: Iterable[Mock], recorded: Mapping[str, RecordedMock]) -> Iterator[str]:
    """One phrase for each mock that was added, removed or edited. Tools that are only declared
    do not count."""
    now = {tool: mock for tool, mock in recorded_mocks(declared).items() if mock.answers}
    then = {tool: mock for tool, mock in recorded.items() if mock.answers}
    for tool in [*now, *(tool for tool in then if tool not in now)]:
        if tool not in then:
            yield f"tool `{tool}`: its mock was added after recording"
        elif tool not in now:
            yield f"tool `{tool}`: its mock was removed after recording"
        elif not now[tool].matches(then[tool]):
            yield f"tool `{tool}`: its result was edited after recording"


def server_changes(
    declared: Iterable[McpServer], recorded: Mapping[str, RecordedServer]
) -> Iterator[str]:
    """One phrase for each MCP server that was added or removed, and each of its mocks that was
    changed. How a server is reached may change: a trace does not tell."""
    now = {server.name: server for server in declared}
    for name, server in now.items():
        if name not in recorded:
            yield f"MCP server `{name}`: it was added after recording"
            continue
        for change in mock_changes(server.tools, recorded[name].mocks):
            yield f"MCP server `{name}`, {change}"
    for name in recorded:
        if name not in now:
            yield f"MCP server `{name}`: it was removed after recording"
