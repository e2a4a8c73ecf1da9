"""What a terminal shows of a run, as plain text: lines of flows, details of failures, a summary.

Pure functions; `flowproof.report.live` prints what they return while a run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import TextIO

from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import REFUSALS, Divergence, Passed, Unjudged, Verdict
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.mcp_words import ENDINGS, call_line, failed_calls, lane_line, mcp_calls
from flowproof.report.text import one_line, readable
from flowproof.report.words import (
    VERDICTS,
    Tone,
    agent_end,
    counts_line,
    exit_means,
    headline,
    hints,
    notes,
    outcome_says,
    outcome_words,
    run_tone,
    seconds,
    side_calls,
)

LINE_LIMIT = 500
BLOCK_LIMIT = 40
VERBOSE_LIMIT = 1000
"""Lines of what an agent printed that `-v` shows of one stream."""
LIST_LIMIT = 20
FEW = 10
"""A run of more flows is summed up at more length: its first lines are out of sight."""


def wants_color(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether text for this stream is coloured.

    NO_COLOR refuses, else FORCE_COLOR decides, else it is coloured on a terminal that can show
    it (TERM is not `dumb`) outside CI.
    """
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced not in ("0", "false")
    return is_interactive(stream, environ)


def is_interactive(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a person looks at this stream on a terminal whose cursor can be moved."""
    if environ.get("CI", "") not in ("", "0", "false") or environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


@dataclass(frozen=True, slots=True)
class Style:
    """How text is set off: with ANSI colours, or not at all. Colour never says anything alone."""

    color: bool = False

    def tone(self, text: str, tone: Tone) -> str:
        """The text in the colour of a verdict."""
        return self._wrap(text, {"good": "32", "bad": "31;1", "warn": "33", "quiet": "2"}[tone])

    def bold(self, text: str) -> str:
        """The text set off."""
        return self._wrap(text, "1")

    def faint(self, text: str) -> str:
        """The text held back."""
        return self._wrap(text, "2")

    def added(self, text: str) -> str:
        """A line that a diff adds."""
        return self._wrap(text, "32")

    def removed(self, text: str) -> str:
        """A line that a diff takes away."""
        return self._wrap(text, "31")

    def _wrap(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text


PLAIN = Style()


def flow_line(flow: FlowRecord, style: Style = PLAIN) -> str:
    """One line for a flow that ended: verdict, name, path, duration, and why it was skipped."""
    words = VERDICTS[flow.verdict]
    mark = style.tone(f"{words.symbol} {flow.verdict.value:<7}", words.tone)
    tail = style.faint(f"{one_line(flow.path)}  {seconds(flow.duration)}{_nth_try(flow)}")
    line = f"{mark}  {style.bold(one_line(flow.name, 200))}  {tail}"
    if flow.verdict is Verdict.SKIPPED and flow.reason:
        line += f"  {one_line(flow.reason)}"
    return line


def flow_detail(flow: FlowRecord, style: Style = PLAIN, *, verbose: bool = False) -> str:
    """What stands below the line of a flow that is not green or has warnings; else nothing,
    but for what its agent printed if `verbose`."""
    lines: list[str] = []
    green = flow.verdict.green
    if not green or flow.verdict is Verdict.FLAKY:
        lines += _block(flow.reason)
    if not green or len(flow.attempts) > 1:
        lines += _tries(flow, style)
    if not green and flow.divergence is not None:
        lines += _divergence(flow.divergence, flow.reason, style)
    found = [f"{style.tone('warning:', 'warn')} {one_line(text)}" for text in flow.warnings]
    lines += [f"{style.bold('hint:')} {one_line(hint)}" for hint in hints(flow)]
    lines += [style.faint(f"note: {one_line(note)}") for note in notes(flow)]
    if not green:
        lines += _assertions(flow, style)
    if flow.mcp and (verbose or not green):
        lines += _lanes(flow, style, verbose=verbose)
    lines += _recording(flow)
    lines += found
    if flow.agent is not None and (verbose or not green):
        lines += _agent(flow.agent, flow.reason, style, verbose=verbose)
    return "\n".join(f"  {line}" for line in lines)


def finished(flow: FlowRecord, style: Style = PLAIN, *, verbose: bool = False) -> str:
    """The line of a flow that ended, with its details below."""
    detail = flow_detail(flow, style, verbose=verbose)
    line = flow_line(flow, style)
    return f"{line}\n{detail}" if detail else line


def summary(
    record: RunRecord,
    reports: Sequence[str] = (),
    style: Style = PLAIN,
    *,
    slowest: int | None = None,
) -> str:
    """The end of a run: its result in words, counts that add up, and where the reports are.

    Before it come the flows that were flaky, and in a run of more than `FEW` flows those that
    are not green once more. `slowest` is how many of the slowest are named; None: three in such
    a run, else none.
    """
    many = len(record.flows) > FEW
    end = f"{counts_line(record)} in {seconds(record.duration)}{_at_a_time(record)}"
    if record.exit_code is not ExitCode.PASSED:
        end += f" (exit {int(record.exit_code)}: {exit_means(record)})"
    lines = _slowest(record, (3 if many else 0) if slowest is None else slowest, style)
    lines += _flaky(record, style)
    lines += _not_green(record, style) if many else []
    lines += [style.tone(headline(record) + ".", run_tone(record)), end]
    if record.partial and record.command == "suite run":
        lines.append("This run covers a selection: it does not vouch for the whole suite.")
    lines += [f"{style.tone('error:', 'bad')} {one_line(text)}" for text in record.errors]
    lines += [f"{style.tone('warning:', 'warn')} {one_line(text)}" for text in record.warnings]
    lines += [f"report: {one_line(path)}" for path in reports]
    return "\n".join(lines)


def _at_a_time(record: RunRecord) -> str:
    """How many flows ran at once on average, where that is more than one."""
    if record.duration <= 0:
        return ""
    average = sum(flow.duration for flow in record.flows) / record.duration
    return f", {average:.1f} at a time" if average >= 1.15 else ""


def _slowest(record: RunRecord, count: int, style: Style) -> list[str]:
    ran = (flow for flow in record.flows if flow.verdict is not Verdict.SKIPPED)
    found = nlargest(count, ran, key=lambda flow: flow.duration)
    lines = [f"  {seconds(flow.duration):>9}  {_named(flow, style)}" for flow in found]
    return [style.bold("slowest:"), *lines] if lines else []


def _flaky(record: RunRecord, style: Style) -> list[str]:
    found = [flow for flow in record.flows if flow.verdict is Verdict.FLAKY]
    lines: list[str] = []
    for flow in found[:LIST_LIMIT]:
        lines.append(f"  {_marked(flow, style)}")
        lines += [f"      {line}" for line in _tries(flow, style)]
        last = len(flow.attempts) + 1
        lines.append(f"      try {last}: {style.tone('pass', 'good')}, {seconds(flow.duration)}")
    return [style.bold("flaky:"), *lines, *_more(len(found))] if found else []


def _not_green(record: RunRecord, style: Style) -> list[str]:
    found = [flow for flow in record.flows if not flow.verdict.green]
    lines = [
        f"  {_marked(flow, style)}  {one_line(flow.reason, 160)}" for flow in found[:LIST_LIMIT]
    ]
    return [style.bold("not green:"), *lines, *_more(len(found))] if found else []


def _more(count: int) -> list[str]:
    return [f"  … and {count - LIST_LIMIT} more"] if count > LIST_LIMIT else []


def _named(flow: FlowRecord, style: Style) -> str:
    return f"{one_line(flow.name, 100)}  {style.faint(one_line(flow.path))}"


def _marked(flow: FlowRecord, style: Style) -> str:
    words = VERDICTS[flow.verdict]
    return f"{style.tone(words.symbol, words.tone)} {_named(flow, style)}"


def _nth_try(flow: FlowRecord) -> str:
    return f"  try {len(flow.attempts) + 1}" if flow.attempts else ""


def _tries(flow: FlowRecord, style: Style) -> list[str]:
    """The tries before the last: of very many the first ones, which began it."""
    lines = []
    for number, one in enumerate(flow.attempts[:LIST_LIMIT], 1):
        verdict = style.tone(one.verdict.value, VERDICTS[one.verdict].tone)
        reason = f": {one_line(one.reason, 200)}" if one.reason else ""
        lines.append(f"try {number}: {verdict}, {seconds(one.duration)}{reason}")
    return lines + _more(len(flow.attempts))


def _assertions(flow: FlowRecord, style: Style) -> list[str]:
    """What does not hold; what could not be judged is only counted where it has one cause."""
    lines = []
    reasons = [r.outcome.reason for r in flow.assertions if isinstance(r.outcome, Unjudged)]
    counted = len(reasons) > 1 and len(set(reasons)) == 1
    if counted:
        words = outcome_words(Unjudged(""))
        symbol = style.tone(words.symbol, words.tone)
        lines.append(f"{symbol} {len(reasons)} assertions not judged: {one_line(reasons[0])}")
    for result in flow.assertions:
        if isinstance(result.outcome, Passed) or (counted and isinstance(result.outcome, Unjudged)):
            continue
        words = outcome_words(result.outcome)
        message, expected, closest = outcome_says(result.outcome)
        place = style.faint(f"{one_line(flow.path)}:{result.line}")
        lines.append(f"{style.tone(words.symbol, words.tone)} {one_line(result.source)}  {place}")
        lines += _block(message, "    ")
        lines += _labelled("expected", expected)
        lines += _labelled("closest", closest)
    return lines


def _lanes(flow: FlowRecord, style: Style, *, verbose: bool) -> list[str]:
    """What crossed the boundary to each MCP server, and which of its calls came to nothing."""
    lines: list[str] = []
    for lane in flow.mcp[:LIST_LIMIT]:
        lines.append(style.faint(f"mcp {one_line(lane.server, 60)}: {one_line(lane_line(lane))}"))
        for call in [*failed_calls(lane)][:LIST_LIMIT]:
            words = ENDINGS[call.outcome]
            mark = style.tone(words.symbol, words.tone)
            said = one_line(call.answer, 160)
            lines.append(
                f"  {mark} call {call.number}: {one_line(call_line(call), 160)}: {words.phrase}"
                + (f" {style.faint(said)}" if said else "")
            )
        if lane.stderr.strip():
            lines.append(style.faint(f"its server's stderr{'' if verbose else ' ends'}:"))
            tail = "\n".join(lane.stderr.strip().split("\n")[-BLOCK_LIMIT // 2 :])
            lines += _captured(lane.stderr) if verbose else _block(tail, "  | ")
    return lines


def _labelled(label: str, text: str) -> list[str]:
    first, *rest = _block(text) or [""]
    if not first:
        return []
    return [f"    {label + ':':<10}{first}", *(f"{'':14}{line}" for line in rest)]


def _divergence(found: Divergence, reason: str, style: Style) -> list[str]:
    lines = [] if found.message in reason else _block(found.message)
    paint = {"-": style.removed, "+": style.added}
    for line in found.excerpt[:BLOCK_LIMIT]:
        text = f"{line.mark or ' '} {one_line(line.text, LINE_LIMIT)}"
        lines.append("  " + paint.get(line.mark, style.faint)(text))
    return lines


def _recording(flow: FlowRecord) -> list[str]:
    """What a recording left on disk."""
    if flow.phase != "record" or flow.verdict is Verdict.SKIPPED:
        return []
    dropped = flow.traffic.retries_dropped
    requests = "request" if dropped == 1 else "requests"
    retries = f"; {dropped} failed and retried {requests} left out" if dropped else ""
    if flow.trace is None:
        return [f"no trace was written; an earlier one is as it was{retries}"]
    turns = "1 turn" if flow.traffic.recorded == 1 else f"{flow.traffic.recorded} turns"
    beside = side_calls(flow.traffic.side_recorded), mcp_calls(flow.mcp)
    held = ", ".join(filter(None, (turns, *beside)))
    return [f"wrote {one_line(flow.trace.path)} ({held}){retries}"]


def _agent(agent: AgentExit, reason: str, style: Style, *, verbose: bool) -> list[str]:
    end = f"the agent {one_line(agent_end(agent))}"
    lines = [] if end in reason or (agent.error and agent.error in reason) else [style.faint(end)]
    for name, captured in (("stdout", agent.stdout), ("stderr", agent.stderr)):
        text = captured.text if verbose else captured.tail
        if not verbose and any(refusal in captured.text for refusal in REFUSALS):
            lines.append(style.faint(f"its {name} repeats what it was refused with; -v shows it"))
        elif text.strip():
            whole = text.strip() == captured.text.strip()
            lines.append(style.faint(f"its {name}:" if whole else f"its {name} ends:"))
            lines += _captured(text) if verbose else _block(text, "  | ")
    return lines


def _captured(text: str) -> list[str]:
    """All that was kept of a stream; of very many lines the first and the last."""
    lines = text.strip("\n").split("\n")
    cut = len(lines) - VERBOSE_LIMIT
    if cut > 0:
        half = VERBOSE_LIMIT // 2
        lines = [*lines[:half], f"… {cut} lines left out …", *lines[-half:]]
    return [f"  | {_cut(readable(line))}" for line in lines]


def _block(text: str, indent: str = "") -> list[str]:
    """Lines of a text of any kind: made visible, and bounded both ways."""
    lines = readable(text[: BLOCK_LIMIT * LINE_LIMIT]).strip("\n").split("\n")
    shown = [f"{indent}{_cut(line)}" for line in lines[:BLOCK_LIMIT]]
    if len(lines) > BLOCK_LIMIT:
        shown.append(f"{indent}… and {len(lines) - BLOCK_LIMIT} more lines")
    return shown if text.strip() else []


def _cut(line: str) -> str:
    cut = len(line) - LINE_LIMIT
    return line if cut <= 0 else f"{line[:LINE_LIMIT]}… ({cut} characters more)"
