"""Which of the flows that were found a run is about, and in which order.

Its counterpart `discover` finds them; a run with a selection is partial.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flowproof.errors import FlowproofError, UsageError
from flowproof.files import shortened
from flowproof.suite.discover import SUFFIX
from flowproof.suite.expression import Expression
from flowproof.suite.needs import groups
from flowproof.suite.project import Project
from flowproof.suite.sharding import Shard, part_of

_NAMED = 20
"""So many tags are named where none was right."""

_AT_LINE = re.compile(rf"(.*{re.escape(SUFFIX)}):([0-9]{{1,7}})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a command line says about the flows to run; nothing said selects all.

    `names` is asked about a flow's name and path, in any case of letters, and `tags` about its
    tags, whole. `failed` has paths relative to the suite. `durations`, in seconds by such a path,
    balance the shards. With a `seed` they are shuffled.
    """

    names: Expression | None = None
    tags: Expression | None = None
    failed: frozenset[str] | None = None
    shard: Shard | None = None
    durations: Mapping[str, float] | None = None
    seed: str | None = None

    @property
    def partial(self) -> bool:
        """Whether flows may be left out."""
        return any(one is not None for one in (self.names, self.tags, self.failed, self.shard))


def without_line(path: Path) -> Path:
    """A path without the line that editors put behind it, as in `book.flow.yaml:12`.

    :raises UsageError: if the file has no such line.
    """
    found = _AT_LINE.fullmatch(str(path))
    if found is None or path.exists():
        return path
    file, line = Path(found[1]), int(found[2])
    try:
        lines = file.read_bytes().count(b"\n") + 1
    except OSError:
        return file  # `discover` says what is wrong with it
    if not 1 <= line <= lines:
        raise UsageError(f"{shortened(str(path))}: the file has {lines} lines")
    return file


def key_of(spec: Path, folder: Path) -> str:
    """How a flow is known across runs and machines: its path from the suite's folder. Both are
    spelt without symbolic links, as `discover` and `nearest_suite` do."""
    return Path(os.path.relpath(spec, folder)).as_posix()


def select(
    specs: Sequence[Path],
    selection: Selection,
    project: Project,
    folder: Path,
) -> tuple[Path, ...]:
    """Those of `specs` (absolute) that are selected, in order; `folder` is the suite's."""
    keys = {spec: key_of(spec, folder) for spec in specs}
    chosen = [spec for spec in specs if _wanted(spec, keys[spec], selection, project)]
    if selection.shard is not None:
        mine = _share(chosen, keys, selection, selection.shard, project)
        chosen = [spec for spec in chosen if spec in mine]
    if (seed := selection.seed) is not None:
        chosen.sort(key=lambda spec: _drawn(seed, keys[spec]))
    return tuple(chosen)


def unselected(found: Sequence[Path], selected: Sequence[Path]) -> tuple[Path, ...]:
    """Those of the flows that were found that are not to run, in order."""
    chosen = frozenset(selected)
    return tuple(spec for spec in found if spec not in chosen)


def why_none(specs: Sequence[Path], selection: Selection, project: Project) -> str:
    """Why not one of these flows is selected, and what there is to select by."""
    if selection.failed is not None and not selection.failed:
        return "no flow failed when they last ran"
    said = f"none of {len(specs)} flows is selected"
    if len(specs) == 1:
        said = "the one flow is not selected"
    if (wanted := selection.tags) is None:
        return said
    tags = [_tags(spec, project) for spec in specs]
    if any(wanted(one.__contains__) for one in tags):
        return said
    there = sorted(frozenset().union(*tags))
    more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
    known = f"the tags are {', '.join(there[:_NAMED])}{more}" if there else "no flow has a tag"
    return f"{said}: {known}"


def _tags(spec: Path, project: Project) -> frozenset[str]:
    try:
        return frozenset(project.job(spec).spec.tags)
    except FlowproofError:
        return frozenset()


def _share(
    chosen: Sequence[Path],
    keys: Mapping[Path, str],
    selection: Selection,
    shard: Shard,
    project: Project,
) -> frozenset[Path]:
    """The flows of one shard. Flows that need each other stay together."""
    known = selection.durations or {}
    members = {
        min(keys[one] for one in group if one in keys): group for group in groups(chosen, project)
    }
    seconds = {
        name: sum(known[keys[one]] for one in group if keys.get(one) in known)
        for name, group in members.items()
        if any(keys.get(one) in known for one in group)
    }
    return frozenset(one for name in part_of([*members], shard, seconds) for one in members[name])


def _drawn(seed: str, key: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{key}".encode("utf-8", "surrogateescape")).digest()


def _wanted(spec: Path, key: str, selection: Selection, project: Project) -> bool:
    if selection.failed is not None and key not in selection.failed:
        return False
    if selection.names is None and selection.tags is None:
        return True
    try:
        flow = project.job(spec).spec
    except FlowproofError:
        # It might have been selected. It runs, and is an error that says what is wrong with it.
        return True
    # All specs end alike: `-k flow` would select them all, and mean none.
    text = f"{flow.name}\0{key.removesuffix(SUFFIX)}".casefold()

    def named(word: str) -> bool:
        folded = word.casefold()
        whole = folded.removesuffix(".yaml")
        ends = whole.endswith(".flow") and key.casefold().endswith(f"{whole}.yaml")
        return folded in text or ends

    if selection.names is not None and not selection.names(named):
        return False
    return selection.tags is None or selection.tags(frozenset(flow.tags).__contains__)
