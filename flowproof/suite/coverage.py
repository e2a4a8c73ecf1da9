"""Whether a run is about its whole suite, or whether the paths that were given leave flows out.

Counterpart: `discover` finds the flows below these paths.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from flowproof.files import place
from flowproof.suite.discover import SUFFIX, SUITE_FILE

_LOOKS_LIKE_FLOW = (SUFFIX, ".flow.yml")


def covers(given: Iterable[Path], specs: Iterable[Path], folder: Path) -> bool:
    """Whether `specs`, discovered below the `given` paths, are all flows of the suite in `folder`.

    A suite's flows are those that no other suite.yaml below its folder governs. Without a
    suite.yaml the whole is what lies below the folder, which then has to be among the paths.
    What cannot be seen counts as left out.
    """
    top = folder.resolve()
    entered = {path.resolve() for path in given if path.is_dir()}
    if top in entered:
        return True
    if not (top / SUITE_FILE).is_file():
        return False
    found = {*map(place, specs)}
    return all(one in found for one in _elsewhere(top, entered))


def _elsewhere(top: Path, entered: Collection[Path]) -> Iterator[Path]:
    """What the suite in a folder governs outside of folders whose flows are known: places of
    flows, and folders that cannot be read."""
    seen = {top, *entered}
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                inside = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError:
            yield folder
            continue
        if folder != top and any(entry.name == SUITE_FILE for entry in inside):
            continue
        for entry in inside:
            if entry.is_dir():
                below = folder / entry.name
                below = below.resolve() if entry.is_symlink() else below
                # A link may lead out of the suite, to flows that it does not govern.
                if below.is_relative_to(top) and entry.name != "node_modules" and below not in seen:
                    seen.add(below)
                    waiting.append(below)
            elif entry.name.casefold().endswith(_LOOKS_LIKE_FLOW):
                yield folder / entry.name
