"""Flows on the processes of a real cluster: they end as they do here, whatever becomes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from dask import config as dask_config
from distributed import LocalCluster

from flowproof.errors import ExitCode, WorldError
from flowproof.suite.plan import PlanOptions
from flowproof.suite.run import Interrupt
from tests.suite.engine_tools import Flows, dask
from tests.suite.test_run import verdicts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


COMMAND = [sys.executable, "-m", "flowproof", "suite", "run"]


@pytest.fixture(scope="module", autouse=True)
def no_servers_left() -> Iterator[None]:
    """End what forks workers: it outlives their cluster, and other tests count processes."""
    yield
    left: tuple[Any, ...] = (forkserver._forkserver, resource_tracker._resource_tracker)
    for server in left:
        server._stop()


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for(happened: Callable[[], bool]) -> None:
    for _ in range(600):
        if happened():
            return
        time.sleep(0.05)
    raise TimeoutError


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of a cluster, which is gone at the end."""
    env = {**os.environ, "FLOWPROOF_CACHE": str(folder / "cache")}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, env=env, stdout=quiet, stderr=quiet) as process:
        try:
            yield process
        finally:
            process.terminate()


async def until_written(path: Path) -> None:
    while not path.exists() or not path.read_text("utf-8"):  # noqa: ASYNC110, ASYNC240
        await anyio.sleep(0.02)


def test_flows_end_as_they_do_in_one_process(tmp_path: Path) -> None:
    flows = Flows(tmp_path, {"NAME": "Hello", "OPENAI_API_KEY": "sk-real-key-of-the-user"})
    (tmp_path / "suite.yaml").write_text(
        "name: s\nenv_from: echo MINTED=Hello\n"
        "flows: {a.flow.yaml: {resources: [db]}, b.flow.yaml: {needs: [a.flow.yaml]}}\n",
        "utf-8",
    )
    specs = [
        flows.add("a", "pass"),
        flows.add("b", "pass", reply="Bye"),
        flows.add("c", "stray"),
        flows.add("d", "crash"),
        flows.add("e", "pass", reply="${UNSET_HERE}"),
        flows.add("f", "pass", traced=False),
        flows.add("g", "pass", reply="${MINTED}"),
        flows.add(
            "h",
            *("tell", "GIVEN", "OPENAI_API_KEY", "UNNAMED"),
            more="  env: {GIVEN: '${NAME}'}\n",
        ),
    ]
    here = flows.run(*specs, jobs=2)
    there = flows.run(*specs, engine=dask(2))
    assert verdicts(here) == ["pass", "fail", "fail", "fail", "error", "error", "pass", "pass"]
    for one, other in zip(here.flows, there.flows, strict=True):
        assert (one.name, one.path, one.verdict, one.exit_code) == (
            other.name,
            other.path,
            other.verdict,
            other.exit_code,
        )
        assert one.reason == other.reason
        assert one.assertions == other.assertions
        assert (one.spec, one.trace) == (other.spec, other.trace)
        assert one.host == "" and "tcp://127.0.0.1:" in other.host
    assert here.exit_code == there.exit_code == ExitCode.AUTHOR_ERROR
    assert {flow.slot for flow in there.flows} == {1, 2}
    for record in (here, there):
        agent = record.flows[-1].agent
        assert agent is not None
        told = json.loads(agent.stdout.text)
        assert (told["GIVEN"], told["UNNAMED"]) == ("Hello", None)
        assert "real-key" not in told["OPENAI_API_KEY"]
    assert not (tmp_path / "left.txt").exists()


