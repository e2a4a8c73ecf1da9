"""Some tools of `sdk_server`, on a server made with the `fastmcp` package."""

from __future__ import annotations

from fastmcp import Context, FastMCP

server = FastMCP("Demo", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add"""
    return a + b


@server.tool
def boom() -> str:
    """Fail"""
    raise RuntimeError("boom")


@server.tool
async def slowly(ctx: Context) -> str:
    """Tell of progress"""
    await ctx.report_progress(1, 2, "half")
    await ctx.report_progress(2, 2, "all")
    return "done"


if __name__ == "__main__":
    server.run(show_banner=False)
