"""The prose of assertions: `<tool> where <path> <matcher> <value> and …`, `reply contains …`.

Sans-io and ignorant of YAML: text in, phrases or faults with offsets out. `steps` puts them in
place. `step_patterns` says the same to an editor; a property test holds both together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flowproof.model.flow_spec import Clause, Matcher, Scalar
from flowproof.spec.source import choices, nearest, quoted
from flowproof.spec.step_patterns import PATH, TOOL

TOOL_ACCEPTED = "a tool name of letters, digits and `_ - . / :`"

MATCHERS = ("equals", "is", "contains", "matches", "exists", "is absent", "is missing")
CLAUSE_ACCEPTED = f"`<path> <matcher> <value>` with one of {choices(MATCHERS)}"
REPLY_ACCEPTED = (
    "`reply` with one of `contains`, `is`, `equals`, `matches`, `does not contain`, "
    "`does not equal`, `does not match`, and a text"
)

_MEANT = {
    "=": "equals",
    "==": "equals",
    "===": "equals",
    "has": "contains",
    "includes": "contains",
    "~": "matches",
    "=~": "matches",
    "present": "exists",
    "absent": "is absent",
    "missing": "is missing",
}
_WITH_VALUE = {
    "equals": Matcher.EQUALS,
    "is": Matcher.EQUALS,
    "contains": Matcher.CONTAINS,
    "matches": Matcher.MATCHES,
}
_REPLY = {
    "contains": Matcher.CONTAINS,
    "is": Matcher.CONTAINS,
    "equals": Matcher.EQUALS,
    "matches": Matcher.MATCHES,
}
_REPLY_NOT = {
    "contain": Matcher.CONTAINS,
    "equal": Matcher.EQUALS,
    "match": Matcher.MATCHES,
}
MAX_LENGTH = 10_000
"""Longest phrase accepted, in characters."""

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


@dataclass(frozen=True, slots=True)
class ToolPhrase:
    """A tool with the conditions on its arguments. With `faults` it is not to be used."""

    tool: str
    clauses: tuple[Clause, ...] = ()
    regexes: tuple[Regex, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyPhrase:
    """What the reply must be or must not be. With `faults` it is not to be used."""

    matcher: Matcher
    value: Scalar
    negated: bool
    regexes: tuple[Regex, ...] = ()
    faults: tuple[Fault, ...] = ()


def parse_tool_phrase(text: str) -> ToolPhrase:
    """`<tool> [where <path> <matcher> [<value>] [and …]]`, with every fault found in it."""
    phrase = _Phrase(text)
    start, tool = phrase.word()
    if not re.fullmatch(TOOL, tool):
        fault = Fault(start, len(tool), f"found {quoted(tool)}", TOOL_ACCEPTED)
        return ToolPhrase(tool, faults=(fault,))
    start, where = phrase.word()
    if not where:
        return ToolPhrase(tool)
    if where != "where":
        close = nearest(where, ["where"])
        message = f"after the tool's name found {quoted(where)}"
        fault = Fault(start, len(where), message, "`where`, or nothing", close)
        return ToolPhrase(tool, faults=(fault,))
    clauses: list[Clause] = []
    while True:
        try:
            clauses.append(phrase.clause())
        except _Faulty as faulty:
            phrase.faults.append(faulty.fault)
            phrase.skip_clause()
        if not phrase.joined():
            break
    return ToolPhrase(tool, tuple(clauses), tuple(phrase.regexes), tuple(phrase.faults))


def parse_reply_phrase(text: str) -> ReplyPhrase:
    """`reply [does not] <matcher> <text>`, with the fault found in it."""
    phrase = _Phrase(text)
    try:
        return phrase.reply()
    except _Faulty as faulty:
        nothing = Scalar("", quoted=False)
        return ReplyPhrase(Matcher.CONTAINS, nothing, negated=False, faults=(faulty.fault,))


class _Faulty(Exception):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.message)


class _Phrase:
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
        found = _WORD.search(self.text, self.at)
        return found.group() if found else ""

    def joined(self) -> bool:
        """Step over the `and` that joins the next clause."""
        if found := _AND.match(self.text, self.at):
            self.at = found.end()
        return found is not None

    def skip_clause(self) -> None:
        found = _AND.search(self.text, self.at)
        self.at = found.start() if found else len(self.text)

    def clause(self) -> Clause:
        start, path = self.word()
        if not path:
            raise _fault(start, 1, "a clause is missing here", CLAUSE_ACCEPTED)
        if not re.fullmatch(PATH, path):
            better = re.sub(r"\[(\d+)\]", r".\1", path)
            raise _fault(
                start,
                len(path),
                f"{quoted(path)} is not a path",
                "names and list indexes joined by dots: `passengers.0.name`",
                better if re.fullmatch(PATH, better) else "",
            )
        parts = tuple(path.split("."))
        if _AND.match(self.text, self.at):
            raise self._unknown_matcher(self.at, "", path)
        start, word = self.word()
        if word == "exists":
            self._clause_ends(quoted(word))
            return Clause(parts, Matcher.EXISTS)
        if word == "is" and self._absent():
            self.word()
            return Clause(parts, Matcher.ABSENT)
        if word not in _WITH_VALUE:
            raise self._unknown_matcher(start, word, path)
        if word == "is":
            self._refuse_not(start, "quote the value if it begins with `not`")
        matcher = _WITH_VALUE[word]
        return Clause(parts, matcher, self._value(matcher, word, clauses=True))

    def reply(self) -> ReplyPhrase:
        start, subject = self.word()
        if subject != "reply":
            close = nearest(subject, ["reply"]) or (
                "reply" if subject in {"response", "answer", "output", "message"} else ""
            )
            raise _fault(start, len(subject), f"found {quoted(subject)}", REPLY_ACCEPTED, close)
        start, word = self.word()
        known, negated = _REPLY, word == "does" and self.peek() == "not"
        if negated:
            self.word()
            start, word = self.word()
            known = _REPLY_NOT
        if word not in known:
            close = _MEANT.get(word, "") or nearest(word, known)
            raise _fault(
                start,
                len(word),
                f"unknown matcher {quoted(word)}" if word else "the matcher is missing",
                REPLY_ACCEPTED,
                close if close in known else "",
            )
        if word == "is":
            self._refuse_not(start, "`reply does not contain …`; quote a text that begins so")
        matcher = known[word]
        return ReplyPhrase(
            matcher, self._value(matcher, word, clauses=False), negated, tuple(self.regexes)
        )

    def _absent(self) -> bool:
        if self.peek() not in {"absent", "missing"}:
            return False
        found = _WORD.search(self.text, self.at)
        end = found.end() if found else len(self.text)
        return end == len(self.text) or _AND.match(self.text, end) is not None

    def _refuse_not(self, start: int, accepted: str) -> None:
        if self.peek() == "not":
            raise _fault(start, 2, "`is not` is no matcher", accepted)

    def _clause_ends(self, before: str) -> None:
        if self.at < len(self.text) and not _AND.match(self.text, self.at):
            start, word = self.word()
            raise _fault(
                start,
                len(word),
                f"after {before} found {quoted(word)}",
                "` and ` with another clause, or the end",
            )

    def _unknown_matcher(self, start: int, word: str, path: str) -> _Faulty:
        if not word:
            return _fault(
                start, 1, f"the matcher is missing after {quoted(path)}", self._hint(path)
            )
        close = _MEANT.get(word, "") or nearest(word, MATCHERS)
        return _fault(start, len(word), f"unknown matcher {quoted(word)}", self._hint(path), close)

    def _hint(self, path: str) -> str:
        before = self.text[: self.text.find(path)].split()
        if before and before[-1] == "and":
            return f"{CLAUSE_ACCEPTED}; quote a value that holds ` and `"
        return CLAUSE_ACCEPTED

    def _value(self, matcher: Matcher, word: str, *, clauses: bool) -> Scalar:
        end = len(self.text)
        joint = _AND.search(self.text, self.at) if clauses else None
        found = re.compile(r"\s*\S").match(self.text, self.at)
        start = found.end() - 1 if found else end
        if found is None or (joint and joint.start() == self.at):
            raise _fault(
                min(start, end), 1, f"the value is missing after {quoted(word)}", "a value"
            )
        if self.text[start] in "'\"":
            value = self._quoted(start)
            if clauses:
                self._clause_ends("the quoted value")
            elif self.at < end:
                raise _fault(
                    self.at, 1, "found more text after the closing quote", "the whole in quotes"
                )
            start += 1
        else:
            self.at = joint.start() if joint else end
            value = Scalar(self.text[start : self.at], quoted=False)
        if matcher is not Matcher.EQUALS and not value.text:
            raise _fault(start, 1, f"an empty text after {quoted(word)} holds for all", "a text")
        if matcher is Matcher.MATCHES:
            self.regexes.append(Regex(value.text, start))
        return value

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
        raise _fault(start, 1, "this quote is never closed", f"a closing {quote}")


def _fault(
    offset: int, length: int, message: str, accepted: str = "", suggestion: str = ""
) -> _Faulty:
    return _Faulty(Fault(offset, length, message, accepted, suggestion))
