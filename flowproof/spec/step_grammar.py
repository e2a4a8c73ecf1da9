"""The prose of assertions: `<tool> where <path> <matcher> <value> and …`, `reply contains …`.

Sans-io and ignorant of YAML: text in, phrases or faults with offsets out. `steps` puts them in
place. `step_patterns` says the same to an editor; a property test holds both together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flowproof.model.flow_spec import Clause, Matcher, Scalar
from flowproof.spec.phrase import IN_CLAUSE, IN_REPLY, Fault, Faulty, Phrase, Regex, faulty
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
_SENTENCE = re.compile(
    r"(?P<not>\bnot\s+|\bnever\s+|n't\s+)?\b(?P<verb>contains?|includes?|mentions?|has|says?"
    r"|equals?|match(?:es)?|is)(?:(?<=is)\s+(?P<isnot>not)(?!\S))?\s+(?P<text>\S.*)",
    re.DOTALL,
)
_SENTENCE_VERBS = dict.fromkeys(("con", "inc", "men", "has", "say", "is"), "contain")
_SENTENCE_VERBS |= {"equ": "equal", "mat": "match"}
_SHOWN = 60
MAX_LENGTH = 10_000
"""Longest phrase accepted, in characters."""


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
        except Faulty as error:
            phrase.faults.append(error.fault)
            phrase.skip_clause()
        if not phrase.joined():
            break
    return ToolPhrase(tool, tuple(clauses), tuple(phrase.regexes), tuple(phrase.faults))


def parse_reply_phrase(text: str) -> ReplyPhrase:
    """`reply [does not] <matcher> <text>`, with the fault found in it."""
    phrase = _Phrase(text)
    try:
        return phrase.reply()
    except Faulty as error:
        nothing = Scalar("", quoted=False)
        return ReplyPhrase(Matcher.CONTAINS, nothing, negated=False, faults=(error.fault,))


class _Phrase(Phrase):
    def clause(self) -> Clause:
        start, path = self.word()
        if not path:
            raise faulty(start, 1, "a clause is missing here", CLAUSE_ACCEPTED)
        if not re.fullmatch(PATH, path):
            better = re.sub(r"\[(\d+)\]", r".\1", path)
            raise faulty(
                start,
                len(path),
                f"{quoted(path)} is not a path",
                "names and list indexes joined by dots: `passengers.0.name`",
                better if re.fullmatch(PATH, better) else "",
            )
        parts = tuple(path.split("."))
        if self.at_joint():
            raise self._unknown_matcher(self.at, "", path)
        start, word = self.word()
        if word == "exists":
            self.clause_ends(quoted(word))
            return Clause(parts, Matcher.EXISTS)
        if word == "is" and self._absent():
            return Clause(parts, Matcher.ABSENT)
        if word not in _WITH_VALUE:
            raise self._unknown_matcher(start, word, path)
        if word == "is":
            self._refuse_not(start, "quote the value if it begins with `not`")
        matcher = _WITH_VALUE[word]
        return Clause(parts, matcher, self.value(matcher, word, IN_CLAUSE))

    def reply(self) -> ReplyPhrase:
        start, subject = self.word()
        if subject != "reply":
            raise faulty(
                start,
                len(subject),
                f"an assertion on the reply starts with `reply`, found {quoted(subject)}",
                REPLY_ACCEPTED,
                _as_reply(self.text),
            )
        start, word = self.word()
        known, negated = _REPLY, word == "does" and self.peek() == "not"
        if negated:
            self.word()
            start, word = self.word()
            known = _REPLY_NOT
        if word not in known:
            close = _MEANT.get(word, "") or nearest(word, known)
            raise faulty(
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
            matcher, self.value(matcher, word, IN_REPLY), negated, tuple(self.regexes)
        )

    def _absent(self) -> bool:
        """Step over `absent` or `missing` where it ends the clause."""
        before = self.at
        _, word = self.word()
        absent = word in {"absent", "missing"} and self.ends()
        if not absent:
            self.at = before
        return absent

    def _refuse_not(self, start: int, accepted: str) -> None:
        if self.peek() == "not":
            raise faulty(start, 2, "`is not` is no matcher", accepted)

    def _unknown_matcher(self, start: int, word: str, path: str) -> Faulty:
        if not word:
            return faulty(
                start, 1, f"the matcher is missing after {quoted(path)}", self._hint(path)
            )
        close = _MEANT.get(word, "") or nearest(word, MATCHERS)
        return faulty(start, len(word), f"unknown matcher {quoted(word)}", self._hint(path), close)

    def _hint(self, path: str) -> str:
        before = self.text[: self.text.find(path)].split()
        if before and before[-1] == "and":
            return f"{CLAUSE_ACCEPTED}; quote a value that holds ` and `"
        return CLAUSE_ACCEPTED


def _as_reply(text: str) -> str:
    """What an assertion in free words says most likely, in ours."""
    found = _SENTENCE.search(text)
    if found is None:
        return "reply contains …"
    verb = _SENTENCE_VERBS[found["verb"][:3]]
    if found["not"] or found["isnot"]:
        verb = f"does not {verb}"
    else:
        verb += "es" if verb == "match" else "s"
    wanted = found["text"]
    return f"reply {verb} {wanted if len(wanted) <= _SHOWN else '…'}"
