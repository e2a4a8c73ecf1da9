"""The run record as JUnit XML, in the dialect that CI dashboards agree on.

junit-xml builds the elements; what it cannot say (properties of a case, attributes of the root,
exact times) is added to them here, and every string is cleaned before it gets there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from flowproof.model.outcome import Failed, Passed, Verdict
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.text import bounded, clean, shortened
from flowproof.report.words import agent_end, counts_line, hints, outcome_says

if TYPE_CHECKING:
    from junit_xml import TestCase

FILE_NAME = "TEST-flowproof.xml"
NAME_LIMIT = 250
BODY_LIMIT = 64_000
# GitLab refuses a file of more than 30 MB, so many flows share what three texts each may take.
FILE_LIMIT = 24_000_000
MESSAGE_LIMIT = 1_000

_ERRORS = (Verdict.ERROR, Verdict.CAPABILITY_ERROR)


def render(record: RunRecord) -> Mapping[str, bytes | str]:
    """The report of kind `junit`: one XML file with one flat suite, one case per flow."""
    root = ET.Element("testsuites", _attributes(record))
    root.append(_suite(record))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
    # A dashboard drops the whole file over one bad character: better to stop here than there.
    ET.fromstring(data)
    return {FILE_NAME: data}


def _attributes(record: RunRecord) -> dict[str, str]:
    counts = record.counts()
    attributes = {
        "name": _suite_name(record),
        "tests": str(len(record.flows) + len(record.errors)),
        "failures": str(counts[Verdict.FAIL]),
        "errors": str(sum(counts[verdict] for verdict in _ERRORS) + len(record.errors)),
        "skipped": str(counts[Verdict.SKIPPED]),
        "time": _time(record.duration),
    }
    return attributes | _timestamp(record.started)


def _suite(record: RunRecord) -> ET.Element:
    from junit_xml import TestSuite

    limit = min(BODY_LIMIT, FILE_LIMIT // max(1, 3 * len(record.flows)))
    names = case_names(record)
    suite = TestSuite(
        _suite_name(record),
        [
            *(_case(flow, *name, limit) for flow, name in zip(record.flows, names, strict=True)),
            *(_beside(record, number, text) for number, text in enumerate(record.errors, 1)),
        ],
        hostname=clean(record.host),
        properties=dict(_suite_properties(record)),
    )
    element: ET.Element = suite.build_xml_doc()
    element.attrib |= {"time": _time(record.duration)} | _timestamp(record.started)
    for case in element.findall("testcase"):
        case.set("time", _time(0))
    # What went wrong beside the flows comes last, and has no flow.
    for flow, case in zip(record.flows, element.findall("testcase"), strict=False):
        case.attrib |= {"time": _time(flow.duration)} | _timestamp(flow.started)
        case.insert(0, _properties(flow))
    return element


def _suite_name(record: RunRecord) -> str:
    return shortened(clean(record.suite).strip() or "flowproof", NAME_LIMIT)


def _suite_properties(record: RunRecord) -> Iterable[tuple[str, str]]:
    yield "flowproof.run", clean(record.id)
    yield "flowproof.version", clean(record.flowproof)
    yield "flowproof.phase", record.phase
    yield "flowproof.partial", str(record.partial).lower()
    yield "flowproof.exit-code", str(int(record.exit_code))
    yield "flowproof.counts", counts_line(record)
    yield "python", clean(record.python)
    yield "platform", clean(record.platform)


def _case(flow: FlowRecord, classname: str, name: str, limit: int) -> TestCase:
    from junit_xml import TestCase

    agent = flow.agent
    case = TestCase(
        name,
        classname=classname,
        file=clean(flow.path),
        line=max(1, flow.line),
        stdout=bounded(clean(agent.stdout.text), limit) if agent else None,
        stderr=bounded(clean(_errors(flow)), limit) or None,
    )
    message = _message(flow)
    match flow.verdict:
        case Verdict.FAIL:
            case.add_failure_info(message, bounded(_body(flow), limit), failure_kind(flow))
        case Verdict.ERROR | Verdict.CAPABILITY_ERROR:
            case.add_error_info(message, bounded(_body(flow), limit), flow.verdict.value)
        case Verdict.SKIPPED:
            case.add_skipped_info(message)
        case Verdict.PASS | Verdict.PASS_NOTHING_ASSERTED | Verdict.FLAKY:
            pass
    return case


def _beside(record: RunRecord, number: int, text: str) -> TestCase:
    """A case for what went wrong beside the flows: dashboards show nothing but cases."""
    from junit_xml import TestCase

    classname = _suite_name(record).replace(".", "_")
    case = TestCase(
        f"(suite, not a flow) {number}",
        classname=classname,
        file="suite.yaml",
        line=1,
    )
    case.add_error_info(shortened(clean(text), MESSAGE_LIMIT), error_type="error")
    return case


def _errors(flow: FlowRecord) -> str:
    """What a dashboard shows beside a test that passed: our warnings, then the agent's stderr."""
    warnings = [f"flowproof warning: {warning}" for warning in flow.warnings]
    return "\n".join([*warnings, flow.agent.stderr.text if flow.agent else ""]).rstrip("\n")


