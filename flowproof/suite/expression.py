"""Boolean expressions such as `booking and not (slow or nightly)`, for `-k` and `--tag`.

Parsed once, then asked of every flow; `selection` says what a word matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from flowproof.errors import UsageError
from flowproof.files import shortened

Matches: TypeAlias = Callable[[str], bool]
Expression: TypeAlias = Callable[[Matches], bool]
"""Whether an expression holds, given whether each of its words does."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|"""
    r"""(?P<word>[^\s()"']+)|(?P<wrong>\S))"""
)
_PLAIN = re.compile(r"[\w./:@+-]{1,60}")
_JOINING = frozenset({"and", "or", "not", "(", ")"})
_FEW = 6
"""So many words are put together as somebody may have meant them."""
_DEEPEST = 50
_LONGEST = 2000


class _Token(NamedTuple):
    text: str
    column: int
    quoted: bool


def parse_expression(text: str, option: str) -> Expression:
    """Read an expression: words or quoted texts joined by `and`, `or`, `not` and parentheses.

    :raises UsageError: naming `option`, the column, and what is expected there.
    """
    if len(text) > _LONGEST:
        raise UsageError(f"{option}: an expression has at most {_LONGEST} characters")
    return _Parser(text, option).whole()


class _Parser:
    def __init__(self, text: str, option: str) -> None:
        self._text = text
        self._option = option
        self._tokens = [*self._tokens_of(text)]
        # Mutable: how many tokens have been read, and how many parentheses are open.
        self._at = 0
        self._depth = 0

    def _tokens_of(self, text: str) -> Iterator[_Token]:
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup or ""
            column = found.start(kind) + 1
            if kind == "wrong":
                raise self._error(f"the quotation mark in column {column} has no counterpart")
            yield _Token(found[kind], column, kind in ("double", "single"))

    def whole(self) -> Expression:
        expression = self._either()
        if self._at < len(self._tokens):
            raise self._expected("`and`, `or` or the end", self._advice())
        return expression

    def _advice(self) -> str:
        """What somebody meant who wrote nothing but words one behind another."""
        words = [token.text for token in self._tokens[:_FEW]]
        if len(self._tokens) > _FEW or not all(map(_PLAIN.fullmatch, words)):
            return ""
        if any(token.quoted or token.text in _JOINING for token in self._tokens):
            return ""
        if self._option == "--tag":
            both, either = (f" {joined} ".join(words) for joined in ("and", "or"))
            return f"; such as `{both}`, or `{either}`"
        text = " ".join(words)
        return f"; a text with blanks takes quotes of its own: {self._option} \"'{text}'\""

    def _either(self) -> Expression:
        parts = [self._both()]
        while self._took("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda m: any(part(m) for part in parts)

    def _both(self) -> Expression:
        parts = [self._negated()]
        while self._took("and"):
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else lambda m: all(part(m) for part in parts)

    def _negated(self) -> Expression:
        negative = False
        while self._took("not"):
            negative = not negative
        inner = self._single()
        return (lambda m: not inner(m)) if negative else inner

    def _single(self) -> Expression:
        if self._took("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self._error(f"parentheses are nested deeper than {_DEEPEST} levels")
            inner = self._either()
            if not self._took(")"):
                raise self._expected("`)`")
            self._depth -= 1
            return inner
        token = self._next()
        if token is None or (not token.quoted and token.text in ("and", "or", ")")):
            raise self._expected("a word")
        if not token.text:
            raise self._error(f"the text in column {token.column} is empty and matches everything")
        self._at += 1
        return lambda m: m(token.text)

    def _next(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _took(self, text: str) -> bool:
        token = self._next()
        if token is None or token.quoted or token.text != text:
            return False
        self._at += 1
        return True

    def _expected(self, what: str, advice: str = "") -> UsageError:
        token = self._next()
        if token is None:
            return self._error(f"it ends where {what} is expected")
        found = f"column {token.column}: found `{shortened(token.text)}`, expected {what}"
        return self._error(found + advice)

    def _error(self, what: str) -> UsageError:
        return UsageError(f"{self._option} `{shortened(self._text)}`: {what}")
