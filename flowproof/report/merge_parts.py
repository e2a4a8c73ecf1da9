"""What the parts of one run have beside each other once it is one: slots, times, commands beside
the flows, and where it comes from. `merge` puts it together with the flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from flowproof.errors import UsageError
from flowproof.model.origin import Origin, Source
from flowproof.model.run_record import RunRecord, TaskRecord
from flowproof.report.blob import LONGEST, Blob
from flowproof.report.text import one_line

_NAMED = 5
"""How many different texts one holds."""


def beside_each_other(blobs: Sequence[Blob], records: Sequence[RunRecord]) -> list[RunRecord]:
    """The parts with slots of their own, and with times from the start of the first.

    :raises UsageError: if they began too far apart to be of one run.
    """
    taken = 0
    found: list[RunRecord] = []
    for record, later in zip(records, _later(blobs, records), strict=True):
        flows = tuple(
            replace(
                flow,
                slot=flow.slot and flow.slot + taken,
                offset=None if flow.offset is None else flow.offset + later,
            )
            for flow in record.flows
        )
        taken += max([record.slots, *(flow.slot for flow in record.flows)])
        found.append(replace(record, flows=flows))
    return found


def _later(blobs: Sequence[Blob], records: Sequence[RunRecord]) -> list[float]:
    """How many seconds after the first each part began; 0 where one does not tell its start."""
    moments = [_moment(record.started) for record in records]
    first = min((one for one in moments if one is not None), default=None)
    if first is None:
        return [0.0] * len(records)
    found = [0.0 if one is None else (one - first).total_seconds() for one in moments]
    for blob, seconds in zip(blobs, found, strict=True):
        if seconds > LONGEST:
            raise UsageError(
                f"{blob.called} began {seconds / 86_400:,.0f} days after another; give the parts "
                "of one run"
            )
    return found


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


def tasks_of(blobs: Sequence[Blob], records: Sequence[RunRecord]) -> tuple[TaskRecord, ...]:
    """The commands beside the flows of all parts, each with the shard that ran it."""
    if len(blobs) == 1:
        return records[0].tasks
    found: list[TaskRecord] = []
    for blob, record, later in zip(blobs, records, _later(blobs, records), strict=True):
        shard = f"shard {blob.head.shard}/{blob.head.shards}"
        own = {task.id: f"{task.id} ({shard})" for task in record.tasks}
        found += [
            replace(
                task,
                id=own[task.id],
                needs=tuple(own.get(need, need) for need in task.needs),
                started=None if task.started is None else task.started + later,
            )
            for task in record.tasks
        ]
    return tuple(found)


def one_source(
    blobs: Sequence[Blob], records: Sequence[RunRecord]
) -> tuple[Source | None, tuple[str, ...]]:
    """The repository that all parts ran, and what deserves a warning: without a word of one part
    it is not known, and changes that differ are no longer told.

    :raises UsageError: if parts ran different commits, or one a commit as it is and one not.
    """
    told = [
        (blob, record.source)
        for blob, record in zip(blobs, records, strict=True)
        if record.source is not None
    ]
    known = [one for one in told if one[1].changed is not None]
    for blob, source in told:
        first, other = (known or told)[0]
        if _contradict(source, other):
            raise UsageError(
                f"{first.called} and {blob.called} are of different commits: "
                f"{one_line(_state(other), 100)} and {one_line(_state(source), 100)}; run all "
                "shards on one commit, all with changes to it or none"
            )
    if not told:
        return None, ()
    if len(told) < len(blobs):
        silent = [blob for blob, record in zip(blobs, records, strict=True) if not record.source]
        return None, (f"{silent[0].called} does not say which commit it ran",)
    found = [source for _, source in told]
    changes = agreed(source.changes for source in found)
    merged = replace(
        found[0],
        repository=agreed(source.repository for source in found),
        branch=agreed(source.branch for source in found),
        changed=other.changed if other.changed or len(known) == len(told) else None,
        changes=changes,
    )
    differ = merged.changed and any(source.changes != changes for source in found)
    return merged, ("the changes to the commit differ between shards",) if differ else ()


def _contradict(one: Source, other: Source) -> bool:
    unknown = one.changed is None or other.changed is None
    return one.commit != other.commit or not (unknown or one.changed == other.changed)


def _state(source: Source) -> str:
    changes = {True: " with changes", False: "", None: ", perhaps with changes"}
    return f"{source.commit}{changes[source.changed]}"


def one_origin(parts: Sequence[Origin | None]) -> Origin | None:
    """What all parts say of where they come from; who ran it is empty where they differ, and of
    systems all are named. None where one says nothing."""
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return Origin(
        actor=agreed(one.actor for one in found),
        trigger=agreed(one.trigger for one in found),
        ci=agreed(one.ci for one in found),
        url=agreed(one.url for one in found),
        system=listed(one.system for one in found),
        kernel=listed(one.kernel for one in found),
        distribution=agreed(one.distribution for one in found),
    )


def agreed(texts: Iterable[str]) -> str:
    """The text that all have; empty if they differ."""
    found = set(texts)
    return found.pop() if len(found) == 1 else ""


def listed(texts: Iterable[str]) -> str:
    """Different texts in one; of many only the first."""
    found = list(dict.fromkeys(filter(None, texts)))
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more} more" if more > 0 else "")
