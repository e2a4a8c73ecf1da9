"""Tools whose results the author wrote, and the MCP servers they may belong to.

Counterpart: `flow_shapes` puts both into a flow; `model.flow_spec.Mock` says what results mean.
"""

from __future__ import annotations

from flowproof.model.flow_spec import McpServer, Mock
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.spec.agent_shapes import URL, check_command
from flowproof.spec.containers import ListOf
from flowproof.spec.records import Apart, Field, Needs, NeedsAny, OneOf, Record, Values
from flowproof.spec.shapes import VALUE_REF, Flag, Json, Schema, Text, Whole
from flowproof.spec.source import Report
from flowproof.spec.step_grammar import TOOL_ACCEPTED
from flowproof.spec.step_patterns import TOOL
from flowproof.spec.yaml_nodes import MappingNode, Node, kind

_TOOL = Field("name", Text(TOOL_ACCEPTED, TOOL), "The tool's name.", required=True)
_RESULT = Field(
    "result",
    Json(),
    "What the model is told the tool returned, on every call. A text is sent as it is, all else "
    "as compact JSON. Without a result the tool is only declared.",
)
_RESULTS = Field(
    "results",
    ListOf(Json(), "a list of results, one for each call", minimum=1),
    "Results for one call after another.",
)
_REPEAT = Field("repeat_last", Flag(), "Give the last of `results` again when they run out.")
_MESSAGE = Field("message", Text(variables=True), "The text of the error.", required=True)
_CODE = Field("code", Whole(-1_000_000, 1_000_000), "The code of a JSON-RPC error.")


def _error(values: Values, report: Report) -> JsonObject:
    code = {} if values.get(_CODE) is None else {"code": values.get(_CODE)}
    return {**code, "message": values.need(_MESSAGE)}


_ERROR = Field(
    "error",
    Record("`error`", "A tool error, or with `code` a JSON-RPC error.", (_CODE, _MESSAGE), _error),
    "The call fails with this error.",
)


class _Object:
    """A JSON object. `${VAR}` is allowed in its texts."""

    def read(self, node: Node, report: Report) -> JsonObject:
        if not isinstance(node, MappingNode):
            raise report.refuse(
                node.mark, f"expected a mapping, found {kind(node)}", accepted="a JSON Schema"
            )
        value = Json()
        return {entry.key.text: value.read(entry.value, report) for entry in node.entries}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": VALUE_REF}


_SCHEMA = Field(
    "schema",
    _Object(),
    "The JSON Schema of the tool's arguments, told where the server itself lacks the tool.",
)


def _results(values: Values) -> tuple[JsonValue, ...]:
    if values.has(_RESULTS):
        return values.get(_RESULTS, ())
    return (values.need(_RESULT),) if values.has(_RESULT) else ()


def _mock(values: Values, report: Report) -> Mock:
    return Mock(
        values.need(_TOOL),
        _results(values),
        values.has(_RESULT) or values.get(_REPEAT, False),
        report.position(values.mark_of(_TOOL)),
        values.get(_ERROR),
        values.get(_SCHEMA),
    )


_RESULT_RULES = (Apart("result", "results"), Needs("repeat_last", "results"))
MOCK = Record(
    "an entry of `tools`",
    "What the model is told a tool returned.",
    (_TOOL, _RESULT, _RESULTS, _REPEAT),
    _mock,
    _RESULT_RULES,
)
_MCP_MOCK = Record(
    "an entry of `tools`",
    "A tool that flowproof answers in place of the server, which never sees the call.",
    (_TOOL, _RESULT, _RESULTS, _REPEAT, _ERROR, _SCHEMA),
    _mock,
    (
        *_RESULT_RULES,
        Apart("error", "result"),
        Apart("error", "results"),
        NeedsAny("schema", ("result", "results", "error")),
    ),
)

_SERVER = Field(
    "name",
    Text("a lower-case letter, then `a-z 0-9 _ -`", "[a-z][a-z0-9_-]*"),
    "The server's name in the flow and in the trace.",
    required=True,
)
_MCP_COMMAND = Field(
    "command",
    Text(
        "a command",
        variables=True,
        check=lambda node, report: check_command(
            node, report, lambda fault: "quote it, or write a script and name that"
        ),
    ),
    "A server that the agent spawns. Run only while recording.",
)
_MCP_URL = Field("url", URL, "A server that the agent reaches over streamable HTTP.")
_MCP_PORT = Field("port", Whole(1, 65535), "A fixed port for flowproof's listener.")
_MCP_TOOLS = Field("tools", ListOf(_MCP_MOCK, "a list of tools"), "Tools that flowproof answers.")


def _server(values: Values, report: Report) -> McpServer:
    return McpServer(
        values.need(_SERVER),
        values.get(_MCP_COMMAND),
        values.get(_MCP_URL),
        values.get(_MCP_PORT),
        values.get(_MCP_TOOLS, ()),
        report.position(values.mark_of(_SERVER)),
    )


MCP_SERVER = Record(
    "an entry of `mcp`",
    "A tool server behind the Model Context Protocol.",
    (_SERVER, _MCP_COMMAND, _MCP_URL, _MCP_PORT, _MCP_TOOLS),
    _server,
    (
        OneOf(("command", "url")),
        Apart("command", "port", "a stdio server is spawned, not dialed"),
    ),
)
