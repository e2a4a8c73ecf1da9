"""Which flows a flow needs, as its suite says, and what that means for a selection.

A flow is known by its place (`files.place`), here and wherever flows are told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from flowproof.errors import FlowproofError, UsageError
from flowproof.flow.job import relative
from flowproof.suite.discover import SUFFIX
from flowproof.suite.project import Project

_SHOWN = 10
"""So many flows of a circle are named."""


def needed(spec: Path, project: Project) -> tuple[Path, ...]:
    """The places of the flows that must have passed before this one; none where its suite cannot
    be read."""
    try:
        suite, settings = project.suite_of(spec.parent), project.settings(spec)
    except FlowproofError:
        return ()
    if suite is None:
        return ()
    named = [Path(suite.folder, one) for one in settings.needs if one.endswith(SUFFIX)]
    return tuple(dict.fromkeys(map(project.place, named)))


def with_needed(specs: Sequence[Path], project: Project) -> tuple[Path, ...]:
    """The places of these flows, each behind those that it needs, whether they were among them or
    not.

    :raises UsageError: if flows need each other, as suites may say that each alone is sound.
    """
    found: dict[Path, None] = {}
    for spec in map(project.place, specs):
        # Not recursive: a chain of needs may be longer than Python's stack.
        way: dict[Path, Iterator[Path]] = {}
        enter: Path | None = None if spec in found else spec
        while enter is not None or way:
            if enter is not None:
                way[enter] = iter(needed(enter, project))
            last = next(reversed(way))
            enter = next((one for one in way[last] if one not in found), None)
            if enter is None:
                found[last] = None
                del way[last]
            elif enter in way:
                circle = [*way]
                raise wait_for_each_other(circle[circle.index(enter) :], project)
    return tuple(found)


def wait_for_each_other(circle: Sequence[Path], project: Project) -> UsageError:
    """The error for flows, given by their places, of which each waits for the next and the last
    for the first."""
    names = [f"`{relative(spec, project.here)}`" for spec in circle]
    if len(names) > _SHOWN:
        names[_SHOWN - 1 :] = [f"… {len(names) - _SHOWN + 1} more"]
    suites = dict.fromkeys(
        relative(file, project.here)
        for spec in circle
        if (file := project.suite_file(spec.parent)) is not None
    )
    files = [*suites][:_SHOWN]
    more = f" and {len(suites) - _SHOWN} more" if len(suites) > _SHOWN else ""
    return UsageError(
        f"flows wait for each other: {' → '.join([*names, names[0]])} (each needs the next, or "
        f"comes behind it in `order`), as {', '.join(files)}{more} say; take out one of these needs"
    )


def needing(
    chosen: Sequence[Path], all_flows: Sequence[Path], project: Project
) -> dict[Path, Path]:
    """Of all flows, those that were not chosen and are there for another, with one that needs
    them."""
    if len(all_flows) == len(chosen):
        return {}
    mine = frozenset(chosen)
    added = frozenset(all_flows) - mine
    found: dict[Path, Path] = {}
    for spec in all_flows:
        for need in needed(spec, project):
            if need in added:
                found.setdefault(need, spec)
    return found


def groups(specs: Iterable[Path], project: Project) -> list[list[Path]]:
    """The flows in groups that no need crosses, so that each may run on another machine."""
    home: dict[Path, list[Path]] = {}
    for spec in specs:
        mine = home.setdefault(spec, [spec])
        for need in needed(spec, project):
            other = home.setdefault(need, [need])
            if other is mine:
                continue
            if len(other) > len(mine):  # the smaller moves, or a long chain would take its square
                mine, other = other, mine
            mine += other
            home.update((one, mine) for one in other)
    return list({id(group): group for group in home.values()}.values())


def kept_back(skipped: Iterable[Path], failed: Iterable[Path], project: Project) -> set[Path]:
    """Of skipped flows, those that need one that failed, directly or by way of another skipped."""
    dependants: dict[Path, list[Path]] = {}
    for spec in skipped:
        for need in needed(spec, project):
            dependants.setdefault(need, []).append(spec)
    found: set[Path] = set()
    waiting = [*failed]
    while waiting:
        for spec in dependants.get(waiting.pop(), ()):
            if spec not in found:
                found.add(spec)
                waiting.append(spec)
    return found
