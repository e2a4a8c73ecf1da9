"""Takes out of a real run record what differs from run to run, so that reports of it can be
committed: times become made-up ones, the machine and the repository those of an invented company.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from flowproof.flow.agent_environment import Handles, agent_environment
from flowproof.model.origin import Origin, Source
from flowproof.model.run_record import FlowRecord, RunRecord, TaskRecord

STARTED = "2026-12-01T09:30:00Z"
SLOTS = 2
_MINUTE = STARTED.removesuffix("00Z")

_AGENTS = (1.42, 0.63, 2.87, 0.48, 1.11)
"""How long agents took, in seconds, one flow after another and then again."""
_BRIEF = {"resolve_env": 0.0004, "read_trace": 0.0011, "check": 0.0042, "report": 0.0013}
_SETUP = 0.0021
_GAP = 0.0002

_MACHINE = frozenset({"CI", "HOME", "LANG", "PATH"})
"""The variables of the invented machine."""
_OURS = frozenset(agent_environment({}, Handles("http://127.0.0.1:1/v1", {}), "", {}))
"""Those that flowproof gives to every agent."""

ORIGIN = Origin(
    actor="casey",
    trigger="push",
    ci="GitHub Actions",
    url="https://ci.example/savanna-air/assistant/runs/1042",
    system="Debian GNU/Linux 12 (bookworm)",
    kernel="Linux 6.1.0",
    # With a made-up one, `report verify` would say that another build wrote the sample.
    distribution="",
)
SOURCE = Source(
    repository="https://git.example/savanna-air/assistant.git",
    commit=hashlib.sha256(b"a commit").hexdigest()[:40],
    branch="main",
    changed=False,
)


def frozen(record: RunRecord) -> RunRecord:
    """The same run, as if it had taken place at one certain time and place.

    What flows did, said and read stays as it is, and so do the digests of files. Flows run one
    after another on `SLOTS` slots, as soon as one of these is free.
    """
    free, flows = [0.0] * SLOTS, list[FlowRecord]()
    for number, flow in enumerate(record.flows):
        slot = min(range(SLOTS), key=free.__getitem__)
        flow = _flow(flow, _AGENTS[number % len(_AGENTS)], free[slot])
        # The third one takes longer than it used to.
        usual = flow.duration * (0.4 if number % 3 == 2 else 1)
        flows.append(replace(flow, slot=slot + 1, usual=_rounded(usual)))
        free[slot] = _rounded(free[slot] + flow.duration + 0.001)
    return replace(
        record,
        id="20261201T093000Z-5a3c0d",
        started=STARTED,
        duration=_rounded(max(free) + 0.02),
        python="3.12.8",
        platform="linux-x86_64",
        host="builder-7",
        slots=SLOTS,
        flows=tuple(flows),
        origin=ORIGIN,
        source=SOURCE,
    )


def _flow(flow: FlowRecord, agent: float, offset: float) -> FlowRecord:
    tasks = _tasks(flow.tasks, agent)
    ends = [(task.started or 0) + (task.duration or 0) for task in tasks]
    return replace(
        flow,
        started=f"{_MINUTE}{int(offset):02}Z",
        duration=_rounded(max(ends, default=agent) + _GAP),
        offset=_rounded(offset),
        host="",
        agent=flow.agent and replace(flow.agent, duration=agent),
        environment=tuple(sorted(_MACHINE | (_OURS & frozenset(flow.environment)))),
        tasks=tasks,
    )


def _tasks(tasks: Sequence[TaskRecord], agent: float) -> tuple[TaskRecord, ...]:
    """Each as soon as what it needs is there. Those that start something stay until the last
    task that needs them has ended."""
    began, ready, ended = dict[str, float](), dict[str, float](), dict[str, float]()
    for task in tasks:
        began[task.id] = max((ready[one] for one in task.needs), default=0.0) + _GAP
        seconds = agent + 0.012 if task.id == "launch_agent" else _BRIEF.get(task.id, 0.0003)
        if task.id.startswith("start_"):
            seconds = _SETUP
        ready[task.id] = ended[task.id] = began[task.id] + seconds
        for one in task.needs:
            if one.startswith("start_"):
                ended[one] = max(ended[one], ended[task.id] + _GAP)
    return tuple(
        replace(
            task,
            started=_rounded(began[task.id]),
            duration=_rounded(ended[task.id] - began[task.id]),
        )
        for task in tasks
    )


def _rounded(seconds: float) -> float:
    return round(seconds, 4)
