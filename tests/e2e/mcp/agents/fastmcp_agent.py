"""An agent that asks its model with `openai` and makes the tool calls with fastmcp's client.

AGENT_PLAN may hold `instead`: arguments that the agent puts in place of the model's.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from openai import AsyncOpenAI

INSTEAD: dict[str, Any] = json.loads(os.environ["AGENT_PLAN"]).get("instead", {})


def client() -> Client[Any]:
    if url := os.environ.get("FLOWPROOF_MCP_URL_DEMO"):
        return Client(url)
    command, *arguments = json.loads(os.environ["FLOWPROOF_MCP_ARGV_DEMO"])
    return Client(StdioTransport(command, arguments))


async def converse(demo: Client[Any]) -> str:
    tools: list[Any] = [
        {"type": "function", "function": {"name": tool.name, "parameters": tool.input_schema}}
        for tool in await demo.list_tools()
    ]
    messages: list[Any] = [{"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]}]
    async with AsyncOpenAI() as model:
        while True:
            answer = await model.chat.completions.create(
                model="gpt-5-mini", messages=messages, tools=tools
            )
            said = answer.choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return str(said.content)
            for call in said.tool_calls:
                assert call.type == "function"
                arguments = {**json.loads(call.function.arguments), **INSTEAD}
                made = await demo.call_tool(call.function.name, arguments, raise_on_error=False)
                text = "".join(getattr(part, "text", "?") for part in made.content)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


async def main() -> None:
    async with client() as demo:
        print(await converse(demo))


if __name__ == "__main__":
    asyncio.run(main())
