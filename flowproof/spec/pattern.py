r"""Regular expressions of specs, run by RE2 so that no pattern and no text can hang a run.

Counterpart: `spec` compiles each pattern to validate it, `checks` compiles it again to search.

A pattern may match anywhere in the text. `.` is one code point and not a newline (`(?s)` lets it
be one); `^` and `$` are the ends of the whole text, not of lines (`(?m)` makes them so), and a
final newline counts. `\d`, `\w`, `\s` and `\b` know ASCII only; `\p{L}` and `\p{N}` know all of
Unicode, and `(?i)` folds it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MAX_LENGTH = 10_000
"""Longest pattern accepted, in characters."""

MAX_PROGRAM = 100_000
"""Largest compiled pattern accepted, in RE2 instructions: it bounds the time per character."""

_MAX_MEMORY = 8 << 20

_SURROGATES = re.compile("[\ud800-\udfff]")


class PatternError(ValueError):
    """The pattern cannot be used. The message names what it holds and what to write instead."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; `text` is what the author wrote."""

    text: str
    _compiled: Any

    def search(self, text: str) -> bool:
        """Whether the pattern matches somewhere in `text`, in time linear in its length.

        Never raises: NUL is a character like any other, and a lone surrogate, which UTF-8
        cannot carry, counts as U+FFFD.
        """
        return self._compiled.search(_utf8(text)) is not None

    @property
    def size(self) -> int:
        """RE2 instructions: at worst every one is looked at for every byte of a text."""
        return int(self._compiled.programsize)

    @property
    def matches_every_text(self) -> bool:
        """Whether the pattern is known to match whatever it searches.

        True is certain: an empty match needs nothing of a text, or only its start, or only its
        end. False is not: where a pattern names start and end, or `\\b`, nothing is said.
        """
        return self.search("") and len(_anchors(self.text)) < 2


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """The pattern that `text` describes.

    :raises PatternError: if it is too long or too large, is not a regular expression, or uses a
        construct that needs more than linear time or that RE2 would read differently.
    """
    if len(text) > MAX_LENGTH:
        raise PatternError(
            f"the pattern has {len(text):,} characters; at most {MAX_LENGTH:,} are accepted"
        )
    if _SURROGATES.search(text):
        raise PatternError("the pattern holds half of a surrogate pair, which no text can match")

    import re2  # 13 ms, and most flows have no pattern

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    options.never_capture = True
    try:
        compiled = re2.compile(text, options=options)
    except re2.error as error:
        reason = error.args[0]
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(_explain(said, text)) from None
    _refuse_misread(text)
    if compiled.programsize > MAX_PROGRAM:
        raise PatternError(_TOO_LARGE)
    return Pattern(text, compiled)


_TOO_LARGE = (
    "the pattern is too large once its repetitions are written out; "
    "repeat less, or repeat something simpler than \\p{…}"
)

_ONE_THING = "look for one thing per clause or step"
_NEGATION = "forbid the unwanted shape with `assert_no_tool_call` or `reply does not match`"
_BACKREFERENCE = "a backreference, {found}, is not supported; write the text out again"

_GROUPS = (
    ("(?=", f"look-ahead, (?=…), is not supported; {_ONE_THING}"),
    ("(?!", f"negative look-ahead, (?!…), is not supported; {_NEGATION}"),
    ("(?<=", f"look-behind, (?<=…), is not supported; {_ONE_THING}"),
    ("(?<!", f"negative look-behind, (?<!…), is not supported; {_NEGATION}"),
    ("(?>", "an atomic group, (?>…), is not supported; use (?:…), nothing backtracks here"),
    ("(?(", "a conditional, (?(…)…|…), is not supported; write both alternatives out"),
    ("(?|", "a branch reset, (?|…), is not supported; use (?:…)"),
    ("(?#", "a comment, (?#…), is not supported; write a YAML comment"),
    ("(?&", "recursion, (?&…), is not supported; write the levels out"),
    ("(?R", "recursion, (?R), is not supported; write the levels out"),
    ("(?'", "a group named with quotes, (?'…'), is not supported; use (?:…)"),
)

_ESCAPES = {
    "\\Z": "\\Z is not supported; the end of the text is \\z",
    "\\G": "\\G is not supported; the start of the text is \\A",
    "\\K": "\\K is not supported; a pattern is only searched for, so leave it out",
    "\\R": "\\R is not supported; a line break is \\r?\\n",
    "\\h": "\\h is not supported; a blank or tab is [ \\t]",
    "\\X": "\\X is not supported; a character with its marks is \\PM\\pM*",
    "\\e": "\\e is not supported; the escape character is \\x1b",
    "\\N": "\\N is not supported; write the character itself, or \\x{…} with its hex number",
    "\\u": "\\u is not supported; write \\x{…} with the hex number, or the character itself",
    "\\U": "\\U is not supported; write \\x{…} with the hex number, or the character itself",
    "\\x": "\\x needs two hex digits, or \\x{…} with up to 10FFFF",
    "\\b": "\\b inside […] is not supported; a backspace is \\x08",
}


