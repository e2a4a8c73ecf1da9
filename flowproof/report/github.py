"""A run as GitHub shows it: annotations in the files of the flows, and the summary of the step.

Pure functions of the run record. The command line prints the former and appends the latter to
the file that GitHub names; what the log of other services understands is in `ci`.
"""

from __future__ import annotations

import html
import posixpath
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from flowproof.errors import ExitCode
from flowproof.model.outcome import Failed, Passed, Verdict
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.console import flow_detail
from flowproof.report.text import one_line, shortened
from flowproof.report.words import (
    RUN_MARKS,
    VERDICTS,
    counts_line,
    exit_means,
    headline,
    run_tone,
    seconds,
)

PER_KIND = 10
"""GitHub shows so many annotations of each kind per step, and drops the others without a word."""
MESSAGE_LIMIT = 3_000
SUMMARY_LIMIT = 900_000
"""Bytes. GitHub drops a whole summary that is larger than 1 MiB."""
ROWS = 1_000
DETAILS = 100
GREEN_ROWS = 300
DETAIL_LIMIT = 8_000
_KEPT = 500

_Kind: TypeAlias = Literal["error", "warning"]
_RANK = {
    Verdict.FAIL: 0,
    Verdict.ERROR: 1,
    Verdict.CAPABILITY_ERROR: 2,
    Verdict.FLAKY: 3,
    Verdict.PASS_NOTHING_ASSERTED: 4,
}
# What Markdown and HTML act upon inside a line, links without brackets included.
_ACTIVE = re.compile(r"[!#$&*+.:<>@\[\\\]^_`{|}~]")


def workflow_commands(record: RunRecord, folder: str = "") -> tuple[str, ...]:
    """The workflow commands, a line each, that mark what is not green as errors, and flaky flows
    and warnings as warnings; the worst first, and no more than GitHub shows.

    `folder` is the run's, relative to the root of the repository.
    """
    red = [flow for flow in record.flows if not flow.verdict.green]
    flaky = [flow for flow in record.flows if flow.verdict is Verdict.FLAKY]
    warned = [flow for flow in record.flows if flow.warnings and flow.verdict.green]
    warned = [flow for flow in warned if flow.verdict is not Verdict.FLAKY]
    errors: list[FlowRecord | str] = [*record.errors, *sorted(red, key=_rank)]
    if not errors and record.exit_code is not ExitCode.PASSED:
        errors.append(f"{headline(record)} (exit {int(record.exit_code)}: {exit_means(record)})")
    return (
        *_limited("error", errors, record, folder),
        *_limited("warning", [*flaky, *warned, *record.warnings], record, folder),
    )


def _limited(
    kind: _Kind, found: Sequence[FlowRecord | str], record: RunRecord, folder: str
) -> Iterable[str]:
    shown = found if len(found) <= PER_KIND else found[: PER_KIND - 1]
    for one in shown:
        if isinstance(one, FlowRecord):
            yield _about_flow(kind, one, folder)
        else:
            yield _command(kind, one_line(one, MESSAGE_LIMIT), title=record.suite)
    if more := len(found) - len(shown):
        yield _command(kind, f"{more} more in the report", title=record.suite)


def _about_flow(kind: _Kind, flow: FlowRecord, folder: str) -> str:
    detail = textwrap.dedent(flow_detail(flow)).strip()
    return _command(
        kind,
        shortened(detail or flow.verdict.value, MESSAGE_LIMIT),
        title=f"{one_line(flow.name, 150)} {VERDICTS[flow.verdict].phrase}",
        file=_in_repository(flow.path, folder),
        line=_line(flow),
    )


def _line(flow: FlowRecord) -> int:
    """Where to look first: the assertion that does not hold, or that nothing could show and that
    is the reason for it; else the place in the spec that the reason names; else the flow."""
    failed = [one.line for one in flow.assertions if isinstance(one.outcome, Failed)]
    if not failed and flow.verdict in (Verdict.ERROR, Verdict.CAPABILITY_ERROR):
        # The others could not be judged because of what the reason says.
        open = [one for one in flow.assertions if not isinstance(one.outcome, Passed)]
        failed = [one.line for one in open if one.source in flow.reason] or _named_line(flow)
    return max(1, next(iter(failed), flow.line))


def _named_line(flow: FlowRecord) -> list[int]:
    place = re.compile(rf"^{re.escape(flow.path)}:([0-9]{{1,7}}):[0-9]{{1,7}}:", re.MULTILINE)
    found = place.search(flow.reason)
    return [int(found[1])] if found else []


def _in_repository(path: str, folder: str) -> str:
    """The path from the root of the repository; empty where it leads out of it."""
    found = posixpath.normpath(posixpath.join(folder, path))
    return "" if found.startswith("/") or found.split("/")[0] == ".." else found


