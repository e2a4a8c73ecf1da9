"""An agent of pydantic-ai whose tools are those of an MCP server.

AGENT_PLAN may hold `instead`: arguments that the agent puts in place of the model's.
"""

from __future__ import annotations

import json
import os
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, RunContext
from pydantic_ai.mcp import CallToolFunc, MCPToolset, ToolResult

INSTEAD: dict[str, Any] = json.loads(os.environ["AGENT_PLAN"]).get("instead", {})


async def changed(
    context: RunContext[Any], call: CallToolFunc, name: str, arguments: dict[str, Any]
) -> ToolResult:
    return await call(name, {**arguments, **INSTEAD})


def server() -> str | StdioTransport:
    if url := os.environ.get("FLOWPROOF_MCP_URL_DEMO"):
        return url
    command, *arguments = json.loads(os.environ["FLOWPROOF_MCP_ARGV_DEMO"])
    return StdioTransport(command, arguments)


def main() -> None:
    demo: MCPToolset[None] = MCPToolset(server(), process_tool_call=changed)
    agent = Agent("openai-chat:gpt-5-mini", deps_type=type(None), toolsets=[demo])
    print(agent.run_sync(os.environ["FLOWPROOF_PROMPT"]).output)


if __name__ == "__main__":
    main()
