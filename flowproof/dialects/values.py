"""JSON values of which any may stand anywhere: looked into without raising, and put in order.

Every dialect reads requests, answers and streams with these.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Role


def text_of(value: JsonValue) -> str | None:
    """A JSON string, None for any other value."""
    return value if isinstance(value, str) else None


def number_of(value: JsonValue, otherwise: int) -> int:
    """A JSON integer, else the number given; `true` is no integer here."""
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def list_of(value: JsonValue) -> list[JsonValue]:
    """A JSON list, an empty one for any other value."""
    return value if isinstance(value, list) else []


def member_of(value: JsonValue, key: str) -> JsonValue:
    """The member of an object; None where it has none, or is no object."""
    return value.get(key) if isinstance(value, dict) else None


def entry_of(value: JsonValue, index: int) -> JsonValue:
    """The entry of a list at an index from 0; None where it is shorter, or no list."""
    return value[index] if isinstance(value, list) and index < len(value) else None


def objects_of(value: JsonValue) -> list[JsonObject]:
    """The objects in a list, without anything else in it."""
    return [entry for entry in list_of(value) if isinstance(entry, dict)]


def only_objects(value: JsonValue) -> list[JsonObject]:
    """The objects in a list; none where it holds anything else."""
    found = objects_of(value)
    return found if len(found) == len(list_of(value)) else []


def role_in(value: JsonValue, roles: Mapping[str, Role]) -> Role:
    """The neutral role of a message by what it says of itself; of an unknown one, `user`."""
    role = member_of(value, "role")
    return roles.get(role, "user") if isinstance(role, str) else "user"


def ordered(value: JsonObject, order: tuple[str, ...]) -> JsonObject:
    """The same object with the keys that `order` names first."""
    first = {key: value[key] for key in order if key in value}
    return first | {key: item for key, item in value.items() if key not in first}
