"""The run record as JUnit XML, in the dialect that CI dashboards agree on.

junit-xml builds the elements; what it cannot say (properties of a case, earlier attempts,
attributes of the root, exact times) is added to them here. `junit_case` makes the cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree as ET

from flowproof.model.run_record import RunRecord
from flowproof.report.junit_case import (
    Attached,
    Case,
    assertion_case,
    assertion_kind,
    beside_case,
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
from flowproof.report.words import counts_line

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
    counts = _counts(record, detail)
    root = ET.Element(
        "testsuites",
        {"name": suite_name(record)}
        | counts
        | {"time": _time(record.duration)}
        | _timestamp(record.started),
    )
    root.append(_suite(record, counts))
    ET.indent(root)
    before, end, after = _text(root).partition("\n  </testsuite>")
    yield f"<?xml version='1.0' encoding='utf-8'?>\n{before}"
    for case in _cases(record, detail, attached):
        element = _element(case)
        ET.indent(element, level=2)
        yield f"\n    {_text(element)}"
    yield f"{end}{after}\n"


def _counts(record: RunRecord, detail: Detail) -> dict[str, str]:
    """How many cases there are, and how many of each kind."""
    kinds = Counter(flow_kind(flow) for flow in record.flows)
    if detail == "steps":
        kinds.update(
            assertion_kind(flow, result) for flow in record.flows for result in flow.assertions
        )
    kinds["error"] += len(record.errors)
    return {
        "tests": str(kinds.total()),
        "failures": str(kinds["failure"]),
        "errors": str(kinds["error"]),
        "skipped": str(kinds["skipped"]),
    }


def _cases(record: RunRecord, detail: Detail, attached: Attached) -> Iterator[Case]:
    limit = _text_limit(record, detail)
    names = CaseNames()
    # All flows first: none of them gives way to an assertion that looks like its name.
    for flow, (classname, name) in zip(record.flows, flow_names(record, names), strict=True):
        yield flow_case(flow, classname, name, limit, attached)
        if detail == "steps":
            own = assertion_names(flow, classname, name, names)
            for result, called in zip(flow.assertions, own, strict=True):
                yield assertion_case(flow, result, classname, called, limit)
    for number, text in enumerate(record.errors, 1):
        yield beside_case(suite_classname(record), number, text)


def _text_limit(record: RunRecord, detail: Detail) -> int:
    """The most bytes that each text may have, so that the whole file stays below its own."""
    texts = sum(3 + len(flow.attempts) for flow in record.flows)
    if detail == "steps":
        texts += sum(len(flow.assertions) for flow in record.flows)
    return min(BODY_LIMIT, FILE_LIMIT // max(1, texts))


def _suite(record: RunRecord, counts: Mapping[str, str]) -> ET.Element:
    """The suite without its cases."""
    from junit_xml import TestSuite

    suite = TestSuite(
        suite_name(record), hostname=clean(record.host), properties=dict(_suite_properties(record))
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


def _suite_properties(record: RunRecord) -> Iterable[tuple[str, str]]:
    yield "flowproof.run", clean(record.id)
    yield "flowproof.version", clean(record.flowproof)
    yield "flowproof.phase", record.phase
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
