"""The run record as JSON text and back: what `.flowproof/runs/<id>/report.json` holds.

Writing is on the path of every run, so it walks the dataclasses itself. Reading checks every value
against the same dataclasses; numbers inside tool arguments keep their text both ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from flowproof.errors import RunRecordUnreadable
from flowproof.model.jsonvalue import (
    MAX_DEPTH,
    JsonError,
    JsonObject,
    JsonValue,
    NumberText,
    parse,
    write,
)
from flowproof.model.outcome import Failed, Passed, Uncertifiable, Unjudged
from flowproof.model.run_record import FlowRecord, RunRecord, contradiction

T = TypeVar("T")

SCHEMA = "flowproof.run/1"
FILE_NAME = "run.json"
_NO_FLOWS = '\n  "flows": []'
MAX_CHARACTERS = 256 * 1024 * 1024

# The outcome of an assertion is one of several classes; in JSON its first key tells which.
KINDS: Mapping[type, str] = {
    Passed: "passed",
    Failed: "failed",
    Unjudged: "unjudged",
    Uncertifiable: "uncertifiable",
}
_CLASSES: Mapping[JsonValue, type] = {name: kind for kind, name in KINDS.items()}


def render(record: RunRecord) -> Iterable[tuple[str, Iterator[str]]]:
    """The report of kind `json`: one file with the whole record."""
    return [(FILE_NAME, pieces(record))]


def dump(record: RunRecord) -> str:
    """The record as indented JSON with a final newline, always the same text for the same record.

    It starts with its schema and the counts of all verdicts, which are derived from the flows.
    """
    return "".join(pieces(record))


def pieces(record: RunRecord) -> Iterator[str]:
    """The text of `dump` flow by flow: of a large run, the whole of it is many times larger than
    the record."""
    head: JsonObject = {"schema": SCHEMA, "counts": _counts(record)}
    rest = cast("JsonObject", _encode(replace(record, flows=())))
    before, after = write(head | rest, indent=2).split(_NO_FLOWS)
    if not record.flows:
        yield f"{before}{_NO_FLOWS}{after}\n"
        return
    yield f'{before}\n  "flows": ['
    for at, flow in enumerate(record.flows):
        # A line break stands between values only: inside a text it is escaped.
        text = write(_encode(flow), indent=2).replace("\n", "\n    ")
        yield f"{',' * (at > 0)}\n    {text}"
    yield f"\n  ]{after}\n"


def dump_part(part: object) -> str:
    """One dataclass that a record is made of, such as a trajectory, written as `dump` does."""
    return write(_encode(part), indent=2) + "\n"


def load_part(kind: type[T], value: JsonValue) -> T:
    """The dataclass of this kind that a JSON value of `dump_part` holds.

    :raises RunRecordUnreadable: if it holds none, naming the place and what belongs there.
    """
    return cast("T", _decode(kind, value, "$"))


def load(text: str) -> RunRecord:
    """The record that a text of `dump` holds.

    :raises RunRecordUnreadable: if it is no such text, naming the place and what belongs there.
    """
    if len(text) > MAX_CHARACTERS:
        raise RunRecordUnreadable(f"longer than {MAX_CHARACTERS:,} characters")
    try:
        return _load(text)
    except MemoryError as error:
        raise RunRecordUnreadable("too large to read here: there is not enough memory") from error


def _load(text: str) -> RunRecord:
    try:
        # Tool arguments may use all of the depth by themselves.
        value = parse(text, max_depth=MAX_DEPTH + 20)
    except JsonError as error:
        raise RunRecordUnreadable(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise RunRecordUnreadable(f"expected an object, found {_named(value)}")
    _check_schema(value)
    counts = value.pop("counts", None)
    record = cast("RunRecord", _decode(RunRecord, value, "$"))
    if counts != _counts(record):
        raise RunRecordUnreadable("its counts do not match its flows; was it edited?")
    return record


def _counts(record: RunRecord) -> JsonObject:
    counts: JsonObject = {"flows": len(record.flows)}
    return counts | {verdict.value: count for verdict, count in record.counts().items()}


def _check_schema(value: JsonObject) -> None:
    schema = value.pop("schema", None)
    if schema == SCHEMA:
        return
    if isinstance(schema, str) and schema.startswith(SCHEMA.partition("/")[0] + "/"):
        writer = value.get("flowproof")
        by = f" by flowproof {writer[:40]}" if isinstance(writer, str) else ""
        raise RunRecordUnreadable(
            f"it was written as {schema[:40]!r}{by}, and this version reads {SCHEMA!r}; "
            "use the flowproof that wrote it"
        )
    raise RunRecordUnreadable(f"its `schema` is {_named(schema)}, not {SCHEMA!r}")


def _encode(value: Any) -> JsonValue:
    kind = type(value)
    if kind is tuple:
        return [_encode(item) for item in value]
    if kind is NumberText or not is_dataclass(kind):
        return value.value if isinstance(value, Enum) else cast("JsonValue", value)
    encoded: JsonObject = {"kind": KINDS[kind]} if kind in KINDS else {}
    for name in _names(kind):
        encoded[name] = _encode(getattr(value, name))
    return encoded


class Raw:
    """Stands for any JSON value in a resolved type hint."""


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("Any", kind)))


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """The types of the fields of a dataclass; `Raw` where any JSON value may stand."""
    return get_type_hints(kind, localns={"JsonValue": Raw})


@cache
def required_of(kind: type) -> frozenset[str]:
    """The fields of a dataclass that have no default."""
    return frozenset(
        field.name
        for field in fields(cast("Any", kind))
        if field.default is MISSING and field.default_factory is MISSING
    )


def _decode(kind: Any, value: JsonValue, path: str) -> object:
    """The Python value of a JSON value as a type hint wants it."""
    if kind is Raw:
        return value
    origin = get_origin(kind)
    if origin is tuple:
        return _decode_tuple(get_args(kind), value, path)
    if origin is Sequence:
        return _decode_tuple((*get_args(kind), Ellipsis), value, path)
    if origin in (UnionType, Union):
        return _decode_union(get_args(kind), value, path)
    if origin is Literal:
        return _one_of(get_args(kind), value, path)
    if is_dataclass(kind):
        return _decode_object(cast("type", kind), value, path)
    if issubclass(kind, Enum):
        return kind(_one_of(tuple(member.value for member in kind), value, path))
    if kind is float:
        return _decode_float(value, path)
    if type(value) is not kind:
        raise _unexpected(path, _PLAIN[kind], value)
    return value


def _decode_object(kind: type, value: JsonValue, path: str) -> object:
    if not isinstance(value, dict):
        raise _unexpected(path, "an object", value)
    hints = hints_of(kind)
    for name in value.keys() - hints.keys():
        raise RunRecordUnreadable(f"{path}: unknown key {name[:80]!r}")
    for name in sorted(required_of(kind) - value.keys()):
        raise RunRecordUnreadable(f"{path}: the key {name!r} is missing")
    made = kind(
        **{name: _decode(hints[name], item, f"{path}.{name}") for name, item in value.items()}
    )
    if isinstance(made, FlowRecord) and (found := contradiction(made)):
        raise RunRecordUnreadable(f"{path}: it contradicts itself: {found}")
    return made


def _decode_tuple(kinds: tuple[Any, ...], value: JsonValue, path: str) -> object:
    if not isinstance(value, list):
        raise _unexpected(path, "a list", value)
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise _unexpected(path, f"a list of {len(kinds)}", value)
    return tuple(
        _decode(kind, item, f"{path}[{index}]")
        for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
    )


def _decode_union(kinds: tuple[Any, ...], value: JsonValue, path: str) -> object:
    if NoneType in kinds:
        if value is None:
            return None
        [kind] = [kind for kind in kinds if kind is not NoneType]
        return _decode(kind, value, path)
    if not isinstance(value, dict):
        raise _unexpected(path, "an object", value)
    tag = _one_of(tuple(_CLASSES), value.get("kind"), f"{path}.kind")
    rest = {name: item for name, item in value.items() if name != "kind"}
    return _decode_object(_CLASSES[tag], rest, path)


def _decode_float(value: JsonValue, path: str) -> float:
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    elif isinstance(value, NumberText):
        number = float(value.text)
    if not math.isfinite(number):
        raise _unexpected(path, "a number", value)
    return number


def _one_of(accepted: tuple[JsonValue, ...], value: JsonValue, path: str) -> JsonValue:
    for item in accepted:
        if type(item) is type(value) and item == value:
            return item
    raise _unexpected(path, "one of " + ", ".join(map(str, accepted)), value)


_PLAIN: Mapping[type, str] = {str: "a string", int: "an integer", bool: "true or false"}


def _unexpected(path: str, expected: str, value: JsonValue) -> RunRecordUnreadable:
    return RunRecordUnreadable(f"{path}: expected {expected}, found {_named(value)}")


def _named(value: JsonValue) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return f"a list of {len(value)}"
        case None:
            return "nothing"
        case _:
            return write(value)[:80]
