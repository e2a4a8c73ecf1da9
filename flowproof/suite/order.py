"""The order that a suite's `order:` gives its flows: these first, one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from flowproof.errors import FlowproofError, UsageError
from flowproof.files import place, shortened
from flowproof.model.flow_spec import SuiteSpec
from flowproof.suite.discover import SUFFIX
from flowproof.suite.project import Project


def ordered(specs: Sequence[Path], suite: SuiteSpec | None) -> tuple[Path, ...]:
    """The flows that the suite's `order` names first, in that order, then the rest as given.

    :raises UsageError: if it names a file that is not there, or is no flow.
    """
    if suite is None:
        return tuple(specs)
    if not (places := _places(suite)):
        return tuple(specs)
    return tuple(sorted(specs, key=lambda spec: places.get(place(spec), len(places))))


def _places(suite: SuiteSpec) -> dict[Path, int]:
    """Where each flow stands in `order`, by where it is and not by how it is spelt: a folder may
    be a symbolic link."""
    if others := [path for path in suite.order if not path.endswith(SUFFIX)]:
        other = shortened(others[0])
        raise UsageError(f"suite {suite.name}: `order` names what is no flow: {other}")
    if missing := [path for path in suite.order if not Path(suite.folder, path).exists()]:
        raise UsageError(f"suite {suite.name}: `order` names what is not there: {missing[0]}")
    return {place(Path(suite.folder, path)): at for at, path in enumerate(suite.order)}


def waits(specs: Sequence[Path], project: Project) -> Mapping[Path, Path]:
    """For each flow that an `order` binds the flow that has to end before it begins.

    :raises UsageError: if an `order` names a file that is not there, or is no flow.
    """
    suites: dict[str, SuiteSpec] = {}
    members: dict[str, list[Path]] = {}
    for spec in specs:
        try:
            suite = project.suite_of(spec.parent)
        except FlowproofError:
            continue
        if suite is not None and suite.order:
            suites[suite.folder] = suite
            members.setdefault(suite.folder, []).append(spec)
    found: dict[Path, Path] = {}
    for folder, flows in members.items():
        places = _places(suites[folder])
        chain = sorted(
            (spec for spec in flows if project.place(spec) in places),
            key=lambda one: places[project.place(one)],
        )
        found |= {spec: before for before, spec in pairwise(chain)}
        if chain:
            found |= {spec: chain[-1] for spec in flows if project.place(spec) not in places}
    return found
