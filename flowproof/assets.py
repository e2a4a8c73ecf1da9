"""Finds the data files shipped with flowproof: task graphs and templates.

An installed wheel holds them inside the package; a checkout holds them at its top level.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).parent


def asset(kind: Literal["graphs", "templates"], name: str) -> Path:
    """The path of one shipped data file.

    :raises FileNotFoundError: if neither the package nor the checkout has it.
    """
    for root in (_PACKAGE, _PACKAGE.parent):
        path = root / kind / name
        if path.is_file():
            return path
    raise FileNotFoundError(f"flowproof ships no {kind}/{name}")
