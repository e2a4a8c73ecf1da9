"""Member names of the Gemini API, which takes them in camelCase and in snake_case."""

from __future__ import annotations

from flowproof.model.jsonvalue import JsonValue


def snake(name: str) -> str:
    """A camelCase member name in snake_case."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def member(value: JsonValue, name: str) -> JsonValue:
    """The member of an object under its camelCase name or under its other one; None if absent."""
    if not isinstance(value, dict):
        return None
    found = value.get(name)
    return value.get(snake(name)) if found is None else found
