"""JSON Patch (RFC 6902) with `add`, `replace` and `remove`: what one request adds to another.

`encode` makes patches with `diff`, `decode` reads them with `apply`, which shares what it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from flowproof.model.jsonvalue import (
    MAX_DEPTH,
    JsonObject,
    JsonValue,
    deeper_than,
    same,
    write,
)

Container: TypeAlias = "dict[str, JsonValue] | list[JsonValue]"

_MEMBER = 16
"""What a member of an object, or a step of a pointer, costs: as much time and memory as so many
elements of a list."""
_REACH = 16
"""How many elements to look ahead for the place where two lists agree again."""


class PatchError(ValueError):
    """A patch cannot be applied; the message names the operation and its pointer."""


class _Refused(ValueError):
    """Why one operation cannot be applied."""


@dataclass(slots=True)
class Budget:
    """How many members of objects and lists `apply` may still copy or move.

    One budget for all patches of a file bounds what the file can cost.
    """

    left: int

    def spend(self, members: int) -> None:
        """Take from what is left."""
        self.left -= members
        if self.left < 0:
            raise _Refused("applying the patches costs more than a real conversation ever does")


def diff(old: JsonValue, new: JsonValue) -> list[JsonValue]:
    """The operations that turn `old` into `new`; none where they are the same."""
    return _changes(old, new, "")


def apply(
    old: JsonValue, operations: Sequence[JsonValue], budget: Budget | None = None
) -> JsonValue:
    """The value that the operations make of `old`, which stays as it is.

    The result shares with `old` and with the operations whatever no operation reaches into, so
    neither may be changed afterwards.

    :raises PatchError: if an operation is not well formed, points at nothing, or nests too
        deeply, or if the budget is spent.
    """
    draft = _Draft(old, budget)
    for number, operation in enumerate(operations, 1):
        try:
            draft.run(operation)
        except _Refused as refused:
            raise PatchError(f"operation {number}{_named(operation)}: {refused}") from None
    return draft.root


def pointer(tokens: Sequence[str]) -> str:
    """The JSON Pointer (RFC 6901) that leads along these keys and indexes."""
    return "".join(f"/{_escaped(token)}" for token in tokens)


def tokens_of(text: str) -> tuple[str, ...]:
    """The keys and indexes of a JSON Pointer; empty for the whole document.

    :raises ValueError: if it is not a JSON Pointer.
    """
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError("a pointer starts with `/`")
    if text.count("~") != text.count("~0") + text.count("~1"):
        raise ValueError("`~` is written `~0` and `/` is written `~1` in a pointer")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def _escaped(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def _named(operation: JsonValue) -> str:
    if not isinstance(operation, dict):
        return ""
    op, path = operation.get("op"), operation.get("path")
    return f" ({op} {path})" if isinstance(op, str) and isinstance(path, str) else ""


def _changes(old: JsonValue, new: JsonValue, at: str) -> list[JsonValue]:
    match old, new:
        case dict(), dict():
            found = _object_changes(old, new, at)
        case list(), list():
            found = _list_changes(old, new, at)
        case _:
            return [] if same(old, new) else [_replace(at, new)]
    whole = _replace(at, new)
    if len(found) > 1 and len(write(found)) > len(write(whole)):
        return [whole]
    return found


def _object_changes(old: JsonObject, new: JsonObject, at: str) -> list[JsonValue]:
    found: list[JsonValue] = [_remove(f"{at}/{_escaped(key)}") for key in old if key not in new]
    for key, value in new.items():
        path = f"{at}/{_escaped(key)}"
        if key in old:
            found += _changes(old[key], value, path)
        else:
            found.append(_add(path, value))
    return found


def _list_changes(old: list[JsonValue], new: list[JsonValue], at: str) -> list[JsonValue]:
    shortest = min(len(old), len(new))
    start = 0
    while start < shortest and same(old[start], new[start]):
        start += 1
    tail = 0
    while tail < shortest - start and same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    found: list[JsonValue] = []
    # While this runs, the patched list is new[:to] followed by old[of:].
    of, to = start, start
    old_end, new_end = len(old) - tail, len(new) - tail
    while of < old_end and to < new_end:
        gone, come = _until_same(
            old[of : min(old_end, of + _REACH)], new[to : min(new_end, to + _REACH)]
        )
        if gone == come:
            found += _changes(old[of], new[to], f"{at}/{to}")
            gone, come = 1, 1
        else:
            found += [_remove(f"{at}/{to}")] * gone
            found += [_add(f"{at}/{to + n}", new[to + n]) for n in range(come)]
        of, to = of + gone, to + come
    found += [_remove(f"{at}/{to}")] * (old_end - of)
    for index in range(to, new_end):
        found.append(_add(f"{at}/{index if tail else '-'}", new[index]))
    return found


def _until_same(old: list[JsonValue], new: list[JsonValue]) -> tuple[int, int]:
    """How many elements of either to skip so that both go on alike; zeros if neither helps."""
    if same(old[0], new[0]):
        return 0, 0
    for skip in range(1, _REACH):
        if skip < len(old) and same(old[skip], new[0]):
            return skip, 0
        if skip < len(new) and same(old[0], new[skip]):
            return 0, skip
    return 0, 0


def _add(path: str, value: JsonValue) -> JsonValue:
    return {"op": "add", "path": path, "value": value}


def _replace(path: str, value: JsonValue) -> JsonValue:
    return {"op": "replace", "path": path, "value": value}


def _remove(path: str) -> JsonValue:
    return {"op": "remove", "path": path}


class _Draft:
    """A value under change. Containers on the way to a change are copied once, then owned."""

    def __init__(self, root: JsonValue, budget: Budget | None) -> None:
        self.root = root
        self._budget = budget
        self._owned: dict[int, Container] = {}

    def run(self, operation: JsonValue) -> None:
        op, tokens, value = _checked(operation)
        if not tokens:
            if op == "remove":
                raise _Refused("the whole document cannot be removed")
            self.root = value
            return
        parent = self._open(tokens[:-1])
        if isinstance(parent, dict):
            if op != "add" and tokens[-1] not in parent:
                raise _Refused("there is no such key")
            if op == "remove":
                del parent[tokens[-1]]
            else:
                parent[tokens[-1]] = value
            return
        if op == "replace":
            parent[_index(tokens[-1], len(parent) - 1)] = value
        elif op == "remove":
            index = _index(tokens[-1], len(parent) - 1)
            self._spend(len(parent) - index)
            del parent[index]
        else:
            index = len(parent) if tokens[-1] == "-" else _index(tokens[-1], len(parent))
            self._spend(len(parent) - index)
            parent.insert(index, value)

    def _open(self, tokens: tuple[str, ...]) -> Container:
        """The container at a path, with all containers above it, ready to be changed."""
        node = self.root = self._own(self.root)
        self._spend(len(tokens) * _MEMBER)
        for token in tokens:
            if isinstance(node, dict):
                if token not in node:
                    raise _Refused(f"there is no key `{token}` on the way")
                child = node[token] = self._own(node[token])
            else:
                index = _index(token, len(node) - 1)
                child = node[index] = self._own(node[index])
            node = child
        return node

    def _own(self, value: JsonValue) -> Container:
        if not isinstance(value, dict | list):
            raise _Refused("it leads through a value that is neither an object nor a list")
        if id(value) in self._owned:
            return value
        self._spend(len(value) * (_MEMBER if isinstance(value, dict) else 1))
        copy: Container = dict(value) if isinstance(value, dict) else list(value)
        self._owned[id(copy)] = copy
        return copy

    def _spend(self, members: int) -> None:
        if self._budget is not None:
            self._budget.spend(members)


def _checked(operation: JsonValue) -> tuple[str, tuple[str, ...], JsonValue]:
    """The parts of an operation: its name, its pointer split up, and its value if it has one."""
    if not isinstance(operation, dict):
        raise _Refused("an operation is an object")
    op, path = operation.get("op"), operation.get("path")
    if op not in ("add", "replace", "remove") or not isinstance(op, str):
        raise _Refused("`op` is one of add, replace, remove")
    if not isinstance(path, str):
        raise _Refused("`path` is a string")
    if op != "remove" and "value" not in operation:
        raise _Refused("`value` is missing")
    try:
        tokens = tokens_of(path)
    except ValueError as error:
        raise _Refused(str(error)) from None
    value = None if op == "remove" else operation["value"]
    if len(tokens) > MAX_DEPTH or deeper_than(value, MAX_DEPTH + 1 - len(tokens)):
        raise _Refused(f"it would nest deeper than {MAX_DEPTH} levels")
    return op, tokens, value


def _index(token: str, last: int) -> int:
    """The list index that a token names, at most `last`."""
    if not (token.isascii() and token.isdecimal()) or (token[0] == "0" and token != "0"):
        raise _Refused(f"`{token[:40]}` is no index of a list")
    # The length first: Python refuses to read integers of thousands of digits.
    if len(token) > 12 or int(token) > last:
        raise _Refused(f"index {token[:40]} is beyond the end of the list")
    return int(token)
