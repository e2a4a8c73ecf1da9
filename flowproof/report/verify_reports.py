"""What a run record says against itself, and reports made again of it, compared byte for byte.

`verify` calls it with the digests of the files that are there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import ParseError

from flowproof.errors import CountsDiffer, ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord, combined_exit_code
from flowproof.report import ctrf, evidence, html, junit, run_json
from flowproof.report.text import one_line
from flowproof.report.write import Content, Files
from flowproof.version import __version__

ATTACHED = b"[[ATTACHMENT|"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """A file with what is wrong with it, as the rest of a sentence."""

    file: str
    problem: str


@dataclass(frozen=True, slots=True)
class Remade:
    """The kinds of reports that came out the same, what differs, and what was not compared."""

    kinds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Result:
    kinds: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


_RENDERED: Mapping[str, tuple[str, Callable[[RunRecord], Files]]] = {
    "html": (html.FILE_NAME, html.render),
    "json": (run_json.FILE_NAME, run_json.render),
    "ctrf": (ctrf.FILE_NAME, ctrf.render),
    "evidence": (evidence.FILE_NAME, evidence.render),
}
"""Each kind with the file by which it is known to be there."""


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


def remade(record: RunRecord, found: Mapping[str, str], folder: Path, distribution: str) -> Remade:
    """Make each report that is there again. `found` has the digests of the files by name."""
    if other := _other_writer(record, distribution):
        note = f"reports were not made again: {other}, and this is another flowproof"
        return Remade(notes=(note,))
    result = _Result()
    for kind, (known_by, render) in _RENDERED.items():
        if known_by in found:
            findings = list(_differing(render(record), found))
            result.findings += findings
            result.kinds += [] if findings else [kind]
    if junit.FILE_NAME in found:
        _junit(record, found[junit.FILE_NAME], folder, result)
    return Remade(tuple(result.kinds), tuple(result.findings), tuple(result.notes))


def _other_writer(record: RunRecord, distribution: str) -> str:
    """Which flowproof wrote it, if it was not this one."""
    if record.flowproof != __version__:
        return f"flowproof {one_line(record.flowproof, 40)} wrote them"
    wrote = record.origin.distribution if record.origin else ""
    if distribution and wrote and distribution != wrote:
        return f"another build of flowproof {__version__} wrote them"
    return ""


def _differing(files: Files, found: Mapping[str, str]) -> Iterator[Finding]:
    waiting = iter(files)
    while True:
        name = ""
        try:
            made = next(waiting, None)
            if made is None:
                return
            name, content = made
            same = _digest(content) == found.get(name)
        except (CountsDiffer, ValueError, OverflowError, LookupError, ParseError) as error:
            # What no run ever said is for no renderer to expect.
            why = f"{type(error).__name__}: {error}"
            yield Finding(name or run_json.FILE_NAME, f"cannot be shown, {why}")
            return
        if name not in found:
            yield Finding(name, "is missing, or not listed")
        elif not same:
            yield Finding(name, f"is not what {run_json.FILE_NAME} makes")


def _junit(record: RunRecord, digest: str, folder: Path, result: _Result) -> None:
    """Compare the JUnit file, whose options the record does not tell."""
    details: tuple[junit.Detail, ...] = ("flow", "steps")
    for detail in details:
        render = partial(junit.render, detail=detail)
        if not list(_differing(render(record), {junit.FILE_NAME: digest})):
            result.kinds.append("junit")
            return
    if _holds(folder / junit.FILE_NAME, ATTACHED):
        result.notes.append(
            f"{junit.FILE_NAME} names attachments of the machine that wrote it, and could not be "
            "compared"
        )
    else:
        result.findings.append(Finding(junit.FILE_NAME, f"is not what {run_json.FILE_NAME} makes"))


def _holds(path: Path, part: bytes) -> bool:
    with path.open("rb") as file:
        kept = b""
        while chunk := file.read(_CHUNK):
            if part in kept + chunk:
                return True
            kept = chunk[-len(part) :]
    return False


def _digest(content: Content) -> str:
    seen = hashlib.sha256()
    for piece in [content] if isinstance(content, bytes | str) else content:
        seen.update(piece if isinstance(piece, bytes) else piece.encode())
    return seen.hexdigest()
