"""What a run record says against itself, and reports made again of it, compared byte for byte.
Where another flowproof made them, what they say is compared with the record instead.

`verify` calls it with the digests of the files that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord, combined_exit_code
from flowproof.report import ctrf, evidence, html, junit, run_json, statement, verify_facts
from flowproof.report import verify_pages as pages
from flowproof.report.text import one_line
from flowproof.report.verify_files import Finding, Unchecked, differing
from flowproof.report.verify_junit import junit_differs, junit_problems
from flowproof.report.write import Files
from flowproof.version import __version__


@dataclass(frozen=True, slots=True)
class Remade:
    """The kinds of reports that came out the same, what differs, and what was not compared."""

    kinds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()


@dataclass(slots=True)
class _Result:
    kinds: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)


_RENDERED: Mapping[str, tuple[str, Callable[[RunRecord], Files]]] = {
    "html": (html.FILE_NAME, html.render),
    "json": (run_json.FILE_NAME, run_json.render),
    "ctrf": (ctrf.FILE_NAME, ctrf.render),
    "evidence": (evidence.FILE_NAME, evidence.render),
}
"""Each kind with the file by which it is known to be there."""
_MADE_OF_RECORD = frozenset(
    {html.FILE_NAME, ctrf.FILE_NAME, evidence.FILE_NAME, statement.FILE_NAME, junit.FILE_NAME}
)


def is_report(name: str) -> bool:
    """Whether who opens the folder takes a file for a report of the run, by its name."""
    return name in _MADE_OF_RECORD or name == run_json.FILE_NAME or pages.is_page(name)


def record_problems(record: RunRecord) -> Iterator[str]:
    """What a record that could be read says against itself, beside its counts, which reading
    it compares."""
    ran = tuple(f.exit_code for f in record.flows if f.verdict is not Verdict.SKIPPED)
    amounts, told = combined_exit_code(ran), record.exit_code
    possible = {amounts, ExitCode.INTERRUPTED}
    if not ran:
        possible.add(ExitCode.PASSED)
    if any(flow.verdict is Verdict.FLAKY for flow in record.flows):
        possible.add(combined_exit_code((amounts, ExitCode.FLOW_FAILED)))
    if record.errors:
        possible |= {combined_exit_code((amounts, code)) for code in ExitCode if code}
        possible.discard(ExitCode.PASSED)
    if told not in possible:
        yield f"its exit code is {int(told)}, and its flows amount to {int(amounts)}"


def remade(
    record: RunRecord | None, found: Mapping[str, str], folder: Path, distribution: str
) -> Remade:
    """Make each report that is there again; without a record, or by another flowproof than the one
    that wrote them, none can be. `found` has the digests of the files by name."""
    why = _other_writer(record, distribution) if record else f"there is no {run_json.FILE_NAME}"
    if record is None or why:
        made = tuple(sorted({*filter(is_report, found)} - {run_json.FILE_NAME}))
        unchecked = [Unchecked(made, why)] if made else []
        if record is None:
            return Remade(unchecked=tuple(unchecked))
        unchecked += pages.other_words(record, found, folder)
        unchecked += verify_facts.other_words(record, found, folder)
        return Remade((), tuple(_contradictions(record, found, folder)), tuple(unchecked))
    result = _Result()
    for kind, (known_by, render) in _RENDERED.items():
        if known_by in found or (kind == "html" and any(map(pages.is_page, found))):
            findings = list(differing(render(record), found))
            result.findings += findings
            result.kinds += [] if findings else [kind]
    result.findings += pages.foreign(record, found, folder)
    if junit.FILE_NAME in found:
        match junit_differs(record, found[junit.FILE_NAME], folder):
            case None:
                result.kinds.append("junit")
            case Finding() as finding:
                result.findings.append(finding)
            case unchecked_file:
                result.unchecked.append(unchecked_file)
    return Remade(tuple(result.kinds), tuple(result.findings), tuple(result.unchecked))


def _contradictions(record: RunRecord, found: Mapping[str, str], folder: Path) -> Iterator[Finding]:
    """What reports say against the record, whichever flowproof made them."""
    yield from pages.foreign(record, found, folder)
    yield from pages.page_problems(record, found, folder)
    yield from verify_facts.fact_problems(record, found, folder)
    if junit.FILE_NAME in found:
        yield from junit_problems(record, folder)


def _other_writer(record: RunRecord, distribution: str) -> str:
    """Which flowproof wrote it, and can check it, if it was not this one."""
    if record.flowproof != __version__:
        wrote = one_line(record.flowproof, 40)
        return (
            f"flowproof {wrote} wrote them, and this is {__version__}: they can be checked with "
            f"flowproof {wrote}"
        )
    build = record.origin.distribution if record.origin else ""
    if distribution and build and distribution != build:
        return (
            f"another build of flowproof {__version__} wrote them: they can be checked with the "
            f"one whose files have the digest {one_line(build, 64)}; those of this one have "
            f"{distribution}"
        )
    return ""
