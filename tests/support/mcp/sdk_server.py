"""A real MCP server, made with the `mcp` package: over stdio, or with a port over HTTP.

With `--json` it answers in JSON where it could stream.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from mcp import types
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve, Sample
from pydantic import BaseModel

server = MCPServer("Demo", version="1.0.0")


class Consent(BaseModel):
    """What the user is asked for."""

    ok: bool


def consent() -> Elicit[Consent]:
    """Asks the user."""
    return Elicit("Sure?", Consent)


def thought(about: str) -> Sample:
    """Asks the client's model."""
    content = types.TextContent(type="text", text=about)
    return Sample([types.SamplingMessage(role="user", content=content)], max_tokens=10)


@server.tool()
def add(a: int, b: int) -> int:
    """Add"""
    return a + b


@server.tool()
def write(path: str, text: str) -> str:
    """Write a file"""
    Path(path).write_text(text, "utf-8")
    return f"{len(text)} characters"


@server.tool()
def boom() -> str:
    """Fail"""
    raise RuntimeError("boom")


@server.tool()
async def slowly(ctx: Context) -> str:
    """Tell of progress"""
    await ctx.report_progress(1, 2, "half")
    await ctx.report_progress(2, 2, "all")
    return "done"


@server.tool()
def decide(answer: Annotated[Consent, Resolve(consent)]) -> str:
    """Do what the user wants"""
    return str(answer.ok)


@server.tool()
def think(about: str, answer: Annotated[types.CreateMessageResult, Resolve(thought)]) -> str:
    """Think with the client's model"""
    return str(getattr(answer.content, "text", answer.content))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        port, json = int(sys.argv[1]), "--json" in sys.argv
        server.run("streamable-http", host="127.0.0.1", port=port, json_response=json)
    else:
        server.run()