def failure_kind(flow: FlowRecord) -> str:
    """What a failed flow did wrong, in one word: `divergence`, `assertion` or `agent`."""
    if flow.divergence is not None:
        return "divergence"
    if any(isinstance(result.outcome, Failed) for result in flow.assertions):
        return "assertion"
    return "agent"


def _message(flow: FlowRecord) -> str:
    lines = clean(flow.reason).strip().splitlines()
    return shortened(lines[0] if lines else flow.verdict.value, MESSAGE_LIMIT)


def _body(flow: FlowRecord) -> str:
    """Everything a person needs who sees nothing but this text."""
    parts = [flow.reason]
    for result in flow.assertions:
        if isinstance(result.outcome, Passed):
            continue
        message, expected, closest = outcome_says(result.outcome)
        lines = [f"{flow.path}:{result.line}: {result.source}", f"  {message}"]
        lines += [f"  expected: {expected}"] if expected else []
        lines += [f"  closest: {closest}"] if closest else []
        parts.append("\n".join(lines))
    if flow.divergence is not None and str(flow.divergence) not in flow.reason:
        where = f"at {flow.divergence.path}\n" if flow.divergence.path else ""
        parts.append(f"{where}{flow.divergence}")
    if flow.agent is not None:
        tail = flow.agent.stderr.tail
        shown = f"; its stderr ends:\n{tail}" if tail.strip() else ""
        parts.append(f"the agent {agent_end(flow.agent)}{shown}")
    parts += hints(flow)
    return clean("\n\n".join(part for part in parts if part))


def _properties(flow: FlowRecord) -> ET.Element:
    values = {
        "flowproof.verdict": flow.verdict.value,
        "flowproof.exit-code": str(int(flow.exit_code)),
        "flowproof.containment": flow.containment,
        "control.id": flow.control.id if flow.control else "",
        "spec.sha256": flow.spec.sha256 if flow.spec else "",
        "trace.sha256": flow.trace.sha256 if flow.trace else "",
        "agent.exit-status": _exit_status(flow),
    }
    element = ET.Element("properties")
    for name, value in values.items():
        if value:
            ET.SubElement(element, "property", {"name": name, "value": clean(value)})
    return element


def _exit_status(flow: FlowRecord) -> str:
    return "" if flow.agent is None or flow.agent.status is None else str(flow.agent.status)


def case_names(record: RunRecord) -> list[tuple[str, str]]:
    """The class name and name of each flow, in order; no two are alike.

    Dashboards tell cases apart by these two and silently keep one of several that agree.
    """
    wanted = [(_classname(record, flow), _flow_name(flow)) for flow in record.flows]
    repeated = Counter(wanted)
    taken: set[tuple[str, str]] = set()
    names = []
    for flow, (classname, name) in zip(record.flows, wanted, strict=True):
        path = f" [{shortened(clean(flow.path), 150)}]" if repeated[classname, name] > 1 else ""
        unique, number = _with_suffix(name, path), 1
        while (classname, unique) in taken:
            number += 1
            unique = _with_suffix(name, f"{path} ({number})")
        taken.add((classname, unique))
        names.append((classname, unique))
    return names


def _flow_name(flow: FlowRecord) -> str:
    name = " ".join(clean(flow.name).split())
    return shortened(name or clean(flow.path), NAME_LIMIT)


def _with_suffix(name: str, suffix: str) -> str:
    return shortened(name, NAME_LIMIT - len(suffix)) + suffix


def _classname(record: RunRecord, flow: FlowRecord) -> str:
    folders = clean(flow.path).replace("\\", "/").split("/")[:-1]
    parts = [_suite_name(record), *(part for part in folders if part not in ("", ".", ".."))]
    return shortened(".".join(part.replace(".", "_") for part in parts), NAME_LIMIT)


def _time(duration: float) -> str:
    return f"{duration:.3f}"


def _timestamp(moment: str) -> dict[str, Any]:
    # The schema that validators use knows no zone; readers take it for UTC.
    return {"timestamp": clean(moment).removesuffix("Z")} if moment else {}
