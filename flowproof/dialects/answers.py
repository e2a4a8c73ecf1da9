"""What every dialect makes of an answer: a message per choice, and the tokens that it took.

Counterpart: `requests`, which does so for what was asked.
"""

from __future__ import annotations

from collections.abc import Callable

from flowproof.dialects.values import list_of, member_of, number_of
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.trajectory import Message


def messages_by_index(
    choices: JsonValue, read: Callable[[JsonValue], Message | None]
) -> tuple[Message, ...]:
    """The message that `read` makes of each choice, in the order of their indexes.

    None at all if one cannot be read: what remained could look as if no tool had been called.
    """
    found: list[tuple[int, Message]] = []
    for position, choice in enumerate(list_of(choices)):
        message = read(choice)
        if message is None:
            return ()
        found.append((number_of(member_of(choice, "index"), position), message))
    found.sort(key=lambda pair: pair[0])
    return tuple(message for _, message in found)


def tokens(sent: JsonValue, *given: JsonValue) -> tuple[int, int] | None:
    """Tokens in, and the sum of those out; None where one of them is no count."""
    told = [number_of(count, -1) for count in (sent, *given)]
    return (told[0], sum(told[1:])) if min(told) >= 0 else None
