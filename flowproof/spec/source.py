"""The file being read: its lines, and what was found in it on the way to a spec.

Every room of `spec` that reads notes its findings here; `flow` and `suite` collect them at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowproof.errors import Problem, SpecError
from flowproof.model.flow_spec import Position, Unsupported, VariableUse
from flowproof.spec import variables

if TYPE_CHECKING:
    from flowproof.spec.yaml_nodes import ScalarNode

MAX_BYTES = 4 * 1024 * 1024
"""Largest spec or suite file accepted."""

MAX_PROBLEMS = 100
"""After how many problems of one file its reading stops."""

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_SHOWN = 60


class Refused(Exception):
    """A value cannot be used, and the report already says why."""


class TooManyProblems(Exception):
    """The file holds so many problems that reading on would help nobody."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in the file; both count from 1, `column` in characters."""

    line: int
    column: int


def quoted(text: str) -> str:
    """Text of the author as it stands in a message: in backticks, printable, not too long."""
    short = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f"`{''.join(c if c.isprintable() else ascii(c)[1:-1] for c in short)}`"


def choices(names: Iterable[str]) -> str:
    """Names as a message lists them: `a`, `b`, `c`."""
    return ", ".join(map(quoted, names))


def listed(names: Iterable[tuple[str, bool]]) -> str:
    """Names as a list of what is accepted; those that come with True cannot run yet, and stand
    at its end."""
    given = dict(names)
    now = ", ".join(name for name, later in given.items() if not later)
    later = ", ".join(name for name, later in given.items() if later)
    return "; ".join(part for part in (now, later and f"not run by this version: {later}") if part)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name that `word` most likely stands for; empty where none is close."""
    if len(word) > _SHOWN:
        return ""
    import difflib

    folded = word.lower().replace("-", "_").strip()
    by_folded = {name.lower().replace("-", "_"): name for name in known}
    close = difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.7)
    return by_folded[close[0]] if close else ""


class Report:
    """Problems, variables and unsupported features of one file, each with its place."""

    def __init__(self, file: str, text: str = "") -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._seen: set[tuple[Mark, str]] = set()
        self._text = text
        self._split: list[str] | None = None
        self._variables: list[VariableUse] = []
        self._unsupported: list[Unsupported] = []

    def __repr__(self) -> str:
        return f"<Report {self.file}: {len(self.problems)} problems>"

    @property
    def _lines(self) -> list[str]:
        if self._split is None:
            self._split = _BREAK.split(self._text)
        return self._split

    def line(self, number: int) -> str:
        """The text of a line, without its end; empty past the last one."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def position(self, mark: Mark) -> Position:
        """A place as the model of a spec names it."""
        return Position(self.file, mark.line, mark.column)

    def note(self, mark: Mark, message: str, *, accepted: str = "", suggestion: str = "") -> None:
        """Record a problem and go on. The same one again, by way of an alias, counts once.

        :raises TooManyProblems: at `MAX_PROBLEMS`.
        """
        if (mark, message) in self._seen:
            return
        self._seen.add((mark, message))
        self.problems.append(
            Problem(
                self.file,
                mark.line,
                mark.column,
                message,
                self.line(mark.line),
                accepted,
                suggestion,
            )
        )
        if len(self.problems) >= MAX_PROBLEMS:
            raise TooManyProblems

    def refuse(
        self, mark: Mark, message: str, *, accepted: str = "", suggestion: str = ""
    ) -> Refused:
        """Record a problem; the caller raises what this returns."""
        self.note(mark, message, accepted=accepted, suggestion=suggestion)
        return Refused(message)

    def later(self, feature: str, mark: Mark) -> None:
        """Record a feature that parses and cannot run in this version."""
        self._unsupported.append(Unsupported(feature, self.position(mark)))

    def use_variables(self, node: ScalarNode) -> None:
        """Record every `${VAR}` of a text, and refuse what only looks like one."""
        if "${" not in node.text:
            return
        found = list(variables.tokens(node.text))
        marks = self._points(node, [(token.offset, token.length) for token in found])
        for token, mark in zip(found, marks, strict=True):
            if token.variable is not None:
                self._variables.append(VariableUse(token.variable, self.position(mark)))
            elif token.malformed:
                self.note(
                    mark,
                    f"{quoted(_first_word(node.text, token.offset))} is not a reference",
                    accepted="`${NAME}` with letters, digits and `_`; `$${` for the text `${`",
                )

    def point(self, node: ScalarNode, offset: int, length: int) -> Mark:
        """Where in the file a part of a scalar's text stands; its start where that is unknown."""
        part = node.text[offset : offset + length]
        earlier = node.text[:offset].count(part) if part else 0
        *_, last = self._points(node, [(offset, length)] * (earlier + 1))
        return last

    def _points(self, node: ScalarNode, parts: Sequence[tuple[int, int]]) -> Iterator[Mark]:
        """The places of several parts of a text, given in their order.

        Where the text stands in the file as it is, that is arithmetic. Otherwise (escapes, more
        than one line) each part is looked for behind the one before it.
        """
        inner = 1 if node.style in {"'", '"'} else 0
        line, column = node.mark.line, node.mark.column
        if line == node.end.line:
            raw = self.line(line)[column - 1 + inner : node.end.column - 1 - inner]
            if raw == node.text:
                for offset, _ in parts:
                    yield Mark(line, column + inner + offset)
                return
        at = column - 1
        for offset, length in parts:
            part = node.text[offset : offset + length]
            while part and line <= node.end.line:
                at = self.line(line).find(part, at)
                if at >= 0:
                    break
                line, at = line + 1, 0
            if not part or line > node.end.line:
                yield node.mark
                continue
            yield Mark(line, at + 1)
            at += length

    @property
    def found_variables(self) -> tuple[VariableUse, ...]:
        """Every `${VAR}` in the order of the file, one entry for each place."""
        return tuple(sorted(set(self._variables), key=lambda use: _order(use.position)))

    @property
    def found_unsupported(self) -> tuple[Unsupported, ...]:
        """What this version cannot run, in the order of the file."""
        return tuple(sorted(set(self._unsupported), key=lambda item: _order(item.position)))

    def failure(self) -> SpecError:
        """All problems in the order of the file, as the error that ends the reading."""
        ordered = sorted(self.problems, key=lambda problem: (problem.line, problem.column))
        if len(ordered) >= MAX_PROBLEMS:
            last = ordered[-1]
            message = f"{MAX_PROBLEMS} problems are enough: the rest of the file was not read"
            ordered.append(Problem(self.file, last.line, last.column, message))
        return SpecError(ordered)


def _order(position: Position) -> tuple[int, int]:
    return position.line, position.column


def _first_word(text: str, offset: int) -> str:
    return text[offset : offset + _SHOWN + 1].split()[0]
