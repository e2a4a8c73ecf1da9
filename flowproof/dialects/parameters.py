"""Which arguments a tool takes, read from the JSON Schema that it is offered with.

Counterpart: `checks.warnings`, which knows by it that a guard names an argument no call can have.
"""

from __future__ import annotations

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
