"""Names the first difference between a request and the recording, envelope before messages.

Its counterpart is `cassette`, which found that no recorded turn is equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from flowproof.boundary.change import (
    Change,
    Difference,
    added,
    explained,
    first_change,
    only_replayed,
    same_or_missing,
)
from flowproof.dialects.interface import Dialect, EnvelopePart
from flowproof.model.jsonvalue import MISSING, JsonValue, same
from flowproof.model.outcome import EXTRA_CALL, Divergence
from flowproof.model.turn import Operation

_NEAREST_OF = 32
"""How many unconsumed turns are compared in search of the nearest; runs rarely skip so many."""
_LAST = 2
"""So many messages at the end of a call too many are shown."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The request of a recorded turn, numbered from 1, and whether this run has used it."""

    number: int
    operation: Operation
    request: JsonValue
    consumed: bool


def diagnose(
    operation: Operation,
    pinned: JsonValue,
    request: int,
    candidates: Sequence[Candidate],
    dialects: Mapping[str, Dialect],
) -> Divergence:
    """Explain why no unconsumed turn equals a request; `request` is its ordinal from 1."""
    dialect = dialects[operation.dialect]
    repeated = [c for c in candidates if c.operation == operation and same(c.request, pinned)]
    left = [candidate for candidate in candidates if not candidate.consumed]
    if repeated:
        found = _repeated(repeated, request, len(left))
    elif not left:
        found = _extra(request, len(candidates))
    else:
        return _differing(operation, pinned, request, left, dialect)
    return found if left else _with_last_said(found, operation, pinned, candidates, dialect)


def _differing(
    operation: Operation,
    pinned: JsonValue,
    request: int,
    left: Sequence[Candidate],
    dialect: Dialect,
) -> Divergence:
    comparable = [c for c in left if c.operation == operation] or [
        c for c in left if _differs_in_model(dialect, c.operation, operation)
    ]
    if not comparable:
        return _other_operation(operation, left[0], request)
    nearest = min(
        comparable[:_NEAREST_OF],
        key=lambda candidate: _distance(dialect, candidate.request, pinned),
    )
    return _difference(dialect, nearest, operation, pinned, request)


def _differs_in_model(dialect: Dialect, recorded: Operation, operation: Operation) -> bool:
    """Whether two paths are the same but for the model that they name."""
    if recorded.dialect != operation.dialect:
        return False
    old, new = dialect.model_of(recorded), dialect.model_of(operation)
    if old is None or new is None:
        return False
    path = recorded.path
    # The text of a model may stand elsewhere in a path as well: `m`, for one, in `/models/m`.
    return any(
        path.startswith(old, at) and path[:at] + new + path[at + len(old) :] == operation.path
        for at in range(len(path) - len(old) + 1)
    )


def _repeated(repeated: Sequence[Candidate], request: int, left: int) -> Divergence:
    unused = "1 recorded turn is" if left == 1 else f"{left} recorded turns are"
    rest = f"{unused} still unused" if left else "no recorded turn is left"
    times = "once" if len(repeated) == 1 else f"{len(repeated)} times"
    return Divergence(
        kind="repeated call" if left else EXTRA_CALL,
        message=(
            f"model request {request} repeats turn {repeated[0].number}, which was recorded "
            f"{times} and is requested again ({rest})"
        ),
        request=request,
        turn=repeated[0].number,
    )


def _extra(request: int, recorded: int) -> Divergence:
    turns = "1 turn" if recorded == 1 else f"{recorded} turns"
    return Divergence(
        kind=EXTRA_CALL,
        message=(
            f"the agent made one model call more than recorded: this is request {request}, "
            f"and the recording holds {turns}, all used"
        ),
        request=request,
    )


def _with_last_said(
    found: Divergence,
    operation: Operation,
    pinned: JsonValue,
    candidates: Sequence[Candidate],
    dialect: Dialect,
) -> Divergence:
    """The divergence of a call too many, with the messages at its end that no recorded request of
    the same kind has, at least the last one."""
    said = dialect.message_list(pinned)
    recorded = (
        dialect.message_list(candidate.request)
        for candidate in candidates[-_NEAREST_OF:]
        if candidate.operation == operation
    )
    known = max((_common(said, other) for other in recorded), default=0)
    last = said[min(max(known, len(said) - _LAST), len(said) - 1) :] if said else ()
    return replace(found, excerpt=added(last), sides=only_replayed(last)) if last else found


