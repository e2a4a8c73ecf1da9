"""Which flows a flow needs, as its suite says, and what that means for a selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from flowproof.errors import FlowproofError
from flowproof.suite.discover import SUFFIX
from flowproof.suite.project import Project


def needed(spec: Path, project: Project) -> tuple[Path, ...]:
    """The flows, absolute, that must have passed before this one; none where its suite cannot be
    read."""
    try:
        suite, settings = project.suite_of(spec.parent), project.settings(spec)
    except FlowproofError:
        return ()
    if suite is None:
        return ()
    return tuple(Path(suite.folder, one) for one in settings.needs if one.endswith(SUFFIX))


def with_needed(specs: Sequence[Path], project: Project) -> tuple[Path, ...]:
    """These flows, each behind those that it needs, whether they were among them or not."""
    found: dict[Path, Path] = {}
    given = {spec.resolve(): spec for spec in specs}

    def add(spec: Path) -> None:
        # A need may be spelt through a symbolic link; a flow is one however it is reached.
        place = spec.resolve()
        if place not in found:
            for need in needed(spec, project):
                add(need)
            found[place] = given.get(place, spec)

    for spec in specs:
        add(spec)
    return tuple(found.values())


def groups(specs: Iterable[Path], project: Project) -> list[list[Path]]:
    """The flows in groups that no need crosses, so that each may run on another machine."""
    home: dict[Path, list[Path]] = {}
    for spec in specs:
        mine = home.setdefault(spec.resolve(), [spec])
        for need in needed(spec, project):
            other = home.setdefault(need.resolve(), [need])
            if other is not mine:
                mine += other
                home.update((one.resolve(), mine) for one in other)
    return list({id(group): group for group in home.values()}.values())
