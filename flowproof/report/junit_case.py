"""The cases that a flow becomes in a JUnit file: itself, and if wanted each of its assertions.

`junit` puts them into the file, `junit_names` says what they are called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never
from xml.etree import ElementTree as ET

from flowproof.model.outcome import (
    AssertionResult,
    Failed,
    Passed,
    Uncertifiable,
    Unjudged,
    Verdict,
)
from flowproof.model.run_record import AttemptRecord, FlowRecord
from flowproof.report.text import bounded, clean, shortened
from flowproof.report.words import agent_end, hints, outcome_says

if TYPE_CHECKING:
    from junit_xml import TestCase

MESSAGE_LIMIT = 1_000
_ATTACHMENT = re.compile(r"\[(?=\[ATTACHMENT\|)", re.IGNORECASE)
_UNFIT = re.compile(r"[\[\]|\r\n]")

Attached: TypeAlias = Callable[[FlowRecord], str]
"""Names the file that a dashboard should keep or show with a flow; empty for none."""


def nothing_attached(flow: FlowRecord) -> str:
    """No file."""
    return ""


@dataclass(frozen=True, slots=True)
class Case:
    """A case as junit-xml builds it, and what junit-xml cannot say. `duration` is in seconds."""

    case: TestCase
    duration: float = 0.0
    started: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    attempts: tuple[ET.Element, ...] = ()


Kind: TypeAlias = Literal["passed", "failure", "error", "skipped"]


def flow_kind(flow: FlowRecord) -> Kind:
    """What the case of a flow counts as."""
    match flow.verdict:
        case Verdict.FAIL:
            return "failure"
        case Verdict.ERROR | Verdict.CAPABILITY_ERROR:
            return "error"
        case Verdict.SKIPPED:
            return "skipped"
        case Verdict.PASS | Verdict.PASS_NOTHING_ASSERTED | Verdict.FLAKY:
            return "passed"
        case _:
            assert_never(flow.verdict)


def assertion_kind(flow: FlowRecord, result: AssertionResult) -> Kind:
    """What the case of an assertion counts as.

    What could not be judged since the agent failed is skipped: the flow's own case has the cause.
    """
    match result.outcome:
        case Passed():
            return "passed"
        case Failed():
            return "failure"
        case Unjudged() if flow.verdict is Verdict.FAIL:
            return "skipped"
        case Unjudged() | Uncertifiable():
            return "error"
        case _:
            assert_never(result.outcome)


def flow_case(
    flow: FlowRecord, classname: str, name: str, limit: int, attached: Attached = nothing_attached
) -> Case:
    """The case of a whole flow; each of its texts has at most about `limit` bytes."""
    from junit_xml import TestCase

    case = TestCase(
        name,
        classname=classname,
        file=clean(flow.path),
        line=max(1, flow.line),
        stdout=_output(flow, limit, attached) or None,
        stderr=bounded(harmless(_errors(flow)), limit) or None,
    )
    message = _first_line(flow.reason) or flow.verdict.value
    match flow_kind(flow):
        case "failure":
            case.add_failure_info(message, bounded(_body(flow), limit), failure_kind(flow))
        case "error":
            case.add_error_info(message, bounded(_body(flow), limit), flow.verdict.value)
        case "skipped":
            case.add_skipped_info(message)
        case "passed":
            pass
    return Case(
        case,
        flow.duration,
        flow.started,
        {name: value for name, value in _properties(flow).items() if value},
        tuple(_attempts(flow, limit)),
    )


def assertion_case(
    flow: FlowRecord, result: AssertionResult, classname: str, name: str, limit: int
) -> Case:
    """The case of one assertion."""
    from junit_xml import TestCase

    case = TestCase(name, classname=classname, file=clean(flow.path), line=max(1, result.line))
    message, expected, closest = outcome_says(result.outcome)
    body = bounded(harmless(_assertion(flow, result, message, expected, closest)), limit)
    match assertion_kind(flow, result):
        case "failure":
            case.add_failure_info(_first_line(message), body, "assertion")
        case "skipped":
            case.add_skipped_info(_first_line(f"not judged: {message}"))
        case "error":
            unable = isinstance(result.outcome, Uncertifiable)
            verdict = Verdict.CAPABILITY_ERROR if unable else Verdict.ERROR
            case.add_error_info(_first_line(message), body, verdict.value)
        case "passed":
            pass
    return Case(case, properties={"flowproof.flow": shortened(clean(flow.name), MESSAGE_LIMIT)})


def failure_kind(flow: FlowRecord) -> str:
    """What a failed flow did wrong, in one word: `divergence`, `assertion` or `agent`."""
    if flow.divergence is not None:
        return "divergence"
    if any(isinstance(result.outcome, Failed) for result in flow.assertions):
        return "assertion"
    return "agent"


def harmless(text: str) -> str:
    """A text as the file can hold it, in which no agent can name a file of the machine that
    reads it: dashboards collect what `[[ATTACHMENT|path]]` names."""
    return _ATTACHMENT.sub("[ ", clean(text))


def _output(flow: FlowRecord, limit: int, attached: Attached) -> str:
    """What the agent printed, then on a line of its own the file to keep of a flow to look at."""
    text = bounded(harmless(flow.agent.stdout.text), limit) if flow.agent else ""
    if flow.verdict.green and flow.verdict is not Verdict.FLAKY:
        return text
    path = attached(flow)
    if not path or _UNFIT.search(path) or clean(path) != path:
        return text
    return "\n".join(filter(None, (text.rstrip("\n"), f"[[ATTACHMENT|{path}]]")))


def _errors(flow: FlowRecord) -> str:
    """What a dashboard shows beside a test that passed: our warnings, then the agent's stderr."""
    warnings = [f"flowproof warning: {warning}" for warning in flow.warnings]
    return "\n".join([*warnings, flow.agent.stderr.text if flow.agent else ""]).rstrip("\n")


