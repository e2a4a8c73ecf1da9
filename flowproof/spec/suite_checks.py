"""What must hold between a suite's flows: each exists, and none waits for itself.

Counterpart: `suite` calls it once a suite.yaml has been read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from flowproof.spec.source import Report, nearest, quoted
from flowproof.spec.suite_shapes import PlacedSettings

_SUFFIX = ".flow.yaml"


def check_flows(
    flows: Mapping[str, PlacedSettings],
    order: Sequence[str],
    services: Collection[str],
    folder: Path,
    report: Report,
) -> None:
    """Note flows that do not exist, needs that are neither flow nor service, and circles.

    `flows` and `order` hold normalised paths relative to `folder`.
    """
    for path, placed in flows.items():
        if not path.endswith(_SUFFIX):
            report.note(placed.mark, f"{quoted(path)} is no flow: its name ends in {_SUFFIX}")
        elif not (folder / path).exists():
            report.note(placed.mark, f"there is no flow {quoted(path)} in the suite's folder")
        for need in placed.settings.needs:
            _check_need(need, placed, services, folder, report)
    if not report.problems:
        _check_circles(flows, order, report)


def _check_need(
    need: str, placed: PlacedSettings, services: Collection[str], folder: Path, report: Report
) -> None:
    if need in services or (need.endswith(_SUFFIX) and (folder / need).exists()):
        return
    there = (path.relative_to(folder).as_posix() for path in folder.rglob(f"*{_SUFFIX}"))
    report.note(
        placed.needs_mark,
        f"`needs` names {quoted(need)}, which is neither a flow below the suite's folder nor a "
        "service",
        accepted="paths of flows relative to this file, and names of services",
        suggestion=nearest(need, [*services, *there]),
    )


def _check_circles(
    flows: Mapping[str, PlacedSettings], order: Sequence[str], report: Report
) -> None:
    needs = {path: placed.settings.needs for path, placed in flows.items()}
    before = {path: order[:at] for at, path in enumerate(order)}
    for path, placed in flows.items():
        circle = next(_circles(path, needs, before), None)
        if circle is not None:
            shown = " → ".join(map(quoted, circle))
            report.note(
                placed.needs_mark, f"flows wait for each other: {shown} (each needs the next)"
            )
            return
        late = [n for n in placed.settings.needs if path in before and n.endswith(_SUFFIX)]
        if others := [need for need in late if need not in before]:
            report.note(
                placed.needs_mark,
                f"{quoted(path)} is in `order`, whose flows run before all others, and needs "
                f"{quoted(others[0])}, which is not; add it to `order`",
            )
            return


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
