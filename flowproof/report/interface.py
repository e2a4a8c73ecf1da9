"""What a report is: files made from a run record and from nothing else. One kind per file here.

`flowproof.report.write` puts the files on disk; the console and the live view are not files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from flowproof.model.run_record import RunRecord
from flowproof.report import ctrf, evidence, html, junit, run_json
from flowproof.report.write import Files


class Report(Protocol):
    """A pure renderer of one kind of report."""

    def __call__(self, record: RunRecord) -> Files:
        """The files of the report, each with its name relative to the reports folder.

        Text is written as UTF-8. The same record always gives the same files, in the same order.
        """


REPORTS: Mapping[str, Report] = {
    "html": html.render,
    "junit": junit.render,
    "json": run_json.render,
    "ctrf": ctrf.render,
    "evidence": evidence.render,
}
"""Every kind of report that a record alone makes. `blob` also needs to know which part of a run it
is; `cli.reporting` knows all kinds."""
