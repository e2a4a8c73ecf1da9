"""Requests of the Messages dialect: routed, split, mocked, and taken apart for comparison."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects import registry
from flowproof.dialects.interface import Substitution, Target
from flowproof.model.jsonvalue import JsonObject, JsonValue, same
from flowproof.model.trajectory import ToolCall
from flowproof.model.turn import Operation
from tests.dialects.anthropic_messages_tools import MESSAGES, result, text, tool_use

OURS = Operation("anthropic.messages", "/messages")
SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: list[JsonValue] = [
    {"name": "get_weather", "description": "d", "input_schema": SCHEMA},
    {"type": "bash_20250124", "name": "bash"},
    {"type": "web_search_20250305", "name": "web_search"},
    {"type": "mcp_toolset", "mcp_server_name": "files"},
    {"type": "computer_toolset_20260801"},
]


def user(*content: JsonValue) -> JsonObject:
    return {"role": "user", "content": [*content]}


def assistant(*content: JsonValue) -> JsonObject:
    return {"role": "assistant", "content": [*content]}


@pytest.mark.parametrize(
    "path",
    ["/messages", "/v1/messages", "/v1/messages/", "/v1/v1/messages", "/anthropic/v1/messages"],
)
def test_every_prefix_names_the_same_operation(path: str) -> None:
    assert MESSAGES.operation("POST", path) == OURS
    assert registry.find("POST", path) == (registry.by_name("anthropic.messages"), OURS)
    assert MESSAGES.model_of(OURS) is None


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/xmessages"),
        ("POST", "/v1/threads/thread_1/messages"),
        ("POST", "/model/anthropic.claude-v2/invoke"),
        ("POST", "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict"),
        ("POST", ""),
    ],
)
def test_other_requests_are_not_ours(method: str, path: str) -> None:
    assert MESSAGES.operation(method, path) is None


@pytest.mark.parametrize(
    ("transport", "stream"),
    [
        pytest.param({}, False, id="plain"),
        pytest.param({"stream": False}, False, id="not streaming"),
        pytest.param({"stream": 1}, False, id="one is not true"),
        pytest.param({"stream": True}, True, id="stream"),
    ],
)
def test_transport_is_not_pinned_and_put_back(transport: JsonObject, stream: bool) -> None:
    pinned: JsonObject = {"model": "m", "messages": [], "unknown": [1]}
    body = pinned | transport
    before = copy.deepcopy(body)
    target = Target("/anthropic/v1/messages", "beta=true")
    asked = MESSAGES.asked(body, target)
    assert (asked.pinned, asked.stream) == (pinned, stream)
    assert MESSAGES.forwarded(asked.pinned, asked) == body == before
    assert MESSAGES.destination(OURS, asked, target) == Target("/v1/messages", "beta=true")


CALLED: list[JsonValue] = [
    user(text("go")),
    assistant(text("I look."), tool_use("search", {"q": 1}, "a"), tool_use("book", {}, "b")),
    user(
        result("a", [text("real")], is_error=True, cache_control={"type": "ephemeral"}),
        result("b", "real b"),
        text("and?"),
    ),
]


def test_results_are_replaced_whatever_their_content_was() -> None:
    body: JsonObject = {"model": "m", "messages": CALLED}
    before = copy.deepcopy(body)
    asked: list[tuple[str, str | None, int, str]] = []

    def mocks(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
        asked.append((tool, call_id, occurrence, arguments))
        return f"mock {call_id}" if tool == "search" else None

    changed, tools = MESSAGES.substitute(body, mocks, {})
    replaced = result("a", "mock a", cache_control={"type": "ephemeral"})
    expected = user(replaced, result("b", "real b"), text("and?"))
    assert changed == body | {"messages": [*CALLED[:2], expected]}
    assert tools == ("search",)
    assert asked == [("search", "a", 0, '{"q":1}'), ("book", "b", 0, "{}")]
    assert body == before


def test_a_reused_id_counts_up_and_means_the_latest_call() -> None:
    body: JsonObject = {
        "messages": [
            assistant(tool_use("search", {}, "x")),
            user(result("x", "1")),
            assistant(tool_use("book", {}, "x")),
            user(result("x", "2")),
        ]
    }
    changed, tools = MESSAGES.substitute(body, lambda tool, _id, nth, _said: f"{tool} {nth}", {})
    names = {"x": "t"}
    told = [MESSAGES.message(unit, names).text for unit in MESSAGES.message_list(changed)]
    assert told == [None, "search 0", None, "book 1"]
    assert tools == ("search", "book")


def test_a_thread_that_sends_only_results_knows_its_earlier_calls() -> None:
    earlier = {"a": ToolCall("a", "search", '{"q":1}', {"q": 1})}
    body: JsonObject = {
        "messages": [user(result("a", "real"))],
        "thread": {"type": "continue", "previous_message_id": "msg_1"},
    }
    changed, tools = MESSAGES.substitute(body, lambda tool, _id, _nth, said: tool + said, earlier)
    assert changed["messages"] == [user(result("a", 'search{"q":1}'))]
    assert tools == ("search",)
    assert MESSAGES.said(body).continues == "msg_1"
    assert MESSAGES.said({"thread": {"type": "create"}}).continues is None


def never(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return None


def always(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return "mock"


@pytest.mark.parametrize(
    ("messages", "substitution"),
    [
        pytest.param(CALLED, never, id="not mocked"),
        pytest.param(
            [user(result("a", "r")), assistant(tool_use("search", {}, "a"))],
            always,
            id="call comes later",
        ),
        pytest.param([assistant(tool_use("s", {}, "b")), user(result("a", "r"))], always, id="id"),
        pytest.param(
            [
                assistant({"type": "mcp_tool_use", "id": "a", "name": "s", "input": {}}),
                user({"type": "mcp_tool_result", "tool_use_id": "a", "content": "r"}),
            ],
            always,
            id="run by the provider",
        ),
        pytest.param([user(1, None, {"type": "tool_result"}), "x", {}], always, id="malformed"),
        pytest.param("nothing", always, id="no list"),
    ],
)
def test_where_nothing_is_replaced_the_same_body_comes_back(
    messages: JsonValue, substitution: Substitution
) -> None:
    body: JsonObject = {"messages": messages}
    changed, tools = MESSAGES.substitute(body, substitution, {})
    assert changed is body
    assert tools == ()


def test_envelope_parts_come_in_the_order_of_reporting() -> None:
    body: JsonObject = {
        "thinking": {"type": "adaptive"},
        "system": "s",
        "messages": [*CALLED, 3],
        "tools": TOOLS,
        "aaa_unknown": {"x": 1},
        "model": "m",
        "max_tokens": 5,
    }
    parts = [(part.name, part.path, part.value) for part in MESSAGES.envelope(body).parts]
    names = ["get_weather", "bash", "web_search", "mcp_toolset", "computer_toolset_20260801"]
    assert parts == [
        ("model", "$.model", "m"),
        ("tool names", "$.tools", names),
        ("tools", "$.tools", TOOLS),
        ("roles", "$.messages", ["user", "assistant", "user", None]),
        ("aaa_unknown", "$.aaa_unknown", {"x": 1}),
        ("max_tokens", "$.max_tokens", 5),
        ("thinking", "$.thinking", {"type": "adaptive"}),
    ]


def test_said_tells_model_opening_instructions_and_the_tools_that_can_be_called() -> None:
    defined: JsonObject = {"name": "late", "input_schema": {}}
    addition: JsonObject = {"type": "tool_definition", "definition": defined}
    said = MESSAGES.said(
        {
            "model": "m",
            "system": [text("Be brief."), text("Be kind.", cache_control={"type": "ephemeral"})],
            "messages": [
                user(text("u")),
                {"role": "system", "content": [{"type": "tool_addition", "tool": addition}]},
            ],
            "tools": TOOLS,
        }
    )
    assert said.model == "m"
    assert said.system == "Be brief.\nBe kind."
    assert said.tools == ("get_weather", "bash", "web_search", "computer_toolset_20260801", "late")
    assert said.served == ("web_search",)
    assert said.parameters == {"get_weather": ("city",)}


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"messages": {"role": "user"}, "tools": {"name": 1}, "model": 3, "system": None},
        {"messages": [None, 1, [], "x", {"content": 5}], "tools": [None, {"name": 1}, []]},
        {"messages": [user(None, {"type": 3}, {"type": "tool_addition", "tool": []})]},
    ],
    ids=["null", "list", "string", "empty", "wrong types", "wrong entries", "wrong blocks"],
)
def test_malformed_requests_do_not_raise(body: JsonValue) -> None:
    names: dict[str, str] = {}
    for raw in MESSAGES.message_list(body):
        MESSAGES.message(raw, names)
    assert MESSAGES.said(body).system == ""
    assert all(part.path.startswith("$.") for part in MESSAGES.envelope(body).parts)
    assert names == {}


def test_equal_requests_have_equal_lists_and_others_do_not() -> None:
    body: JsonObject = {"system": "s", "messages": CALLED}
    units = MESSAGES.message_list(body)
    assert len(units) == 6
    again = MESSAGES.message_list(copy.deepcopy(body))
    assert all(map(same, units, again)) and len(again) == 6
    cached: JsonObject = {"type": "ephemeral"}
    marked = MESSAGES.message_list(body | {"system": [text("s", cache_control=cached)]})
    assert [same(*pair) for pair in zip(units, marked, strict=True)] == [False, *[True] * 5]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (502, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_errors_have_the_shape_that_clients_read(status: int, kind: str) -> None:
    details: JsonObject = {"error_code": "flowproof_divergence"}
    assert MESSAGES.error(status, "what happened", "flowproof_divergence") == {
        "type": "error",
        "error": {"type": kind, "message": "what happened", "details": details},
        "request_id": None,
    }


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("model", "$.model", "model"),
        ("tool names", "$.tools[1]", "tool names or their order"),
        ("tools", "$.tools[0].description", "tool description"),
        ("tools", "$.tools[0].input_schema.properties.description", "tool parameter schema"),
        ("tools", "$.tools[0].cache_control.ttl", "cache control"),
        ("tools", "$.tools[0].max_uses", "tool definition"),
        ("roles", "$.messages[1]", "message roles"),
        ("max_tokens", "$.max_tokens", "max_tokens"),
        ("thread", "$.thread.previous_message_id", "thread"),
    ],
)
def test_kinds_of_differences_in_the_envelope(name: str, path: str, kind: str) -> None:
    assert MESSAGES.part_kind(name, path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("$.system", "system text"),
        ("$.system[0].text", "system text"),
        ("$.system[0].cache_control", "cache control"),
        ("$.messages[0].content", "user text"),
        ("$.messages[1].content[0].text", "assistant text"),
        ("$.messages[1].content[0]", "assistant text"),
        ("$.messages[1].content[0].citations[0]", "assistant content block"),
        ("$.messages[1].content[1].input.q", "tool call arguments"),
        ("$.messages[1].content[1].name", "tool call name"),
        ("$.messages[1].content[1].id", "tool call id"),
        ("$.messages[1].content[1]", "tool call"),
        ("$.messages[1].content[2].thinking", "thinking"),
        ("$.messages[1].content[2].signature", "thinking signature"),
        ("$.messages[1].content[3].data", "thinking"),
        ("$.messages[1].content[4].input", "server tool call"),
        ("$.messages[1].content[5].content[0]", "server tool result"),
        ("$.messages[1].content[9]", "assistant content block"),
        ("$.messages[2].content[0].content", "tool result"),
        ("$.messages[2].content[0].content[0].text", "tool result"),
        ("$.messages[2].content[0].content[1].source.data", "image"),
        ("$.messages[2].content[0].tool_use_id", "tool call id"),
        ("$.messages[2].content[0].is_error", "tool result's is_error"),
        ("$.messages[2].content[0].cache_control", "cache control"),
        ("$.messages[2].content[1].source.data", "image"),
        ("$.messages[2].content[2].source.url", "document"),
        ("$.messages[3].content", "system text"),
        ("$.messages[1].name", "assistant message's name"),
        ("$.messages[1]", "message"),
        ("$.messages[99].content", "user text"),
        ("$.messages", "messages"),
        ("$", "request"),
        ('$["odd key"]', "request"),
    ],
)
def test_kinds_of_differences_in_messages(path: str, kind: str) -> None:
    image: JsonObject = {"type": "image", "source": {}}
    pinned: JsonObject = {
        "system": [text("s")],
        "messages": [
            {"role": "user", "content": "go"},
            assistant(
                text("t"),
                tool_use("search", {"q": 1}),
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"},
                {"type": "server_tool_use", "name": "web_search"},
                {"type": "web_search_tool_result", "content": []},
            ),
            user(result("toolu_1", [text("r"), image]), image, {"type": "document"}),
            {"role": "system", "content": "a reminder"},
        ],
    }
    assert MESSAGES.message_kind(pinned, path) == kind
