"""Specs, traces and a driver without a process: its agent speaks HTTP from a thread."""

from __future__ import annotations

import contextlib
import http.client
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from flowproof.drivers.interface import Driver, Launch
from flowproof.flow.job import FlowJob, World
from flowproof.flow.run import run_flow
from flowproof.model.agent_exit import AgentExit, Captured
from flowproof.model.jsonvalue import parse
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord
from flowproof.model.turn import Operation, Response, Turn
from flowproof.spec.flow import load_flow
from flowproof.trace.document import RecordedMock, Trace
from flowproof.trace.file import write_trace

CHAT = Operation("openai.chat", "/chat/completions")
NOTHING = Captured("", 0)

SPEC = """\
name: Greeter
app: agent
agent: {command: greet}
steps:
  - prompt: Say hello
  - assert: reply contains Hello
"""


def ended(status: int | None = 0, **more: Any) -> AgentExit:
    """How an agent ended that printed nothing."""
    facts = {"timed_out": False, "duration": 0.5, "stdout": NOTHING, "stderr": NOTHING, **more}
    return AgentExit(status=status, **facts)


def asking(*contents: str, **more: Any) -> dict[str, Any]:
    """A chat request whose messages alternate between user and assistant."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(contents)]
    return {"model": "gpt-4o", "messages": messages, **more}


def saying(content: str | None, **message: Any) -> dict[str, Any]:
    """A chat completion with one choice."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-4o",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": "stop",
            }
        ],
    }


def calling(*named: str, arguments: str = "{}") -> dict[str, Any]:
    """A chat completion that calls tools."""
    calls = [
        {
            "id": f"call_{name}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for name in named
    ]
    return saying(None, tool_calls=calls)


def turn(request: Any, answer: Any, status: int = 200) -> Turn:
    """A recorded turn."""
    return Turn(CHAT, parse(json.dumps(request)), Response(status, parse(json.dumps(answer))))


def trace(*turns: Turn, mocks: Mapping[str, RecordedMock] | None = None) -> Trace:
    """A recording of these turns."""
    return Trace(
        flowproof="0.1.0",
        recorded="2026-11-30T09:00:00Z",
        spec_name="Greeter",
        spec_file="a.flow.yaml",
        spec_sha256="ab" * 32,
        driver="command",
        platform="linux-x86_64",
        containment="not contained",
        turns=turns,
        mocks=mocks or {},
    )


def job(
    folder: Path,
    spec: str = SPEC,
    *turns: Turn,
    phase: Phase = "replay",
    mocks: Mapping[str, RecordedMock] | None = None,
    suite_env: Mapping[str, str] | None = None,
    strict: bool = False,
) -> FlowJob:
    """The job of a spec in a folder, beside a trace if there are turns."""
    path = folder / "a.flow.yaml"
    path.write_text(textwrap.dedent(spec), "utf-8")
    if turns:
        write_trace(folder / "a.trace.json", trace(*turns, mocks=mocks))
    return FlowJob(
        spec=load_flow(path, shown="a.flow.yaml"),
        spec_path=path,
        trace_path=folder / "a.trace.json",
        folder=folder,
        working_folder=folder,
        phase=phase,
        suite_env=suite_env or {},
        strict=strict,
    )


class Clock:
    """Always the same instant; each look at the seconds is one second later."""

    def __init__(self) -> None:
        self._seconds = count()

    def now(self) -> datetime:
        return datetime(2026, 11, 30, 9, 0, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return float(next(self._seconds))


@dataclass(frozen=True, slots=True)
class Agent:
    """What stands for the agent: told its launch, it says how it ended."""

    act: Callable[[Launch], AgentExit]
    launches: list[Launch] = field(default_factory=list)

    async def run(self, launch: Launch) -> AgentExit:
        self.launches.append(launch)
        return await anyio.to_thread.run_sync(self.act, launch, abandon_on_cancel=True)


def asks(*requests: Any, status: int = 0, path: str = "/chat/completions") -> Agent:
    """An agent that sends these requests, one after another, to the base URL it is told."""

    def act(launch: Launch) -> AgentExit:
        for request in requests:
            send(launch.env["OPENAI_BASE_URL"] + path, request)
        return ended(status)

    return Agent(act)


def send(url: str, body: Any) -> tuple[int, Any]:
    """POST a JSON body; status and JSON answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", parts.path, json.dumps(body).encode())
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def world(
    driver: Driver, environ: Mapping[str, str] | None = None, *, debug: bool = False
) -> World:
    """A world of its own."""
    return World(Clock(), environ or {}, driver, in_flight_grace=1.0, debug=debug)


def run(
    job: FlowJob,
    driver: Driver,
    environ: Mapping[str, str] | None = None,
    *,
    debug: bool = False,
) -> FlowRecord:
    """Run one flow to its record."""
    return anyio.run(run_flow, job, world(driver, environ, debug=debug))


def states(record: FlowRecord) -> Sequence[tuple[str, str]]:
    """Each task with how it ended, in order."""
    return [(task.id, task.state.value) for task in record.tasks]
