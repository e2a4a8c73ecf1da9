"""What travels to a worker and what does not, and what a run makes of the workers it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pydoc import locate
from typing import Any

import anyio
import psutil
import pytest

from flowproof.boundary.keys import PLACEHOLDER_KEY
from flowproof.errors import WorldError
from flowproof.suite.engines import worker
from flowproof.suite.engines.dask import DaskEngine, DaskOptions
from flowproof.suite.engines.remote import (
    Lost,
    NoProject,
    OtherVersion,
    Place,
    RemoteJob,
    on_worker,
    travelling,
    without_keys,
)
from flowproof.suite.engines.ship import Archive
from flowproof.suite.engines.store import Store
from flowproof.suite.engines.worker import Facts
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.records import RunFacts
from flowproof.version import __version__
from tests.flow.support import asks, world
from tests.suite.engine_tools import Flows
from tests.suite.test_engine_ship import RUN, project_archive
from tests.suite.test_run import HELLO, add

FACTS = RunFacts("id", "s", "suite run", "replay", "2026-11-30T09:00:00Z", True)
KEY = "sk-a-real-key-0123456789"
SETTINGS = dict.fromkeys(
    ("FLOWPROOF_CONNECT_TIMEOUT", "FLOWPROOF_IDLE_TIMEOUT", "FLOWPROOF_MAX_BODY")
)


def test_only_what_is_named_travels_and_no_key_does(tmp_path: Path) -> None:
    spec = add(tmp_path, "a", more="skip_unless_env: [FLAG]\n", reply="${EXPECTED} ${UNSET}")
    (tmp_path / "suite.yaml").write_text("name: s\nenv: {BASE: '${HOST}/x'}\n", "utf-8")
    job = Project(tmp_path, JobOptions("replay")).job(spec)
    environ = {
        "EXPECTED": f"Hello {KEY}",
        "HOST": "h",
        "FLAG": "1",
        "OPENAI_API_KEY": KEY,
        "PATH": "/bin",
        "OTHER": "no",
    }
    found = travelling(job, environ)
    assert found == {
        **SETTINGS,
        "EXPECTED": f"Hello {PLACEHOLDER_KEY}",
        "UNSET": None,
        "HOST": "h",
        "FLAG": "1",
    }


def test_a_key_that_a_spec_names_is_a_placeholder(tmp_path: Path) -> None:
    spec = add(tmp_path, "a", reply="${OPENAI_API_KEY}")
    job = Project(tmp_path, JobOptions("replay")).job(spec)
    assert travelling(job, {"OPENAI_API_KEY": KEY})["OPENAI_API_KEY"] == PLACEHOLDER_KEY
    assert travelling(job, {})["OPENAI_API_KEY"] is None


def test_what_was_minted_travels_without_keys() -> None:
    minted = {"TOKEN": "t", "OPENAI_API_KEY": KEY, "COPY": KEY}
    found = without_keys(minted, {})
    assert found == {"TOKEN": "t", "OPENAI_API_KEY": PLACEHOLDER_KEY, "COPY": PLACEHOLDER_KEY}


def test_the_environment_of_a_flow_on_a_worker() -> None:
    own = {"PATH": "/there", "DASK_X": "1", "NAMED": "there", "UNSET": "there"}
    travelled = {"NAMED": "here", "UNSET": None, "NEW": "here"}
    assert on_worker(own, travelled) == {"PATH": "/there", "NAMED": "here", "NEW": "here"}


def job_of(place: Place, **more: Any) -> RemoteJob:
    facts: dict[str, Any] = {
        "flowproof": __version__,
        "place": place,
        "here": ".",
        "spec": "a.flow.yaml",
        "trace": "a.trace.json",
        "phase": "replay",
        "strict": False,
        "timeout": None,
        "debug": False,
        "environ": {"TOKEN": "s3cret"},
        "minted": {".": {"MINTED": "s3cret"}},
    }
    return RemoteJob(**facts | more)


def test_no_text_shows_the_values_of_a_job() -> None:
    job = job_of(Place("0" * 64, RUN, None))
    assert "s3cret" not in repr(job) and "s3cret" not in str(job)


def test_a_worker_says_why_it_cannot_run_a_flow(tmp_path: Path) -> None:
    job = job_of(Place("0" * 64, RUN, str(tmp_path / "s")))

    def asked(job: RemoteJob, wanted: bool = True) -> object:
        return worker.run_as("key", "tcp://w:1", lambda: wanted, job)

    assert asked(job) == NoProject("tcp://w:1")
    other = job_of(job.place, flowproof="0.0.1")
    assert asked(other) == OtherVersion("tcp://w:1", __version__)
    flows = Flows(tmp_path / "p")
    flows.folder.mkdir()
    flows.add("a", "pass")
    archive = project_archive(flows.folder)
    Store(tmp_path / "s").keep(archive.digest, archive.data)
    there = job_of(Place(archive.digest, RUN, str(tmp_path / "s")))
    before = psutil.Process().children()
    for _ in range(2):
        assert asked(there, wanted=False) == Lost("tcp://w:1")
        assert len(psutil.Process().children()) == len(before) + 1, "ready for all flows"
    anyio.run(worker.forget, there.place)
    assert psutil.Process().children() == before


@dataclass
class FakeCluster:
    """Workers by address with where they keep projects, and what they were sent."""

    stores: Mapping[str, str]
    versions: Mapping[str, object] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    forgetful: bool = False
    kept: list[str] = field(default_factory=list)
    has: set[str] = field(default_factory=set)

    async def wait_for_workers(self, count: int, seconds: float) -> None:
        if len(self.stores) < count:
            raise TimeoutError

    async def run(
        self, function: Callable[..., Any], *args: Any, workers: list[str] | None = None
    ) -> dict[str, Any]:
        asked = list(self.stores) if workers is None else workers
        if function is locate:
            return {one: self.versions.get(one, __version__) for one in asked}
        if function is worker.describe:
            return {
                one: Facts(2, self.labels, self.stores[one], self.stores[one] in self.has)
                for one in asked
            }
        assert function is worker.keep
        self.kept += asked
        if not self.forgetful:
            self.has |= {self.stores[one] for one in asked}
        return dict.fromkeys(asked)


def begun(folder: Path, cluster: FakeCluster, slots: int = 99) -> DaskEngine:
    options = DaskOptions("tcp://s:1", lambda available: slots, patience=0.1)
    engine = DaskEngine(
        cluster,
        Project(folder, JobOptions("replay")),
        world(asks(HELLO)),
        folder,
        Place("0" * 64, RUN, None),
        Archive("0" * 64, b""),
        options,
    )
    anyio.run(engine.begin)
    return engine


def test_the_project_is_sent_once_to_workers_that_share_a_folder(tmp_path: Path) -> None:
    cluster = FakeCluster({"a": "one", "b": "one", "c": "two"})
    assert begun(tmp_path, cluster).slots == 6
    assert sorted(cluster.kept) in (["a", "c"], ["b", "c"])
    begun(tmp_path, cluster)
    assert len(cluster.kept) == 2, "the second run finds it there"


def test_no_more_at_once_than_asked_for(tmp_path: Path) -> None:
    assert begun(tmp_path, FakeCluster({"a": "one", "b": "two"}), slots=3).slots == 3


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        pytest.param(FakeCluster({}), "no worker joined the Dask cluster within 0.1 s", id="none"),
        pytest.param(
            FakeCluster({"a": "x", "b": "y"}, {"b": "0.0.1"}),
            f"the worker b has flowproof 0.0.1, and this is flowproof {__version__}",
            id="other version",
        ),
        pytest.param(
            FakeCluster({"a": "x"}, {"a": None}), "the worker a has no flowproof", id="none there"
        ),
        pytest.param(
            FakeCluster({"a": "x"}, forgetful=True), "does not stay on a", id="does not keep"
        ),
    ],
)
def test_workers_that_cannot_run_flows(tmp_path: Path, cluster: FakeCluster, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        begun(tmp_path, cluster)
