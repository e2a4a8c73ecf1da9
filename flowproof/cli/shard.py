"""What a shard's blob says of its part; `report.blob` writes it, `report merge` checks it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flowproof.cli.running_options import Running
from flowproof.cli.selecting import Chosen, Found

if TYPE_CHECKING:
    from flowproof.report.blob import BlobHead
    from flowproof.suite.project import Project
    from flowproof.suite.selection import Selection

_SHOWN = 500
"""Characters of an option that are kept; of a longer one its digest says whether it differs."""


def head_of(
    found: Found,
    paths: Sequence[Path],
    chosen: Chosen,
    running: Running,
    project: Project,
) -> BlobHead:
    """Which part of which run this is, before it runs. Without --shard it is all of it.

    :raises FlowproofError: if a flow's needs cannot be told.
    """
    from flowproof.flow.job import relative
    from flowproof.model.origin import MOST_LEFT_OUT
    from flowproof.report.blob import BlobHead, planned_digest
    from flowproof.suite.fingerprint import suite_digest
    from flowproof.suite.needs import with_needed
    from flowproof.suite.selection import select, unselected
    from flowproof.version import __version__

    selection, here = found.selection, project.here
    whole = replace(selection, shard=None)
    planned = found.specs
    if selection.shard is not None:
        planned = with_needed(select(found.discovered, whole, project, found.folder), project)
    everything = [*dict.fromkeys((*found.discovered, *planned))]
    left_out = sorted(relative(spec, here) for spec in unselected(everything, planned))
    folder = relative(found.folder, here)
    given = [relative(path.absolute(), here) for path in paths]
    options = _options(given, chosen, selection, running, strict=project.options.strict)
    return BlobHead(
        flowproof=__version__,
        shard=selection.shard.index if selection.shard else 1,
        shards=selection.shard.count if selection.shard else 1,
        # What is needed need not lie below the paths that were given.
        suite=suite_digest(everything, found.folder),
        flows=len(planned),
        planned=planned_digest([relative(spec, here) for spec in planned]),
        selection=tuple((name, _short(value)) for name, value in options),
        partial=found.left_out,
        folder="" if folder.startswith("..") else folder,
        discovered=len(everything),
        left_out=tuple(left_out[:MOST_LEFT_OUT]),
    )


def _options(
    paths: Sequence[str], chosen: Chosen, selection: Selection, running: Running, *, strict: bool
) -> Iterator[tuple[str, str]]:
    """What decides which flows run and what is asked of them. A file counts by what it holds."""
    if paths:
        yield "PATHS", " ".join(sorted(paths))
    if chosen.names is not None:
        yield "-k", chosen.names
    if chosen.tags is not None:
        yield "--tag", chosen.tags
    if selection.failed is not None:
        yield "--last-failed", _digest("\0".join(sorted(selection.failed)))
    if selection.durations is not None:
        yield "--durations-file", _digest(repr(sorted(selection.durations.items())))
    if running.repeat != 1:
        yield "--repeat", str(running.repeat)
    if strict:
        yield "--strict", ""


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
