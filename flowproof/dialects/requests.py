"""What every dialect makes of a request: what is pinned, its envelope, and who is asked with what.

Counterpart: `answers`, which does so for what came back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import takewhile

from flowproof.dialects.interface import Asked, Envelope, EnvelopePart, Said
from flowproof.dialects.values import member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, Role
from flowproof.model.visible import member_path


def asked(
    body: JsonObject, transport: Collection[str], *, stream: bool, stream_usage: bool = True
) -> Asked:
    """A body split into what is pinned, and the members that `transport` names."""
    return Asked(
        pinned={key: value for key, value in body.items() if key not in transport},
        stream=stream,
        stream_usage=stream_usage,
        transport={key: body[key] for key in transport if key in body},
    )


def envelope(
    pinned: JsonObject, *between: str | EnvelopePart, apart: Collection[str] = ()
) -> Envelope:
    """The model, the parts `between` in their order, then every other parameter by name.

    A string is the name of a member, left out where there is none. The members `apart` are in no
    part, or in one that is given.
    """
    first = ("model", *between)
    others = sorted(key for key in pinned if key not in first and key not in apart)
    parts: list[EnvelopePart] = []
    for part in (*first, *others):
        if isinstance(part, EnvelopePart):
            parts.append(part)
        elif part in pinned:
            parts.append(EnvelopePart(part, member_path("$", part), pinned[part]))
    return Envelope(tuple(parts))


def tool_names(labels: Iterable[str | None], path: str = "$.tools") -> EnvelopePart:
    """The part that has the names of the tools on offer, in their order."""
    return EnvelopePart("tool names", path, [*labels])


def roles(path: str, messages: Iterable[JsonValue]) -> EnvelopePart:
    """The part that has the roles of the messages, as they say them."""
    return EnvelopePart("roles", path, [member_of(raw, "role") for raw in messages])


def opening(
    messages: Iterable[JsonValue],
    role_of: Callable[[JsonValue], Role],
    message: Callable[[JsonValue, dict[str, str]], Message],
) -> str:
    """The instructions that open a conversation, one below the other."""
    leading = takewhile(lambda raw: role_of(raw) == "system", messages)
    return "\n".join(message(raw, {}).text or "" for raw in leading)


def offers(named: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the provider runs it.

    A name may come more than once: a tool that the agent runs, too, is the agent's.
    """
    found: dict[str, bool] = {}
    for name, served in named:
        found[name] = served and found.get(name, True)
    return found


def said(
    pinned: JsonObject,
    system: str,
    offered: Mapping[str, bool],
    parameters: Mapping[str, tuple[str, ...]],
    continues: str | None = None,
) -> Said:
    """A request in neutral words: its own model, and the rest as given."""
    return Said(
        model=text_of(pinned.get("model")),
        system=system,
        tools=tuple(offered),
        parameters=parameters,
        continues=continues,
        served=tuple(name for name, served in offered.items() if served),
    )
