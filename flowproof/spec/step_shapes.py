"""The values of steps: prose and structured assertions, read into parts that `steps` puts together.

Counterpart: `step_grammar` knows the prose itself; here its faults get their place in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowproof.model.flow_spec import Clause, Expected, Matcher, Times
from flowproof.spec import variables
from flowproof.spec.containers import ByKind, ListOf, Made, MapOf
from flowproof.spec.records import Apart, Field, OneOf, Record, Values
from flowproof.spec.shapes import Compared, Schema, Text, Whole, scalar, text_schema, whole
from flowproof.spec.source import Refused, Report, quoted
from flowproof.spec.step_grammar import (
    MAX_LENGTH,
    REPLY_ACCEPTED,
    TOOL_ACCEPTED,
    ReplyPhrase,
    ToolPhrase,
    parse_reply_phrase,
    parse_tool_phrase,
)
from flowproof.spec.step_patterns import PATH, REPLY_PHRASE, TOOL, TOOL_PHRASE
from flowproof.spec.yaml_nodes import Node, ScalarNode

if TYPE_CHECKING:
    from flowproof.spec.pattern import Pattern


@dataclass(frozen=True, slots=True)
class ToolCallParts:
    """What the prose and the structured form of a tool assertion have in common."""

    tool: str
    clauses: tuple[Clause, ...] = ()
    exact: Expected | None = None
    times: Times | None = None


def check_regex(node: ScalarNode, text: str, offset: int, report: Report) -> Pattern | None:
    """The pattern of a regular expression; None after noting why it cannot be used. One with
    `${VAR}` is judged at run, and None too."""
    from flowproof.spec.pattern import PatternError, compile_pattern

    if variables.references(text):
        return None
    try:
        return compile_pattern(variables.resolve(text, lambda name: None))
    except PatternError as error:
        report.note(report.point(node, offset, len(text)), f"this pattern cannot be used: {error}")
        return None


def _note_findings(node: ScalarNode, phrase: ToolPhrase | ReplyPhrase, report: Report) -> None:
    report.use_variables(node)
    for regex in phrase.regexes:
        pattern = check_regex(node, regex.text, regex.offset, report)
        if pattern is not None and pattern.matches_every_text:
            presence = "; `exists` for any value" if isinstance(phrase, ToolPhrase) else ""
            report.note(
                report.point(node, regex.offset, len(regex.text)),
                f"the pattern {quoted(regex.text)} matches every text, so it tells nothing",
                accepted=f"a pattern that some text does not match{presence}",
            )
    for fault in phrase.faults:
        report.note(
            report.point(node, fault.offset, fault.length),
            fault.message,
            accepted=fault.accepted,
            suggestion=fault.suggestion,
        )
    if phrase.faults:
        raise Refused


def _check_length(node: ScalarNode, report: Report) -> None:
    if len(node.text) > MAX_LENGTH:
        raise report.refuse(node.mark, f"the text is longer than {MAX_LENGTH} characters")


@dataclass(frozen=True, slots=True, eq=False)
class ToolProse:
    """`<tool> where <path> <matcher> <value> and …`"""

    accepted: str = "`<tool>`, or `<tool> where <path> <matcher> <value>`"

    def read(self, node: Node, report: Report) -> ToolCallParts:
        found = scalar(node, report, self.accepted)
        _check_length(found, report)
        phrase = parse_tool_phrase(found.text)
        _note_findings(found, phrase, report)
        return ToolCallParts(phrase.tool, phrase.clauses)

    def schema(self) -> Schema:
        return text_schema(whole(TOOL_PHRASE), whole(variables.WELL_FORMED), longest=MAX_LENGTH)


class ReplyProse:
    """`reply contains <text>` and its kin."""

    def read(self, node: Node, report: Report) -> ReplyPhrase:
        found = scalar(node, report, REPLY_ACCEPTED)
        _check_length(found, report)
        phrase = parse_reply_phrase(found.text)
        _note_findings(found, phrase, report)
        return phrase

    def schema(self) -> Schema:
        return text_schema(whole(REPLY_PHRASE), whole(variables.WELL_FORMED), longest=MAX_LENGTH)


TOOL_NAME = Text(TOOL_ACCEPTED, TOOL)
TASK_TEXT = Text("the text of the task", variables=True)

_COUNT = Whole(0, 1_000_000)
_MINIMUM = Field("min", _COUNT, "At least this many matching calls.")
_MAXIMUM = Field("max", _COUNT, "At most this many matching calls.")


def _times_range(values: Values, report: Report) -> Times:
    least, most = values.get(_MINIMUM, 0), values.get(_MAXIMUM)
    if most is not None and least > most:
        report.note(values.mark_of(_MINIMUM), f"`min` ({least}) is greater than `max` ({most})")
    if most is None and values.get(_MINIMUM) == 0:
        report.note(values.mark_of(_MINIMUM), "`min: 0` holds for every run; give a `max` too")
    return Times(least, most)


_TIMES: ByKind[Times] = ByKind(
    "a whole number, or a mapping with `min` and `max`",
    scalar=Made(_COUNT, lambda count: Times(count, count)),
    mapping=Record(
        "`times`",
        "Bounds for the number of matching calls, both included.",
        (_MINIMUM, _MAXIMUM),
        _times_range,
        (OneOf(("min", "max"), at_least=True),),
    ),
)

_TOOL = Field("tool", TOOL_NAME, "The tool's name.", required=True)
_ARGS = Field(
    "args",
    MapOf(
        Compared(),
        "a mapping of paths to values",
        key=PATH,
        key_accepted="names and list indexes joined by dots: `passengers.0.name`",
        minimum=1,
    ),
    "Arguments that the call must have, by dotted path; others may stand beside them. Unquoted "
    "values compare by text, quoted ones only with strings.",
)
_EXACT = Field(
    "args_exact",
    MapOf(Compared(), "a mapping with all arguments"),
    "All arguments of the call: these and no others.",
)
_HOW_OFTEN = Field("times", _TIMES, "How many calls of the whole trajectory must match.")


def _parts(values: Values, report: Report) -> ToolCallParts:
    args = values.get(_ARGS, {})
    clauses = (Clause(tuple(p.split(".")), Matcher.EQUALS, value) for p, value in args.items())
    return ToolCallParts(
        values.need(_TOOL), tuple(clauses), values.get(_EXACT), values.get(_HOW_OFTEN)
    )


CALL: ByKind[ToolCallParts] = ByKind(
    "`<tool> [where …]`, or a mapping with the keys tool, args, args_exact, times",
    scalar=ToolProse(),
    mapping=Record(
        "`assert_tool_call`",
        "A tool call in its structured form.",
        (_TOOL, _ARGS, _EXACT, _HOW_OFTEN),
        _parts,
        (Apart("args", "args_exact", "write all arguments into `args_exact`"),),
    ),
)
NO_CALL: ByKind[ToolCallParts] = ByKind(
    "`<tool> [where …]`, or a mapping with the keys tool, args",
    scalar=ToolProse(),
    mapping=Record("`assert_no_tool_call`", "A call that must not happen.", (_TOOL, _ARGS), _parts),
)

_SECRET = Text("a reference to the secret: `${NAME}`", rf"\$\{{{variables.NAME}\}}", variables=True)
SECRETS: ByKind[tuple[str, ...]] = ByKind(
    "a reference `${NAME}`, or a list of them; without a value write `- assert_no_secret_leak`",
    scalar=Made(_SECRET, lambda text: (text[2:-1],)),
    sequence=Made(
        ListOf(_SECRET, "a list of references `${NAME}`", minimum=1),
        lambda texts: tuple(text[2:-1] for text in texts),
    ),
)
