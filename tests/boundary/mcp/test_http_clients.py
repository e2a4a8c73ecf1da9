"""The real `mcp` client and a real server: recorded over HTTP, replayed with the server gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.types import ElicitRequestParams, ElicitResult

from flowproof.boundary.mcp.mocks import MockedMcpTool
from flowproof.model.mcp import Lane, McpCall, Result, tool_of
from tests.boundary.mcp.http_tools import recording, replaying, run_client
from tests.support.mcp.running import mcp_server

MODES = pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])


async def agree(context: Any, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"ok": True})


async def work(client: Client) -> list[str]:
    """Lists tools and calls some."""
    told: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(f"progress {message}")

    told.append(str(len((await client.list_tools()).tools)))
    for name, arguments in (("add", {"a": 1, "b": 2}), ("boom", {}), ("decide", {})):
        result = await client.call_tool(name, arguments)
        told.append(f"{name} {result.is_error} {result.content[0].text}")  # type: ignore[union-attr]
    result = await client.call_tool("slowly", {}, progress_callback=progress)
    told.append(result.content[0].text)  # type: ignore[union-attr]
    return told


def methods(lane: Lane) -> list[str]:
    return [call.method for call in lane.calls]


@MODES
def test_a_client_gets_the_same_without_the_server(mode: str) -> None:
    with mcp_server() as url, recording(url) as boundary:
        first = run_client(boundary.port, mode, work, elicitation_callback=agree)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
        assert boundary.transport.troubles == ()
    assert "add False 3" in first and "decide False True" in first
    assert {"progress half", "progress all"} <= set(first)
    with replaying(lane) as boundary:
        again = run_client(boundary.port, mode, work, elicitation_callback=agree)
        boundary.lane()
        assert boundary.boundary.divergence is None
        assert boundary.boundary.unconsumed() == ()
    assert sorted(again) == sorted(first)


def call_of(lane: Lane, tool: str) -> McpCall:
    return next(one for one in lane.calls if tool_of(one.method, one.params) == tool)


def test_results_are_kept_as_what_they_were() -> None:
    with mcp_server() as url, recording(url) as boundary:
        run_client(boundary.port, "legacy", work, elicitation_callback=agree)
        lane = boundary.lane()
    boom = call_of(lane, "boom")
    assert isinstance(boom.outcome, Result)
    assert isinstance(boom.outcome.value, dict) and boom.outcome.value["isError"] is True
    assert methods(lane)[:2] == ["initialize", "tools/list"]
    asked = [one for one in lane.events if "id" in one.message]
    assert [one.message["method"] for one in asked] == ["elicitation/create"]
    assert isinstance(asked[0].answer, Result)


@pytest.mark.parametrize("options", [("--json",), ("--stateless",)], ids=["json", "stateless"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_servers_that_answer_in_other_ways(mode: str, options: tuple[str, ...]) -> None:
    async def add(client: Client) -> Any:
        tools = await client.list_tools()
        result = await client.call_tool("add", {"a": 1, "b": 2})
        return [len(tools.tools), result.structured_content]

    with mcp_server(*options) as url, recording(url) as boundary:
        first = run_client(boundary.port, mode, add)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    with replaying(lane) as boundary:
        assert run_client(boundary.port, mode, add) == first
        assert boundary.boundary.divergence is None
        assert boundary.boundary.unconsumed() == ()


def test_a_session_is_told_of_changes_over_its_stream() -> None:
    async def listen(port: int) -> list[str]:
        heard: list[str] = []
        changed = anyio.Event()

        async def hear(message: Any) -> None:
            heard.append(type(message).__name__)
            if "ToolListChanged" in heard[-1]:
                changed.set()

        with anyio.fail_after(20):
            url = f"http://127.0.0.1:{port}/mcp"
            async with Client(url, mode="legacy", message_handler=hear) as client:
                await anyio.sleep(0.3)  # the client opens its stream when it likes
                await client.call_tool("change", {})
                await changed.wait()
        return heard

    with mcp_server() as url, recording(url) as boundary:
        first = anyio.run(listen, boundary.port)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    assert "notifications/tools/list_changed" in [one.message["method"] for one in lane.events]
    with replaying(lane) as boundary:
        assert anyio.run(listen, boundary.port) == first
        assert boundary.boundary.divergence is None


def test_a_client_without_session_is_told_of_changes_that_it_listens_to() -> None:
    async def listen(port: int) -> list[str]:
        heard: list[str] = []
        with anyio.fail_after(20):
            async with (
                Client(f"http://127.0.0.1:{port}/mcp") as client,
                client.listen(tools_list_changed=True) as stream,
            ):
                await client.call_tool("change", {})
                async for event in stream:
                    heard.append(type(event).__name__)
                    break
        return heard

    with mcp_server() as url, recording(url) as boundary:
        first = anyio.run(listen, boundary.port)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    assert "subscriptions/listen" in methods(lane)
    with replaying(lane) as boundary:
        assert anyio.run(listen, boundary.port) == first
        assert boundary.boundary.divergence is None


def test_a_question_in_the_middle_of_a_call() -> None:
    async def ask(client: Client) -> Any:
        return (await client.call_tool("ask", {})).content[0].text  # type: ignore[union-attr]

    async def refuse(context: Any, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="decline")

    with mcp_server() as url, recording(url) as boundary:
        first = run_client(boundary.port, "legacy", ask, elicitation_callback=agree)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    with replaying(lane) as boundary:
        assert run_client(boundary.port, "legacy", ask, elicitation_callback=agree) == first
        assert boundary.boundary.divergence is None
    with replaying(lane) as boundary:
        with pytest.raises(BaseExceptionGroup):
            run_client(boundary.port, "legacy", ask, elicitation_callback=refuse)
        assert "elicitation/create" in str(boundary.boundary.divergence)


@MODES
def test_a_mocked_tool_never_reaches_the_server(mode: str, tmp_path: Path) -> None:
    async def write(client: Client) -> Any:
        result = await client.call_tool("write", {"path": str(tmp_path / "file"), "text": "a"})
        return result.content[0].text  # type: ignore[union-attr]

    mocks = {"write": MockedMcpTool(results=("not really",))}
    with mcp_server() as url, recording(url, mocks) as boundary:
        assert run_client(boundary.port, mode, write) == "not really"
        lane = boundary.lane()
    assert not (tmp_path / "file").exists()
    with replaying(lane, mocks) as boundary:
        assert run_client(boundary.port, mode, write) == "not really"
        assert boundary.boundary.divergence is None


def test_tools_of_openai_agents() -> None:
    from agents.mcp import MCPServerStreamableHttp

    async def use(port: int) -> list[str]:
        params = {"url": f"http://127.0.0.1:{port}/mcp"}
        with anyio.fail_after(30):
            async with MCPServerStreamableHttp(params=params) as server:  # type: ignore[arg-type]
                names = [tool.name for tool in await server.list_tools()]
                result = await server.call_tool("add", {"a": 1, "b": 2})
                return [*names, result.content[0].text]

    with mcp_server() as url, recording(url) as boundary:
        first = anyio.run(use, boundary.port)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    assert first[-1] == "3"
    with replaying(lane) as boundary:
        assert anyio.run(use, boundary.port) == first
        assert boundary.boundary.unconsumed() == ()
