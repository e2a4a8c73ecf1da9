"""Which arguments a tool takes, read from the JSON Schema that it is offered with.

Counterpart: `checks.warnings`, which knows by it that a guard names an argument no call can have.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.model.jsonvalue import JsonValue

_OPENING = (
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
    "unevaluatedProperties",
)


def parameter_names(schema: JsonValue) -> tuple[str, ...]:
    """The properties of an object schema that names them all; empty where others may come.

    A schema that says nothing about further properties is taken to have none: that is how its
    author sees it, and what the model is shown.
    """
    if not isinstance(schema, dict) or any(key in schema for key in _OPENING):
        return ()
    properties = schema.get("properties")
    closed = schema.get("additionalProperties", False) is False
    return tuple(properties) if closed and isinstance(properties, dict) else ()


def parameters_of(tools: Iterable[tuple[str, JsonValue]]) -> dict[str, tuple[str, ...]]:
    """The arguments of each tool, by name and schema, without those that leave them open.

    Of two schemas for one name, either may be the one that is called.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, schema in tools:
        names = parameter_names(schema)
        known = found.get(name, names)
        found[name] = tuple(dict.fromkeys(known + names)) if known and names else ()
    return {name: names for name, names in found.items() if names}
