"""The evidence block of the index: who ran what, where, when and on which state of the files.

Everything is from the record; what it does not hold is told as not recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.model.web_address import web_address
from flowproof.report.html_row import FlowRow
from flowproof.report.text import shortened
from flowproof.report.words import counts_line, exit_means, seconds

UNKNOWN = "not recorded"
_MODELS = 20
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A label and its value. `kind` is `text`, `code` for what a machine compares, or `link`."""

    label: str
    value: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts that answer one question."""

    title: str
    facts: tuple[Fact, ...]


def evidence_groups(record: RunRecord, rows: Sequence[FlowRow] = ()) -> tuple[FactGroup, ...]:
    """All that identifies the run and what it ran on; `rows` are of its flows."""
    groups = (
        FactGroup("Identity", tuple(_identity(record))),
        FactGroup("Who and where", tuple(_who(record))),
        FactGroup("When", tuple(_when(record))),
        FactGroup("What was tested", (*_what(record), *_answered(rows))),
        FactGroup("Population", tuple(_population(record))),
    )
    return groups


def moment(text: str, later: float = 0.0) -> str:
    """A time of a record, RFC 3339 in UTC, as people write it; `later` adds seconds. A text that
    is no time stays as it is."""
    try:
        at = datetime.fromisoformat(text).astimezone(UTC) + timedelta(seconds=later)
    except (ValueError, OverflowError):
        return text
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M:%S} UTC"


def day(text: str) -> str:
    """The day of such a time, in UTC."""
    return moment(text).partition(",")[0]


def _identity(record: RunRecord) -> Iterator[Fact]:
    yield Fact("Run", record.id, "code")
    yield Fact("Suite", record.suite or UNKNOWN)
    yield Fact("Command", record.command, "code")
    yield Fact("Exit code", f"{int(record.exit_code)}: {exit_means(record)}")
    yield Fact("flowproof", record.flowproof)
    yield Fact("Python", record.python)
    if record.origin and record.origin.distribution:
        yield Fact("SHA-256 of flowproof’s files", record.origin.distribution, "code")


def _who(record: RunRecord) -> Iterator[Fact]:
    origin = record.origin
    yield Fact("Run by", origin.actor if origin and origin.actor else UNKNOWN)
    if origin and origin.ci:
        yield Fact("CI service", origin.ci)
    if origin and origin.trigger:
        yield Fact("Started by", origin.trigger)
    yield Fact("Host", record.host)
    yield Fact("Platform", record.platform)
    if origin and origin.system:
        yield Fact("Operating system", f"{origin.system} {origin.kernel}".strip())
    if origin and origin.url:
        kind = "link" if web_address(origin.url) else "code"
        yield Fact("Page of the CI run", origin.url, kind)


def _when(record: RunRecord) -> Iterator[Fact]:
    yield Fact("Started", moment(record.started))
    yield Fact("Ended", moment(record.started, record.duration))
    yield Fact("Duration", seconds(record.duration))
    at_once = "1 flow" if record.slots == 1 else f"{record.slots} flows"
    yield Fact("At the same time", f"at most {at_once}")


def _what(record: RunRecord) -> Iterator[Fact]:
    source = record.source
    if source is None:
        yield Fact("Repository", f"{UNKNOWN}, or none")
    else:
        if source.branch:
            yield Fact("Branch", source.branch, "code")
        yield Fact("Uncommitted changes", _changes(source.changed))
        yield Fact("Repository", source.repository or "no address", "code")
        yield Fact("Commit", source.commit, "code")
        if source.changes:
            yield Fact("SHA-256 of the changes", source.changes, "code")
    for file in record.inputs:
        yield Fact(f"SHA-256 of {file.path}", file.sha256, "code")


def _answered(rows: Sequence[FlowRow]) -> Iterator[Fact]:
    """Which models answered, and when the recordings were made that answered in their place."""
    models = Counter(model for row in rows for model in row.models)
    if models:
        named = [
            f"{model} ({count:,} {'flow' if count == 1 else 'flows'})"
            for model, count in models.most_common(_MODELS)
        ]
        more = [f"and {len(models) - _MODELS:,} more"] if len(models) > _MODELS else []
        yield Fact("Models that answered", shortened(", ".join([*named, *more]), 2_000))
    made = sorted(row.recorded for row in rows if row.recorded and row.phase == "replay")
    if made:
        days = dict.fromkeys((day(made[0]), day(made[-1])))
        yield Fact("Recordings made", shortened(" to ".join(days), 200))


def _changes(changed: bool | None) -> str:
    if changed is None:
        return "unknown: some files go through a filter of the repository, and none was run"
    return "yes: the commit alone does not tell what ran" if changed else "none"


def _population(record: RunRecord) -> Iterator[Fact]:
    counts, population = record.counts(), record.population
    if population is None:
        yield Fact("Found", UNKNOWN)
    else:
        yield Fact("Found", f"{population.discovered:,}")
        yield Fact("Selected", f"{population.selected:,}")
        yield Fact("Left out", f"{population.deselected:,}")
        for name, value in population.selection:
            yield Fact("Selected by", f"{name} {value}".strip(), "code")
    yield Fact("In the record", counts_line(record))
    yield Fact("Ran", f"{len(record.flows) - counts[Verdict.SKIPPED]:,}")
    yield Fact("Scope", "a selection of the suite" if record.partial else "the whole suite")
