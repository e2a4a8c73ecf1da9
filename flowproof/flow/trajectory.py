"""Turns recorded turns of any dialect into the neutral trajectory that checks and reports read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from flowproof.dialects.interface import Dialect, Said
from flowproof.dialects.registry import by_name
from flowproof.model.jsonvalue import JsonValue, same, write
from flowproof.model.trajectory import Message, ToolParameters, Trajectory, TurnView
from flowproof.model.turn import Turn

_LOOK_BACK = 8
"""How many earlier turns may be the one that a request continues; agents rarely hold as many
conversations at once."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A turn's raw messages, with the length of all text up to and including each. `answer` is
    the id by which a later request may continue from it."""

    number: int
    system: str
    raw: Sequence[JsonValue]
    lengths: Sequence[int]
    tools: tuple[str, ...]
    answer: str | None


def trajectory_of(turns: Sequence[Turn]) -> Trajectory:
    """The trajectory of these turns, in their order; each says what it adds to an earlier one."""
    seen: list[_Seen] = []
    views: list[TurnView] = []
    tool_names: dict[str, str] = {}
    offers: list[Said] = []
    for number, turn in enumerate(turns, 1):
        dialect = by_name(turn.operation.dialect)
        said = dialect.said(turn.request)
        view, note = _view(number, turn, dialect, said, seen, tool_names)
        views.append(view)
        seen.append(note)
        offers.append(said)
    return Trajectory(tuple(views), _parameters(offers))


def _parameters(offers: Sequence[Said]) -> tuple[ToolParameters, ...]:
    """What every offer of a tool together says of its arguments; nothing if one leaves it open."""
    found: dict[str, dict[str, None]] = {}
    left_open: set[str] = set()
    for said in offers:
        left_open.update(tool for tool in said.tools if tool not in said.parameters)
        for tool, names in said.parameters.items():
            found.setdefault(tool, {}).update(dict.fromkeys(names))
    return tuple(
        ToolParameters(tool, tuple(names)) for tool, names in found.items() if tool not in left_open
    )


def _view(
    number: int,
    turn: Turn,
    dialect: Dialect,
    said: Said,
    seen: Sequence[_Seen],
    tool_names: dict[str, str],
) -> tuple[TurnView, _Seen]:
    raw = dialect.message_list(turn.request)
    system = said.system
    if (continued := _continued(said, seen)) is None:
        base, kept = _base(raw, system, seen)
    else:
        # The server knows what came before; the request holds only what is new.
        base, kept = continued, len(continued.raw)
        own = raw[_instructions(raw, dialect) :] if system in ("", base.system) else raw
        raw, system = [*base.raw, *own], system or base.system
        said = replace(said, tools=said.tools or base.tools)
    added: list[Message] = []
    lengths = list(base.lengths[:kept]) if base else []
    for item in raw[kept:]:
        message = dialect.message(item, tool_names)
        added.append(message)
        lengths.append((lengths[-1] if lengths else 0) + _text_length(message))
    ok = 200 <= turn.response.status < 300
    answer = dialect.answer(turn.response.body)
    for call in (call for message in answer.messages for call in message.tool_calls):
        if call.id is not None:
            tool_names[call.id] = call.name
    envelope = sum(len(write(part.value)) for part in dialect.envelope(turn.request).parts)
    view = TurnView(
        number=number,
        dialect=turn.operation.dialect,
        model=said.model or dialect.model_of(turn.operation),
        system=system,
        base=base.number if base else None,
        kept=kept,
        continues=kept > _instructions(raw, dialect),
        added=tuple(added),
        request_text=(lengths[-1] if lengths else 0) + envelope,
        tools=said.tools,
        status=turn.response.status,
        answers=answer.messages if ok else (),
        mocked=turn.mocked,
        tokens=answer.tokens,
        served=said.served,
    )
    return view, _Seen(number, system, raw, lengths, said.tools, answer.id)


def _continued(said: Said, seen: Sequence[_Seen]) -> _Seen | None:
    """The turn from whose answer the server is asked to go on."""
    if said.continues is None:
        return None
    return next((one for one in reversed(seen) if one.answer == said.continues), None)


def _base(raw: Sequence[JsonValue], system: str, seen: Sequence[_Seen]) -> tuple[_Seen | None, int]:
    """The recent turn of this conversation with the longest common beginning."""
    best: _Seen | None = None
    longest = 0
    for earlier in reversed(seen[-_LOOK_BACK:]):
        if earlier.system != system:
            continue
        kept = _common(raw, earlier.raw)
        if kept > longest:
            best, longest = earlier, kept
        if kept == len(earlier.raw):
            break  # it continues this turn to the end; an older one can share no more of it
    return best, longest


def _instructions(raw: Sequence[JsonValue], dialect: Dialect) -> int:
    """How many messages at the beginning are the system's."""
    roles = (dialect.message(item, {}).role for item in raw)
    return sum(1 for _ in takewhile("system".__eq__, roles))


def _common(left: Sequence[JsonValue], right: Sequence[JsonValue]) -> int:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if not same(one, other):
            return index
    return min(len(left), len(right))


def _text_length(message: Message) -> int:
    return len(message.text or "") + sum(
        len(call.name) + len(call.text) for call in message.tool_calls
    )
