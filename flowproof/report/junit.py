"""The run record as JUnit XML, in the dialect that CI dashboards agree on.

junit-xml builds the elements; what it cannot say (properties of a case, earlier attempts,
attributes of the root, exact times) is added to them here. `junit_case` makes the cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree as ET

from flowproof.model.run_record import RunRecord
from flowproof.report.junit_case import (
    Attached,
    Case,
    assertion_case,
    beside_case,
    flow_case,
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
) -> Mapping[str, bytes | str]:
    """The report of kind `junit`: one XML file with one flat suite."""
    suite = _suite(record, list(_cases(record, detail, attached)))
    counts = {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    root = ET.Element(
        "testsuites",
        {"name": suite_name(record)}
        | counts
        | {"time": _time(record.duration)}
        | _timestamp(record.started),
    )
    root.append(suite)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
    # A dashboard drops the whole file over one bad character: better to stop here than there.
    ET.fromstring(data)
    return {FILE_NAME: data}


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


def _suite(record: RunRecord, cases: list[Case]) -> ET.Element:
    from junit_xml import TestSuite

    suite = TestSuite(
        suite_name(record),
        [one.case for one in cases],
        hostname=clean(record.host),
        properties=dict(_suite_properties(record)),
    )
    element: ET.Element = suite.build_xml_doc()
    element.attrib |= {"time": _time(record.duration)} | _timestamp(record.started)
    for one, case in zip(cases, element.findall("testcase"), strict=True):
        case.attrib |= {"time": _time(one.duration)} | _timestamp(one.started)
        if one.properties:
            case.insert(0, _properties(one.properties))
        case.extend(one.attempts)
    return element


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
