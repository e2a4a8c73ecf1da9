"""The cases of a JUnit file that are no flow: what went wrong beside them, and what makes a run red
though no flow is. Dashboards show nothing but cases, and many see no exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.junit_case import MESSAGE_LIMIT, Case, harmless
from flowproof.report.text import bounded, shortened
from flowproof.report.words import exit_means

MOST_NAMED = 100
"""At most so many flaky flows are named."""
_BODY = 16_000


@dataclass(frozen=True, slots=True)
class Beside:
    """One such case: its message, and `details` where there is more to say."""

    kind: Literal["failure", "error"]
    message: str
    details: str = ""


def of_exit_code(record: RunRecord, flaky: Sequence[str]) -> Beside:
    """The case of a run whose exit code is not 0 while none of its flows says why. `flaky` names
    the first of its flaky flows."""
    message = f"{exit_means(record)} (exit code {int(record.exit_code)})"
    if record.exit_code is not ExitCode.FLOW_FAILED:
        return Beside("error", message)
    more = record.counts()[Verdict.FLAKY] - len(flaky)
    return Beside(
        "failure", message, "\n".join([*flaky, *([f"… and {more} more"] if more else [])])
    )


def beside_case(classname: str, number: int, one: Beside) -> Case:
    """The case in the file."""
    from junit_xml import TestCase

    case = TestCase(
        f"(suite, not a flow) {number}",
        classname=classname,
        file="suite.yaml",
        line=1,
    )
    # Many lines read badly as a message, which is an attribute.
    text = harmless(one.message)
    first, _, rest = text.partition("\n")
    message = shortened(first if rest else text, MESSAGE_LIMIT)
    body = bounded("\n".join(filter(None, (text if rest else "", harmless(one.details)))), _BODY)
    if one.kind == "failure":
        case.add_failure_info(message, body or None, "flaky")
    else:
        case.add_error_info(message, body or None, "error")
    return Case(case)