def _command(kind: _Kind, message: str, *, title: str, file: str = "", line: int = 0) -> str:
    properties = {"file": one_line(file, 1_000), "line": str(line) if file else ""}
    properties["title"] = one_line(title, 250)
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{kind} {shown}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _rank(flow: FlowRecord) -> int:
    return _RANK.get(flow.verdict, len(_RANK))


def step_summary(record: RunRecord, room: int = SUMMARY_LIMIT) -> str:
    """The run as Markdown of at most `room` bytes: its result, a table of what needs a look with
    the details below it, then the other flows. What does not fit is counted."""
    page = _Page(room)
    mark = RUN_MARKS[run_tone(record)]
    page.add(f"## {mark} {_cell(record.suite, 200)}: {_cell(headline(record))}\n\n")
    end = f"{counts_line(record)} in {seconds(record.duration)}"
    if record.exit_code is not ExitCode.PASSED:
        end += f" (exit {int(record.exit_code)}: {exit_means(record)})"
    page.add(f"{_cell(end)}\n\n")
    if record.partial:
        page.add("This run covers a selection: it does not vouch for the whole suite.\n\n")
    for kind, texts in (("error", record.errors), ("warning", record.warnings)):
        page.add_all((f"- {kind}: {_cell(text)}\n" for text in texts), len(texts), 50, "- {}\n")
        page.add("\n" if texts else "")
    looked_at = [flow for flow in record.flows if flow.verdict in _RANK or flow.warnings]
    looked_at.sort(key=_rank)
    if looked_at and page.add(_HEAD):
        page.add_all(map(_row, looked_at), len(looked_at), ROWS, "| | {} | | |\n")
        page.add("\n")
        told = [f for f in looked_at if not f.verdict.green or f.verdict is Verdict.FLAKY]
        page.add_all(map(_details, told), len(told), DETAILS, "Details of {}\n\n")
    others = [f for f in record.flows if f.verdict not in _RANK and not f.warnings]
    tail = "\n</details>\n"
    title = f"<details><summary>{_flows(len(others))} passed or skipped</summary>\n\n"
    if others and page.add(title + _HEAD + _row(others[0]), spare=len(tail)):
        page.add_all(map(_row, others[1:]), len(others) - 1, GREEN_ROWS, "| | {} | | |\n")
        page.close(tail)
    return page.text()


class _Page:
    """Text that never grows beyond its room, but for a few bytes that are kept for its end."""

    def __init__(self, room: int) -> None:
        self._left = room - _KEPT
        self._parts: list[str] = []

    def add(self, text: str, spare: int = 0) -> bool:
        """Add this if there is room for it; whether there was."""
        size = len(text.encode())
        if size + spare > self._left:
            return False
        self._left -= size
        self._parts.append(text)
        return True

    def add_all(self, parts: Iterable[str], count: int, most: int, note: str) -> None:
        """Add the first of `count` parts, as far as there is room; `note` counts the others."""
        shown = 0
        for part in parts:
            if shown == most or not self.add(part):
                break
            shown += 1
        if shown < count:
            self.close(note.format(f"{count - shown} more in the report"))

    def close(self, text: str) -> None:
        """Add this; room was kept for it."""
        self._parts.append(text)

    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)


_HEAD = "| verdict | flow | duration | reason |\n|---|---|---:|---|\n"


def _row(flow: FlowRecord) -> str:
    verdict = f"{VERDICTS[flow.verdict].symbol} {_cell(flow.verdict.value)}"
    place = _cell(f"{one_line(flow.path, 300)}:{_line(flow)}")
    name = f"<b>{_cell(flow.name, 200)}</b><br>{place}"
    reason = flow.reason or "; ".join(flow.warnings[:3])
    return f"| {verdict} | {name} | {seconds(flow.duration)} | {_cell(reason, 300)} |\n"


def _details(flow: FlowRecord) -> str:
    text = shortened(textwrap.dedent(flow_detail(flow)), DETAIL_LIMIT)
    # No blank line of the text can end the block: only `</pre>` does, which cannot be in it.
    title = f"{VERDICTS[flow.verdict].symbol} {_cell(flow.name, 200)}"
    body = html.escape(text, quote=False)
    return f"<details><summary>{title}</summary>\n\n<pre>\n{body}\n</pre>\n\n</details>\n\n"


def _flows(count: int) -> str:
    return "1 flow" if count == 1 else f"{count} flows"


def _cell(text: str, limit: int = 400) -> str:
    """The text on one line, with no character that Markdown or HTML would act upon."""
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", one_line(text, limit))
