"""Conditions on the arguments of one tool call: whether they hold, and what differs.

Counterparts: `tool_calls` asks this for every call, `explaining` puts the answer into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from flowproof.model.flow_spec import (
    AssertNoToolCall,
    AssertToolCall,
    Clause,
    Expected,
    Matcher,
    Scalar,
)
from flowproof.model.jsonvalue import MISSING, JsonValue, Missing, scalar_text
from flowproof.model.trajectory import ToolCall
from flowproof.spec.pattern import compile_pattern


class Fit(Enum):
    """Whether a call is one that a step means."""

    MATCHES = "matches"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


def conditions(step: AssertToolCall | AssertNoToolCall) -> tuple[Clause, ...]:
    """All that a step says about the arguments; `arguments_exact` is a clause without a path."""
    exact = step.arguments_exact if isinstance(step, AssertToolCall) else None
    return step.clauses if exact is None else (*step.clauses, Clause((), Matcher.EQUALS, exact))


def fit(tool: str, clauses: tuple[Clause, ...], call: ToolCall) -> Fit:
    """Whether a call is of this tool with these arguments.

    Of arguments that are not JSON nothing can be said, not even that something is absent.
    """
    if call.name != tool:
        return Fit.DIFFERS
    if clauses and call.malformed:
        return Fit.UNKNOWN
    return Fit.MATCHES if all(holds(clause, call.arguments) for clause in clauses) else Fit.DIFFERS


def locate(arguments: JsonValue, path: tuple[str, ...]) -> JsonValue | Missing:
    """The value at a dotted path; `MISSING` if absent.

    A part names a key of an object or, if all digits, an item of a list. A key may hold dots
    itself: where `a` then `b` leads nowhere, the key `a.b` is meant.
    """
    if not path:
        return arguments
    if isinstance(arguments, list):
        part = path[0]
        # int() is for short digit strings only: no list has a longer index.
        if part.isascii() and part.isdecimal() and len(part) < 10 and int(part) < len(arguments):
            return locate(arguments[int(part)], path[1:])
    elif isinstance(arguments, dict):
        for taken in range(1, len(path) + 1):
            key = ".".join(path[:taken])
            if key in arguments:
                found = locate(arguments[key], path[taken:])
                if not isinstance(found, Missing):
                    return found
    return MISSING


def equal(wanted: Expected, actual: JsonValue) -> bool:
    """Whether a JSON value is what the author wrote.

    An unquoted scalar equals any JSON scalar of the same text, a quoted one only a string. Lists
    equal item by item, objects key by key with no key left over.
    """
    return next(differences(wanted, actual, ()), None) is None


def holds(clause: Clause, arguments: JsonValue) -> bool:
    """Whether a clause holds for the arguments of a call.

    `contains` is a part of a scalar's text or an item of a list; `matches` searches a scalar's
    text. Neither minds quotes, and of an object neither ever holds. null counts as present.

    :raises PatternError: if the pattern of `matches` cannot be used.
    """
    found = locate(arguments, clause.path)
    if isinstance(found, Missing):
        return clause.matcher is Matcher.ABSENT
    match clause.matcher:
        case Matcher.EXISTS:
            return True
        case Matcher.ABSENT:
            return False
        case Matcher.EQUALS:
            return clause.value is not None and equal(clause.value, found)
        case Matcher.CONTAINS:
            part = scalar_of(clause)
            if isinstance(found, list):
                return any(equal(part, item) for item in found)
            text = scalar_text(found)
            return text is not None and part.text in text
        case Matcher.MATCHES:
            text = scalar_text(found)
            return text is not None and compile_pattern(scalar_of(clause).text).search(text)
        case _:
            assert_never(clause.matcher)


def scalar_of(clause: Clause) -> Scalar:
    """The value of a clause that `contains` or `matches`.

    :raises TypeError: if a spec was built in which such a clause has a list or mapping.
    """
    if not isinstance(clause.value, Scalar):
        raise TypeError(f"`{clause.matcher}` compares with a scalar, not {clause.value!r}")
    return clause.value


@dataclass(frozen=True, slots=True)
class Gap:
    """One difference between a value and what it should be.

    `actual` is missing where nothing stands at the path, `wanted` is None where nothing should.
    """

    path: tuple[str, ...]
    wanted: Expected | None
    actual: JsonValue | Missing


def differences(wanted: Expected, actual: JsonValue, path: tuple[str, ...]) -> Iterator[Gap]:
    """Every difference between a value at `path` and what it should be, as they are asked for."""
    if isinstance(wanted, Scalar):
        text = scalar_text(actual)
        if text != wanted.text or (wanted.quoted and not isinstance(actual, str)):
            yield Gap(path, wanted, actual)
    elif isinstance(wanted, Mapping):
        if not isinstance(actual, dict):
            yield Gap(path, wanted, actual)
            return
        for key, item in wanted.items():
            if key in actual:
                yield from differences(item, actual[key], (*path, key))
            else:
                yield Gap((*path, key), item, MISSING)
        for key, other in actual.items():
            if key not in wanted:
                yield Gap((*path, key), None, other)
    elif not isinstance(actual, list) or len(actual) != len(wanted):
        yield Gap(path, wanted, actual)
    else:
        for index, (item, other) in enumerate(zip(wanted, actual, strict=True)):
            yield from differences(item, other, (*path, str(index)))
