"""Names the first difference between a request and the recording, envelope before messages.

Its counterpart is `cassette`, which found that no recorded turn is equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from flowproof.boundary.change import Change, explained, first_change, same_or_missing
from flowproof.dialects.interface import Dialect, EnvelopePart
from flowproof.model.jsonvalue import MISSING, JsonValue, same
from flowproof.model.outcome import Divergence
from flowproof.model.turn import Operation

_NEAREST_OF = 32
"""How many unconsumed turns are compared in search of the nearest; runs rarely skip so many."""


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
    repeated = [c for c in candidates if c.operation == operation and same(c.request, pinned)]
    if repeated:
        return _repeated(repeated, request, candidates)
    left = [candidate for candidate in candidates if not candidate.consumed]
    if not left:
        return _extra(request, len(candidates))
    dialect = dialects[operation.dialect]
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


def _repeated(
    repeated: Sequence[Candidate], request: int, candidates: Sequence[Candidate]
) -> Divergence:
    left = sum(not candidate.consumed for candidate in candidates)
    unused = "1 recorded turn is" if left == 1 else f"{left} recorded turns are"
    rest = f"{unused} still unused" if left else "no recorded turn is left"
    times = "once" if len(repeated) == 1 else f"{len(repeated)} times"
    return Divergence(
        kind="repeated call" if left else "extra call",
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
        kind="extra call",
        message=(
            f"the agent made one model call more than recorded: this is request {request}, "
            f"and the recording holds {turns}, all used"
        ),
        request=request,
    )


def _other_operation(operation: Operation, expected: Candidate, request: int) -> Divergence:
    recorded = expected.operation
    kind = "dialect" if recorded.dialect != operation.dialect else "operation"
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
    recorded = nearest.request
    parts = [
        (name, next(part.path for part in (old, new) if part is not None), old, new)
        for name, old, new in _paired_parts(dialect, recorded, pinned)
        if not _same_part(old, new)
    ]
    messages = _changed_messages(dialect, recorded, pinned)
    if nearest.operation != operation:
        models = dialect.model_of(nearest.operation), dialect.model_of(operation)
        also = [*(path for _, path, _, _ in parts), *([dialect.messages_path] * bool(messages))]
        change = Change("the request path", *models)
        return _explained("model", change, nearest, request, list(dict.fromkeys(also)))
    if not parts:
        change = first_change("$", recorded, pinned)
        also = [] if messages < 2 else [f"{messages - 1} more messages"]
        kind = dialect.message_kind(recorded, change.path)
        return _explained(kind, change, nearest, request, also)
    name, root, old, new = parts[0]
    change = first_change(
        root, MISSING if old is None else old.value, MISSING if new is None else new.value
    )
    also = list(dict.fromkeys(path for _, path, _, _ in parts if path != root))
    if messages and dialect.messages_path not in (root, *also):
        also.append(dialect.messages_path)
    return _explained(dialect.part_kind(name, change.path), change, nearest, request, also)


def _changed_messages(dialect: Dialect, recorded: JsonValue, pinned: JsonValue) -> int:
    """How many messages differ, those that only one side has included."""
    pairs = zip_longest(
        dialect.message_list(recorded), dialect.message_list(pinned), fillvalue=MISSING
    )
    return sum(not same_or_missing(old, new) for old, new in pairs)


def _explained(
    kind: str, change: Change, nearest: Candidate, request: int, also: Sequence[str]
) -> Divergence:
    subject = f"model request {request} differs from turn {nearest.number}"
    return explained(subject, kind, change, also, request=request, turn=nearest.number)
