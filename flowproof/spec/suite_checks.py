"""What must hold between a suite's flows: each exists, and none waits for itself.

Counterpart: `suite` calls it once a suite.yaml has been read.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from flowproof.files import place
from flowproof.spec.source import Mark, Report, nearest, quoted
from flowproof.spec.suite_shapes import PlacedSettings

_SUFFIX, _SUITE = ".flow.yaml", "suite.yaml"
_NAMED = 10
"""So many flows of a circle are named."""
_COMPARED, _SEARCHES = 1_000, 5
"""With so many flows a wrong path is compared, and for so many wrong ones: it takes a while."""


def check_flows(
    flows: Mapping[str, PlacedSettings],
    order: Sequence[str],
    order_mark: Mark,
    services: Collection[str],
    folder: Path,
    report: Report,
) -> None:
    """Note flows that do not exist, needs that are neither flow nor service, and circles.

    `flows` and `order` hold normalised paths relative to `folder`, which has no symbolic link in
    it; `order_mark` is where `order` stands.
    """
    there = _Flows(folder)
    for path, placed in flows.items():
        if not path.endswith(_SUFFIX):
            said = f"{quoted(path)} is no flow: a flow's file name ends in {_SUFFIX}"
            report.note(placed.mark, said, suggestion=there.nearest(path))
        elif not (folder / path).exists():
            said = f"there is no flow {quoted(path)} in the suite's folder"
            report.note(placed.mark, said, suggestion=there.nearest(path))
        for need in placed.settings.needs:
            _check_need(need, placed, services, there, report)
    _check_governed(flows, order, order_mark, folder, report)
    if not report.problems:
        _check_circles(flows, order, report)


def _check_governed(
    flows: Mapping[str, PlacedSettings],
    order: Sequence[str],
    order_mark: Mark,
    folder: Path,
    report: Report,
) -> None:
    """Note flows that another suite.yaml governs, so that what is said here would not count, and
    flows that are named twice by different paths."""
    nearest_to: dict[Path, Path | None] = {}
    said: dict[Path, str] = {}
    for path, mark in [
        *((path, placed.mark) for path, placed in flows.items()),
        *((path, order_mark) for path in order),
    ]:
        file = place(folder / path)
        if not path.endswith(_SUFFIX) or not file.exists():
            continue
        if (governing := _governing(file.parent, nearest_to)) != folder:
            who = "none governs it" if governing is None else quoted(str(governing / _SUITE))
            who = who if governing is None else f"{who} governs it"
            report.note(mark, f"{quoted(path)} is not of this suite: {who}; say it there")
        elif path in flows and (other := said.setdefault(file, path)) != path:
            report.note(mark, f"{quoted(path)} is {quoted(other)}, which has settings already")


def _governing(folder: Path, known: dict[Path, Path | None]) -> Path | None:
    """The nearest folder, this one or above it, with a suite.yaml."""
    climbed: list[Path] = []
    found: Path | None = None
    for one in (folder, *folder.parents):
        if one in known:
            found = known[one]
            break
        climbed.append(one)
        if (one / _SUITE).exists():
            found = one
            break
    known.update(dict.fromkeys(climbed, found))
    return found


class _Flows:
    """The flows below a suite's folder, looked for once and only where a path is wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Mutable: the paths, once they were asked for, and how often more they are searched.
        self._paths: tuple[str, ...] | None = None
        self._left = _SEARCHES

    def nearest(self, path: str, others: Collection[str] = ()) -> str:
        """The path, or other name, that this one most likely stands for; empty if none is near."""
        if not self._left:
            return ""
        self._left -= 1
        if self._paths is None:
            self._paths = tuple(islice(_below(self.folder), _COMPARED))
        near = nearest(path, [*others, *self._paths])
        named = [one for one in self._paths if posixpath.basename(one) == posixpath.basename(path)]
        return near or (named[0] if len(named) == 1 else "")


def _below(folder: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n != "node_modules")
        for name in sorted(names):
            if name.endswith(_SUFFIX):
                yield Path(parent, name).relative_to(folder).as_posix()


def _check_need(
    need: str, placed: PlacedSettings, services: Collection[str], there: _Flows, report: Report
) -> None:
    if need in services or (need.endswith(_SUFFIX) and (there.folder / need).exists()):
        return
    report.note(
        placed.needs_mark,
        f"`needs` names {quoted(need)}, which is neither a flow below the suite's folder nor a "
        "service",
        accepted="paths of flows relative to this file, and names of services",
        suggestion=there.nearest(need, services),
    )


def _check_circles(
    flows: Mapping[str, PlacedSettings], order: Sequence[str], report: Report
) -> None:
    needs = {path: placed.settings.needs for path, placed in flows.items()}
    before = {path: order[at - 1 : at] for at, path in enumerate(order)}
    if (start := _on_a_circle(needs, before)) is not None:
        circle = next(_circles(start, needs, before))
        names = [*map(quoted, circle)]
        if len(names) > _NAMED:
            names[_NAMED:-1] = [f"… {len(names) - _NAMED - 1} more"]
        said = f"flows wait for each other: {' → '.join(names)} (each needs the next)"
        report.note(flows[start].needs_mark, said)
        return
    for path, placed in flows.items():
        late = [n for n in placed.settings.needs if path in before and n.endswith(_SUFFIX)]
        if others := [need for need in late if need not in before]:
            report.note(
                placed.needs_mark,
                f"{quoted(path)} is in `order`, whose flows run before all others, and needs "
                f"{quoted(others[0])}, which is not; add it to `order`",
            )
            return


def _on_a_circle(
    needs: Mapping[str, Sequence[str]], before: Mapping[str, Sequence[str]]
) -> str | None:
    """A flow with settings that waits for itself, the first that is met. In one pass: a chain of
    needs may be long."""
    ended: set[str] = set()
    for first in needs:
        way: dict[str, Iterator[str]] = {}
        enter: str | None = None if first in ended else first
        while enter is not None or way:
            if enter is not None:
                way[enter] = iter((*needs.get(enter, ()), *before.get(enter, ())))
            last = next(reversed(way))
            enter = next((path for path in way[last] if path not in ended), None)
            if enter is None:
                ended.add(last)
                del way[last]
            elif enter in way:
                # Every circle has one: an order alone has none.
                ways = [*way]
                return next(path for path in ways[ways.index(enter) :] if path in needs)
    return None


def _circles(
    start: str, needs: Mapping[str, Sequence[str]], before: Mapping[str, Sequence[str]]
) -> Iterator[list[str]]:
    """Ways from a flow back to it, along what each waits for."""
    seen: set[str] = set()
    ways = [[start]]
    while ways:
        way = ways.pop()
        for path in (*needs.get(way[-1], ()), *before.get(way[-1], ())):
            if path == start:
                yield [*way, start]
            elif path not in seen:
                seen.add(path)
                ways.append([*way, path])
