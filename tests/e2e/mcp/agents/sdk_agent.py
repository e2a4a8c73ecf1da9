"""An agent whose tools are those of an MCP server, reached with the `mcp` package.

It asks the model, makes each tool call that the model wants, and tells the model what came of it,
until the model has nothing to call. AGENT_PLAN holds `mode`, the client's (`legacy` or `auto`).
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from typing import Any, TypeAlias

from mcp import Client, types
from mcp.client.stdio import StdioServerParameters

Json: TypeAlias = Any
PLAN: Json = json.loads(os.environ["AGENT_PLAN"])


def ask(messages: list[Json], tools: list[Json]) -> Json:
    body = {"model": "m", "messages": messages, "tools": tools}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer x"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def server() -> str | StdioServerParameters:
    if url := os.environ.get("FLOWPROOF_MCP_URL_DEMO"):
        return url
    command, *arguments = json.loads(os.environ["FLOWPROOF_MCP_ARGV_DEMO"])
    return StdioServerParameters(command=command, args=arguments)


async def elicited(context: Json, params: Json) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"ok": PLAN.get("consent", True)})


async def sampled(context: Json, params: types.CreateMessageRequestParams) -> Json:
    texts = [message.content.text for message in params.messages]  # type: ignore[union-attr]
    said = await asyncio.to_thread(ask, [{"role": "user", "content": texts[0]}], [])
    content = types.TextContent(type="text", text=said["content"])
    return types.CreateMessageResult(role="assistant", content=content, model="m")


async def converse(client: Client) -> str:
    offered = (await client.list_tools()).tools
    tools = [
        {"type": "function", "function": {"name": tool.name, "parameters": tool.input_schema}}
        for tool in offered
    ]
    messages: list[Json] = [{"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]}]
    while True:
        said = await asyncio.to_thread(ask, messages, tools)
        messages.append(said)
        if not said.get("tool_calls"):
            return str(said["content"])
        for call in said["tool_calls"]:
            function = call["function"]
            arguments = {**json.loads(function["arguments"]), **PLAN.get("instead", {})}
            try:
                result = await client.call_tool(function["name"], arguments)
                text = "".join(getattr(part, "text", "?") for part in result.content)
            except Exception as error:
                text = f"the call failed: {error}"
            print(json.dumps({"tool": function["name"], "said": text}), flush=True)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


async def main() -> None:
    client = Client(
        server(),
        mode=PLAN["mode"],
        elicitation_callback=elicited,
        sampling_callback=sampled,
    )
    async with client:
        print(json.dumps({"reply": await converse(client)}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
