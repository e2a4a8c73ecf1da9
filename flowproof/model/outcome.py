"""How an assertion, a task and a flow ended: closed unions and the verdicts made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Passed:
    """It holds."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It does not hold. `closest` describes the nearest thing that was there."""

    message: str
    expected: str = ""
    closest: str = ""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """It could not be decided, for a reason that lies outside the agent."""

    reason: str


@dataclass(frozen=True, slots=True)
class Uncertifiable:
    """This platform or version cannot enforce or observe what is asserted."""

    reason: str


Outcome: TypeAlias = Passed | Failed | Unjudged | Uncertifiable


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """One assertion of a spec with its outcome; `line` counts from 1."""

    source: str
    line: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One line of a diff, made printable: `mark` is one of `-`, `+` or a blank."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Sides:
    """Both values of a difference at length, to be read side by side: texts as they are, any other
    JSON value indented, None where there is nothing.

    Each is a window around the change. `above` is the number of characters that were left out
    before it, the same in both, `below` of those after it in either.
    """

    recorded: str | None
    replayed: str | None
    above: int = 0
    below: tuple[int, int] = (0, 0)


REFUSED = "flowproof: replay diverged"
"""How the answer to a diverged request begins, which agents tend to print."""
CANNOT_RECORD = "flowproof: cannot record"
"""How the answer to a request begins that no recording can hold."""
NO_ANSWER = "flowproof: the upstream gave no complete answer"
"""How the answer to a request begins to which a recording's upstream gave none."""
NOT_SERVED = "flowproof serves no model API at"
"""How the answer to a request begins that no dialect serves."""
REFUSALS = (REFUSED, CANNOT_RECORD, NO_ANSWER, NOT_SERVED)
"""What an agent's output may repeat, mostly in the middle of a traceback."""

EXTRA_CALL = "extra call"
"""The kind of a divergence in which the agent asked once more than was recorded."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between what was recorded and what the agent sent.

    `kind` names what moved (`model`, `tool schema`, `message text`, `extra call` …), `path` is
    the JSON path of the difference in the request, `turn` the recorded turn that came nearest
    (None where the recording holds none to compare), `request` the ordinal of the request in
    this run, among model requests or among side calls; both count from 1. `excerpt` shows the
    difference in a few lines, `sides` with more around it; None where no values are compared.
    Of an `extra call` both show what it said last, beside nothing.

    At the boundary to an MCP `server` both count the calls of its lane, and `path` is in one's
    message.
    """

    kind: str
    message: str
    request: int
    turn: int | None = None
    path: str | None = None
    excerpt: tuple[Excerpt, ...] = field(default=())
    sides: Sides | None = None
    server: str = ""

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  {line.mark} {line.text}" for line in self.excerpt]
        return "\n".join(lines)


class Verdict(StrEnum):
    """How a flow ended."""

    PASS = "pass"
    PASS_NOTHING_ASSERTED = "pass*"
    FLAKY = "flaky"
    FAIL = "fail"
    ERROR = "error"
    CAPABILITY_ERROR = "capability-error"
    SKIPPED = "skipped"

    @property
    def green(self) -> bool:
        """Whether this verdict lets a run be green."""
        return self in {
            Verdict.PASS,
            Verdict.PASS_NOTHING_ASSERTED,
            Verdict.FLAKY,
            Verdict.SKIPPED,
        }
