"""`${VAR}` in the texts of a spec: found when it is read, resolved while a flow runs.

`$${` stands for the text `${`. `${flowproof.NAME}` is a handle: the driver replaces it at spawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from flowproof.errors import UnsetVariable
from flowproof.model.flow_spec import Expected, Position, Scalar, VariableUse
from flowproof.model.jsonvalue import JsonValue

Lookup: TypeAlias = Callable[[str], str | None]
"""Gives the value of a variable, None where it is not set."""

NAME = "[A-Za-z_][A-Za-z0-9_]*"
HANDLE = r"flowproof\.[A-Za-z0-9_.-]+"

WELL_FORMED = rf"(?:[^$]|\$\$\{{|\$(?!\$?\{{)|\$\{{(?:{NAME}|{HANDLE})\}})*"
"""A regular expression for a whole text in which every `${` is a reference or escaped."""

_TOKEN = re.compile(rf"\$\$\{{|\$\{{(?:(?P<name>{NAME})|(?P<handle>{HANDLE}))\}}|\$\{{")


@dataclass(frozen=True, slots=True)
class Token:
    """Something in a text that begins like a reference."""

    offset: int
    length: int
    variable: str | None = None
    handle: str | None = None
    malformed: bool = False


def tokens(text: str) -> Iterator[Token]:
    """Every reference, handle, escape and malformed reference in a text, in order."""
    for found in _TOKEN.finditer(text):
        name, handle = found["name"], found["handle"]
        whole = found.group()
        malformed = whole == "${"
        yield Token(found.start(), len(whole), name, handle, malformed)


def references(text: str) -> tuple[str, ...]:
    """The names of the variables that a text refers to, each once, in order."""
    return tuple(dict.fromkeys(t.variable for t in tokens(text) if t.variable is not None))


def handles(text: str) -> tuple[str, ...]:
    """The handles in a text without their `flowproof.`, each once: `proxy_url`, `mcp_url.files`."""
    found = (t.handle for t in tokens(text) if t.handle is not None)
    return tuple(dict.fromkeys(handle.removeprefix("flowproof.") for handle in found))


def resolve(text: str, lookup: Lookup, position: Position | None = None) -> str:
    """The text with its variables replaced and its escapes undone. Handles stay as they are.

    :raises UnsetVariable: naming the variable, and `position` where it is given.
    """
    if "${" not in text:
        return text

    def value(found: re.Match[str]) -> str:
        if found.group() == "$${":
            return "${"
        if (name := found["name"]) is None:
            return found.group()
        if (known := lookup(name)) is None:
            raise UnsetVariable([(name, str(position) if position else "")])
        return known

    return _TOKEN.sub(value, text)


def resolve_expected(expected: Expected, lookup: Lookup) -> Expected:
    """A value to compare with, its texts resolved; `quoted` stays, so does every key.

    :raises UnsetVariable: naming the variable.
    """
    match expected:
        case Scalar(text, quoted):
            return Scalar(resolve(text, lookup), quoted)
        case tuple():
            return tuple(resolve_expected(item, lookup) for item in expected)
        case Mapping():
            return {key: resolve_expected(item, lookup) for key, item in expected.items()}


def resolve_json(value: JsonValue, lookup: Lookup) -> JsonValue:
    """A JSON value, its strings resolved; keys and numbers stay.

    :raises UnsetVariable: naming the variable.
    """
    match value:
        case str():
            return resolve(value, lookup)
        case list():
            return [resolve_json(item, lookup) for item in value]
        case dict():
            return {key: resolve_json(item, lookup) for key, item in value.items()}
        case _:
            return value


def require_set(uses: Iterable[VariableUse], lookup: Lookup) -> None:
    """Check that every variable has a value before anything is launched or paid for.

    :raises UnsetVariable: naming every variable without one, where it is used first.
    """
    first: dict[str, str] = {}
    for use in uses:
        if lookup(use.name) is None:
            first.setdefault(use.name, str(use.position))
    if first:
        raise UnsetVariable(list(first.items()))
