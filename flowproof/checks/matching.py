"""Conditions on the arguments of one tool call: whether they hold, and what differs.

Counterparts: `tool_calls` asks this for every call, `explaining` puts the answer into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
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
from flowproof.spec.pattern import Pattern, PatternError, compile_pattern

MAX_STEPS = 1_000_000_000
"""Most steps that one search may take at worst: a pattern's instructions times bytes of text.
RE2 does some hundred million of them in a second where it must look at each."""


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
    found = Fit.MATCHES
    for clause in clauses:
        one = clause_fit(clause, call.arguments)
        if one is Fit.DIFFERS:
            return one
        if one is Fit.UNKNOWN:
            found = one
    return found


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
    """Whether a clause is known to hold for the arguments of a call.

    :raises PatternError: as `clause_fit` does.
    """
    return clause_fit(clause, arguments) is Fit.MATCHES


def clause_fit(clause: Clause, arguments: JsonValue) -> Fit:
    """Whether a clause holds for the arguments of a call.

    `contains` is a part of a scalar's text or an item of a list; `matches` searches a scalar's
    text. Neither minds quotes. null counts as present. What holds only somewhere inside a list
    or object, or where the path does not lead but could (`obstacle`), is unknown: a step that
    needs the call does not have it, and a guard cannot say that it is another one.

    :raises PatternError: if the pattern of `matches` cannot be used, or not on so long a text.
    """
    found = locate(arguments, clause.path)
    if isinstance(found, Missing):
        if obstacle(arguments, clause.path) is not None:
            return Fit.UNKNOWN
        return _known(clause.matcher is Matcher.ABSENT)
    match clause.matcher:
        case Matcher.EXISTS:
            return Fit.MATCHES
        case Matcher.ABSENT:
            return Fit.DIFFERS
        case Matcher.EQUALS:
            return _known(clause.value is not None and equal(clause.value, found))
        case Matcher.CONTAINS | Matcher.MATCHES:
            part, text = scalar_of(clause), scalar_text(found)
            if text is not None:
                return _known(_has(clause.matcher, part.text, [text]) is not None)
            items = found if clause.matcher is Matcher.CONTAINS and isinstance(found, list) else ()
            if any(_is_scalar(part, item) for item in items):
                return Fit.MATCHES
            return Fit.DIFFERS if inside(clause, found) is None else Fit.UNKNOWN
        case _:
            assert_never(clause.matcher)


def _is_scalar(wanted: Scalar, actual: JsonValue) -> bool:
    return scalar_text(actual) == wanted.text and (not wanted.quoted or isinstance(actual, str))


def _known(held: bool) -> Fit:
    return Fit.MATCHES if held else Fit.DIFFERS


def inside(clause: Clause, found: JsonValue) -> Place | None:
    """The first text in a list or object that contains or matches what a clause looks for.

    :raises PatternError: as `clause_fit` does.
    """
    # Nearly always nothing is there, so that only then each text is given its path.
    at = _has(clause.matcher, scalar_of(clause).text, list(_texts(found)))
    return None if at is None else next(islice(_places(found, clause.path), at, None))


@dataclass(frozen=True, slots=True)
class Place:
    """A text inside arguments: the scalar at a path, or (`is_key`) the last part of the path."""

    path: tuple[str, ...]
    text: str
    is_key: bool = False


def _texts(value: JsonValue) -> Iterator[str]:
    """The texts of `_places`, in the same order."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            yield from item
            left.extend(reversed(item.values()))
        elif isinstance(item, list):
            left.extend(reversed(item))
        else:
            yield scalar_text(item) or ""


def _places(value: JsonValue, path: tuple[str, ...]) -> Iterator[Place]:
    """Every key and scalar inside a value, in order."""
    left: list[tuple[tuple[str, ...], JsonValue]] = [(path, value)]
    while left:
        at, item = left.pop()
        if isinstance(item, dict):
            for key in item:
                yield Place((*at, key), key, is_key=True)
            left += [((*at, key), item[key]) for key in reversed(item)]
        elif isinstance(item, list):
            left += [((*at, str(index)), item[index]) for index in reversed(range(len(item)))]
        else:
            yield Place(at, scalar_text(item) or "")


def _has(matcher: Matcher, wanted: str, texts: Sequence[str]) -> int | None:
    """The index of the first text that contains or matches what is wanted."""
    if matcher is Matcher.CONTAINS:
        return next((at for at, text in enumerate(texts) if wanted in text), None)
    pattern = affordable(wanted, texts)
    return next((at for at, text in enumerate(texts) if pattern.search(text)), None)


def affordable(wanted: str, texts: Sequence[str]) -> Pattern:
    """The pattern that a text describes, if these texts can be searched in a few seconds.

    :raises PatternError: if the pattern cannot be used, or not on texts as long as these.
    """
    pattern = compile_pattern(wanted)
    length = sum(len(text) if text.isascii() else 4 * len(text) for text in texts)
    if pattern.size * length > MAX_STEPS:
        raise PatternError(
            f"it is too large to search a text of {length:,} bytes: written out it has "
            f"{pattern.size:,} steps, and this long a text allows {MAX_STEPS // length:,}; "
            "repeat less, or repeat something simpler"
        )
    return pattern


def obstacle(arguments: JsonValue, path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Where a path that leads to nothing stops although what it names may be there.

    That is before a list of which the path should name an item, or before a text that may be
    JSON itself. Arguments as a whole may be any list or text; None if nothing hides there.
    """
    if isinstance(arguments, list | str):
        return () if arguments else None
    return _hidden(arguments, path, ())


def _hidden(
    value: JsonValue, path: tuple[str, ...], taken: tuple[str, ...]
) -> tuple[str, ...] | None:
    if not path:
        return None
    if isinstance(value, dict):
        for count in range(1, len(path) + 1):
            key = ".".join(path[:count])
            if key in value:
                found = _hidden(value[key], path[count:], (*taken, *path[:count]))
                if found is not None:
                    return found
    elif isinstance(value, list):
        if not (path[0].isascii() and path[0].isdecimal()):
            return taken if any(isinstance(item, dict | list) for item in value) else None
        if not isinstance(item := locate(value, path[:1]), Missing):
            return _hidden(item, path[1:], (*taken, path[0]))
    elif isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        return taken
    return None


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
        if not _is_scalar(wanted, actual):
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
