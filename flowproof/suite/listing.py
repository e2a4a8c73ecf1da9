"""What `suite list` says of one flow without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flowproof.errors import ExitCode, FlowproofError
from flowproof.flow.job import relative
from flowproof.flow.run import reason_to_skip
from flowproof.model.jsonvalue import JsonObject
from flowproof.report.text import one_line
from flowproof.suite.discover import SUFFIX
from flowproof.suite.project import Project

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Listed:
    """One flow. `skipped` says why it would not run, `error` why it cannot. `needed_by` is the
    path of the flow that it is there for, where it is not selected itself."""

    name: str
    path: str
    tags: tuple[str, ...] = ()
    skipped: str = ""
    error: str = ""
    exit_code: ExitCode = ExitCode.PASSED
    needed_by: str = ""

    def line(self) -> str:
        """The flow on one line."""
        if self.error:
            # What stands below points into the file, which `flowproof check` shows whole.
            said = f"error: {self.error.partition(chr(10))[0]}"
        else:
            tags = f"  [{', '.join(self.tags)}]" if self.tags else ""
            skipped = f"  skipped: {self.skipped}" if self.skipped else ""
            said = f"{self.name}{tags}{skipped}"
        needed = f"  needed by {self.needed_by}" if self.needed_by else ""
        return one_line(f"{self.path}  {said}{needed}", _LONGEST)

    def as_json(self) -> JsonObject:
        """The flow for programs; keys that have nothing to say are left out."""
        said: JsonObject = {"name": self.name, "path": self.path, "tags": [*self.tags]}
        if self.skipped:
            said["skipped"] = self.skipped
        if self.error:
            said["error"] = self.error
        if self.needed_by:
            said["needed_by"] = self.needed_by
        return said


def listed(
    spec: Path, project: Project, environ: Mapping[str, str], needed_by: Path | None = None
) -> Listed:
    """What would become of one flow, given by its absolute path; `needed_by` is that of the flow
    that alone brings it here."""
    shown = relative(spec, project.here)
    needing = relative(needed_by, project.here) if needed_by else ""
    try:
        job = project.job(spec)
    except FlowproofError as error:
        from flowproof.spec.readable_name import readable_name

        name = readable_name(spec) or spec.name.removesuffix(SUFFIX)
        code = error.exit_code
        return Listed(name, shown, error=str(error), exit_code=code, needed_by=needing)
    skipped = reason_to_skip(job.spec, environ)
    if not skipped and not job.trace_path.exists():
        skipped = "it has no trace yet"
    return Listed(job.spec.name, shown, job.spec.tags, skipped, needed_by=needing)
