"""What one run of one flow is given: the job itself, and the world it happens in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flowproof.drivers.interface import Driver
from flowproof.files import Digests
from flowproof.model.clock import Clock
from flowproof.model.flow_spec import FlowSpec
from flowproof.model.phase import Phase


@dataclass(frozen=True, slots=True)
class FlowJob:
    """One flow to record or replay.

    `spec_path`, `trace_path`, `folder` and `working_folder` are absolute. `folder` is what paths
    in the run record are relative to; `working_folder` is where the agent runs if its spec does
    not say. `suite_env` holds the suite's own variables, unresolved. `strict` asks that a flow
    without assertions is an error.
    """

    spec: FlowSpec
    spec_path: Path
    trace_path: Path
    folder: Path
    working_folder: Path
    phase: Phase
    suite_env: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False

    @property
    def shown_path(self) -> str:
        """The spec's path as reports print it."""
        return relative(self.spec_path, self.folder)

    @property
    def shown_trace(self) -> str:
        """The trace's path as reports print it."""
        return relative(self.trace_path, self.folder)


@dataclass(frozen=True, slots=True)
class World:
    """The collaborators of a run, so that a test can give it others.

    `in_flight_grace` is how many seconds a recording waits for answers that are still on their
    way when the agent ends. With `debug`, internal errors carry their traceback. `digests` are of
    the files that agents are made of, which the flows of a run share.
    """

    clock: Clock
    environ: Mapping[str, str]
    driver: Driver
    in_flight_grace: float = 10.0
    debug: bool = False
    digests: Digests = field(default_factory=Digests, compare=False)


def relative(path: Path, folder: Path) -> str:
    """A path relative to a folder in POSIX form, climbing with `..` where it must."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return Path(*_climb(path, folder)).as_posix()


def _climb(path: Path, folder: Path) -> tuple[str, ...]:
    common = 0
    for one, other in zip(path.parts, folder.parts, strict=False):
        if one != other:
            break
        common += 1
    return (*([".."] * (len(folder.parts) - common)), *path.parts[common:])
