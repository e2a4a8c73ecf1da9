"""Makes one run of the parts that shards ran, and refuses parts that are not of one run.

`blob` reads and writes the parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from flowproof.errors import ExitCode, UsageError
from flowproof.files import shortened
from flowproof.model.origin import Population
from flowproof.model.run_record import FlowRecord, RunRecord, combined_exit_code
from flowproof.report.blob import Blob, planned_digest, read_record
from flowproof.report.merge_parts import beside_each_other, listed, one_origin, one_source, tasks_of
from flowproof.report.text import one_line

_NAMED = 5
"""How many of several things a message names."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A run made of parts. `folder` is that of its suite, relative to where the parts ran; empty
    where it lies elsewhere. `work` is how many seconds the parts took together."""

    record: RunRecord
    folder: str
    parts: int
    work: float


def merge(blobs: Sequence[Blob], id: str) -> Merged:
    """One run of these parts, with this id.

    Flows come by path. It took as long as its longest part, and its exit code is what the parts
    amount to. It vouches for the whole suite if its parts left nothing out. Its slots are those
    of all parts, and what is timed from the start of a part is timed from that of the first.

    :raises UsageError: if the parts are not those of one run, each there once, or cannot be read.
    """
    require_one_run(blobs)
    ordered = sorted(blobs, key=lambda blob: blob.head.shard)
    records = [read_record(blob) for blob in ordered]
    source, doubts = one_source(ordered, records)
    flows = _flows(ordered, beside_each_other(ordered, records))
    first = ordered[0].head
    host = listed(one.host for one in records)
    record = replace(
        records[0],
        id=id,
        started=min(one.started for one in records),
        duration=max(one.duration for one in records),
        python=listed(one.python for one in records),
        platform=listed(one.platform for one in records),
        host=host,
        partial=any(blob.head.partial for blob in ordered),
        exit_code=_exit_code(records),
        flows=tuple(replace(flow, host="") if flow.host == host else flow for flow in flows),
        warnings=(*_said(ordered, [one.warnings for one in records]), *doubts),
        errors=_said(ordered, [one.errors for one in records]),
        slots=sum(one.slots for one in records),
        tasks=tasks_of(ordered, records),
        inputs=tuple(dict.fromkeys(file for one in records for file in one.inputs)),
        origin=one_origin([one.origin for one in records]),
        source=source,
        population=_population(ordered, records),
    )
    return Merged(record, first.folder, len(ordered), sum(one.duration for one in records))


def _population(blobs: Sequence[Blob], records: Sequence[RunRecord]) -> Population | None:
    """What the shards divided, whatever each had of it."""
    found = records[0].population
    if found is None or any(record.population is None for record in records):
        return None
    head = blobs[0].head
    selection = tuple(option for option in found.selection if option[0] != "--shard")
    return Population(max(head.discovered, head.flows), head.flows, selection, head.left_out)


def require_one_run(blobs: Sequence[Blob]) -> None:
    """Check that the first lines of these parts, at least one, speak of one run.

    :raises UsageError: if they do not, or a part is there twice or missing.
    """
    _require_same(
        blobs,
        "versions of flowproof",
        lambda blob: blob.head.flowproof,
        shown=True,
        remedy="install the same one for all shards",
    )
    _require_same(
        blobs,
        "suites",
        lambda blob: blob.head.suite,
        remedy="a spec, a trace or a suite.yaml differs; run all shards on one commit",
    )
    _require_same(blobs, "selections", _selection, shown=True)
    _require_same(blobs, "numbers of shards", lambda blob: str(blob.head.shards), shown=True)
    _require_same(blobs, "folders", lambda blob: blob.head.folder, shown=True)
    _require_same(
        blobs,
        "plans",
        lambda blob: f"{blob.head.flows} {blob.head.planned} {blob.head.discovered}",
        remedy="they do not divide the same flows; run all shards from one folder",
    )
    present: dict[int, Blob] = {}
    for blob in blobs:
        other = present.setdefault(blob.head.shard, blob)
        if other is not blob:
            raise UsageError(
                f"{blob.called} is there twice: also as {other.shown}; give each shard once"
            )
    total = blobs[0].head.shards
    missing = [f"{at}/{total}" for at in range(1, total + 1) if at not in present]
    if missing:
        were = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"{_some('shard', missing)} {were} missing; a merge takes all {total}, also of "
            "shards that failed"
        )


def _require_same(
    blobs: Sequence[Blob],
    what: str,
    told: Callable[[Blob], str],
    *,
    shown: bool = False,
    remedy: str = "run all shards in the same way",
) -> None:
    first = blobs[0]
    for other in blobs[1:]:
        if (one := told(first)) != (another := told(other)):
            differ = f": {one_line(one) or 'none'} and {one_line(another) or 'none'}"
            raise UsageError(
                f"{first.called} and {other.called} are of different {what}"
                f"{differ if shown else ''}; {remedy}"
            )


def _selection(blob: Blob) -> str:
    return " ".join(f"{name} {value}".strip() for name, value in blob.head.selection)


def _flows(blobs: Sequence[Blob], records: Iterable[RunRecord]) -> tuple[FlowRecord, ...]:
    """All flows by path, those of one path as they were, with the host that ran each."""
    home: dict[str, Blob] = {}
    runs: set[tuple[str, str]] = set()
    doubled: list[str] = []
    flows: list[FlowRecord] = []
    for blob, record in zip(blobs, records, strict=True):
        for flow in record.flows:
            # Repetitions of a flow have names of their own.
            run = flow.path, flow.name
            if home.setdefault(flow.path, blob) is not blob or run in runs:
                doubled.append(flow.path)
            runs.add(run)
            flows.append(flow if flow.host else replace(flow, host=record.host))
    remedy = "give all shards the same --durations-file, or none"
    if doubled:
        of = home[doubled[0]].called
        raise UsageError(
            f"{_some('flow', doubled)} ran in {of} and a second time, there or in another shard; "
            f"{remedy}"
        )
    planned = blobs[0].head
    if len(home) != planned.flows or planned_digest([*home]) != planned.planned:
        raise UsageError(
            f"the shards ran {len(home)} flows, and not the {planned.flows} that they divided; "
            f"{remedy}"
        )
    return tuple(sorted(flows, key=lambda flow: flow.path))


def _exit_code(records: Sequence[RunRecord]) -> ExitCode:
    """What the parts amount to: one in which nothing ran matters only if it was so in all."""
    codes = {one.exit_code for one in records} - {ExitCode.NOTHING_RAN}
    # A part that says to be green must not hide a flow that is not.
    codes |= {flow.exit_code for one in records for flow in one.flows if flow.exit_code}
    return combined_exit_code(tuple(codes))


def _said(blobs: Sequence[Blob], texts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """What parts said beside their flows: once what all of them say, else with who said it."""
    count = Counter(text for said in texts for text in dict.fromkeys(said))
    found: dict[str, None] = {}
    for blob, said in zip(blobs, texts, strict=True):
        for text in said:
            everyone = len(blobs) > 1 and count[text] == len(blobs)
            of = "" if everyone else f"shard {blob.head.shard}/{blob.head.shards}: "
            found.setdefault(of + text)
    return tuple(found)


def _some(what: str, names: Sequence[str]) -> str:
    """`flow a`, `flows a and b`, or the first few with how many more there are."""
    found = list(dict.fromkeys(names))
    some = [shortened(one_line(name)) for name in found[:_NAMED]]
    more = len(found) - len(some)
    if more:
        return f"{what}s {', '.join(some)} and {more} more"
    if len(some) == 1:
        return f"{what} {some[0]}"
    return f"{what}s {', '.join(some[:-1])} and {some[-1]}"
