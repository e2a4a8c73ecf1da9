"""What a page says of its run and flow for programs, in two `meta` elements of its head: `html`
writes them, `verify_pages` compares them with the record, whichever flowproof wrote the page.
"""

from __future__ import annotations

from html import unescape

from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.text import one_line

RUN, FLOW = "flowproof-run", "flowproof-flow"
HEAD = 8192
"""Both stand in so many bytes at the beginning of a page."""


def run_seal(record: RunRecord) -> str:
    """The run that a page belongs to, its exit code, and how many flows ended in each verdict."""
    counts = (f" {verdict.value}={count}" for verdict, count in record.counts().items() if count)
    return f"{one_line(record.id, 100)} exit={int(record.exit_code)}{''.join(counts)}"


def flow_seal(page: str, flow: FlowRecord) -> str:
    """The page of a flow, its exit code and its verdict."""
    return f"{page} exit={int(flow.exit_code)} {flow.verdict.value}"


def sealed_as(head: str, name: str) -> str | None:
    """What the beginning of a page says under a name; None if it does not."""
    before, mark, after = head.partition(f'<meta name="{name}" content="')
    text, end, _ = after.partition('">')
    return unescape(text) if mark and end and "<style" not in before else None
