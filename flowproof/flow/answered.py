"""Which models answered a flow, and when that was recorded. `report` puts it into the record."""

from __future__ import annotations

from collections.abc import Sequence

from flowproof.model.origin import Recording
from flowproof.model.turn import Turn
from flowproof.trace.document import Trace

MOST_MODELS = 20
LONGEST_MODEL = 200
"""How many models are named, and how much of a name is kept: an upstream may call them anything."""

_KEYS = ("model", "modelVersion")
"""Where the APIs say which model answered; it may be another than the one that was asked."""


def recording_of(trace: Trace) -> Recording:
    """What a trace tells of itself. One of flowproof 0.23 holds no whole answers, so that nobody
    can tell from it which model gave them."""
    models = () if trace.pins == "legacy" else answering(trace.turns)
    return Recording(trace.recorded, trace.flowproof, models)


def answering(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The names by which the models of these turns call themselves in their answers."""
    found: dict[str, None] = {}
    for turn in turns:
        body = turn.response.body
        if not (200 <= turn.response.status < 300 and isinstance(body, dict)):
            continue
        told = next((name for key in _KEYS if isinstance(name := body.get(key), str) and name), "")
        if told and len(found) < MOST_MODELS:
            found[told[:LONGEST_MODEL]] = None
    return tuple(found)
