"""What the HTML report shows, made from the run record: the templates only lay it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flowproof.model.flow_spec import Control
from flowproof.model.jsonvalue import JsonError, parse, write
from flowproof.model.outcome import Passed
from flowproof.model.run_record import FlowRecord, RunRecord, TaskRecord
from flowproof.model.trajectory import Message, ToolCall, TurnView
from flowproof.report.text import one_line, without_colours
from flowproof.report.words import (
    EXIT_MEANS,
    VERDICTS,
    Words,
    agent_end,
    hints,
    notes,
    outcome_says,
    outcome_words,
    seconds,
    side_calls,
)

PRETTY_LIMIT = 200_000


@dataclass(frozen=True, slots=True)
class AssertionShown:
    """One assertion with its outcome in words."""

    words: Words
    source: str
    place: str
    message: str
    expected: str
    closest: str


@dataclass(frozen=True, slots=True)
class CallShown:
    """A tool call; `problem` says what is wrong with its arguments, if anything.

    `note` says who ran it where that was not the agent.
    """

    name: str
    id: str
    arguments: str
    problem: str
    note: str


@dataclass(frozen=True, slots=True)
class MessageShown:
    """One message. `label` names who speaks, `note` what is special about it."""

    role: str
    label: str
    text: str
    note: str = ""
    mocked: bool = False
    calls: tuple[CallShown, ...] = ()
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnShown:
    """One turn: `facts` about the request, then what it added and what was answered."""

    number: int
    facts: tuple[str, ...]
    messages: tuple[MessageShown, ...]


@dataclass(frozen=True, slots=True)
class TaskShown:
    """One task; `left` and `width` place its bar, in thousandths of the flow's time."""

    record: TaskRecord
    time: str
    left: int
    width: int


@dataclass(frozen=True, slots=True)
class StreamShown:
    """What the agent wrote to one stream."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One flow in the table of all. `anchor` is where in the page the rest is told."""

    anchor: str
    record: FlowRecord
    words: Words
    time: str
    holds: str
    brief: str


@dataclass(frozen=True, slots=True)
class FlowShown:
    """One flow, everything in words. `anchor` is unique in the page."""

    anchor: str
    record: FlowRecord
    words: Words
    time: str
    facts: tuple[tuple[str, str], ...]
    assertions: tuple[AssertionShown, ...]
    hints: tuple[str, ...]
    turns: tuple[TurnShown, ...]
    tasks: tuple[TaskShown, ...]
    streams: tuple[StreamShown, ...]
    digests: tuple[tuple[str, str], ...]
    control: tuple[tuple[str, str], ...]


def flow_row(flow: FlowRecord, number: int) -> FlowRow:
    """The row of the flow that is the `number`th of the run."""
    return FlowRow(
        anchor=_anchor(number),
        record=flow,
        words=VERDICTS[flow.verdict],
        time=seconds(flow.duration),
        holds=_holds(flow),
        brief=one_line(flow.reason, 160),
    )


def flow_shown(flow: FlowRecord, number: int) -> FlowShown:
    """The view of the flow that is the `number`th of the run."""
    files = (("Spec", flow.spec), ("Trace", flow.trace))
    return FlowShown(
        anchor=_anchor(number),
        record=flow,
        words=VERDICTS[flow.verdict],
        time=seconds(flow.duration),
        facts=tuple(_flow_facts(flow)),
        assertions=tuple(_assertions(flow)),
        hints=hints(flow),
        turns=tuple(_turns(flow.trajectory.turns)),
        tasks=tuple(_tasks(flow)),
        streams=tuple(_streams(flow)),
        digests=tuple((f"{kind} {file.path}", file.sha256) for kind, file in files if file),
        control=tuple(_control(flow.control)) if flow.control else (),
    )


def run_facts(record: RunRecord) -> Iterator[tuple[str, str]]:
    """What made the run, as labels and values."""
    yield "Run", record.id
    yield "Command", record.command
    yield "Started", record.started
    yield "Duration", seconds(record.duration)
    yield "Exit code", f"{int(record.exit_code)}: {EXIT_MEANS[record.exit_code]}"
    yield "Scope", "a selection of the suite" if record.partial else "the whole suite"
    yield "flowproof", record.flowproof
    yield "Python", record.python
    yield "Platform", record.platform
    yield "Host", record.host


def shares(record: RunRecord) -> Iterator[tuple[Words, str, int, int]]:
    """For each verdict that occurs: its words, value, count, and the count of those before."""
    before = 0
    for verdict, count in record.counts().items():
        if count:
            yield VERDICTS[verdict], verdict.value, count, before
            before += count


def _anchor(number: int) -> str:
    return f"flow-{number}"


def _holds(flow: FlowRecord) -> str:
    if not flow.assertions:
        return "none"
    held = sum(isinstance(result.outcome, Passed) for result in flow.assertions)
    return f"{held} of {len(flow.assertions)} hold"


def _flow_facts(flow: FlowRecord) -> Iterator[tuple[str, str]]:
    yield "Phase", flow.phase
    yield "Duration", seconds(flow.duration)
    if flow.started:
        yield "Started", flow.started
    if flow.driver:
        yield "Driver", flow.driver
    if flow.command:
        yield "Agent", flow.command
    if flow.agent is not None:
        yield "Agent ended", f"{agent_end(flow.agent)} after {seconds(flow.agent.duration)}"
    if flow.host:
        yield "Host", flow.host
    yield "Containment", flow.containment
    yield "Model traffic", _traffic(flow)
    for note in notes(flow):
        yield "Note", note
    if flow.tags:
        yield "Tags", ", ".join(flow.tags)
    yield "Exit code", f"{int(flow.exit_code)}: {EXIT_MEANS[flow.exit_code]}"


