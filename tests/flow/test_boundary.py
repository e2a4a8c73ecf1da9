"""The port of a flow is read to its end before anything is judged."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from flowproof.boundary.http1 import Reply, Request
from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.flow.boundary import Port, listening
from flowproof.flow.job import World
from flowproof.flow.run import run_flow
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord
from tests.flow.support import SPEC, Agent, Clock, asking, ended, job, run, saying, send, turn
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script, chat, completion

HELLO = asking("Say hello")
TURN = turn(HELLO, saying("Hello"))
POST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%s"


def posted(body: Any) -> bytes:
    data = json.dumps(body).encode()
    return POST % (len(data), data)


LEAVES = """
import os, socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(sys.stdin.buffer.read())
os._exit(0)
"""


def sent_and_gone(url: str, data: bytes) -> None:
    """Send from a process that does not wait for an answer; it is gone afterwards."""
    command = [sys.executable, "-S", "-c", LEAVES, str(urlsplit(url).port)]
    assert subprocess.run(command, input=data, check=False).returncode == 0


def last_words(data: bytes) -> Agent:
    """An agent that does what was recorded, and one thing more before it is gone."""

    def act(launch: Launch) -> AgentExit:
        url = launch.env["OPENAI_BASE_URL"]
        send(url + "/chat/completions", HELLO)
        sent_and_gone(url, data)
        return ended()

    return Agent(act)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(posted(asking("Buy it")), "extra call", id="small"),
        pytest.param(posted(asking("Buy it" * 500_000)), "extra call", id="3 MB"),
        pytest.param(posted(HELLO)[:-1], "request", id="broken off"),
        pytest.param(b"\x16\x03\x01\x02", "request", id="TLS"),
    ],
)
def test_a_last_call_that_nobody_waits_for_is_seen(tmp_path: Path, data: bytes, kind: str) -> None:
    for _ in range(3):
        record = run(job(tmp_path, SPEC, TURN), last_words(data))
        assert (record.verdict, record.exit_code) == (Verdict.FAIL, ExitCode.FLOW_FAILED)
        assert record.divergence is not None
        assert record.divergence.kind in (kind, "repeated call")
        assert record.traffic.requests == 2


def test_a_connection_without_a_byte_is_nothing(tmp_path: Path) -> None:
    assert run(job(tmp_path, SPEC, TURN), last_words(b"")).verdict is Verdict.PASS


def test_what_arrived_in_place_of_a_request_is_the_diagnosis(tmp_path: Path) -> None:
    def act(launch: Launch) -> AgentExit:
        sent_and_gone(launch.env["OPENAI_BASE_URL"], b"\x16\x03\x01\x02\x00")
        return ended(1)

    record = run(job(tmp_path, SPEC, TURN), Agent(act))
    assert record.reason == "flowproof's proxy received a TLS handshake (is the base URL https?)"


ENVIRON = {"FLOWPROOF_AGENT_KEY": "sk-key-0001"}


def test_a_last_call_is_recorded_though_nobody_waits_for_it(tmp_path: Path) -> None:
    with FakeUpstream(chat(completion("Hello"), completion("Hello again"))) as upstream:
        record = run(
            job(tmp_path, phase="record"),
            last_words(posted(asking("Buy it"))),
            {**ENVIRON, "FLOWPROOF_AGENT_UPSTREAM": upstream.url},
        )
    assert record.verdict is Verdict.PASS
    assert (record.traffic.requests, record.traffic.recorded) == (2, 2)


def test_after_a_timeout_no_answer_on_its_way_is_waited_for(tmp_path: Path) -> None:
    def act(launch: Launch) -> AgentExit:
        sent_and_gone(launch.env["OPENAI_BASE_URL"], posted(HELLO))
        assert arrived.wait(10)
        return ended(-signal.SIGKILL, timed_out=True)

    arrived = threading.Event()
    script: Script = [up.Signal(arrived), up.Silence()]

    async def main(environ: dict[str, str]) -> FlowRecord:
        patient = World(Clock(), environ, Agent(act), in_flight_grace=600.0)
        with anyio.fail_after(20):
            return await run_flow(job(tmp_path, phase="record"), patient)

    with FakeUpstream(up.scripted(script)) as upstream:
        record = anyio.run(main, {**ENVIRON, "FLOWPROOF_AGENT_UPSTREAM": upstream.url})
    assert record.verdict is Verdict.FAIL
    assert "still running" in record.reason


@contextlib.asynccontextmanager
async def served(heard: list[bytes]) -> AsyncIterator[Port]:
    async def handler(request: Request, reply: Reply) -> None:
        heard.append(request.body)
        await reply.send(200, [], b"")

    async with listening(0) as port:
        port.group.start_soon(port.serve, handler, lambda message: None, 1_000_000)
        yield port


def connected(port: Port) -> socket.socket:
    return socket.create_connection(port.listener.getsockname(), timeout=10)


def test_a_drained_port_has_accepted_and_read_everything() -> None:
    async def main() -> None:
        heard: list[bytes] = []
        async with served(heard) as port:
            for number in range(100):
                with connected(port) as client:
                    client.sendall(POST % (3, b"%03d" % number))
            assert heard == []
            await port.drain(answered=True, within=10)
            assert sorted(heard) == [b"%03d" % number for number in range(100)]

    anyio.run(main)


def test_a_connection_that_stays_open_is_waited_for_no_longer_than_said() -> None:
    async def main() -> None:
        async with served([]) as port:
            with connected(port) as client:
                client.sendall(POST % (1, b"x"))
                with anyio.fail_after(5):
                    begun = anyio.current_time()
                    await port.drain(answered=True, within=0.3)
                    assert 0.25 < anyio.current_time() - begun < 3

    anyio.run(main)


def test_a_request_being_answered_is_waited_for_only_where_answers_matter() -> None:
    async def main() -> None:
        go, entered = anyio.Event(), anyio.Event()

        async def handler(request: Request, reply: Reply) -> None:
            entered.set()
            await go.wait()
            await reply.send(200, [], b"")

        async with listening(0) as port:
            port.group.start_soon(port.serve, handler, lambda message: None, 1000)
            with connected(port) as client:
                client.sendall(POST % (1, b"x"))
            with anyio.fail_after(5):
                await entered.wait()
                await port.drain(answered=False, within=60)
                with anyio.move_on_after(0.2) as waiting:
                    await port.drain(answered=True, within=60)
                assert waiting.cancelled_caught
                go.set()
                await port.drain(answered=True, within=60)

    anyio.run(main)


def test_a_port_that_nobody_serves_does_not_stall() -> None:
    async def main() -> None:
        async with listening(0) as port:
            with anyio.fail_after(5):
                await port.drain(answered=True, within=60)
                with connected(port):
                    await port.drain(answered=True, within=0.1)

    anyio.run(main)
