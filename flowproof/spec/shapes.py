"""What a value may be: each shape both reads a node and writes its own JSON Schema.

One description yields both, so that editor and parser cannot drift. `records` holds the mappings
with known keys; `flow_shapes` and `suite_shapes` say which shape stands where.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from flowproof.model.flow_spec import Expected, Scalar
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from flowproof.spec import variables
from flowproof.spec.source import Report, choices, nearest
from flowproof.spec.yaml_nodes import MappingNode, Node, ScalarNode, SequenceNode, kind

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Schema: TypeAlias = JsonObject

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_END = r"(?![\s\S])"


class Shape(Protocol[T_co]):
    """One kind of value."""

    def read(self, node: Node, report: Report) -> T_co:
        """The value, its problems noted.

        :raises Refused: after noting why, where there is no value to go on with.
        """

    def schema(self) -> Schema:
        """The JSON Schema of exactly what `read` takes without a problem."""


def whole(pattern: str) -> str:
    """A pattern for all of a text. A `$` will not do: Python's also stops before a newline."""
    return f"^(?:{pattern}){_END}"


def text_schema(*patterns: str, longest: int | None = None) -> Schema:
    """The schema of a text. Unquoted numbers and booleans count as text, as they do for us."""
    text: Schema = {"type": "string", **_all(patterns)}
    if longest is not None:
        text["maxLength"] = longest
    kinds = [text]
    matching = [re.compile(pattern) for pattern in patterns]

    def fits(sample: str) -> bool:
        return all(pattern.search(sample) for pattern in matching)

    number: Schema = {"type": "number" if fits("1.5") else "integer"}
    if not fits("-1"):
        number["minimum"] = 0 if fits("0") else 1
    if fits("1"):
        kinds.append(number)
    if fits("true"):
        kinds.append({"type": "boolean"})
    return kinds[0] if len(kinds) == 1 else {"anyOf": list(kinds)}


def _all(patterns: tuple[str, ...]) -> Schema:
    if len(patterns) == 1:
        return {"pattern": patterns[0]}
    return {"allOf": [{"pattern": pattern} for pattern in patterns]} if patterns else {}


def scalar(node: Node, report: Report, accepted: str) -> ScalarNode:
    """The node as a scalar with a value.

    :raises Refused: where it is empty, a list or a mapping.
    """
    if not isinstance(node, ScalarNode):
        raise report.refuse(node.mark, f"found {kind(node)}", accepted=accepted)
    if node.empty:
        raise report.refuse(node.mark, "the value is missing", accepted=accepted)
    return node


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text: whatever stands there, unquoted numbers included. It is taken as written.

    `pattern` must match all of it; `accepted` says the same in words. `variables` allows
    `${VAR}`. `check` judges what no schema can say and notes it.
    """

    accepted: str = "a text"
    pattern: str | None = None
    variables: bool = False
    blank: bool = False
    check: Callable[[ScalarNode, Report], None] | None = None

    def read(self, node: Node, report: Report) -> str:
        found = scalar(node, report, self.accepted)
        if not self.blank and not found.text.strip():
            raise report.refuse(node.mark, "the text is empty", accepted=self.accepted)
        if self.pattern is not None and not re.fullmatch(self.pattern, found.text):
            raise report.refuse(node.mark, f"found {kind(found)}", accepted=self.accepted)
        if self.variables:
            report.use_variables(found)
        if self.check is not None:
            self.check(found, report)
        return found.text

    def schema(self) -> Schema:
        patterns = [] if self.blank else [r"\S"]
        patterns += [whole(self.pattern)] if self.pattern is not None else []
        patterns += [whole(variables.WELL_FORMED)] if self.variables else []
        return text_schema(*patterns)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, node: Node, report: Report) -> str:
        accepted = choices(self.words)
        found = scalar(node, report, accepted)
        if found.text not in self.words:
            raise report.refuse(
                node.mark,
                f"found {kind(found)}",
                accepted=accepted,
                suggestion=nearest(found.text, self.words),
            )
        return found.text

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


class Flag:
    """`true` or `false`, unquoted."""

    def read(self, node: Node, report: Report) -> bool:
        accepted = "`true` or `false`"
        found = scalar(node, report, accepted)
        if found.plain and found.text in {"true", "false"}:
            return found.text == "true"
        meant = {"yes": "true", "on": "true", "true": "true", "y": "true"}
        meant |= {"no": "false", "off": "false", "false": "false", "n": "false"}
        raise report.refuse(
            node.mark,
            f"found {'the text ' if not found.plain else ''}{kind(found)}",
            accepted=accepted,
            suggestion=meant.get(found.text.lower(), ""),
        )

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A whole number within bounds, unquoted."""

    minimum: int
    maximum: int

    @property
    def _accepted(self) -> str:
        return f"a whole number from {self.minimum} to {self.maximum}"

    def read(self, node: Node, report: Report) -> int:
        found = scalar(node, report, self._accepted)
        if found.plain and _INTEGER.fullmatch(found.text):
            number = int(found.text)
            if self.minimum <= number <= self.maximum:
                return number
        elif not found.plain and _INTEGER.fullmatch(found.text):
            raise report.refuse(
                node.mark,
                f"found {kind(found)} in quotes, which is a text",
                accepted=self._accepted,
                suggestion=found.text,
            )
        raise report.refuse(node.mark, f"found {kind(found)}", accepted=self._accepted)

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MOST = 9_999_999
_DURATION = r"(?=[0-9.]*[1-9])[0-9]{1,7}(?:\.[0-9]{1,9})?(?:ms|s|m|h)"


