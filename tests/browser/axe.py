"""axe-core, the usual judge of accessibility, run inside an open page."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from tests.browser.opened import Opened

GRAVE = ("serious", "critical")
_RUN = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(
    one => [one.impact, one.id + ': ' + one.help + ': '
        + one.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')]))"""


def grave(one: Opened) -> list[str]:
    """The violations of grave impact, each with its rule and the first elements that break it."""
    # Evaluated by the debugger, which the policy of the page does not bind.
    one.page.evaluate(_source())
    return [text for impact, text in one.page.evaluate(_RUN) if impact in GRAVE]


@cache
def _source() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