@pytest.mark.parametrize(
    ("kills", "verdict", "code"),
    [
        pytest.param(1, "pass", ExitCode.PASSED, id="once"),
        pytest.param(9, "error", ExitCode.WORLD_ERROR, id="again"),
    ],
)
def test_a_flow_whose_worker_is_killed(
    tmp_path: Path, kills: int, verdict: str, code: ExitCode
) -> None:
    mark = tmp_path / "mark"
    flows = Flows(tmp_path, {"MARK": str(mark)})
    spec = flows.add("a", "kill", "${MARK}", str(kills))
    other = flows.add("b", "pass")
    record = flows.run(spec, other, engine=dask(2))
    assert verdicts(record) == [verdict, "pass"]
    assert record.exit_code is code
    assert len(mark.read_text("utf-8")) == min(kills, 2)
    [lost] = record.flows[0].attempts
    assert lost.reason.startswith("its worker tcp://127.0.0.1:")
    assert record.flows[0].warnings[0].startswith(lost.reason)
    if verdict == "error":
        assert record.flows[0].reason.startswith("its worker was lost 2 times while it ran")
    assert (record.flows[1].attempts, record.flows[1].warnings) == ((), ())


def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    flows = Flows(tmp_path, {"MARK": str(mark)})
    specs = [flows.add("a", "hang", "${MARK}"), flows.add("b", "pass")]

    async def meanwhile(interrupt: Interrupt) -> None:
        await until_written(mark)
        interrupt.request()

    record = flows.run(*specs, engine=dask(1), meanwhile=meanwhile)
    assert verdicts(record) == ["error", "skipped"]
    assert record.flows[0].reason == "interrupted while it ran"
    # Its worker tells nothing more of it.
    assert record.flows[0].started and record.flows[0].duration > 0
    assert record.exit_code is ExitCode.INTERRUPTED
    assert gone(int(mark.read_text("utf-8")))


@pytest.mark.parametrize("seconds", [0.0, 0.15])
def test_an_interrupt_before_the_cluster_is_there(tmp_path: Path, seconds: float) -> None:
    flows = Flows(tmp_path)

    async def meanwhile(interrupt: Interrupt) -> None:
        await anyio.sleep(seconds)
        interrupt.request()

    record = flows.run(flows.add("a", "pass"), engine=dask(1), meanwhile=meanwhile)
    assert verdicts(record) in (["skipped"], ["error"]), "the second, if the cluster was fast"
    assert record.exit_code is ExitCode.INTERRUPTED


