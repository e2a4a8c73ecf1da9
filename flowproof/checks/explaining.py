"""Puts into words why a call is not the one that a step means, and which call comes closest.

Counterpart: `matching`, which only decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import assert_never

from flowproof.checks import showing
from flowproof.checks.matching import (
    Fit,
    Gap,
    clause_fit,
    differences,
    holds,
    inside,
    locate,
    obstacle,
    scalar_of,
)
from flowproof.model.flow_spec import Clause, Matcher, Scalar
from flowproof.model.jsonvalue import JsonValue, Missing, scalar_text
from flowproof.model.trajectory import PlacedCall

MAX_GAPS = 50
"""Most differences between two values that are counted to find the closest call."""


def closest(clauses: tuple[Clause, ...], calls: Sequence[PlacedCall]) -> PlacedCall:
    """The call with the fewest failing clauses, then the fewest differences, then the earliest.

    Calls whose arguments are not JSON come last. `calls` must not be empty.
    """
    return min(calls, key=lambda placed: _distance(clauses, placed))


def why_not(clauses: tuple[Clause, ...], placed: PlacedCall) -> str:
    """What the failing clauses meet in the closest call: `the closest call's x is 1, not 2`."""
    if placed.call.malformed:
        told = f": {showing.arguments(placed)}" if placed.call.text else ""
        return f"the closest call's arguments are {placed.call.fault}{told}"
    arguments = placed.call.arguments
    texts: list[str] = []
    for clause in clauses:
        if not holds(clause, arguments):
            texts += islice(_shortfalls(clause, arguments), 5)
    # `_shortfalls` leaves out the subject, so that several make one sentence.
    rest = (f"its{text[2:]}" if text.startswith("'s ") else f"it{text}" for text in texts[1:])
    return "; ".join([f"the closest call{texts[0]}" if texts else "", *rest])


def why_unknown(clauses: tuple[Clause, ...], placed: PlacedCall) -> str:
    """Why it cannot be said that a call is not the one that is meant: `its … is …`."""
    arguments = placed.call.arguments
    if placed.call.malformed:
        return f"its arguments are {placed.call.fault}"
    # Not all of them need to be: the others hold, or the call would be another one.
    clause = next(one for one in clauses if clause_fit(one, arguments) is Fit.UNKNOWN)
    found = locate(arguments, clause.path)
    if isinstance(found, Missing):
        return f"its {_obstacle(clause, arguments)}"
    kind = "a list" if isinstance(found, list) else "an object"
    return f"its {showing.name('.'.join(clause.path))} is {kind}, in which {_near(clause, found)}"


def _obstacle(clause: Clause, arguments: JsonValue) -> str:
    """Where the path of a clause stops; empty if it leads to nothing for certain."""
    stop = obstacle(arguments, clause.path)
    if stop is None:
        return ""
    path, value = showing.name(".".join(clause.path)), locate(arguments, stop)
    if isinstance(value, str):
        return f"{_is(stop)} a text, in which no path leads to {path}"
    rest = clause.path[len(stop) :]
    indexed = showing.name(".".join((*stop, "0", *rest)))
    return f"{_is(stop)} a list, of which a path names an item by its index, such as {indexed}"


def _near(clause: Clause, found: JsonValue) -> str:
    """Where inside a list or object a clause would hold; empty if nowhere."""
    place = inside(clause, found)
    if place is None:
        return ""
    verb = "contains" if clause.matcher is Matcher.CONTAINS else "matches"
    key = "the key " if place.is_key else ""
    return f"{key}{showing.name('.'.join(place.path))} {verb} it"


def describe(tool: str, clauses: tuple[Clause, ...]) -> str:
    """What a step asks for, as prose: `book where city equals Paris`."""
    conditions = " and ".join(map(_describe_clause, clauses))
    return f"{showing.cut(tool, 100)}{f' where {conditions}' if conditions else ''}"


def _describe_clause(clause: Clause) -> str:
    path = showing.cut(".".join(clause.path), 100) or "the whole"
    shown = "" if clause.value is None else f" {showing.expected(clause.value)}"
    return f"{path} {clause.matcher}{shown}"


def _distance(clauses: tuple[Clause, ...], placed: PlacedCall) -> tuple[int, int]:
    if placed.call.malformed:
        return len(clauses) + 1, 0
    failing = [clause for clause in clauses if not holds(clause, placed.call.arguments)]
    return len(failing), sum(_gaps(clause, placed.call.arguments) for clause in failing)


def _gaps(clause: Clause, arguments: JsonValue) -> int:
    found = locate(arguments, clause.path)
    if isinstance(found, Missing):
        return MAX_GAPS
    if clause.matcher is not Matcher.EQUALS or clause.value is None:
        return 1
    return sum(1 for _ in islice(differences(clause.value, found, ()), MAX_GAPS))


def _shortfalls(clause: Clause, arguments: JsonValue) -> list[str]:
    """Why a clause does not hold; each text continues the words `the closest call`."""
    found = locate(arguments, clause.path)
    if isinstance(found, Missing):
        stop = _obstacle(clause, arguments)
        if stop:
            return [f"'s {stop}: it is {showing.value(arguments)}"]
        return [f" has no {showing.name('.'.join(clause.path))}{_present(arguments)}"]
    what = f"'s {_is(clause.path)} {showing.value(found)}"
    match clause.matcher:
        case Matcher.EQUALS:
            wanted = clause.value
            gaps = () if wanted is None else differences(wanted, found, clause.path)
            return [_tell(gap) for gap in islice(gaps, 5)]
        case Matcher.EXISTS:
            return []
        case Matcher.ABSENT:
            return [f"{what}, where nothing should be"]
        case Matcher.CONTAINS | Matcher.MATCHES if isinstance(found, dict):
            only = "an object, of which only a path inside can be compared with a text"
            return [f"{what}, {only}{_but_near(clause, found)}"]
        case Matcher.CONTAINS if isinstance(found, list):
            wanted_item = showing.expected(scalar_of(clause))
            return [f"{what}, of which no item equals {wanted_item}{_but_near(clause, found)}"]
        case Matcher.CONTAINS:
            return [f"{what}, which does not contain {showing.expected(scalar_of(clause))}"]
        case Matcher.MATCHES if isinstance(found, list):
            only = "a list, of which only an item can be compared with a pattern"
            return [f"{what}, {only}{_but_near(clause, found)}"]
        case Matcher.MATCHES:
            return [f"{what}, which does not match {showing.cut(scalar_of(clause).text)}"]
        case _:
            assert_never(clause.matcher)


def _but_near(clause: Clause, found: JsonValue) -> str:
    near = _near(clause, found)
    return f" ({near}: name that path)" if near else ""


def _tell(gap: Gap) -> str:
    if isinstance(gap.actual, Missing):
        return f" has no {showing.name('.'.join(gap.path))}"
    if gap.wanted is None:
        name = showing.name(".".join(gap.path))
        return f" also has {name}, which is {showing.value(gap.actual)}"
    what = f"'s {_is(gap.path)}"
    if not isinstance(gap.wanted, Scalar):
        return f"{what} {showing.value(gap.actual)}, not {showing.expected(gap.wanted)}"
    if gap.wanted.text == scalar_text(gap.actual):
        # Only quotes stand between the two, so the types are what must be told.
        return f"{what} {showing.value(gap.actual)}, not the string {showing.expected(gap.wanted)}"
    return f"{what} {showing.contrast(gap.actual, gap.wanted)}"


def _is(path: tuple[str, ...]) -> str:
    return f"{showing.name('.'.join(path))} is" if path else "arguments are"


def _present(arguments: JsonValue) -> str:
    """What there is instead of something missing."""
    if not isinstance(arguments, dict):
        return f": its arguments are {showing.value(arguments)}"
    keys = showing.some(map(showing.name, arguments), 5)
    return f": it has {keys}" if keys else ": it has no arguments"
