"""The run record as JUnit XML, in the dialect that CI dashboards agree on.

junit-xml builds the elements; what it cannot say (properties of a case, earlier attempts,
attributes of the root, exact times) is added to them here. `junit_case` makes the cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree as ET

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.junit_beside import MOST_NAMED, Beside, beside_case, of_exit_code
from flowproof.report.junit_case import (
    Attached,
    Case,
    Kind,
    assertion_case,
    assertion_kind,
    flow_case,
    flow_kind,
    nothing_attached,
)
from flowproof.report.junit_names import (
    CaseNames,
    assertion_names,
    flow_names,
    suite_classname,
    suite_name,
)
from flowproof.report.text import clean
from flowproof.report.words import PROVES, counts_line

FILE_NAME = "TEST-flowproof.xml"
BODY_LIMIT = 64_000
# GitLab refuses a file of more than 30 MB, so many flows share what their texts may take.
FILE_LIMIT = 24_000_000

Detail: TypeAlias = Literal["flow", "steps"]
"""What becomes a case: each flow, or each flow and each of its assertions."""


def render(
    record: RunRecord, *, detail: Detail = "flow", attached: Attached = nothing_attached
) -> Iterable[tuple[str, Iterator[str]]]:
    """The report of kind `junit`: one XML file with one flat suite."""
    return [(FILE_NAME, _pieces(record, detail, attached))]


def _pieces(record: RunRecord, detail: Detail, attached: Attached) -> Iterator[str]:
    """The file case by case: of a large run, its elements would be far larger than the record."""
    # A dashboard drops the whole file over one bad character: better to stop here than there.
    parser = ET.XMLParser(target=_Nothing())
    for piece in _written(record, detail, attached):
        parser.feed(piece)
        yield piece
    parser.close()


class _Nothing:
    """Where parsed elements go."""

    def close(self) -> None:
        """Nothing is kept."""


def _written(record: RunRecord, detail: Detail, attached: Attached) -> Iterator[str]:
    totals = _totals(record, detail)
    counts = totals.attributes()
    root = ET.Element(
        "testsuites",
        {"name": suite_name(record)}
        | counts
        | {"time": _time(record.duration)}
        | _timestamp(record.started),
    )
    root.append(_suite(record, totals.phases, counts))
    ET.indent(root)
    before, end, after = _text(root).partition("\n  </testsuite>")
    yield f"<?xml version='1.0' encoding='utf-8'?>\n{before}"
    for case in _cases(record, detail, attached, totals):
        element = _element(case)
        ET.indent(element, level=2)
        yield f"\n    {_text(element)}"
    yield f"{end}{after}\n"


@dataclass(frozen=True, slots=True)
class _Totals:
    """What the head of the file says of all cases: how many of each kind, in which `phases` the
    flows ran, and what the cases `beside` the flows are. `texts` is how many texts there are."""

    kinds: Mapping[Kind, int]
    phases: tuple[str, ...]
    beside: tuple[Beside, ...]
    texts: int

    def attributes(self) -> dict[str, str]:
        """How many cases there are, and how many of each kind."""
        return {
            "tests": str(sum(self.kinds.values())),
            "failures": str(self.kinds["failure"]),
            "errors": str(self.kinds["error"]),
            "skipped": str(self.kinds["skipped"]),
        }


def _totals(record: RunRecord, detail: Detail) -> _Totals:
    """In one pass: the flows of a large run are read from a file."""
    kinds: Counter[Kind] = Counter()
    ran: set[str] = set()
    flaky: list[str] = []
    texts = 0
    for flow in record.flows:
        kinds[flow_kind(flow)] += 1
        texts += 3 + 3 * len(flow.attempts)
        if flow.verdict is not Verdict.SKIPPED:
            ran.add(flow.phase)
        if flow.verdict is Verdict.FLAKY and len(flaky) < MOST_NAMED:
            flaky.append(f"{flow.path}: {flow.name}")
        if detail == "steps":
            texts += len(flow.assertions)
            kinds.update(assertion_kind(flow, result) for result in flow.assertions)
    beside = [Beside("error", text) for text in record.errors]
    if record.exit_code is not ExitCode.PASSED and not (
        beside or kinds["failure"] or kinds["error"]
    ):
        beside.append(of_exit_code(record, flaky))
    kinds.update(one.kind for one in beside)
    phases = tuple(phase for phase in PROVES if phase in ran)
    return _Totals(kinds, phases or (record.phase,), tuple(beside), texts)


def _cases(
    record: RunRecord, detail: Detail, attached: Attached, totals: _Totals
) -> Iterator[Case]:
    limit = min(BODY_LIMIT, FILE_LIMIT // max(1, totals.texts))
    names = CaseNames()
    # All flows first: none of them gives way to an assertion that looks like its name.
    for flow, (classname, name) in zip(record.flows, flow_names(record, names), strict=True):
        yield flow_case(flow, classname, name, limit, attached)
        if detail == "steps":
            own = assertion_names(flow, classname, name, names)
            for result, called in zip(flow.assertions, own, strict=True):
                yield assertion_case(flow, result, classname, called, limit)
    for number, one in enumerate(totals.beside, 1):
        yield beside_case(suite_classname(record), number, one)


def _suite(record: RunRecord, phases: tuple[str, ...], counts: Mapping[str, str]) -> ET.Element:
    """The suite without its cases."""
    from junit_xml import TestSuite

    suite = TestSuite(
        suite_name(record),
        hostname=clean(record.host),
        properties=dict(_suite_properties(record, phases)),
    )
    element: ET.Element = suite.build_xml_doc()
    element.attrib |= {**counts, "time": _time(record.duration)} | _timestamp(record.started)
    return element


def _element(one: Case) -> ET.Element:
    from junit_xml import TestSuite

    [case] = TestSuite("", [one.case]).build_xml_doc()
    assert isinstance(case, ET.Element)
    case.attrib |= {"time": _time(one.duration)} | _timestamp(one.started)
    if one.properties:
        case.insert(0, _properties(one.properties))
    case.extend(one.attempts)
    return case


def _text(element: ET.Element) -> str:
    return ET.tostring(element, encoding="unicode")


def _suite_properties(record: RunRecord, phases: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    yield "flowproof.run", clean(record.id)
    yield "flowproof.version", clean(record.flowproof)
    yield "flowproof.phase", ", ".join(phases)
    yield "flowproof.partial", str(record.partial).lower()
    yield "flowproof.exit-code", str(int(record.exit_code))
    yield "flowproof.counts", counts_line(record)
    yield "python", clean(record.python)
    yield "platform", clean(record.platform)


def _properties(values: Mapping[str, str]) -> ET.Element:
    element = ET.Element("properties")
    for name, value in values.items():
        ET.SubElement(element, "property", {"name": name, "value": clean(value)})
    return element


def _time(duration: float) -> str:
    return f"{duration:.3f}"


def _timestamp(moment: str) -> dict[str, Any]:
    # The schema that validators use knows no zone; readers take it for UTC.
    return {"timestamp": clean(moment).removesuffix("Z")} if moment else {}
