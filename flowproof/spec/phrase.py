"""A phrase read from left to right: its words, and the values in it, quoted or not.

Counterpart: `step_grammar` knows which words may follow which.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flowproof.model.flow_spec import Matcher, Scalar
from flowproof.spec.source import quoted
from flowproof.spec.step_patterns import SECOND_CLAUSE, SECOND_REPLY

_WORD = re.compile(r"\S+")
_AND = re.compile(r"\s+and(?!\S)")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a phrase that cannot be read; `offset` and `length` are in characters."""

    offset: int
    length: int
    message: str
    accepted: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression in a phrase, still to be compiled."""

    text: str
    offset: int


class Faulty(Exception):
    """Ends the reading of a clause or a phrase."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.message)


@dataclass(frozen=True, slots=True)
class Second:
    """How an unquoted value looks that swallowed a second condition, and what to say then."""

    pattern: re.Pattern[str]
    message: str
    accepted: str

    def fault(self, found: re.Match[str]) -> Faulty:
        shown = " ".join(found.group().split())
        start = found.end() - len(found.group().lstrip())
        return faulty(start, len(shown), f"{quoted(shown)} {self.message}", self.accepted)


IN_REPLY = Second(
    re.compile(SECOND_REPLY),
    "begins another condition, and a step looks for one text",
    "one step for each text; the text in quotes if this is part of it",
)
IN_CLAUSE = Second(
    re.compile(SECOND_CLAUSE),
    "begins another clause, and clauses are joined by ` and ` only",
    "` and ` between clauses, one step for each alternative; the value in quotes if this is "
    "part of it",
)


class Phrase:
    """A text read from left to right; `at` is where reading goes on."""

    def __init__(self, text: str) -> None:
        self.text = text.rstrip()
        self.at = 0
        self.faults: list[Fault] = []
        self.regexes: list[Regex] = []

    def word(self) -> tuple[int, str]:
        """The next word with its offset; empty at the end."""
        found = _WORD.search(self.text, self.at)
        if found is None:
            return len(self.text), ""
        self.at = found.end()
        return found.start(), found.group()

    def peek(self) -> str:
        """The next word, which stays the next one."""
        found = _WORD.search(self.text, self.at)
        return found.group() if found else ""

    def ends(self) -> bool:
        """Whether a clause ends here: the text does, or ` and ` follows."""
        return self.at >= len(self.text) or self.at_joint()

    def at_joint(self) -> bool:
        """Whether the `and` that joins the next clause follows."""
        return _AND.match(self.text, self.at) is not None

    def joined(self) -> bool:
        """Step over the `and` that joins the next clause."""
        if found := _AND.match(self.text, self.at):
            self.at = found.end()
        return found is not None

    def skip_clause(self) -> None:
        """Go on behind a clause that cannot be read."""
        found = _AND.search(self.text, self.at)
        self.at = found.start() if found else len(self.text)

    def clause_ends(self, before: str) -> None:
        """Check that nothing more stands in a clause, `before` being its last part."""
        if not self.ends():
            start, word = self.word()
            raise faulty(
                start,
                len(word),
                f"after {before} found {quoted(word)}",
                "` and ` with another clause, or the end",
            )

    def value(self, matcher: Matcher, word: str, second: Second) -> Scalar:
        """The value behind the matcher `word`; that of a clause ends at ` and `."""
        end = len(self.text)
        joint = _AND.search(self.text, self.at) if second is IN_CLAUSE else None
        found = re.compile(r"\s*\S").match(self.text, self.at)
        start = found.end() - 1 if found else end
        if found is None or (joint and joint.start() == self.at):
            raise faulty(
                min(start, end), 1, f"the value is missing after {quoted(word)}", "a value"
            )
        if self.text[start] in "'\"":
            value = self._quoted(start)
            self._quoted_ends(second)
            start += 1
        else:
            self.at = joint.start() if joint else end
            value = Scalar(self.text[start : self.at], quoted=False)
            more = second.pattern.search(self.text, start + 1)
            if more and more.start() < self.at:
                raise second.fault(more)
        if matcher is not Matcher.EQUALS and not value.text:
            raise faulty(start, 1, f"an empty text after {quoted(word)} holds for all", "a text")
        if matcher is Matcher.MATCHES:
            self.regexes.append(Regex(value.text, start))
        return value

    def _quoted_ends(self, second: Second) -> None:
        if second is IN_CLAUSE:
            self.clause_ends("the quoted value")
        elif self.at < len(self.text):
            more = second.pattern.search(self.text, self.at)
            if more and not self.text[self.at : more.start()].strip():
                raise second.fault(more)
            raise faulty(
                self.at, 1, "found more text after the closing quote", "the whole in quotes"
            )

    def _quoted(self, start: int) -> Scalar:
        quote = self.text[start]
        taken: list[str] = []
        at = start + 1
        while at < len(self.text):
            char = self.text[at]
            if char == quote:
                self.at = at + 1
                return Scalar("".join(taken), quoted=True)
            if char == "\\" and self.text[at + 1 : at + 2] in {quote, "\\"}:
                at += 1
                char = self.text[at]
            taken.append(char)
            at += 1
        self.at = len(self.text)
        raise faulty(start, 1, "this quote is never closed", f"a closing {quote}")


def faulty(
    offset: int, length: int, message: str, accepted: str = "", suggestion: str = ""
) -> Faulty:
    """A fault as the exception to raise."""
    return Faulty(Fault(offset, length, message, accepted, suggestion))
