"""One flow as plain data, on its way to a worker, and what the worker answers.

`dask` makes jobs and `worker` runs them. A job holds no real key, and no text shows its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from flowproof.boundary.keys import PLACEHOLDER_KEY
from flowproof.errors import RunRecordUnreadable, WorldError
from flowproof.flow.agent_environment import key_remover
from flowproof.flow.job import FlowJob, relative
from flowproof.flow.providers import KEY_VARIABLES
from flowproof.flow.settings import CONNECT_TIMEOUT, IDLE_TIMEOUT, MAX_BODY
from flowproof.model.phase import Phase
from flowproof.model.run_record import AttemptRecord, FlowRecord
from flowproof.report.run_json import load
from flowproof.report.text import one_line
from flowproof.spec.variables import references
from flowproof.suite.discover import SUFFIX

_SETTINGS = (CONNECT_TIMEOUT, IDLE_TIMEOUT, MAX_BODY)


@dataclass(frozen=True, slots=True)
class Place:
    """The project as a worker finds it: the archive's hash, the run that the files are for, and
    where the worker keeps them (None: where it says itself)."""

    digest: str
    run: str
    cache: str | None


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """One flow to run on a worker. Paths are relative to the project, `timeout` is in seconds.

    `environ` are the variables that travel, None where one is not set; `minted` is what the
    `env_from` of suites printed, by the suite's folder. `flowproof` is the version that asks.
    """

    flowproof: str
    place: Place
    here: str
    spec: str
    trace: str | None
    phase: Phase
    strict: bool
    timeout: float | None
    debug: bool
    environ: Mapping[str, str | None] = field(repr=False)
    minted: Mapping[str, Mapping[str, str]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ran:
    """The flow ran: a run record with this one flow, as JSON text."""

    worker: str
    record: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoProject:
    """The worker does not have the project."""

    worker: str


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """The worker has another version of flowproof."""

    worker: str
    version: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker is gone, or about to go, with the flow; so may be others before it. `silent` is
    for how many seconds it was waited for, if it was given up."""

    worker: str
    times: int = 1
    silent: float | None = None


Answer: TypeAlias = Ran | NoProject | OtherVersion | Lost


def travelling(job: FlowJob, environ: Mapping[str, str]) -> dict[str, str | None]:
    """The variables that a flow or its suite names, with their values here; the provider keys
    among them are placeholders. Nothing else of the environment travels."""
    names = {use.name for use in job.spec.variables}
    names.update(*map(references, job.suite_env.values()))
    names.update(job.spec.skip_unless_env, _SETTINGS)
    found = {name: environ.get(name) for name in sorted(names)}
    return {
        name: None if value is None else _without_key(name, value, environ)
        for name, value in found.items()
    }


def without_keys(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that an `env_from` printed, with placeholders for provider keys."""
    known = {**environ, **values}
    return {name: _without_key(name, value, known) for name, value in values.items()}


def _without_key(name: str, value: str, environ: Mapping[str, str]) -> str:
    if name in KEY_VARIABLES:
        return PLACEHOLDER_KEY
    return key_remover(environ)(value)


def on_worker(own: Mapping[str, str], travelled: Mapping[str, str | None]) -> dict[str, str]:
    """The environment of a flow on a worker: the worker's own, without what configures the
    cluster, and what travelled. What is not set where the run began is not set here either."""
    environ = {name: text for name, text in own.items() if not name.startswith("DASK_")}
    for name, value in travelled.items():
        environ.pop(name, None)
        if value is not None:
            environ[name] = value
    return environ


def answer_of(found: object) -> Answer:
    """What a worker answered, which may be anything.

    :raises WorldError: if it is no answer.
    """
    match found:
        case Ran(str(), str()) | NoProject(str()) | OtherVersion(str(), str()) | Lost(str(), int()):
            return found
        case _:
            raise WorldError(
                f"its worker answered nonsense: no answer of flowproof, but {type(found).__name__}"
            )


def record_of(answer: Ran, job: FlowJob, remote: RemoteJob) -> FlowRecord:
    """The record of the flow that a worker was sent and ran, with where that was.

    :raises WorldError: if the worker answered with anything else.
    """
    where = one_line(answer.worker, 100)
    try:
        run = load(answer.record)
        [flow] = run.flows
    except (RunRecordUnreadable, ValueError) as error:
        raise WorldError(f"the worker {where} answered nonsense: {error}") from error
    # A spec that cannot be read there is called by its file.
    names = {job.spec.name, job.spec_path.name.removesuffix(SUFFIX)}
    path = relative(Path("/", remote.spec), Path("/", remote.here))
    for what, found, accepted in (
        ("path", flow.path, {path}),
        ("name", flow.name, names),
        ("phase", flow.phase, {job.phase}),
    ):
        if found not in accepted:
            raise WorldError(
                f"the worker {where} answered nonsense: a record of another flow, whose {what} is "
                f"{one_line(found, 100)!r}"
            )
    if flow.attempts:
        raise WorldError(f"the worker {where} answered nonsense: a record of several tries")
    return replace(flow, path=job.shown_path, host=f"{run.host} ({where})")


def with_losses(record: FlowRecord, lost: Sequence[AttemptRecord]) -> FlowRecord:
    """The record of a flow, with its tries whose workers were lost before. They change no
    verdict: the agent did nothing wrong."""
    if not lost:
        return record
    warnings = [
        f"{one.reason}; the flow was tried again, and its duration is that of the last try"
        for one in lost
    ]
    return replace(
        record, attempts=(*lost, *record.attempts), warnings=(*warnings, *record.warnings)
    )


def below(root: Path, name: str) -> Path:
    """A place of the project, by its name relative to it."""
    return root / name
