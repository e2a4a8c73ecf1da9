"""Every key of a flow file, declared once: the parser and the JSON Schema both come from here.

Counterpart: `flow` reads a file with it and adds what only holds across several keys.
"""

from __future__ import annotations

from flowproof.model.flow_spec import Control
from flowproof.spec import variables
from flowproof.spec.agent_shapes import AGENT
from flowproof.spec.containers import ListOf
from flowproof.spec.records import Field, Needs, OneOf, Record, Values
from flowproof.spec.shapes import Choice, Flag, Text
from flowproof.spec.source import Report
from flowproof.spec.step_shapes import check_regex
from flowproof.spec.steps import Steps
from flowproof.spec.tool_shapes import MCP_SERVER, MOCK
from flowproof.spec.yaml_nodes import ScalarNode

ONE_LINE = Text("a text in one line", r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]+")
TAG = Text("letters, digits and `_ . -`", "[A-Za-z0-9][A-Za-z0-9_.-]*")
TAGS = ListOf(TAG, "a list of tags")
VARIABLE_NAME = Text("the name of a variable: letters, digits and `_`", variables.NAME)


def regex_check(node: ScalarNode, report: Report) -> None:
    """Note why a whole text is no usable regular expression."""
    check_regex(node, node.text, 0, report)


def _nothing(values: Values, report: Report) -> None:
    """The record only has to be valid: what it declares cannot run yet."""


_TITLE = Field("title", Text(), "What the property is, in one line.")
_ID = Field(
    "id",
    Text("lower-case letters, digits and `. _ -`", "[a-z0-9._-]+"),
    "The name by which an audit knows the property.",
    required=True,
)
_DETAIL = Field("description", Text(), "What the property means.")
_REFERENCES = Field(
    "references",
    ListOf(Text(), "a list of texts"),
    "Where the property comes from, such as `SOC2:CC7.1`.",
)
_OWNER = Field("owner", Text(), "Who answers for it.")


def _control(values: Values, report: Report) -> Control:
    return Control(
        values.need(_ID),
        values.get(_TITLE),
        values.get(_DETAIL),
        values.get(_REFERENCES, ()),
        values.get(_OWNER),
    )


_CONTROL = Record(
    "`control`",
    "The named property that this flow gives evidence for.",
    (_ID, _TITLE, _DETAIL, _REFERENCES, _OWNER),
    _control,
)

_REASON = Field("reason", Text(), "Why this is acceptable; shown in every report.", required=True)
_PATTERN = Field(
    "pattern", Text("a regular expression", check=regex_check), "A regular expression."
)
_JSON_PATH = Text("a JSONPath that begins with `$`", r"\$.*")
_VOLATILE = Record(
    "an entry of `volatile`",
    "A part of requests that changes from run to run.",
    (
        Field("path", _JSON_PATH, "The JSONPath of the whole value that changes."),
        _PATTERN,
        Field("in", _JSON_PATH, "The JSONPath in which the pattern applies."),
        _REASON,
    ),
    _nothing,
    (OneOf(("path", "pattern")), Needs("in", "pattern")),
)
_WAIVER = Record(
    "an entry of `allow_sensitive`",
    "A text that looks like a credential and may be recorded.",
    (
        Field(
            "pattern", Text("a regular expression", check=regex_check), "What it looks like.", True
        ),
        _REASON,
        Field(
            "expires",
            Text("a date: `2027-01-31`", r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"),
            "The last day on which this holds.",
        ),
    ),
    _nothing,
)
_FREEZE = Record(
    "`freeze`",
    "The wall clock that the agent sees.",
    (
        Field(
            "time",
            Text(
                "an instant: `2026-01-01T09:00:00Z`",
                r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
                r"(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})",
            ),
            "The instant at which the agent starts.",
            required=True,
        ),
        Field("tz", Text("a time zone: `UTC`, `Europe/Paris`", "[A-Za-z0-9_+/-]+"), "Its zone."),
    ),
    _nothing,
)

NAME = Field(
    "name", ONE_LINE, "The flow's name: one line; it should be unique in a suite.", required=True
)
DESCRIPTION = Field("description", Text(), "What the flow shows, for people.")
APP = Field("app", Choice(("agent",)), "What kind of program is tested.", default="agent")
TAGS_FIELD = Field("tags", TAGS, "Names for people and for selection.")
EXPECTED = Field(
    "expected_behavior",
    Text(variables=True),
    "What should happen, for people and for endpoint agents. Never judged.",
)
CONTROL = Field("control", _CONTROL, "The property this flow gives evidence for.")
SKIP = Field(
    "skip_unless_env",
    ListOf(VARIABLE_NAME, "a list of names of variables"),
    "Skip the flow unless all of these variables are set.",
)
STRICT = Field("strict", Flag(), "Fail on tool calls that no step lists.", default=False)
AGENT_FIELD = Field("agent", AGENT, "How the agent is started or reached.", required=True)
TOOLS = Field("tools", ListOf(MOCK, "a list of tools"), "Results that the model is told.")
MCP = Field("mcp", ListOf(MCP_SERVER, "a list of servers"), "MCP tool servers.")
VOLATILE = Field(
    "volatile",
    ListOf(_VOLATILE, "a list of declarations"),
    "Parts of requests that may differ.",
    later="volatile",
)
REDACT = Field(
    "redact",
    ListOf(
        Text("a `${NAME}` or a regular expression", variables=True, check=regex_check), "a list"
    ),
    "Texts that are replaced in what is recorded.",
    later="redact",
)
ALLOW_SENSITIVE = Field(
    "allow_sensitive",
    ListOf(_WAIVER, "a list of waivers"),
    "Texts that look like credentials and may be recorded.",
    later="allow_sensitive",
)
FREEZE = Field("freeze", _FREEZE, "A fixed clock for the agent.", later="freeze")
STEPS = Field("steps", Steps(), "What the agent is told and what must hold.", required=True)