def _explain(said: str, pattern: str) -> str:
    """What RE2 complains about, in the words of someone who wrote a pattern for another engine."""
    kind, _, found = said.partition(": ")
    match kind:
        case "invalid perl operator":
            return _explain_group(found, pattern)
        case "invalid escape sequence":
            return _explain_escape(found)
        case "invalid repetition size":
            return _explain_size(found)
        case "bad repetition operator":
            if found.endswith("+"):
                return (
                    f"a possessive quantifier, {found}, is not supported; "
                    f"write {found[:-1]}, nothing backtracks here"
                )
            return f"two repetitions in a row, {found}; put the repeated part into (?:…)"
        case "no argument for repetition operator":
            if re.search(r"\(\*[A-Z]", pattern):
                return "a backtracking verb, (*…), is not supported"
            return f"{found} has nothing before it to repeat; a literal one is \\{found}"
        case "missing )":
            return "a ( is never closed; a literal one is \\("
        case "unexpected )":
            return "a ) closes nothing; a literal one is \\)"
        case "missing ]":
            return f"a [ is never closed: {_short(found)}; a literal one is \\["
        case "invalid character class range":
            if found.startswith(("\\p", "\\P")):
                return f"{_short(found)} names no Unicode class; known are \\p{{L}}, \\p{{Greek}} …"
            return f"{_short(found)} is not a range or class of characters inside […]"
        case "invalid named capture group":
            return f"{_short(found)} does not name a group; write (?P<name>…), or (?:…)"
        case "trailing \\":
            return "a \\ stands at the end with nothing after it; a literal one is \\\\"
        case "pattern too large - compile failed":
            return _TOO_LARGE
        case _:
            return f"not a regular expression: {_short(said)}"


def _explain_group(found: str, pattern: str) -> str:
    for start, message in _GROUPS:
        if found.startswith(start):
            return message
    if found.startswith("(?P"):
        if "(?P=" in pattern:
            return _BACKREFERENCE.format(found="(?P=…)")
        if "(?P>" in pattern:
            return "recursion, (?P>…), is not supported; write the levels out"
        return "(?P must go on as (?P<name>…)"
    if re.match(r"\(\?[+-]?\d", found):
        return f"recursion, {_short(found)}), is not supported; write the levels out"
    if re.match(r"\(\?[a-zA-Z^-]", found):
        if "x" in found:
            return "verbose mode, (?x), is not supported; leave out the blanks and comments"
        return f"{_short(found)} sets an unknown flag; known are i, m, s and U, as in (?i)"
    return f"{_short(found)} is not supported; a group is (…) or (?:…)"


def _explain_escape(found: str) -> str:
    if re.match(r"\\([1-9]|[gk])", found):
        return _BACKREFERENCE.format(found=_short(found))
    known = _ESCAPES.get(found[:2])
    return known or f"{_short(found)} is not a known escape; a literal \\ is \\\\"


def _explain_size(found: str) -> str:
    low, _, high = found.strip("{}").partition(",")
    if high and int(low) > int(high):
        return f"the repetition {found} ends before it starts"
    if int(high or low) > 1000:
        return f"the repetition {_short(found)} is over 1000, the most that is supported"
    return f"repetitions inside each other, up to {found}, come to over 1000; repeat less"


def _short(found: str) -> str:
    return found if len(found) <= 40 else f"{found[:40]}…"


_MISREAD = r"""
      \\Q .*? (?: \\E | \Z )                          # quoted text
    | (?P<octal> \\[1-9][0-9]+ )
    | (?P<byte> \\C )
    | \\ .
    | \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^\]\\] )* \]     # a class
    | (?P<open> \{ , [0-9]+ \} )
    | (?P<huge> \{ [0-9]{5,} (?: , [0-9]* )? \} | \{ [0-9]+ , [0-9]{5,} \} )
    """


def _refuse_misread(pattern: str) -> None:
    """Refuse what RE2 accepts with another meaning than other engines give it.

    :raises PatternError: a guard must not pass because its pattern looks for something else.
    """
    for match in re.finditer(_MISREAD, pattern, re.VERBOSE | re.DOTALL):
        found = match.group()
        match match.lastgroup:
            case "octal":
                raise PatternError(_BACKREFERENCE.format(found=found))
            case "byte":
                raise PatternError("\\C, a single byte, is not supported; a character is (?s:.)")
            case "open":
                raise PatternError(f"{found} is not a repetition here; write {{0{found[1:]}")
            case "huge":
                raise PatternError(
                    f"the repetition {_short(found)} is over 1000, the most that is supported"
                )
            case _:
                continue


_ANCHOR = r"""
      \\Q .*? (?: \\E | \Z )
    | (?P<start> \^ | \\A )
    | (?P<end> \$ | \\z )
    | (?P<word> \\[bB] )
    | \\ .
    | \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^\]\\] )* \]
    """


def _anchors(pattern: str) -> set[str]:
    """The places that a pattern names; one between words is as good as start and end."""
    found = re.finditer(_ANCHOR, pattern, re.VERBOSE | re.DOTALL)
    kinds = {match.lastgroup for match in found if match.lastgroup}
    return kinds | {"start", "end"} if "word" in kinds else kinds