def test_the_time_of_the_whole_run_ends(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    flows = Flows(tmp_path, {"MARK": str(mark)})
    spec = flows.add("a", "hang", "${MARK}")
    record = flows.run(spec, engine=dask(1), global_timeout=8.0)
    assert (verdicts(record), record.exit_code) == (["error"], ExitCode.WORLD_ERROR)
    assert gone(int(mark.read_text("utf-8")))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a scheduler with one worker, and where that keeps projects."""
    folder = tmp_path_factory.mktemp("cluster")
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        dashboard_address=None,
        memory_limit=0,
        local_directory=str(folder),
        resources={"gpu": 1},
        env={"FLOWPROOF_CACHE": str(folder / "cache")},
    ) as cluster:
        yield cluster.scheduler_address, folder / "cache"


def test_a_project_is_sent_once(tmp_path: Path, cluster: tuple[str, Path]) -> None:
    address, cache = cluster
    flows = Flows(tmp_path)
    (tmp_path / "suite.yaml").write_text(
        "name: s\nflows: {a.flow.yaml: {resources: [gpu, db]}}\n", "utf-8"
    )
    specs = [flows.add("a", "pass"), flows.add("b", "leave")]
    engine = dask(9, address)
    assert verdicts(flows.run(*specs, engine=engine)) == ["pass", "pass"]
    [archive] = cache.glob("*.tar.gz")
    kept = archive.stat().st_ino
    again = flows.run(*specs, engine=engine, planned=PlanOptions(repeat=2))
    assert verdicts(again) == ["pass"] * 4
    assert [path.stat().st_ino for path in cache.glob("*.tar.gz")] == [kept]
    assert {flow.slot for flow in again.flows} <= {1, 2}
    (tmp_path / "more.txt").write_text("x", "utf-8")
    flows.run(*specs, engine=engine)
    assert len(list(cache.glob("*.tar.gz"))) == 2
    assert list((cache / "runs").iterdir()) == []
    assert not (tmp_path / "left.txt").exists()


def test_a_scheduler_that_dies_costs_its_flows_alone(tmp_path: Path) -> None:
    mark, place = tmp_path / "mark", tmp_path / "scheduler.json"
    flows = Flows(tmp_path, {"MARK": str(mark)})
    specs = [flows.add("a", "hang", "${MARK}"), flows.add("b", "pass")]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    command += ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place)]
    with started(command, tmp_path) as scheduler:
        wait_for(place.exists)
        address = json.loads(place.read_text("utf-8"))["address"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
        with started([*worker, "--nworkers", "1", "--nthreads", "1"], tmp_path):

            async def kill(interrupt: Interrupt) -> None:
                await until_written(mark)
                scheduler.kill()

            with dask_config.set({"distributed.comm.timeouts.connect": "3s"}):
                record = flows.run(*specs, engine=dask(1, address), meanwhile=kill)
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert set(verdicts(record)) <= {"error", "pass"}
    cut = record.flows[0]
    assert (cut.verdict, cut.exit_code) == ("error", ExitCode.WORLD_ERROR)
    assert cut.duration > 0
    wait_for(lambda: gone(int(mark.read_text("utf-8"))))


def test_a_runner_that_is_killed_leaves_no_agent(tmp_path: Path, cluster: tuple[str, Path]) -> None:
    mark = tmp_path / "mark"
    flows = Flows(tmp_path)
    flows.add("a", "hang", str(mark))
    command = [sys.executable, "-m", "flowproof", "suite", "run", "--no-reports"]
    runner = subprocess.Popen(
        [*command, "--engine", "dask", "--scheduler", cluster[0]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with runner:

        async def main() -> bool:
            with anyio.fail_after(30):
                await until_written(mark)
            pid = int(mark.read_text("utf-8"))
            assert not gone(pid)
            runner.kill()
            with anyio.move_on_after(20):
                while not gone(pid):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            return gone(pid)

        assert anyio.run(main)


def test_nobody_answers(tmp_path: Path) -> None:
    flows = Flows(tmp_path)
    spec = flows.add("a", "pass")
    engine = dask(1, "tcp://127.0.0.1:1", patience=1.0)
    with pytest.raises(ExceptionGroup) as raised:
        flows.run(spec, engine=engine)
    [error] = raised.value.exceptions
    assert isinstance(error, WorldError)
    assert str(error).startswith("no Dask scheduler answers at tcp://127.0.0.1:1: ")


def test_a_port_that_is_none(tmp_path: Path) -> None:
    Flows(tmp_path).add("a", "pass")
    done = subprocess.run(
        [*COMMAND, "--no-reports", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:99999"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == ExitCode.AUTHOR_ERROR
    assert "'99999' is no port" in done.stderr


def test_ctrl_c_in_a_terminal(tmp_path: Path) -> None:
    """A terminal signals every process of the group, the workers among them."""
    mark = tmp_path / "mark"
    Flows(tmp_path).add("a", "hang", str(mark))
    runner = subprocess.Popen(
        [sys.executable, "-m", "flowproof", "suite", "run", "--engine", "dask", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with runner:

        async def wait() -> None:
            with anyio.fail_after(30):
                await until_written(mark)

        anyio.run(wait)
        os.killpg(runner.pid, signal.SIGINT)
        out, err = runner.communicate(timeout=40)
        assert runner.returncode == ExitCode.INTERRUPTED
        assert "Traceback" not in err
        assert json.loads(out)["flows"][0]["reason"] == "interrupted while it ran"
        assert gone(int(mark.read_text("utf-8")))
        assert (tmp_path / "reports" / "run.json").exists()


def test_no_key_is_in_the_environment_of_a_worker(tmp_path: Path) -> None:
    Flows(tmp_path).add("a", "peek")
    done = subprocess.run(
        [sys.executable, "-m", "flowproof", "suite", "run", "--engine", "dask", "--json"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OPENAI_API_KEY": "sk-the-real-key",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    [flow] = json.loads(done.stdout)["flows"]
    assert flow["agent"]["stdout"]["text"] == "False\n"
