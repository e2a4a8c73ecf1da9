"""How verdicts, counts and durations read, so that every report says the same in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import Failed, Outcome, Passed, Uncertifiable, Unjudged, Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.model.served import advice, listed, upgrades

Tone: TypeAlias = Literal["good", "bad", "warn", "quiet"]


@dataclass(frozen=True, slots=True)
class Words:
    """A symbol, a phrase, and how loud it is."""

    symbol: str
    phrase: str
    tone: Tone


VERDICTS: Mapping[Verdict, Words] = {
    Verdict.PASS: Words("✓", "passed", "good"),
    Verdict.PASS_NOTHING_ASSERTED: Words("✓", "passed, asserting nothing", "warn"),
    Verdict.FLAKY: Words("≈", "passed only after a retry", "warn"),
    Verdict.FAIL: Words("✗", "failed", "bad"),
    Verdict.ERROR: Words("!", "could not be judged", "bad"),
    Verdict.CAPABILITY_ERROR: Words("⊘", "could not be certified here", "bad"),
    Verdict.SKIPPED: Words("–", "was skipped", "quiet"),
}

EXIT_MEANS: Mapping[ExitCode, str] = {
    ExitCode.PASSED: "passed",
    ExitCode.FLOW_FAILED: "a flow failed",
    ExitCode.AUTHOR_ERROR: "a file, a setting or the command line is wrong",
    ExitCode.INTERNAL: "flowproof itself failed",
    ExitCode.WORLD_ERROR: "something outside kept a flow from being judged",
    ExitCode.NOTHING_RAN: "nothing was selected or executed",
    ExitCode.INTERRUPTED: "interrupted",
}


def exit_means(record: RunRecord) -> str:
    """Why a run has its exit code, also where that is none of its flows'."""
    if _fails_on_flaky(record):
        return "a flow passed only when tried again"
    if record.exit_code is ExitCode.WORLD_ERROR and record.errors and not _unjudged(record):
        return "something beside the flows went wrong"
    return EXIT_MEANS[record.exit_code]


def _fails_on_flaky(record: RunRecord) -> bool:
    """Whether flaky flows make the run red, and no other does."""
    counts = record.counts()
    only_flaky = counts[Verdict.FLAKY] and not counts[Verdict.FAIL]
    return record.exit_code is ExitCode.FLOW_FAILED and bool(only_flaky)


def _unjudged(record: RunRecord) -> int:
    counts = record.counts()
    return counts[Verdict.ERROR] + counts[Verdict.CAPABILITY_ERROR]


PROVES: Mapping[Phase, str] = {
    "replay": (
        "The agent’s own code ran, and every answer of the model came from the recording. A pass "
        "means that this code still sends the requests it sent when it was recorded, and that "
        "what it does with those answers meets the assertions."
    ),
    "record": (
        "The agent’s own code ran against the real model, and the answers were recorded. A pass "
        "means that the assertions held for these answers, this once."
    ),
}
PROVES_NOT: Mapping[Phase, str] = {
    "replay": (
        "It says nothing about the quality of the model: no model was asked, and today it might "
        "answer differently."
    ),
    "record": (
        "It says nothing about how often the model would answer like this: it was asked once."
    ),
}


_DONE: Mapping[Phase, str] = {"replay": "replayed", "record": "recorded"}


def phases(record: RunRecord) -> Mapping[Phase, int]:
    """How many flows ran in each phase, in the order of `PROVES`: a replay may record those that
    have no trace. Where none ran, the phase of the run, of none."""
    return in_phases(
        record, (flow.phase for flow in record.flows if flow.verdict is not Verdict.SKIPPED)
    )


def in_phases(record: RunRecord, ran: Iterable[Phase]) -> Mapping[Phase, int]:
    """The same for who knows already in which phase each flow of the record ran."""
    counts = Counter(ran)
    return {phase: counts[phase] for phase in PROVES if counts[phase]} or {record.phase: 0}


def proves(
    record: RunRecord, found: Mapping[Phase, int] | None = None
) -> tuple[tuple[str, str], ...]:
    """What a run proves and what it does not, two paragraphs for each phase that occurred; of
    several, each says of how many flows. `found` are its phases, where they are known."""
    found = phases(record) if found is None else found
    return tuple(
        (
            f"{_done(phase, count)}{PROVES[phase]}" if len(found) > 1 else PROVES[phase],
            PROVES_NOT[phase],
        )
        for phase, count in found.items()
    )


def _done(phase: Phase, count: int) -> str:
    return f"{count} {'flow was' if count == 1 else 'flows were'} {_DONE[phase]}. "


def headline(record: RunRecord) -> str:
    """The result of the run as one sentence without its final stop."""
    sentence = _result(record)
    if record.errors:
        sentence += "; something beside the flows went wrong"
    if record.exit_code is ExitCode.INTERRUPTED:
        return f"Interrupted: {sentence[0].lower()}{sentence[1:]}"
    return sentence


def _result(record: RunRecord) -> str:
    total, counts = len(record.flows), record.counts()
    if not total:
        return "Nothing ran"
    failed = counts[Verdict.FAIL]
    unjudged = _unjudged(record)
    if failed or unjudged:
        return _joined(total, (failed, "failed"), (unjudged, "could not be judged"))
    skipped = counts[Verdict.SKIPPED]
    were_skipped = "was skipped" if skipped == 1 else "were skipped"
    sentence = _joined(total, (total - skipped, "passed"), (skipped, were_skipped))
    flaky = counts[Verdict.FLAKY]
    if not flaky:
        return sentence
    forbidden = ", which --fail-on-flaky forbids" if _fails_on_flaky(record) else ""
    return f"{sentence}; {flaky} only when tried again{forbidden}"


