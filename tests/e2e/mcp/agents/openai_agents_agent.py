"""An agent of the OpenAI Agents SDK whose tools are those of an MCP server.

AGENT_PLAN may hold `instead`: arguments that the agent puts in place of the model's.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from agents import Agent, Runner, set_default_openai_api
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from mcp.types import CallToolResult

INSTEAD: dict[str, Any] = json.loads(os.environ["AGENT_PLAN"]).get("instead", {})


class Changed:
    """Changes arguments on the way to the server."""

    async def call_tool(
        self,
        tool_name: str,
        arguments: dict[str, Any] | None,
        meta: dict[str, Any] | None = None,
    ) -> CallToolResult:
        call = super().call_tool  # type: ignore[misc]
        result: CallToolResult = await call(tool_name, {**(arguments or {}), **INSTEAD}, meta)
        return result


class Stdio(Changed, MCPServerStdio):
    """Started by its command."""


class Http(Changed, MCPServerStreamableHttp):
    """Reached by its URL."""


def server() -> Stdio | Http:
    if url := os.environ.get("FLOWPROOF_MCP_URL_DEMO"):
        return Http(params={"url": url})
    command, *arguments = json.loads(os.environ["FLOWPROOF_MCP_ARGV_DEMO"])
    return Stdio(params={"command": command, "args": arguments})


async def main() -> None:
    set_default_openai_api("chat_completions")
    async with server() as demo:
        agent: Agent[None] = Agent(name="clerk", model="gpt-5-mini", mcp_servers=[demo])
        result = await Runner.run(agent, os.environ["FLOWPROOF_PROMPT"])
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
