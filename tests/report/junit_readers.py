"""What three dashboards read of a JUnit file, and nothing else of it: as their sources do it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET


@dataclass(frozen=True, slots=True)
class Seen:
    """A test as a dashboard lists it; `text` is what it shows of a failure."""

    group: str
    name: str
    status: str
    seconds: float
    text: str = ""
    file: str = ""
    attachment: str = ""
    flaky: int = 0


def gitlab(data: bytes) -> list[Seen]:
    """GitLab: class name, name, time, file, the text of a failure or error, one attachment. Of
    cases with the same names only the first is kept."""
    found: dict[tuple[str, str], Seen] = {}
    for case in ET.fromstring(data).iter("testcase"):
        status, text = "success", ""
        for tag, called in (("failure", "failed"), ("error", "error"), ("skipped", "skipped")):
            element = case.find(tag)
            if element is not None:
                status, text = called, element.text or element.get("message") or ""
                break
        said = case.findtext("system-out") or ""
        link = re.search(r"\[\[ATTACHMENT\|(?P<path>[^\[\]\|]+?)\]\]", said)
        seen = Seen(
            case.attrib["classname"],
            case.attrib["name"],
            status,
            float(case.attrib["time"]),
            text,
            case.get("file", ""),
            link["path"] if link else "",
        )
        found.setdefault((seen.group, seen.name), seen)
    return list(found.values())


def dorny(data: bytes) -> list[Seen]:
    """dorny/test-reporter: the suites directly below the root, by their names, and their cases
    in groups by class name; the first failure or error with its message."""
    found = []
    for suite in ET.fromstring(data).findall("testsuite"):
        float(suite.attrib["time"])
        for case in suite.findall("testcase"):
            group = case.get("classname", "")
            failed = case.find("failure")
            failed = case.find("error") if failed is None else failed
            status = "success" if failed is None else "failed"
            if failed is None and case.find("skipped") is not None:
                status = "skipped"
            text = "" if failed is None else f"{failed.attrib['message']}\n{failed.text or ''}"
            found.append(
                Seen(
                    "" if group == suite.attrib["name"] else group,
                    case.attrib["name"],
                    status,
                    float(case.attrib["time"]),
                    text,
                )
            )
    return found


def jenkins(data: bytes) -> list[Seen]:
    """Jenkins: a stack trace is the text of a failure or error; earlier tries count as flaky or
    as reruns by the elements inside them; a whole line of stdout or stderr names a file."""
    found = []
    for suite in ET.fromstring(data).iter("testsuite"):
        for case in suite.findall("testcase"):
            failed = next((one for one in case if one.tag in ("failure", "error")), None)
            said = f"{case.findtext('system-out') or ''}\n{case.findtext('system-err') or ''}"
            link = re.search(r"^\[\[ATTACHMENT\|(.+)\]\]$", said, re.MULTILINE)
            tries = [one for one in case if one.tag in ("flakyFailure", "rerunFailure")]
            status = "PASSED" if failed is None else "FAILED"
            found.append(
                Seen(
                    case.get("classname") or suite.attrib["name"],
                    case.attrib["name"],
                    "SKIPPED" if case.find("skipped") is not None else status,
                    float(case.attrib["time"].replace(",", "")),
                    "" if failed is None else failed.text or "",
                    attachment=link[1] if link else "",
                    flaky=sum(bool(one.findtext("stackTrace")) for one in tries),
                )
            )
    return found
