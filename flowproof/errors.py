"""Every error a user can meet. Each builds its message from facts and carries its exit code.

An agent that did something wrong is not an error here: that is a verdict (`model.outcome`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller; the same for `record`, `run` and `suite run`."""

    PASSED = 0
    FLOW_FAILED = 1
    AUTHOR_ERROR = 2
    INTERNAL = 3
    WORLD_ERROR = 4
    NOTHING_RAN = 5
    INTERRUPTED = 130


class FlowproofError(Exception):
    """Base of every error that flowproof explains to its user."""

    exit_code: ExitCode = ExitCode.INTERNAL


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a file an author wrote.

    `line` and `column` count from 1; `column` counts characters. `source_line` is the text of
    that line without its end. `accepted` and `suggestion` are empty where nothing helps.
    """

    file: str
    line: int
    column: int
    message: str
    source_line: str = ""
    accepted: str = ""
    suggestion: str = ""

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line}:{self.column}: {self.message}"]
        if self.source_line.strip():
            shown, caret = _window(self.source_line, self.column - 1)
            lines += [f"    {shown}", f"    {caret}"]
        if self.suggestion:
            lines.append(f"  did you mean `{self.suggestion}`?")
        if self.accepted:
            lines.append(f"  accepted: {self.accepted}")
        return "\n".join(lines)


def _window(source: str, at: int, width: int = 100) -> tuple[str, str]:
    """The part of a long source line around `at`, and a caret line below it."""
    start = 0 if len(source) <= width else max(0, min(at - width // 2, len(source) - width))
    shown = source[start : start + width]
    pad = "".join("\t" if char == "\t" else " " for char in shown[: at - start])
    return shown, pad + "^"


class SpecError(FlowproofError):
    """A spec or suite file cannot be used; holds every problem found in it at once."""

    exit_code = ExitCode.AUTHOR_ERROR

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(FlowproofError):
    """The command line, an environment variable or a path given there is wrong."""

    exit_code = ExitCode.AUTHOR_ERROR


class UnsetVariable(UsageError):
    """A `${VAR}` of a spec has no value. `missing` pairs each name with where it is used, as
    `file:line:column`, or with an empty text where that is not known."""

    def __init__(self, missing: Sequence[tuple[str, str]]) -> None:
        self.missing = tuple(missing)
        lines = [
            f"{f'{place}: ' if place else ''}${{{name}}} is not set" for name, place in self.missing
        ]
        lines.append("  set it in the environment, or under `env:` of the suite.yaml")
        super().__init__("\n".join(lines))


class TraceMissing(FlowproofError):
    """There is no recording for this flow yet."""

    exit_code = ExitCode.AUTHOR_ERROR

    def __init__(self, path: str, spec: str) -> None:
        self.path = path
        self.spec = spec
        super().__init__(f"no trace at {path}; record it first: flowproof record {spec}")


class TraceCorrupt(FlowproofError):
    """A trace exists but cannot be read as one; it is left as it is."""

    exit_code = ExitCode.AUTHOR_ERROR

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: not a usable trace: {reason}")


class TraceTooLarge(FlowproofError):
    """A recording is larger than what flowproof would read back; nothing was written."""

    exit_code = ExitCode.AUTHOR_ERROR


class KeyInTrace(FlowproofError):
    """A recording holds a key that flowproof holds too; nothing was written. Each place comes
    with the variable that has the key."""

    exit_code = ExitCode.AUTHOR_ERROR

    def __init__(self, found: Sequence[tuple[str, str]], *, more: bool) -> None:
        self.found = tuple(found)
        lines = [f"{place} holds the key in {name}" for place, name in found]
        super().__init__(
            "\n".join(
                [
                    "no trace was written: it would hold a key, and it is made to be committed",
                    *(f"  {line}" for line in lines),
                    *(["  and more"] if more else []),
                    "  take the key out of what the agent sends: it needs none, flowproof adds it",
                ]
            )
        )


class RunRecordUnreadable(FlowproofError):
    """A run record cannot be read as one, or in this version; it is left as it is."""

    exit_code = ExitCode.AUTHOR_ERROR

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"not a usable run record: {reason}")


class CountsDiffer(FlowproofError):
    """The counts of a run do not add up, so that there can be no evidence of it: a fault of
    flowproof, or a record that was edited."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"there can be no evidence of this run, its counts do not add up: {reason}"
        )


class StaleTrace(FlowproofError):
    """The trace was recorded under other mocks than the spec declares now."""

    exit_code = ExitCode.AUTHOR_ERROR


class WorldError(FlowproofError):
    """Something outside the author's hands kept the flow from being judged."""

    exit_code = ExitCode.WORLD_ERROR


class UpstreamError(WorldError):
    """The model's endpoint could not be reached, or gave no complete answer."""


class PortTaken(WorldError):
    """A fixed port that the spec asks for is in use."""


class CapabilityError(WorldError):
    """This platform or this version of flowproof cannot enforce, observe or run what is asked."""


class NotBuiltYet(CapabilityError):
    """A file declares what this version validates and cannot run. Each feature comes with its
    place, as `file:line:column`."""

    def __init__(self, features: Sequence[tuple[str, str]]) -> None:
        lines = [
            f"{place}: `{feature}` cannot be run by this version" for place, feature in features
        ]
        super().__init__(
            "\n".join([*lines, "  what is built and what is not: README, Not built yet"])
        )
