"""The run record as one HTML page that needs no network, no script and no second file.

Templates lay it out; `html_view` says what it shows. Every string that a template prints goes
through `_shown` first, so no template can forget to make hostile text harmless.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from flowproof.assets import asset
from flowproof.model.run_record import RunRecord
from flowproof.report.html_view import flow_row, flow_shown, run_facts, shares
from flowproof.report.text import bounded, readable
from flowproof.report.words import PROVES, PROVES_NOT, RUN_MARKS, counts_line, headline, run_tone

if TYPE_CHECKING:
    from jinja2 import Environment

FILE_NAME = "index.html"
BODY_LIMIT = 200_000


def render(record: RunRecord) -> Iterable[tuple[str, Iterator[str]]]:
    """The report of kind `html`: one self-contained page."""
    return [(FILE_NAME, _pieces(record))]


def _pieces(record: RunRecord) -> Iterator[str]:
    """The page flow by flow: its views of all flows together would be far larger than the
    record."""
    from markupsafe import Markup

    css = asset("templates", "report/page.css").read_text(encoding="utf-8")
    # What needs a look comes first; otherwise flows keep the order of the run.
    green = [flow.verdict.green for flow in record.flows]
    order = sorted(range(len(green)), key=green.__getitem__)
    page = _environment().get_template("report.html.j2")
    yield from page.generate(
        record=record,
        rows=(flow_row(record.flows[at], at + 1) for at in order),
        flows=(flow_shown(record.flows[at], at + 1) for at in order),
        headline=headline(record),
        tone=run_tone(record),
        mark=RUN_MARKS[run_tone(record)],
        counts=counts_line(record),
        shares=tuple(shares(record)),
        facts=tuple(run_facts(record)),
        proves=PROVES[record.phase],
        proves_not=PROVES_NOT[record.phase],
        # The page's own style is the only one that the browser may apply.
        css=Markup(css),
        css_hash=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
    )


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
    # Markup is text that was made from escaped parts: macros, and the style of the page.
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return bounded(readable(str(value)), BODY_LIMIT, "; the run record has the whole text")
    return value
