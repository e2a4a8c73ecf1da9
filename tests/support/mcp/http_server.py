"""The server of `sdk_server` over streamable HTTP, with more tools and options.

`running` starts it as `python -m tests.support.mcp.http_server PORT`. `--json` answers without
streams, `--stateless` has no sessions, `--key KEY` wants a bearer token.
"""

from __future__ import annotations

import argparse

import uvicorn
from mcp.server.mcpserver import Context
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.mcp.sdk_server import Consent, server


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask in the middle of a call"""
    answered = await ctx.elicit("sure?", Consent)
    return answered.model_dump_json()


@server.tool()
async def change(ctx: Context) -> str:
    """Tell those who listen that tools changed"""
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "changed"


class Door:
    """Lets in who has the key."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._wanted = f"Bearer {key}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            sent = {name.decode(): value.decode() for name, value in scope["headers"]}
            if sent.get("authorization") != self._wanted:
                await PlainTextResponse("no such key", 401)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--key")
    options = parser.parse_args()
    app: ASGIApp = server.streamable_http_app(
        json_response=options.json, stateless_http=options.stateless
    )
    if options.key:
        app = Door(app, options.key)
    uvicorn.run(app, port=options.port, log_level="warning", lifespan="on")


if __name__ == "__main__":
    main()
