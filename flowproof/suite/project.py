"""Places flows in their project: the nearest suite.yaml, their traces, where they run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flowproof.errors import FlowproofError, NotBuiltYet, UsageError
from flowproof.files import shortened
from flowproof.flow.job import FlowJob, relative
from flowproof.model.flow_spec import FlowSpec, SuiteSpec
from flowproof.model.phase import Phase
from flowproof.spec.flow import load_flow
from flowproof.suite.discover import SUFFIX, nearest_suite
from flowproof.trace.file import find_trace, trace_path
from flowproof.version import __version__


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What the command line says about every flow of a run. `trace` replaces the trace beside
    the spec, to read at replay or to write at record."""

    phase: Phase
    trace: Path | None = None
    strict: bool = False


@dataclass(slots=True)
class Project:
    """Makes jobs of spec files. `here` is the absolute folder that the command runs in: paths
    are printed relative to it, and agents without a suite run in it."""

    here: Path
    options: JobOptions
    _suites: dict[Path, SuiteSpec] = field(default_factory=dict)

    def suite_of(self, folder: Path) -> SuiteSpec | None:
        """The suite that governs a folder, if any.

        :raises SpecError: if its suite.yaml cannot be used.
        :raises CapabilityError: if it declares what this version cannot run.
        :raises UsageError: if it needs a newer flowproof, or is no regular file.
        """
        return self._suite_at(nearest_suite(folder))

    def _suite_at(self, path: Path | None) -> SuiteSpec | None:
        if path is None:
            return None
        if path not in self._suites:
            self._suites[path] = self._load_suite(path)
        return self._suites[path]

    def usable_suite(self, folder: Path) -> SuiteSpec | None:
        """The suite that governs a folder, None too if it cannot be used: every flow in it is
        then an error that says why.

        :raises UsageError: if its suite.yaml is no regular file, whether or not there is a flow.
        """
        path = nearest_suite(folder)
        try:
            return self._suite_at(path)
        except FlowproofError:
            return None

    def _load_suite(self, path: Path) -> SuiteSpec:
        from flowproof.spec.suite import load_suite

        shown = relative(path, self.here)
        suite = load_suite(path, shown=shown)
        require_version(suite, shown)
        if suite.unsupported:
            raise NotBuiltYet([(str(one.position), one.feature) for one in suite.unsupported])
        return suite

    def job(self, spec_path: Path) -> FlowJob:
        """Load one flow from an absolute path.

        :raises SpecError: if its spec or its suite.yaml cannot be used.
        :raises CapabilityError: if its suite declares what this version cannot run.
        """
        suite = self.suite_of(spec_path.parent)
        options = self.options
        if options.trace:
            trace = self.here / options.trace
        else:
            trace = (find_trace if options.phase == "replay" else trace_path)(spec_path)
        spec = load_flow(spec_path, shown=relative(spec_path, self.here))
        return FlowJob(
            spec=_in_suite(spec, suite) if suite else spec,
            spec_path=spec_path,
            trace_path=trace,
            folder=self.here,
            working_folder=Path(suite.folder) if suite else self.here,
            phase=options.phase,
            suite_env=suite.env if suite else {},
            strict=options.strict or bool(suite and suite.strict),
        )


def _in_suite(spec: FlowSpec, suite: SuiteSpec) -> FlowSpec:
    """A flow with what its suite says of every flow: more tags, and a bound on its time."""
    limit = spec.agent.timeout if suite.timeout is None else suite.timeout
    return replace(
        spec,
        agent=replace(spec.agent, timeout=min(spec.agent.timeout, limit)),
        tags=tuple(dict.fromkeys((*spec.tags, *suite.tags))),
    )


def ordered(specs: Sequence[Path], suite: SuiteSpec | None) -> tuple[Path, ...]:
    """The flows that the suite's `order` names first, in that order, then the rest as given.

    :raises UsageError: if it names a file that is not there, or is no flow.
    """
    if suite is None:
        return tuple(specs)
    if others := [path for path in suite.order if not path.endswith(SUFFIX)]:
        other = shortened(others[0])
        raise UsageError(f"suite {suite.name}: `order` names what is no flow: {other}")
    if missing := [path for path in suite.order if not Path(suite.folder, path).exists()]:
        raise UsageError(f"suite {suite.name}: `order` names what is not there: {missing[0]}")
    # By where they are and not by how they are spelt: a folder may be a symbolic link.
    place = {Path(suite.folder, path).resolve(): at for at, path in enumerate(suite.order)}
    return tuple(sorted(specs, key=lambda spec: place.get(spec.resolve(), len(place))))


def require_version(suite: SuiteSpec, shown: str) -> None:
    """Check that this flowproof is new enough; `shown` names the suite's file.

    :raises UsageError: if the suite needs a newer one.
    """
    if suite.min_version and _numbers(suite.min_version) > _numbers(__version__):
        raise UsageError(
            f"{shown}: this suite needs flowproof {suite.min_version} or newer, and this is "
            f"{__version__}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
