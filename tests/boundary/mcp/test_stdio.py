"""The stdio transport with real stand-ins and, while recording, real servers."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil
import pytest

from flowproof.boundary.mcp.mocks import MockedMcpTool
from flowproof.boundary.mcp.stdio import Stdio
from flowproof.model.mcp import Broken, Lane, Result, RpcError

from .stdio_tools import HELLO, STARTED, Client, recording, replaying, said, servers

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    STARTED.clear()
    yield
    for client in STARTED:
        client.end()
    assert psutil.Process().children(recursive=True) == []


def conversation(stdio: Stdio) -> list[Any]:
    client = Client(stdio)
    answers = [
        client.hello(),
        client.ask("tools/list"),
        client.call("echo", text="å\u2028"),
        client.call("fail"),
        client.call("refuse"),
        client.call("big", size=1_000_000),
    ]
    assert client.leave() == 0
    return answers


async def test_what_was_recorded_is_replayed_without_a_server(tmp_path: Path) -> None:
    async with recording(tmp_path) as (boundary, stdio):
        live = await anyio.to_thread.run_sync(conversation, stdio)
        await stdio.settle(10)
        lane = boundary.lane()
        assert (boundary.problems, stdio.troubles, stdio.notes) == ((), (), ())
        assert stdio.stderr == "plain server is up\nleaving\n"
    assert [type(call.outcome) for call in lane.calls] == [Result] * 4 + [RpcError, Result]
    async with replaying(lane) as (replayed, stdio):
        again = await anyio.to_thread.run_sync(conversation, stdio)
        await stdio.settle(10)
        assert again == live
        assert (replayed.divergence, replayed.unconsumed()) == (None, ())
        assert psutil.Process().children() == []


async def test_each_stand_in_has_a_server_of_its_own(tmp_path: Path) -> None:
    def two(stdio: Stdio) -> None:
        one, other = Client(stdio), Client(stdio)
        one.hello()
        other.hello()
        assert said(other.call("echo", n=2)) == '{"n": 2}'
        assert said(one.call("echo", n=1)) == '{"n": 1}'
        assert (one.leave(), other.leave()) == (0, 0)

    async with recording(tmp_path) as (boundary, stdio):
        await anyio.to_thread.run_sync(two, stdio)
        await stdio.settle(10)
        lane = boundary.lane()
        assert [call.connection for call in lane.calls] == [1, 2, 2, 1]
    async with replaying(lane) as (replayed, stdio):
        await anyio.to_thread.run_sync(two, stdio)
        await stdio.settle(10)
        assert (replayed.divergence, replayed.unconsumed()) == (None, ())


async def test_a_mocked_tool_never_reaches_the_server(tmp_path: Path) -> None:
    file = tmp_path / "file"
    mocks = {"write": MockedMcpTool(({"ok": True},), True)}

    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        client.hello()
        assert client.call("write", path=str(file))["result"]["structuredContent"] == {"ok": True}
        assert said(client.call("echo", n=1)) == '{"n": 1}'
        client.leave()

    async with recording(tmp_path, mocks=mocks) as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
    assert not file.exists()
    assert [call.mocked for call in boundary.lane().calls] == [False, True, False]


async def test_a_banner_is_skipped_and_told(tmp_path: Path) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        assert client.hello()["result"]["serverInfo"]["name"] == "plain"
        client.leave()

    async with recording(tmp_path, "banner") as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        assert boundary.problems == ()
        assert stdio.notes == (
            "MCP server `files` printed 2 lines to its standard output before its first message, "
            "which clients skip and no replay repeats: npm warn deprecated",
        )


async def test_a_command_that_does_not_exist_is_its_authors_fault(tmp_path: Path) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        assert "could not be started" in client.ask("initialize", HELLO)["error"]["message"]

    async with recording(tmp_path, argv=("no-such-server", "x")) as (_, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        (trouble,) = stdio.troubles
        assert trouble.whose == "author"
        assert trouble.text.startswith(
            "MCP server `files` could not be started: `no-such-server` was not found"
        )


async def test_a_server_that_crashes_at_once_is_named_with_its_last_words(tmp_path: Path) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        assert "exited with status 7" in client.ask("initialize", HELLO)["error"]["message"]

    async with recording(tmp_path, "crash-first") as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        (problem,) = boundary.problems
        assert "its process exited with status 7; it said: cannot open the database" in problem
        assert stdio.troubles == ()


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        pytest.param("crash", "its process exited with status 3", id="crash"),
        pytest.param("mumble", "not JSON", id="no JSON"),
        pytest.param("misname", "nobody-asked", id="unknown id"),
    ],
)
async def test_a_server_that_breaks_in_mid_call_leaves_nobody_waiting(
    tmp_path: Path, tool: str, expected: str
) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        client.hello()
        assert client.call(tool)["error"]["code"] < 0
        client.leave()

    async with recording(tmp_path) as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        assert any(expected in problem for problem in boundary.problems), boundary.problems


@pytest.mark.parametrize("side", ["agent", "server"])
async def test_a_message_that_is_too_large_is_loud(tmp_path: Path, side: str) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        client.hello()
        if side == "agent":
            answer = client.call("echo", text="x" * (11 << 20))
            assert answer is None or "error" in answer
        else:
            assert "error" in client.call("big", size=11 << 20)
        client.end()

    async with recording(tmp_path) as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        assert any("larger than 10 MiB" in problem for problem in boundary.problems)


async def test_ten_megabytes_both_ways_are_recorded(tmp_path: Path) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        client.hello()
        text = "x" * (9 << 20)
        assert said(client.call("echo", text=text)) == json.dumps({"text": text})
        client.leave()

    async with recording(tmp_path) as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        assert boundary.problems == ()


async def test_an_agent_that_kills_its_stand_in_leaves_no_server(tmp_path: Path) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        client.hello()
        client.send("tools/list")
        client.end()

    async with recording(tmp_path) as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        assert boundary.problems == ()
        assert servers() == []


@pytest.mark.parametrize("habit", ["stays", "deaf"])
async def test_a_server_that_stays_is_ended(tmp_path: Path, habit: str) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        client.send("initialize", HELLO)
        if habit == "stays":
            client.read()
        client.leave()

    async with recording(tmp_path, habit) as (_, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        begun = time.monotonic()
        await stdio.settle(20)
        assert time.monotonic() - begun < 9
        assert servers() == []


async def test_a_connection_that_the_recording_ended_is_ended_again(tmp_path: Path) -> None:
    async with recording(tmp_path) as (boundary, stdio):
        await anyio.to_thread.run_sync(conversation, stdio)
        await stdio.settle(10)
        lane = boundary.lane()
    first = lane.calls[0]
    broken = type(first)(1, None, first.method, first.params, Broken(None, "gone"), 0, 1)

    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        assert client.ask("initialize", HELLO) is None
        assert client.process.wait(30) == 1

    async with replaying(Lane("files", (broken,))) as (_, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)


async def test_leaving_ends_what_an_agent_left_open(tmp_path: Path) -> None:
    async with recording(tmp_path) as (_, stdio):
        client = Client(stdio)
        await anyio.to_thread.run_sync(client.hello)
    assert client.process.wait(30) == 1


async def test_a_server_ended_by_a_signal_is_told_so(tmp_path: Path) -> None:
    def converse(stdio: Stdio) -> None:
        client = Client(stdio)
        client.hello()
        for server in servers():
            server.send_signal(signal.SIGKILL)
        # It may be gone before this reaches it; then the stand-in has ended too.
        with contextlib.suppress(BrokenPipeError):
            answer = client.call("echo")
            assert answer is None or "error" in answer

    async with recording(tmp_path) as (boundary, stdio):
        await anyio.to_thread.run_sync(converse, stdio)
        await stdio.settle(10)
        assert any("ended by signal 9" in problem for problem in boundary.problems)
