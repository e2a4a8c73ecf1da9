"""Arguments of one function call that arrive piece by piece, each with the place it belongs to.

Gemini models stream them so where a request allows it; `google_generate_assembly` meets the pieces.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass, field

from flowproof.dialects.google_generate_names import member
from flowproof.model.jsonvalue import MISSING, JsonObject, JsonValue, Missing

_LONGEST_PATH = 1000
_DEEPEST = 64
_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"]+)|\[(?P<index>\d{1,9})\]|\['(?P<single>[^'\\]*)'\]|\["(?P<double>[^"\\]*)"\]"""
)
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


def is_partial(call: JsonValue) -> bool:
    """Whether a function call is one piece of several."""
    return bool(member(call, "willContinue")) or member(call, "partialArgs") is not None


@dataclass(slots=True)
class PartialCall:
    """One function call in pieces; `part` is the first, with all that stands beside the call.

    It is changed: members that only later pieces have are added to it.
    """

    part: JsonObject
    # Mutable: whether the last piece came, the members of the call, its values by place
    # (the pieces of those that are text), and everything that came for them.
    ended: bool = False
    _call: JsonObject = field(default_factory=dict)
    _values: dict[str, JsonValue] = field(default_factory=dict)
    _texts: dict[str, list[str]] = field(default_factory=dict)
    _pieces: list[JsonValue] = field(default_factory=list)
    _odd: bool = False

    def add(self, part: JsonObject, call: JsonObject) -> None:
        """Take the next piece: a part and the call in it."""
        pieces = member(call, "partialArgs")
        for key, value in part.items():
            self.part.setdefault(key, value)
        apart = ("partialArgs", "partial_args", "willContinue", "will_continue")
        self._call |= {key: value for key, value in call.items() if key not in apart}
        self._odd |= not isinstance(pieces, list | None)
        for piece in pieces if isinstance(pieces, list) else ():
            self._pieces.append(piece)
            self._take(piece)
        self.ended = member(call, "willContinue") is not True

    def _take(self, piece: JsonValue) -> None:
        path = member(piece, "jsonPath")
        given = [
            key for key in _VALUES if isinstance(piece, dict) and member(piece, key) is not None
        ]
        if not isinstance(path, str) or len(given) > 1:
            self._odd = True
            return
        if not given:
            return
        value = None if given == ["nullValue"] else member(piece, given[0])
        if isinstance(value, str) and path in self._texts:
            self._texts[path].append(value)
            return
        self._odd |= path in self._values
        self._values[path] = value
        if isinstance(value, str):
            self._texts[path] = [value]

    def value(self) -> JsonObject:
        """The part as it would have come in one piece.

        Where that is not known, since pieces are missing or cannot be placed, the pieces
        themselves stand in it, marked as unfinished.
        """
        given = self._call.get("args")
        # A copy: the values are put into it anew each time.
        arguments: JsonValue = {} if given is None else deepcopy(given)
        root: JsonObject = {"args": arguments}
        placed = self.ended and not self._odd and isinstance(arguments, dict)
        for path, value in self._values.items():
            steps = _steps(path)
            text = self._texts.get(path)
            said = value if text is None else "".join(text)
            placed = placed and steps is not None and _put(root, ["args", *steps], said)
        unplaced: JsonObject = {"partialArgs": self._pieces, "willContinue": True}
        call: JsonObject = self._call | (root if placed else unplaced)
        key = "functionCall" if "functionCall" in self.part else "function_call"
        return self.part | {key: call}


def _steps(path: str) -> list[str | int] | None:
    """The members and indexes of a JSON path; None where it has another form."""
    if not path.startswith("$") or len(path) > _LONGEST_PATH:
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        named = [step[key] for key in ("name", "single", "double") if step[key] is not None]
        steps.append(named[0] if named else int(step["index"]))
        at = step.end()
    return steps if len(steps) <= _DEEPEST else None


def _put(root: JsonObject, steps: list[str | int], value: JsonValue) -> bool:
    """Set a value at a place, making what is on the way; whether there is such a place."""
    here: JsonValue = root
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        fresh: JsonValue = value
        if following is not None:
            fresh = [] if isinstance(following, int) else {}
        held = _at(here, step)
        if following is not None and isinstance(held, dict | list):
            here = held
            continue
        if not isinstance(held, Missing) or not _set(here, step, fresh):
            return False
        here = fresh
    return True


def _at(here: JsonValue, step: str | int) -> JsonValue | Missing:
    match here, step:
        case dict(), str():
            return here.get(step, MISSING)
        case list(), int() if step < len(here):
            return here[step]
        case _:
            return MISSING


def _set(here: JsonValue, step: str | int, value: JsonValue) -> bool:
    match here, step:
        case dict(), str():
            here[step] = value
        case list(), int() if step == len(here):
            here.append(value)
        case _:
            return False
    return True
