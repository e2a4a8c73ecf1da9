"""Places flows in their project: the nearest suite.yaml, their traces, where they run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flowproof.errors import CapabilityError
from flowproof.flow.job import FlowJob, relative
from flowproof.model.flow_spec import SuiteSpec
from flowproof.model.phase import Phase
from flowproof.spec.flow import load_flow
from flowproof.spec.suite import load_suite, nearest_suite
from flowproof.trace.file import find_trace, trace_path


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
        """
        path = nearest_suite(folder)
        if path is None:
            return None
        if path not in self._suites:
            self._suites[path] = self._load_suite(path)
        return self._suites[path]

    def _load_suite(self, path: Path) -> SuiteSpec:
        suite = load_suite(path, shown=relative(path, self.here))
        if suite.unsupported:
            lines = [
                f"{one.position}: `{one.feature}` cannot be run by this version"
                for one in suite.unsupported
            ]
            raise CapabilityError("\n".join(lines))
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
        return FlowJob(
            spec=load_flow(spec_path, shown=relative(spec_path, self.here)),
            spec_path=spec_path,
            trace_path=trace,
            folder=self.here,
            working_folder=Path(suite.folder) if suite else self.here,
            phase=options.phase,
            suite_env=suite.env if suite else {},
            strict=options.strict or bool(suite and suite.strict),
        )
