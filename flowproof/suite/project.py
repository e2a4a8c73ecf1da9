"""Places flows in their project: the nearest suite.yaml, their traces, where they run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flowproof.errors import FlowproofError, NotBuiltYet, UsageError
from flowproof.files import place
from flowproof.flow.job import FlowJob, relative
from flowproof.model.flow_spec import FlowSettings, FlowSpec, SuiteSpec
from flowproof.model.phase import Phase
from flowproof.spec.flow import load_flow
from flowproof.suite.discover import nearest_suite
from flowproof.trace.file import find_trace, trace_path
from flowproof.version import __version__


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What the command line says about every flow of a run. `trace` replaces the trace beside
    the spec, to read at replay or to write at record; `timeout`, in seconds, bounds what each
    flow may take."""

    phase: Phase
    trace: Path | None = None
    strict: bool = False
    timeout: float | None = None


@dataclass(slots=True)
class Project:
    """Makes jobs of spec files. `here` is the absolute folder that the command runs in: paths
    are printed relative to it, and agents without a suite run in it."""

    here: Path
    options: JobOptions
    # Mutable: what the `env_from` of suites printed in this run, by the suite's folder.
    minted: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _nearest: dict[Path, Path | None] = field(default_factory=dict)
    _suites: dict[Path, SuiteSpec] = field(default_factory=dict)
    _settings: dict[str, dict[Path, FlowSettings]] = field(default_factory=dict)
    _real: dict[Path, Path] = field(default_factory=dict)

    def place(self, path: Path) -> Path:
        """The one spelling of a file, as `files.place` has it."""
        # Asked several times for each flow, and a folder may hold thousands.
        real = self._real.get(path.parent)
        if real is None:
            real = self._real[path.parent] = place(path).parent
        return real / path.name

    def suite_file(self, folder: Path) -> Path | None:
        """The suite.yaml that governs a folder, if any.

        :raises UsageError: if it is no regular file.
        """
        # Asked several times for each flow, and a folder may hold thousands.
        if folder not in self._nearest:
            self._nearest[folder] = nearest_suite(folder)
        return self._nearest[folder]

    def suite_of(self, folder: Path) -> SuiteSpec | None:
        """The suite that governs a folder, if any.

        :raises SpecError: if its suite.yaml cannot be used.
        :raises CapabilityError: if it declares what this version cannot run.
        :raises UsageError: if it needs a newer flowproof, or is no regular file.
        """
        return self._suite_at(self.suite_file(folder))

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

    def settings(self, spec_path: Path) -> FlowSettings:
        """What the suite of a flow says of it; nothing where it does not name it.

        :raises FlowproofError: if its suite cannot be used.
        """
        suite = self.suite_of(spec_path.parent)
        if suite is None or not suite.flows:
            return FlowSettings()
        if suite.folder not in self._settings:
            self._settings[suite.folder] = {
                self.place(Path(suite.folder, path)): one for path, one in suite.flows.items()
            }
        return self._settings[suite.folder].get(self.place(spec_path), FlowSettings())

    def _environment(self, suite: SuiteSpec) -> Mapping[str, str]:
        """The suite's variables, those that were minted as they are."""
        minted = self.minted.get(suite.folder)
        if not minted:
            return suite.env
        return {**suite.env, **{name: text.replace("${", "$${") for name, text in minted.items()}}

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
            spec=_bounded(
                _in_suite(spec, self.settings(spec_path), suite) if suite else spec, options.timeout
            ),
            spec_path=spec_path,
            trace_path=trace,
            folder=self.here,
            working_folder=Path(suite.folder) if suite else self.here,
            phase=options.phase,
            suite_env=self._environment(suite) if suite else {},
            strict=options.strict or bool(suite and suite.strict),
        )


def _in_suite(spec: FlowSpec, settings: FlowSettings, suite: SuiteSpec) -> FlowSpec:
    """A flow with what its suite says of it and of every flow: more tags, bounds on its time."""
    tags = tuple(dict.fromkeys((*spec.tags, *suite.tags, *settings.tags)))
    limit = suite.timeout if settings.timeout is None else settings.timeout
    return _bounded(replace(spec, tags=tags), limit)


def _bounded(spec: FlowSpec, limit: float | None) -> FlowSpec:
    if limit is None or limit >= spec.agent.timeout:
        return spec
    return replace(spec, agent=replace(spec.agent, timeout=limit))


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