def _traffic(flow: FlowRecord) -> str:
    traffic = flow.traffic
    requests = "1 request" if traffic.requests == 1 else f"{traffic.requests} requests"
    if traffic.side_calls:
        requests += f" and {side_calls(traffic.side_calls)}"
    if flow.phase == "replay":
        return f"{requests}; {traffic.served} of {traffic.recorded} recorded turns served"
    dropped = traffic.retries_dropped
    left_out = f"; {dropped} transient failures left out" if dropped else ""
    return f"{requests}; {traffic.recorded} turns recorded{left_out}"


def _control(control: Control) -> Iterator[tuple[str, str]]:
    yield "Control", control.id
    if control.title:
        yield "Title", control.title
    if control.description:
        yield "Description", control.description
    if control.references:
        yield "References", ", ".join(control.references)
    if control.owner:
        yield "Owner", control.owner


def _assertions(flow: FlowRecord) -> Iterator[AssertionShown]:
    for result in flow.assertions:
        message, expected, closest = outcome_says(result.outcome)
        yield AssertionShown(
            outcome_words(result.outcome),
            result.source,
            f"{flow.path}:{result.line}",
            message,
            expected,
            closest,
        )


def _turns(turns: tuple[TurnView, ...]) -> Iterator[TurnShown]:
    earlier: dict[int, TurnView] = {}
    for turn in turns:
        base = None if turn.base is None else earlier.get(turn.base)
        yield TurnShown(turn.number, tuple(_turn_facts(turn)), tuple(_messages(turn, base)))
        earlier[turn.number] = turn


def _turn_facts(turn: TurnView) -> Iterator[str]:
    yield turn.dialect
    if turn.model:
        yield turn.model
    if turn.base is not None:
        shares = "continues" if turn.continues else "has the instructions of"
        yield f"{shares} turn {turn.base}"
    if turn.tools:
        yield f"{len(turn.tools)} tools offered" if len(turn.tools) > 1 else "1 tool offered"
    if turn.status != 200:
        yield f"answered with status {turn.status}"
    if turn.unreadable:
        yield "an answer that cannot be read"
    if turn.tokens is not None:
        yield f"{turn.tokens[0]} tokens in, {turn.tokens[1]} out"


def _messages(turn: TurnView, base: TurnView | None) -> Iterator[MessageShown]:
    told = any(message.role == "system" for message in turn.added)
    if turn.system and not told and (base is None or base.system != turn.system):
        yield MessageShown("system", "System", turn.system)
    # Agents send the model's last answer back to it; showing it twice would only tire.
    answered = {_said(answer) for answer in base.answers} if base else set()
    for message in turn.added:
        if message.role != "assistant" or _said(message) not in answered:
            note = "sent by the agent" if message.role == "assistant" else ""
            yield _message(message, note, turn.mocked)
    for index, answer in enumerate(turn.answers, 1):
        note = f"choice {index} of {len(turn.answers)}" if len(turn.answers) > 1 else ""
        yield _message(answer, note, ())
    if not turn.answers:
        yield MessageShown("assistant", "No answer", f"The model’s API said {turn.status}.")


def _said(message: Message) -> tuple[str, tuple[tuple[str | None, str, str], ...]]:
    # An API may show what it ran beside its answer, where agents do not send it back.
    calls = tuple((call.id, call.name, call.text) for call in message.asks)
    return message.text or "", calls


_LABELS: Mapping[str, str] = {
    "system": "System",
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool result",
}


def _message(message: Message, note: str, mocked: tuple[str, ...]) -> MessageShown:
    text = message.text or ""
    if message.role == "tool":
        note = message.tool or message.call_id or note
        text = _pretty(text)
    return MessageShown(
        role=message.role,
        label=_LABELS[message.role],
        text=text,
        note=note,
        mocked=message.role == "tool" and message.tool in mocked,
        calls=tuple(_call(call) for call in message.tool_calls),
        attachments=message.attachments,
    )


def _call(call: ToolCall) -> CallShown:
    text = call.text if call.malformed else write(call.arguments, indent=2)
    problem = f"these arguments are {call.fault}" if call.malformed else ""
    note = "(run by the provider)" if call.served else ""
    return CallShown(call.name, call.id or "", text, problem, note)


def _pretty(text: str) -> str:
    """A JSON object or list spread over lines for reading; any other text as it is."""
    if len(text) > PRETTY_LIMIT or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return write(parse(text), indent=2)
    except JsonError:
        return text


def _tasks(flow: FlowRecord) -> Iterator[TaskShown]:
    whole = max(
        [flow.duration, *((task.started or 0) + (task.duration or 0) for task in flow.tasks)]
    )
    for task in flow.tasks:
        if task.started is None or task.duration is None or whole <= 0:
            yield TaskShown(task, "–", 0, 0)
        else:
            left = min(994, round(1000 * task.started / whole))
            width = max(6, min(1000 - left, round(1000 * task.duration / whole)))
            yield TaskShown(task, seconds(task.duration), left, width)


def _streams(flow: FlowRecord) -> Iterator[StreamShown]:
    if flow.agent is None:
        return
    for name, stream in (("stdout", flow.agent.stdout), ("stderr", flow.agent.stderr)):
        if stream.total:
            yield StreamShown(f"Agent {name}, {stream.total:,} bytes", without_colours(stream.text))