def _first_line(text: str) -> str:
    lines = harmless(text).strip().splitlines()
    return shortened(lines[0], MESSAGE_LIMIT) if lines else ""


def _body(flow: FlowRecord) -> str:
    """Everything a person needs who sees nothing but this text."""
    open = [one for one in flow.assertions if not isinstance(one.outcome, Passed)]
    parts = [flow.reason, *(_assertion(flow, one, *outcome_says(one.outcome)) for one in open)]
    if flow.divergence is not None and str(flow.divergence) not in flow.reason:
        where = f"at {flow.divergence.path}\n" if flow.divergence.path else ""
        parts.append(f"{where}{flow.divergence}")
    if flow.agent is not None:
        tail = flow.agent.stderr.tail
        shown = f"; its stderr ends:\n{tail}" if tail.strip() else ""
        parts.append(f"the agent {agent_end(flow.agent)}{shown}")
    parts += hints(flow)
    return harmless("\n\n".join(part for part in parts if part))


def _assertion(
    flow: FlowRecord, result: AssertionResult, message: str, expected: str, closest: str
) -> str:
    lines = [f"{flow.path}:{result.line}: {result.source}", f"  {message}"]
    lines += [f"  expected: {expected}"] if expected else []
    lines += [f"  closest: {closest}"] if closest else []
    return "\n".join(lines)


def _attempts(flow: FlowRecord, limit: int) -> Iterator[ET.Element]:
    """Earlier tries in the words of Maven's Surefire: dashboards count a flow that then passed as
    flaky. One that passed and whose worker was lost before is not: its warnings say that."""
    if flow.verdict is Verdict.FLAKY:
        tag = "flakyFailure"
    elif flow.verdict.green:
        return
    else:
        tag = "rerunFailure"
    for attempt in flow.attempts:
        yield _attempt(tag, attempt, limit)


def _attempt(tag: str, attempt: AttemptRecord, limit: int) -> ET.Element:
    """Dashboards read neither text directly in the element nor its other names for errors."""
    message = _first_line(attempt.reason) or attempt.verdict.value
    element = ET.Element(tag, {"message": message, "type": attempt.verdict.value})
    trace = attempt.reason
    if attempt.agent is not None:
        trace = f"{trace}\n\nthe agent {agent_end(attempt.agent)}"
    ET.SubElement(element, "stackTrace").text = bounded(harmless(trace), limit).strip() or message
    if attempt.agent is not None:
        for name, kept in (("out", attempt.agent.stdout), ("err", attempt.agent.stderr)):
            if text := bounded(harmless(kept.text), limit):
                ET.SubElement(element, f"system-{name}").text = text
    return element


def _properties(flow: FlowRecord) -> Mapping[str, str]:
    ran = flow.verdict is not Verdict.SKIPPED
    return {
        "flowproof.verdict": flow.verdict.value,
        "flowproof.exit-code": str(int(flow.exit_code)),
        "flowproof.phase": flow.phase if ran else "",
        "flowproof.containment": flow.containment,
        "flowproof.attempt": str(len(flow.attempts) + 1) if ran else "",
        "flowproof.slot": str(flow.slot) if flow.slot else "",
        "flowproof.host": flow.host,
        "control.id": flow.control.id if flow.control else "",
        "spec.sha256": flow.spec.sha256 if flow.spec else "",
        "trace.sha256": flow.trace.sha256 if flow.trace else "",
        "agent.exit-status": _exit_status(flow),
        **{f"flowproof.mcp.{shortened(clean(one.server), 100)}": str(one.made) for one in flow.mcp},
    }


def _exit_status(flow: FlowRecord) -> str:
    return "" if flow.agent is None or flow.agent.status is None else str(flow.agent.status)
