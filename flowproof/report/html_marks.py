"""What is the same in two lines, and which lines of two texts belong together.

`html_diff` makes rows of it. All comparing is bounded: `difflib` takes cubic time on some texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from operator import itemgetter
from typing import Literal, TypeAlias

from flowproof.model.visible import printable

MOST_WORDS = 64
"""Words of a line that are compared with those of another; of more, all are marked."""
WORK = 64_000
"""Pairs of words that are compared in all: a bound for many lines of many words."""
MOST_PAIRS = 900
"""Pairs of lines of which those that are alike are looked for; of more, they go by their order."""
_LONG_WORD = 16
"""A line that is one word, such as an id, is compared by characters if it is longer."""
_COMPARED = 300
"""Characters of a line that decide what it is like."""
_ALIKE = 0.3
"""Two lines that have less than this in common are marked as a whole."""

PieceKind: TypeAlias = Literal["same", "changed", "blank"]

_WORDS = re.compile(r"\w{1,200}|\s{1,200}|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line: the `same` on both sides, `changed`, or changed white space (`blank`),
    which is then written with marks."""

    kind: PieceKind
    text: str


@dataclass(slots=True)
class Work:
    """How many pairs of words may still be compared."""

    left: int

    def allows(self, old: Sequence[str], new: Sequence[str]) -> bool:
        """Whether these words may be compared with each other; the work is taken if so."""
        if max(len(old), len(new)) > MOST_WORDS or len(old) * len(new) > self.left:
            return False
        self.left -= len(old) * len(new)
        return True


def alike(left: Sequence[str], right: Sequence[str]) -> Sequence[tuple[int, int]]:
    """Which lines belong together, by their places: as much as can be is alike, in order."""
    if not left or not right or len(left) * len(right) > MOST_PAIRS:
        return ()
    olds, news = ([_words_of(line) for line in side] for side in (left, right))
    best: list[list[tuple[float, tuple[tuple[int, int], ...]]]]
    best = [[(0.0, ())] * (len(right) + 1) for _ in range(len(left) + 1)]
    for old, one in enumerate(olds, 1):
        for new, other in enumerate(news, 1):
            score, pairs = max(best[old - 1][new], best[old][new - 1], key=itemgetter(0))
            share = _share(one, other)
            before = best[old - 1][new - 1]
            if share >= _ALIKE and before[0] + share > score:
                score, pairs = before[0] + share, (*before[1], (old - 1, new - 1))
            best[old][new] = score, pairs
    return best[-1][-1][1]


def _words_of(line: str) -> Counter[str]:
    return Counter(word for word in _WORDS.findall(line[:_COMPARED]) if not word.isspace())


def _share(one: Counter[str], other: Counter[str]) -> float:
    """How much of two lines is the same words, from 0 to 1; white space does not count."""
    words = one.total() + other.total()
    return 2 * (one & other).total() / words if words else 0.0


def whole(line: str) -> tuple[Piece, ...]:
    """A line that the other side does not have; if one cannot see it, with its end."""
    if not line.strip():
        return (Piece("blank", _blank(f"{line}\n")),)
    return (Piece("same", line),)


def marked(recorded: str, sent: str, work: Work) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Two lines, each in pieces, of which those are marked that the other line does not have."""
    old, new = _WORDS.findall(recorded), _WORDS.findall(sent)
    if len(old) == len(new) == 1 and min(len(recorded), len(sent)) > _LONG_WORD:
        old, new = list(recorded), list(sent)
    head = common(old, new)
    tail = common(old[head:][::-1], new[head:][::-1])
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    marks = [(False, 0, len(left), 0, len(right))]
    if left and right and work.allows(left, right):
        # White space is everywhere: where it is the same says nothing of what belongs together.
        codes = SequenceMatcher(str.isspace, left, right, autojunk=False).get_opcodes()
        same = head + tail + sum(code[2] - code[1] for code in codes if code[0] == "equal")
        if 2 * same >= _ALIKE * (len(old) + len(new)):
            marks = [(code[0] == "equal", *code[1:]) for code in codes]
    before = [(True, "".join(old[:head]))]
    after = [(True, "".join(old[len(old) - tail :]))]
    olds = [(equal, "".join(left[low:high])) for equal, low, high, _, _ in marks]
    news = [(equal, "".join(right[start:end])) for equal, _, _, start, end in marks]
    return _pieces([*before, *olds, *after]), _pieces([*before, *news, *after])


def _pieces(parts: Sequence[tuple[bool, str]]) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for same, text in parts:
        if same:
            found.append(Piece("same", text))
            continue
        words = re.split(r"(\s+)", text)
        if len(words) > MOST_WORDS:
            words = [text]
        # What one would not see is escaped: it may be all that changed.
        found += [
            Piece("blank", _blank(part)) if part.isspace() else Piece("changed", printable(part))
            for part in words
        ]
    return tuple(piece for piece in found if piece.text)


_BLANKS = str.maketrans({" ": "·", "\t": "→", "\n": "¶"})


def _blank(text: str) -> str:
    """White space as marks; escapes for the kinds that have none."""
    return printable(text).translate(_BLANKS)


def common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many items two sequences have in common at their beginnings."""
    pairs = zip(left, right, strict=False)
    short = min(len(left), len(right))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), short)
