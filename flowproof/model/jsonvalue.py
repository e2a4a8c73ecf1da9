"""JSON values that survive a round trip: key order, number texts and odd strings included.

Python's own parser turns `1.10` into `1.1`, and `1 == True == 1.0` compares equal. A recording
must not: a request is the same request only if its JSON value is, numbers compared by their text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

MAX_DEPTH = 200
"""Deepest nesting accepted; a model API has no use for a tenth of it."""


@dataclass(frozen=True, slots=True)
class NumberText:
    """A number whose text Python would not print the same way again, such as `1.10` or `1e5`."""

    text: str


JsonValue: TypeAlias = (
    "bool | int | float | str | NumberText | list[JsonValue] | dict[str, JsonValue] | None"
)
JsonObject: TypeAlias = "dict[str, JsonValue]"


class JsonError(ValueError):
    """The text is not JSON that we accept; the message says where and why."""


def _integer(text: str) -> int | NumberText:
    # Python refuses integers of more than 4300 digits, and reads -0 as 0.
    return NumberText(text) if len(text) > 1000 or text == "-0" else int(text)


def _real(text: str) -> float | NumberText:
    # Of all floats only 0.0 and -0.0 are equal while their texts differ.
    number = float(text)
    return number if repr(number) == text != "-0.0" else NumberText(text)


def _refuse_constant(text: str) -> None:
    raise JsonError(f"{text} is not a JSON value")


def parse(
    text: str | bytes,
    *,
    max_depth: int | None = MAX_DEPTH,
    object_of: Callable[[list[tuple[str, JsonValue]]], JsonObject] | None = None,
) -> JsonValue:
    """The value that a JSON text denotes. Of a repeated key the last one counts, unless
    `object_of` makes objects of their members in another way.

    With `max_depth` None the caller looks at the depth itself, before anything recurses.

    :raises JsonError: if it is not JSON, not UTF-8, or nested deeper than `max_depth`.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_refuse_constant,
            object_pairs_hook=object_of,
        )
        too_deep = max_depth is not None and deeper_than(value, max_depth)
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise JsonError(f"{error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error
    except MemoryError as error:
        raise JsonError("too large to read here: there is not enough memory") from error
    if too_deep:
        raise JsonError(f"nested deeper than {max_depth} levels")
    return cast("JsonValue", value)


def deeper_than(value: object, limit: int) -> bool:
    """Whether containers stand more than `limit` (at least 1) levels deep in a value."""
    level: list[object] = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = f"number-{os.urandom(16).hex()}:"
_MARKED = re.compile(f'"{_MARK}([^"]*)"')


def write(value: JsonValue, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """The JSON text of a value: compact, or indented by `indent` blanks. No final newline.

    Text stays readable (not escaped to ASCII) unless it holds a lone surrogate, which only an
    escape can carry through UTF-8.
    """
    separators = (",", ":") if indent is None else (",", ": ")
    # A number kept as text goes through the fast C encoder as a string no input can contain.
    found = False

    def number(item: object) -> str:
        nonlocal found
        if not isinstance(item, NumberText):
            raise TypeError(f"{type(item).__name__} is not a JSON value")
        found = True
        return f"{_MARK}{item.text}"

    def encode(ensure_ascii: bool) -> str:
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
            default=number,
            allow_nan=False,
        )

    text = encode(ensure_ascii=False)
    if _SURROGATE.search(text):
        text = encode(ensure_ascii=True)
    return _MARKED.sub(r"\1", text) if found else text


def canonical(value: JsonValue) -> str:
    """A text that two values share exactly if they are the same JSON value.

    Keys are sorted, numbers keep their text, strings are compared code point by code point.
    """
    return write(value, sort_keys=True)


def same(left: JsonValue, right: JsonValue) -> bool:
    """Whether both are the same JSON value: `1`, `1.0`, `"1"` and `true` all differ."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def scalar_text(value: JsonValue) -> str | None:
    """The text of a JSON scalar as it stands on the wire, a string without its quotes.

    None for an object or a list.
    """
    match value:
        case str():
            return value
        case NumberText(text):
            return text
        case dict() | list():
            return None
        case _:
            return json.dumps(value)


def scalars(value: JsonValue, *, backwards: bool = False) -> Iterator[str]:
    """The texts of all scalars in a value as `scalar_text` has them, in its order or against
    it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict | list):
            inner = list(item.values()) if isinstance(item, dict) else item
            waiting.extend(inner if backwards else reversed(inner))
        else:
            yield scalar_text(item) or ""


def lookup(value: JsonValue, path: tuple[str, ...]) -> JsonValue | Missing:
    """The value at a dotted path; a digit-only part indexes a list. `MISSING` if absent."""
    for part in path:
        match value:
            case dict() if part in value:
                value = value[part]
            case list() if part.isdecimal() and part.isascii() and int(part) < len(value):
                value = value[int(part)]
            case _:
                return MISSING
    return value


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing stands at a path; JSON's null is something."""


MISSING = Missing()
