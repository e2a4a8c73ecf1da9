"""The run record as HTML pages that need no network: one per flow, and an index of them all.

Templates lay them out; `html_flow` and `html_suite` say what they show. Every string that a
template prints goes through `_shown` first: no template can forget to make hostile text harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from flowproof.assets import asset
from flowproof.model.flow_spec import Control
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.html_assets import inlined
from flowproof.report.html_flow import flow_shown
from flowproof.report.html_names import INDEX, PageNames
from flowproof.report.html_row import FlowRow, flow_row
from flowproof.report.html_seal import flow_seal, run_seal
from flowproof.report.html_suite import suite_shown
from flowproof.report.text import bounded, readable

if TYPE_CHECKING:
    from jinja2 import Environment

    from flowproof.report.write import Content

FILE_NAME = INDEX
BODY_LIMIT = 200_000
_FLOW, _INDEX = "report/flow.html.j2", "report/suite.html.j2"
DIAGNOSED = 100
"""Of how many flows that are not green the index says why; the others it only lists."""


def render(record: RunRecord) -> Iterator[tuple[str, Content]]:
    """The report of kind `html`: the pages of the flows, then the index.

    Each flow is read once, and only its row is kept for the index.
    """
    rows: list[FlowRow] = []
    controls: dict[str, Control] = {}
    page = _environment().get_template(_FLOW)
    seal = run_seal(record)
    for (flow, row), following in _with_next(_rows(record.flows)):
        shown = page.render(
            record=record,
            row=row,
            view=flow_shown(flow),
            seal=seal,
            flow_seal=flow_seal(row.page, flow),
            before=rows[-1] if rows else None,
            after=following[1] if following else None,
            inlined=inlined(),
        )
        yield row.href, shown
        rows.append(row)
        if flow.control is not None:
            controls.setdefault(flow.control.id, flow.control)
    index = _environment().get_template(_INDEX)
    view = suite_shown(record, rows, controls)
    yield INDEX, index.generate(record=record, view=view, seal=seal, inlined=inlined())


def prepare() -> None:
    """Load what `render` takes longest to load. Another thread may do so."""
    # Also what those two import, which is compiled only once it is needed.
    for path in sorted(asset("templates", _FLOW).parent.glob("*.html.j2")):
        _environment().get_template(f"report/{path.name}")
    inlined()


def _rows(flows: Iterable[FlowRecord]) -> Iterator[tuple[FlowRecord, FlowRow]]:
    names, left = PageNames(), DIAGNOSED
    for number, flow in enumerate(flows, 1):
        row = flow_row(flow, number, names.page(flow.path), diagnosed=left > 0)
        left -= row.diagnosis is not None
        yield flow, row


def _with_next(
    items: Iterator[tuple[FlowRecord, FlowRow]],
) -> Iterator[tuple[tuple[FlowRecord, FlowRow], tuple[FlowRecord, FlowRow] | None]]:
    """Each item with the one after it, so that a page can name its neighbours."""
    current = next(items, None)
    while current is not None:
        following = next(items, None)
        yield current, following
        current = following


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _source(name: str) -> tuple[str, str | None, Callable[[], bool] | None]:
    path = asset("templates", name)
    return path.read_text(encoding="utf-8"), str(path), None


def _shown(value: object) -> object:
    # Markup is text that was made from escaped parts: macros, and what every page holds.
    if isinstance(value, str) and not hasattr(value, "__html__"):
        if len(value) < 1_000 and value.isascii() and value.isprintable():
            return value  # nearly all of them, so that a page takes half the time
        return bounded(readable(str(value)), BODY_LIMIT, "; the run record has the whole text")
    return value
