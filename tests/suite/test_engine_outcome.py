"""What a run makes of what its workers answer, of those that are lost, and of tasks without end."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from flowproof.errors import ExitCode, WorldError
from flowproof.flow.job import World
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord, RunRecord
from flowproof.report.run_json import dump, load
from flowproof.suite.attempts import with_attempts
from flowproof.suite.engines import worker
from flowproof.suite.engines.dask import DaskEngine, DaskOptions
from flowproof.suite.engines.remote import Lost, Place, Ran
from flowproof.suite.engines.ship import Archive
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project
from flowproof.suite.records import run_record
from tests.suite.engine_tools import Flows
from tests.suite.test_engine_remote import FACTS, FakeCluster
from tests.suite.test_engine_ship import RUN


def record_text(**more: Any) -> str:
    """What a worker answers that ran the flow `a` of `add`."""
    facts: dict[str, Any] = {
        "name": "flow a",
        "path": "a.flow.yaml",
        "line": 1,
        "phase": "replay",
        "verdict": Verdict.PASS,
        "exit_code": ExitCode.PASSED,
        "duration": 1.0,
    }
    flow = FlowRecord(**facts | more)
    return dump(run_record(FACTS, [flow], 1.0, interrupted=False, allow_empty=True))


@dataclass
class Task:
    """A task that ends with an exception, a result, or (None) never."""

    ends: object
    cancelled: bool = False

    async def exception(self) -> object:
        if self.ends is None:
            await anyio.sleep_forever()
        return self.ends if isinstance(self.ends, BaseException) else None

    def __await__(self) -> Generator[Any, Any, object]:
        async def result() -> object:
            if callable(self.ends):
                return self.ends()
            return self.ends

        return result().__await__()

    async def cancel(self) -> None:
        self.cancelled = True

    def release(self) -> None:
        pass


@dataclass
class Running(FakeCluster):
    """Workers whose tasks end like this, one after the other; the first one has what it never
    ends, the others wait for `begins` looks before they begin."""

    ends: list[object] = field(default_factory=list)
    begins: int = 0
    asked: list[tuple[str, list[str] | None]] = field(default_factory=list)

    def submit(self, function: object, job: object, **more: Any) -> Task:
        self.asked.append((more["key"], more["workers"]))
        return Task(self.ends.pop(0))

    async def run(self, function: Callable[..., Any], *args: Any, **more: Any) -> dict[str, Any]:
        if function is worker.forget:
            return {}
        found = await super().run(function, *args, workers=more.get("workers"))
        if function is worker.describe and self.asked:
            self.begins -= 1
            if self.begins < 0:
                first = next(iter(found))
                running = frozenset({self.asked[-1][0]})
                found[first] = replace(found[first], host="h", executing=running)
        return found


def ran(folder: Path, cluster: FakeCluster, timeout: str = "100ms") -> RunRecord:
    """A run of one flow on these workers."""
    flows = Flows(folder)
    spec = flows.add("a", "pass", more=f"  timeout: {timeout}\n")

    @asynccontextmanager
    async def opened(
        planned: Sequence[PlannedFlow], project: Project, world: World
    ) -> AsyncIterator[DaskEngine]:
        options = DaskOptions("tcp://s:1", lambda available: 1, 0.5, margin=0.1, look=0.02)
        place = Place("0" * 64, RUN, None)
        archive = Archive("0" * 64, b"")
        engine = DaskEngine(cluster, project, world, folder, place, archive, options)
        await engine.begin()
        yield engine

    return flows.run(spec, engine=opened)


def unreadable() -> object:
    raise TypeError("cannot be unpickled")


NO = "answered nonsense"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        pytest.param(42, NO, id="a number"),
        pytest.param(Ran("w", cast("Any", 5)), NO, id="no text"),
        pytest.param(Ran("w", ""), NO, id="nothing"),
        pytest.param(Ran("w", '{"schema": "flowproof.run/9"}'), NO, id="another version"),
        pytest.param(Ran("w", record_text(path="b.flow.yaml")), "whose path is", id="path"),
        pytest.param(Ran("w", record_text(name="flow b")), "whose name is", id="name"),
        pytest.param(Ran("w", record_text(phase="record")), "whose phase is", id="phase"),
        pytest.param(
            Ran("w", record_text(verdict=Verdict.FAIL)), "it contradicts itself", id="fail with 0"
        ),
        pytest.param(unreadable, NO, id="no answer of ours"),
        pytest.param(RuntimeError("boom"), "failed on its worker.*RuntimeError: boom", id="raises"),
        pytest.param(PermissionError(13, "no"), "failed on its worker.*PermissionErr", id="system"),
        pytest.param(SystemExit(3), "failed on its worker.*SystemExit: 3", id="exit"),
        pytest.param(WorldError("no room"), "no room", id="an error of ours"),
    ],
)
def test_what_a_worker_answers_is_not_trusted(tmp_path: Path, end: object, reason: str) -> None:
    record = ran(tmp_path, Running({"a": "x"}, ends=[end]))
    [flow] = record.flows
    assert (flow.verdict, flow.exit_code) == (Verdict.ERROR, ExitCode.WORLD_ERROR)
    assert re.search(reason, flow.reason) and "cannot be reached" not in flow.reason
    assert flow.path == "a.flow.yaml" and record.exit_code is ExitCode.WORLD_ERROR


@pytest.mark.parametrize(
    ("more", "code"),
    [
        pytest.param({}, ExitCode.PASSED, id="pass"),
        pytest.param(
            {"verdict": Verdict.FAIL, "exit_code": ExitCode.FLOW_FAILED},
            ExitCode.FLOW_FAILED,
            id="fail",
        ),
        pytest.param(
            {"verdict": Verdict.ERROR, "exit_code": ExitCode.AUTHOR_ERROR, "name": "a"},
            ExitCode.AUTHOR_ERROR,
            id="not read there",
        ),
    ],
)
def test_what_a_worker_may_answer(tmp_path: Path, more: dict[str, Any], code: ExitCode) -> None:
    record = ran(tmp_path, Running({"a": "x"}, ends=[Ran("w", record_text(**more))]))
    assert record.exit_code is code
    assert (record.flows[0].attempts, record.flows[0].warnings) == ((), ())


def test_a_lost_worker_is_in_the_record(tmp_path: Path) -> None:
    cluster = Running({"w1": "x", "w2": "x"}, ends=[Lost("w1"), Ran("w2", record_text())])
    record = ran(tmp_path, cluster)
    [flow] = record.flows
    assert (flow.verdict, record.exit_code) == (Verdict.PASS, ExitCode.PASSED), "and not flaky"
    [lost] = flow.attempts
    assert (lost.verdict, lost.exit_code) == (Verdict.ERROR, ExitCode.WORLD_ERROR)
    assert re.match(r"its worker w1 was lost at 20\d\d-.*Z, after 0\.\d s", lost.reason)
    [warning] = flow.warnings
    assert warning.startswith(lost.reason) and "tried again" in warning


def test_a_task_that_never_ends_is_given_up(tmp_path: Path) -> None:
    cluster = Running({"w1": "x", "w2": "x"}, ends=[None, Ran("w2", record_text())])
    record = ran(tmp_path, cluster)
    assert record.exit_code is ExitCode.PASSED
    [lost] = record.flows[0].attempts
    assert lost.reason.startswith("its worker w1 on h was given up at ")
    assert [workers for _, workers in cluster.asked] == [None, ["w2"]]


def test_no_task_ends(tmp_path: Path) -> None:
    record = ran(tmp_path, Running({"w1": "x"}, ends=[None, None]))
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert "no worker of the cluster that ends what it runs" in record.flows[0].reason


def test_a_task_that_waits_for_a_worker_is_not_given_up(tmp_path: Path) -> None:
    @dataclass
    class Busy(Running):
        def submit(self, function: object, job: object, **more: Any) -> Task:
            task = super().submit(function, job, **more)
            task.exception = self.later  # type: ignore[method-assign]
            return task

        async def later(self) -> None:
            while self.begins > 0:  # noqa: ASYNC110
                await anyio.sleep(0.001)

    cluster = Busy({"w1": "x"}, ends=[Ran("w1", record_text())], begins=20)
    record = ran(tmp_path, cluster)
    assert (record.exit_code, len(cluster.asked)) == (ExitCode.PASSED, 1)
    assert record.duration > 0.2 + 0.1, "longer than its own time and the margin"


def test_a_lost_worker_and_a_flaky_flow() -> None:
    lost = AttemptRecord(Verdict.ERROR, ExitCode.WORLD_ERROR, 1.0, "lost")
    failed = {"verdict": Verdict.FAIL, "exit_code": ExitCode.FLOW_FAILED, "reason": "wrong"}
    [first] = load(record_text(**failed, attempts=(lost,))).flows
    [last] = load(record_text()).flows
    flow = with_attempts(last, [first])
    assert (flow.verdict, [one.reason for one in flow.attempts]) == (
        Verdict.FLAKY,
        ["lost", "wrong"],
    )