def _common(left: Sequence[JsonValue], right: Sequence[JsonValue]) -> int:
    """How many messages two requests have in common at their beginnings."""
    pairs = zip(left, right, strict=False)
    return next(
        (at for at, (one, other) in enumerate(pairs) if not same(one, other)),
        min(len(left), len(right)),
    )


def _other_operation(operation: Operation, expected: Candidate, request: int) -> Divergence:
    recorded = expected.operation
    kind = "model API" if recorded.dialect != operation.dialect else "operation"
    return Divergence(
        kind=kind,
        message=(
            f"model request {request} speaks {operation.dialect} ({operation.path}); "
            f"turn {expected.number} was recorded in {recorded.dialect} ({recorded.path})"
        ),
        request=request,
        turn=expected.number,
    )


def _distance(dialect: Dialect, recorded: JsonValue, pinned: JsonValue) -> int:
    """How much two requests differ: a part of the envelope weighs more than a message."""
    parts = sum(
        not _same_part(old, new) for _, old, new in _paired_parts(dialect, recorded, pinned)
    )
    return 3 * parts + _changed_messages(dialect, recorded, pinned)


def _paired_parts(
    dialect: Dialect, recorded: JsonValue, pinned: JsonValue
) -> Iterator[tuple[str, EnvelopePart | None, EnvelopePart | None]]:
    old = {part.name: part for part in dialect.envelope(recorded).parts}
    new = {part.name: part for part in dialect.envelope(pinned).parts}
    for name in [*old, *(name for name in new if name not in old)]:
        yield name, old.get(name), new.get(name)


def _same_part(old: EnvelopePart | None, new: EnvelopePart | None) -> bool:
    return old is not None and new is not None and same(old.value, new.value)


def _difference(
    dialect: Dialect, nearest: Candidate, operation: Operation, pinned: JsonValue, request: int
) -> Divergence:
    if nearest.operation == operation:
        found = difference(dialect, nearest.request, pinned)
    else:
        models = dialect.model_of(nearest.operation), dialect.model_of(operation)
        change = Change("the request path", *models)
        found = Difference("model", change, also=_places(dialect, nearest.request, pinned))
    subject = f"model request {request} differs from turn {nearest.number}"
    return explained(subject, found, request=request, turn=nearest.number)


def difference(dialect: Dialect, recorded: JsonValue, pinned: JsonValue) -> Difference:
    """Where two different requests of one dialect first differ, envelope before messages."""
    changed = next(_changed_parts(dialect, recorded, pinned), None)
    if changed is None:
        messages = _changed_messages(dialect, recorded, pinned)
        others = f"{messages - 1} more {'message' if messages == 2 else 'messages'}"
        change = first_change("$", recorded, pinned)
        kind = dialect.message_kind(recorded, change.path)
        return Difference(kind, change, also=[others] if messages > 1 else ())
    name, root, old, new = changed
    change = first_change(
        root, MISSING if old is None else old.value, MISSING if new is None else new.value
    )
    also = [path for path in _places(dialect, recorded, pinned) if path != root]
    note = _lengths(dialect, recorded, pinned) if root == dialect.messages_path else ""
    return Difference(dialect.part_kind(name, change.path), change, also, note)


def _changed_parts(
    dialect: Dialect, recorded: JsonValue, pinned: JsonValue
) -> Iterator[tuple[str, str, EnvelopePart | None, EnvelopePart | None]]:
    """The parts of the envelope that differ: name, path, and what either side has there."""
    for name, old, new in _paired_parts(dialect, recorded, pinned):
        if not _same_part(old, new):
            yield name, next(part.path for part in (old, new) if part is not None), old, new


def _places(dialect: Dialect, recorded: JsonValue, pinned: JsonValue) -> Sequence[str]:
    """All places, by JSON path, in which two requests differ."""
    found = [path for _, path, _, _ in _changed_parts(dialect, recorded, pinned)]
    if _changed_messages(dialect, recorded, pinned):
        found.append(dialect.messages_path)
    return list(dict.fromkeys(found))


def _lengths(dialect: Dialect, recorded: JsonValue, pinned: JsonValue) -> str:
    """How many messages both sides have, where that differs."""
    old, new = len(dialect.message_list(recorded)), len(dialect.message_list(pinned))
    if old == new:
        return ""
    return f"{old} {'message' if old == 1 else 'messages'} recorded, {new} sent"


def _changed_messages(dialect: Dialect, recorded: JsonValue, pinned: JsonValue) -> int:
    """How many messages differ, those that only one side has included."""
    pairs = zip_longest(
        dialect.message_list(recorded), dialect.message_list(pinned), fillvalue=MISSING
    )
    return sum(not same_or_missing(old, new) for old, new in pairs)