def _joined(total: int, *parts: tuple[int, str]) -> str:
    """`(3, "failed")` and `(1, "was skipped")` of 7 flows as a sentence."""
    (count, phrase), *rest = [part for part in parts if part[0]]
    if count == total:
        everything = {1: "The flow", 2: "Both flows"}.get(total, f"All {total} flows")
        return f"{everything} {phrase}"
    more = "".join(f" and {number} {says}" for number, says in rest)
    return f"{count} of {total} flows {phrase}{more}"


RUN_MARKS: Mapping[Tone, str] = {"good": "✓", "bad": "✗", "warn": "✓", "quiet": "–"}


def run_tone(record: RunRecord) -> Tone:
    """How loud the whole run is: `good` only where it is green and something was judged."""
    if record.exit_code is not ExitCode.PASSED:
        return "bad"
    tones = {VERDICTS[verdict].tone for verdict, count in record.counts().items() if count}
    for tone in ("bad", "warn", "good"):
        if tone in tones:
            return tone
    return "quiet"


def counts_line(record: RunRecord) -> str:
    """How many flows there are and how many ended in each verdict: they add up."""
    total = len(record.flows)
    parts = [f"{count} {verdict}" for verdict, count in record.counts().items() if count]
    flows = "1 flow" if total == 1 else f"{total} flows"
    return f"{flows}: {', '.join(parts)}" if parts else flows


def seconds(duration: float) -> str:
    """A duration in seconds as people say it: `12 ms`, `1.25 s`, `2 min 05 s`, `1 h 02 min`."""
    if 0 < duration < 0.0005:
        return "<1 ms"
    if duration < 0.9995:
        return f"{duration * 1000:.0f} ms"
    if duration < 59.995:
        return f"{duration:.2f} s" if duration < 9.995 else f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def about(duration: float) -> str:
    """An estimate in seconds, no more exact than it can be: `about 40 s`, `about 3 min`."""
    if duration < 10:
        return f"about {max(1, round(duration))} s"
    if duration < 55:
        return f"about {5 * round(duration / 5)} s"
    minutes = max(1, round(duration / 60))
    if minutes < 60:
        return f"about {minutes} min"
    return f"about {minutes // 60} h {minutes % 60:02} min"


def outcome_words(outcome: Outcome) -> Words:
    """How the outcome of one assertion reads."""
    match outcome:
        case Passed():
            return Words("✓", "holds", "good")
        case Failed():
            return Words("✗", "does not hold", "bad")
        case Unjudged():
            return Words("!", "not judged", "warn")
        case Uncertifiable():
            return Words("⊘", "cannot be certified here", "bad")
        case _:
            assert_never(outcome)


def outcome_says(outcome: Outcome) -> tuple[str, str, str]:
    """The message of an outcome, what was expected, and the closest thing that was there."""
    match outcome:
        case Passed():
            return "", "", ""
        case Failed(message, expected, closest):
            return message, expected, closest
        case Unjudged(reason) | Uncertifiable(reason):
            return reason, "", ""
        case _:
            assert_never(outcome)


def agent_end(agent: AgentExit) -> str:
    """How the agent's process ended, as a phrase."""
    if agent.status is None:
        return f"never started: {agent.error}" if agent.error else "never started"
    if agent.status < 0:
        ended = f"was ended by signal {-agent.status}"
    else:
        ended = f"exited with status {agent.status}"
    return f"timed out and {ended}" if agent.timed_out else ended


def side_calls(count: int) -> str:
    """How many calls beside the conversation: empty where there were none."""
    return "" if count == 0 else "1 side call" if count == 1 else f"{count} side calls"


_CLIENTS_IDS = ("tool call id", "item id")
"""Kinds of divergences at ids that some clients make up."""


def hints(flow: FlowRecord) -> tuple[str, ...]:
    """What to do next about a flow that is not green."""
    found: list[str] = []
    if flow.divergence is not None and flow.phase == "replay":
        found += _after_divergence(flow.divergence.kind, flow.path)
    unserved = [one for one in flow.traffic.unserved if one.kind != "upgrade"]
    said = "\n".join((flow.reason, *flow.warnings))
    if any(listed([one]) not in said for one in unserved[:5]):
        found.append(f"the agent asked for what flowproof does not serve: {listed(unserved, 5)}")
    found += [text for text in advice(unserved) if text not in said]
    if flow.agent is not None and flow.agent.survivors:
        found.append(
            "still running after the agent ended, and stopped: "
            + ", ".join(flow.agent.survivors[:5])
        )
    if flow.verdict is Verdict.PASS_NOTHING_ASSERTED:
        found.append("add an assertion: a flow that asserts nothing proves only that it replays")
    return tuple(found)


def _after_divergence(kind: str, path: str) -> Iterator[str]:
    if kind in _CLIENTS_IDS:
        yield (
            "an id that the client makes up anew in every run cannot be replayed until "
            "`volatile:` is built, and recording again does not help; if the id only changed "
            f"with the agent's code: flowproof record {path}"
        )
        return
    if kind.startswith("tool result"):
        yield "if this value is new in every run, give the tool a result under `tools:`"
    elif kind.endswith(" text"):
        yield (
            "if this text is new in every run (a date, an id), fix it for the test: let the "
            "agent read it from a variable that agent.env sets"
        )
    yield f"if this change is meant, record it again: flowproof record {path}"


def notes(flow: FlowRecord) -> tuple[str, ...]:
    """What is worth knowing of a flow and asks for nothing to be done."""
    tried = upgrades(flow.traffic.unserved)
    if not tried or tried in flow.reason:
        return ()
    if flow.traffic.requests:
        return (f"{tried}, which was refused; what it asked over HTTP was served",)
    return (f"{tried}, which was refused: flowproof speaks HTTP",)