DURATION_ACCEPTED = "seconds, or a number with a unit: `90s`, `5m`, `1h`, `250ms`"


def with_unit(text: str) -> float | None:
    """The seconds of a length of time that is written with its unit; None for any other text."""
    if not re.fullmatch(_DURATION, text):
        return None
    unit = text.lstrip("0123456789.")
    return float(text.removesuffix(unit)) * _UNITS[unit]


class Duration:
    """A length of time, read as seconds."""

    def read(self, node: Node, report: Report) -> float:
        accepted = DURATION_ACCEPTED
        found = scalar(node, report, accepted)
        if (length := with_unit(found.text)) is not None:
            return length
        if found.plain and _JSON_NUMBER.fullmatch(found.text):
            seconds = float(found.text)
            if 0 < seconds <= _MOST:
                return seconds
            raise report.refuse(
                node.mark,
                f"{kind(found)} is no time to wait: it must be over 0 and at most {_MOST} seconds",
                accepted=accepted,
            )
        raise report.refuse(node.mark, f"found {kind(found)}", accepted=accepted)

    def schema(self) -> Schema:
        return {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0, "maximum": _MOST},
                {"type": "string", "pattern": whole(_DURATION)},
            ]
        }


VALUE_REF: Schema = {"$ref": "#/$defs/value"}
VALUE_SCHEMA: Schema = {
    "description": "Any value. Unquoted numbers, `true`, `false` and `null` are JSON's; all else "
    "that is unquoted is text.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", "pattern": whole(variables.WELL_FORMED)},
        {"type": "array", "items": VALUE_REF},
        {"type": "object", "additionalProperties": VALUE_REF},
    ],
}


class Json:
    """Any JSON value, such as the result of a tool. `${VAR}` is allowed in its texts."""

    def read(self, node: Node, report: Report) -> JsonValue:
        match node:
            case SequenceNode(items=items):
                return [self.read(item, report) for item in items]
            case MappingNode(entries=entries):
                return {entry.key.text: self.read(entry.value, report) for entry in entries}
            case ScalarNode(text=text):
                if node.plain and text in {"", "~"}:
                    raise report.refuse(
                        node.mark, "the value is missing", accepted='a value, `null` or `""`'
                    )
                if node.plain and (text in {"true", "false", "null"} or _is_number(text)):
                    return parse(text)
                report.use_variables(node)
                return text

    def schema(self) -> Schema:
        return VALUE_REF


def _is_number(text: str) -> bool:
    return _JSON_NUMBER.fullmatch(text) is not None


class Compared:
    """A value to compare with: scalars keep their text and whether they were quoted."""

    def read(self, node: Node, report: Report) -> Expected:
        match node:
            case SequenceNode(items=items):
                return tuple(self.read(item, report) for item in items)
            case MappingNode(entries=entries):
                return {entry.key.text: self.read(entry.value, report) for entry in entries}
            case ScalarNode(text=text):
                if node.plain and text in {"", "~"}:
                    raise report.refuse(
                        node.mark, "the value is missing", accepted='a value, `null` or `""`'
                    )
                report.use_variables(node)
                return Scalar(text, quoted=not node.plain)

    def schema(self) -> Schema:
        return VALUE_REF
