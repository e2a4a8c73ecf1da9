"""Times as drawings use them: those that a clock can say, and steps that people count in: 10 ms,
5 s, 15 min, 1 h. `timeline` draws them.
"""

from __future__ import annotations

_LONGEST = 1e10
"""Seconds, three centuries."""
_MOST = 8
_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600),
)


def ticks(span: float) -> tuple[tuple[float, str], ...]:
    """At most nine places from 0 to `span`, in seconds, and what an axis says there."""
    step = next((step for step in _STEPS if span / step <= _MOST), float(_STEPS[-1]))
    while span / step > _MOST:
        step *= 2
    count = int(span / step + 1e-9)
    return tuple((at * step, _said(at * step)) for at in range(count + 1))


def _said(time: float) -> str:
    if time < 0.9995:
        return f"{time * 1000:.0f} ms" if time else "0"
    if time < 60:
        return f"{round(time, 2):g} s"
    minutes, rest = divmod(round(time), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def finite(number: float | None) -> float | None:
    """A time in seconds as a drawing can use it: None for what no clock says."""
    return number if number is not None and 0 <= number < _LONGEST else None
