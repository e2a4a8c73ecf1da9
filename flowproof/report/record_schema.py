"""The JSON Schema of `run.json`, made of the same dataclasses that `run_json` reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass
from enum import Enum, IntEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import KINDS, SCHEMA, Raw, hints_of, required_of

_PLAIN: dict[Any, JsonObject] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    Raw: {},
    NoneType: {"type": "null"},
}


def run_record_schema() -> JsonObject:
    """The JSON Schema (2020-12) of a `run.json`, also of one that an earlier version wrote.

    It takes what the reader takes, as far as JSON Schema can say: not that the counts are those
    of the flows, or that no verdict contradicts its exit code.
    """
    definitions: JsonObject = {}
    whole = _object(RunRecord, definitions)
    properties = cast("JsonObject", whole["properties"])
    required = cast("list[JsonValue]", whole["required"])
    whole["properties"] = {"schema": {"const": SCHEMA}, "counts": _counts(), **properties}
    whole["required"] = ["schema", "counts", *required]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "flowproof run record",
        **whole,
        "$defs": dict(sorted(definitions.items())),
    }


def _counts() -> JsonObject:
    names: list[JsonValue] = ["flows", *(verdict.value for verdict in Verdict)]
    number: JsonObject = {"type": "integer", "minimum": 0}
    return {
        "type": "object",
        "properties": {str(name): number for name in names},
        "required": names,
        "additionalProperties": False,
    }


def _schema(kind: Any, definitions: JsonObject) -> JsonObject:
    """The schema of a type hint; classes that it needs are put into `definitions`."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": [*inner]}
    if origin in (UnionType, Union):
        return {"anyOf": [_schema(one, definitions) for one in inner]}
    if origin is Sequence or (origin is tuple and inner[-1] is Ellipsis):
        return {"type": "array", "items": _schema(inner[0], definitions)}
    if origin is tuple:
        each: list[JsonValue] = [_schema(one, definitions) for one in inner]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    if is_dataclass(kind):
        name = cast("type", kind).__name__
        if name not in definitions:
            definitions[name] = {}  # a class may hold itself
            definitions[name] = _object(cast("type", kind), definitions)
        return {"$ref": f"#/$defs/{name}"}
    assert issubclass(kind, Enum)
    values: list[JsonValue] = [member.value for member in kind]
    return {"type": "integer", "enum": values} if issubclass(kind, IntEnum) else {"enum": values}


def _object(kind: type, definitions: JsonObject) -> JsonObject:
    properties: JsonObject = {"kind": {"const": KINDS[kind]}} if kind in KINDS else {}
    required: list[JsonValue] = [*properties]
    for name, hint in hints_of(kind).items():
        properties[name] = _schema(hint, definitions)
        required += [name] if name in required_of(kind) else []
    return {
        "type": "object",
        "description": _said(kind),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _said(kind: type) -> str:
    """What the class says of itself, on one line."""
    return " ".join((kind.__doc__ or "").split())
