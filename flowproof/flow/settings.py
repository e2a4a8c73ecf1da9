"""Bounds that the environment may move, read once per run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flowproof.boundary.endpoint import Limits
from flowproof.errors import UsageError

CONNECT_TIMEOUT = "FLOWPROOF_CONNECT_TIMEOUT"
IDLE_TIMEOUT = "FLOWPROOF_IDLE_TIMEOUT"
MAX_BODY = "FLOWPROOF_MAX_BODY"


def limits_from(environ: Mapping[str, str]) -> Limits:
    """Timeouts in seconds and the largest body in bytes, defaults where nothing is set.

    :raises UsageError: if a variable does not hold a positive number.
    """
    usual = Limits()
    return Limits(
        connect_timeout=_positive(environ, CONNECT_TIMEOUT, usual.connect_timeout),
        idle_timeout=_positive(environ, IDLE_TIMEOUT, usual.idle_timeout),
        max_body=int(_positive(environ, MAX_BODY, usual.max_body)),
    )


def _positive(environ: Mapping[str, str], name: str, usual: float) -> float:
    text = environ.get(name, "").strip()
    if not text:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 1):
        raise UsageError(f"{name} is {text!r}; it must be a number of at least 1")
    return value
