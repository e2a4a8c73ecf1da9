"""The one style and the one script that every page holds inside, with the hashes by which its
policy allows them. Made of the files beside the templates; `html` puts them into each page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from flowproof.assets import asset

if TYPE_CHECKING:
    from markupsafe import Markup

STYLES = ("report/page.css", "report/flow.css", "report/diagram.css")
SCRIPT = "report/page.js"

# Strings stay as they are. No part of the pattern can begin inside another, so it is linear.
_CSS = re.compile(r'"(?:[^"\\]|\\.)*"|/\*(?:[^*]|\*(?!/))*\*/|\s+', re.DOTALL)
# Of a mark with white space around it only the mark is needed, of a last semicolon nothing.
_NEEDLESS = re.compile(r'("(?:[^"\\]|\\.)*")|;?\s*([{};])\s*|\s*(,)\s*|(:)\s+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Inlined:
    """What stands in each page. The hashes are SHA-256 in base64, as a policy takes them."""

    style: Markup
    style_hash: str
    script: Markup
    script_hash: str


@cache
def inlined() -> Inlined:
    """The style and the script of all pages."""
    from markupsafe import Markup

    style = lean_style("\n".join(_read(name) for name in STYLES))
    script = lean_script(_read(SCRIPT))
    return Inlined(Markup(style), _hash(style), Markup(script), _hash(script))


def _read(name: str) -> str:
    return asset("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def lean_style(css: str) -> str:
    """A style sheet without its comments and the white space that it does not need."""
    folded = _CSS.sub(lambda found: found[0] if found[0][0] == '"' else " ", css)
    return _NEEDLESS.sub(lambda found: found[found.lastindex or 0], folded).strip()


def lean_script(script: str) -> str:
    """A script without indentation, blank lines and lines that hold only a comment.

    It is ours: no text in it spans lines.
    """
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
