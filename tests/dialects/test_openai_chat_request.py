"""Requests of the chat dialect: routed, split, mocked, and taken apart for comparison."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects.interface import Substitution, Target
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.turn import Operation
from tests.dialects.openai_chat_tools import CHAT

TOOLS: list[JsonValue] = [
    {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}},
    {"type": "custom", "custom": {"name": "shell"}},
    {"type": "web_search"},
]


def call(call_id: str, name: str) -> JsonObject:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def calling(*calls: JsonValue) -> JsonObject:
    return {"role": "assistant", "content": None, "tool_calls": [*calls]}


def result(call_id: str, content: JsonValue) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.mark.parametrize(
    "path",
    [
        "/chat/completions",
        "/v1/chat/completions",
        "/v1/chat/completions/",
        "/v1/v1/chat/completions",
        "/gateway/team-a/openai/v1/chat/completions",
    ],
)
def test_every_prefix_names_the_same_operation(path: str) -> None:
    assert CHAT.operation("POST", path) == Operation("openai.chat", "/chat/completions")


def test_a_deployment_in_the_path_names_the_model_and_is_part_of_the_operation() -> None:
    operation = CHAT.operation("POST", "/openai/deployments/gpt-4o/chat/completions")
    assert operation == Operation("openai.chat", "/deployments/gpt-4o/chat/completions")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/chat/completions"),
        ("POST", "/v1/completions"),
        ("POST", "/v1/chat/completions/chatcmpl-1"),
        ("POST", "/v1/xchat/completions"),
        ("POST", "/openai/deployments/my%20gpt/chat/completions"),
        ("POST", "/openai/deployments/a%2Fb/chat/completions"),
        ("POST", "/openai/deployments/team/gpt-4o/chat/completions"),
        ("POST", "/openai/Deployments/-x/chat/completions"),
        ("POST", "/openai/deployments/../chat/completions"),
        ("POST", "/openai%2Fdeployments%2Fx/chat/completions"),
        ("POST", "/openai/deployments/a/deployments/b/chat/completions"),
        ("POST", "/"),
        ("POST", ""),
    ],
)
def test_other_requests_are_not_ours(method: str, path: str) -> None:
    assert CHAT.operation(method, path) is None


@pytest.mark.parametrize(
    ("transport", "stream", "usage", "forwarded"),
    [
        pytest.param({}, False, False, {}, id="plain"),
        pytest.param({"stream": False}, False, False, {"stream": False}, id="not streaming"),
        pytest.param({"stream": "yes"}, False, False, {"stream": "yes"}, id="no boolean"),
        pytest.param({"stream": 1}, False, False, {"stream": 1}, id="one is not true"),
        pytest.param(
            {"stream": True},
            True,
            False,
            {"stream": True, "stream_options": {"include_usage": True}},
            id="stream",
        ),
        pytest.param(
            {"stream": True, "stream_options": None},
            True,
            False,
            {"stream": True, "stream_options": {"include_usage": True}},
            id="null options",
        ),
        pytest.param(
            {"stream": True, "stream_options": {"include_usage": True}},
            True,
            True,
            {"stream": True, "stream_options": {"include_usage": True}},
            id="usage",
        ),
        pytest.param(
            {
                "stream": True,
                "stream_options": {"include_obfuscation": False, "include_usage": False},
            },
            True,
            False,
            {
                "stream": True,
                "stream_options": {"include_obfuscation": False, "include_usage": True},
            },
            id="other options kept",
        ),
        pytest.param(
            {"stream": True, "stream_options": "all"},
            True,
            False,
            {"stream": True, "stream_options": "all"},
            id="odd options are the upstream's to refuse",
        ),
    ],
)
def test_transport_is_not_pinned_and_put_back(
    transport: JsonObject, stream: bool, usage: bool, forwarded: JsonObject
) -> None:
    pinned: JsonObject = {"model": "m", "messages": [], "unknown": [1]}
    body = pinned | transport
    before = copy.deepcopy(body)
    asked = CHAT.asked(body, Target("/v1/chat/completions"))
    assert (asked.pinned, asked.stream, asked.stream_usage) == (pinned, stream, usage)
    assert CHAT.forwarded(asked.pinned, asked) == pinned | forwarded
    assert body == before


def test_results_are_replaced_whatever_their_content_was() -> None:
    body: JsonObject = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            calling(call("a", "search"), call("b", "book"), call("c", "search")),
            result("a", "real a"),
            result("b", "real b"),
            result("c", [{"type": "text", "text": "real c"}]),
        ],
    }
    before = copy.deepcopy(body)
    asked: list[tuple[str, str | None, int, str]] = []

    def mocks(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
        asked.append((tool, call_id, occurrence, arguments))
        return f"mock {call_id}" if tool == "search" else None

    changed, tools = CHAT.substitute(body, mocks, {})
    messages = CHAT.message_list(changed)
    assert messages[2] == result("a", "mock a")
    assert messages[3] is CHAT.message_list(body)[3]
    assert messages[4] == result("c", "mock c")
    assert tools == ("search", "search")
    assert asked == [("search", "a", 0, "{}"), ("book", "b", 0, "{}"), ("search", "c", 0, "{}")]
    assert body == before


def test_a_reused_id_counts_up_and_means_the_latest_call() -> None:
    body: JsonObject = {
        "messages": [
            calling(call("x", "search")),
            result("x", "1"),
            calling(call("x", "book")),
            result("x", "2"),
        ]
    }
    changed, tools = CHAT.substitute(body, lambda tool, _id, nth, _arguments: f"{tool} {nth}", {})
    assert [m.get("content") for m in CHAT.message_list(changed) if isinstance(m, dict)] == [
        None,
        "search 0",
        None,
        "book 1",
    ]
    assert tools == ("search", "book")


def test_legacy_functions_are_replaced_by_name() -> None:
    body: JsonObject = {
        "messages": [
            {"role": "assistant", "function_call": {"name": "search", "arguments": "{}"}},
            {"role": "function", "name": "search", "content": "1"},
            {"role": "function", "name": "search", "content": "2"},
        ]
    }
    changed, tools = CHAT.substitute(
        body, lambda tool, call_id, nth, said: f"{tool} {call_id} {nth} {said}", {}
    )
    contents = [m["content"] for m in CHAT.message_list(changed)[1:] if isinstance(m, dict)]
    assert contents == ["search None 0 {}", "search None 1 {}"]
    assert tools == ("search", "search")


@pytest.mark.parametrize(
    ("made", "arguments"),
    [
        pytest.param({"function": {"name": "t", "arguments": '{"a": 1}'}}, '{"a": 1}', id="text"),
        pytest.param({"function": {"name": "t", "arguments": {"a": 1}}}, '{"a":1}', id="object"),
        pytest.param({"custom": {"name": "t", "input": "ls"}}, "ls", id="custom"),
        pytest.param({"function": {"name": "t"}}, "", id="none"),
    ],
)
def test_a_substitution_is_told_the_arguments(made: JsonObject, arguments: str) -> None:
    body: JsonObject = {"messages": [calling({"id": "a", **made}), result("a", "real")]}
    changed, _ = CHAT.substitute(body, lambda _tool, _id, _nth, arguments: arguments, {})
    assert CHAT.message_list(changed)[1] == result("a", arguments)


def never(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return None


def always(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return "mock"


@pytest.mark.parametrize(
    ("messages", "substitution"),
    [
        pytest.param([calling(call("a", "search")), result("a", "r")], never, id="not mocked"),
        pytest.param(
            [result("a", "r"), calling(call("a", "search"))], always, id="call comes later"
        ),
        pytest.param([calling(call("b", "search")), result("a", "r")], always, id="other id"),
        pytest.param([calling({"id": "a"}, 1, None), {"role": "tool"}], always, id="malformed"),
        pytest.param(
            [calling(call("a", "search")), {"role": "user", "tool_call_id": "a"}], always, id="role"
        ),
        pytest.param("nothing", always, id="no list"),
    ],
)
def test_where_nothing_is_replaced_the_same_body_comes_back(
    messages: JsonValue, substitution: Substitution
) -> None:
    body: JsonObject = {"messages": messages}
    changed, tools = CHAT.substitute(body, substitution, {})
    assert changed is body
    assert tools == ()


def test_envelope_parts_come_in_the_order_of_reporting() -> None:
    body: JsonObject = {
        "temperature": 0.5,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, 3],
        "tools": TOOLS,
        "aaa_unknown": {"x": 1},
        "model": "m",
    }
    parts = [(part.name, part.path, part.value) for part in CHAT.envelope(body).parts]
    assert parts == [
        ("model", "$.model", "m"),
        ("tool names", "$.tools", ["search", "shell", "web_search"]),
        ("tools", "$.tools", TOOLS),
        ("roles", "$.messages", ["system", "user", None]),
        ("aaa_unknown", "$.aaa_unknown", {"x": 1}),
        ("temperature", "$.temperature", 0.5),
    ]


def test_envelope_of_a_legacy_request() -> None:
    functions: JsonValue = [{"name": "search", "parameters": {}}]
    parts = CHAT.envelope({"functions": functions, "messages": []}).parts
    assert [(part.name, part.path, part.value) for part in parts] == [
        ("tool names", "$.functions", ["search"]),
        ("functions", "$.functions", functions),
        ("roles", "$.messages", []),
    ]


def test_said_tells_model_opening_instructions_and_tools() -> None:
    said = CHAT.said(
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
                {"role": "user", "content": "u"},
                {"role": "system", "content": "a reminder in mid-conversation"},
            ],
            "tools": TOOLS,
        }
    )
    assert said.model == "m"
    assert said.system == "Be brief.\nBe kind."
    assert said.tools == ("search", "shell", "web_search")


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"messages": {"role": "user"}, "tools": {"name": 1}, "model": 3},
        {
            "messages": [None, 1, [], "x"],
            "tools": [None, {"function": []}, {"function": {"name": 1}}],
        },
    ],
    ids=["null", "list", "string", "empty", "wrong types", "wrong entries"],
)
def test_malformed_requests_do_not_raise(body: JsonValue) -> None:
    names: dict[str, str] = {}
    for raw in CHAT.message_list(body):
        CHAT.message(raw, names)
    assert CHAT.said(body).system == ""
    assert all(part.path.startswith("$.") for part in CHAT.envelope(body).parts)
    assert names == {}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (502, "server_error"),
    ],
)
def test_errors_have_the_shape_that_clients_read(status: int, kind: str) -> None:
    assert CHAT.error(status, "what happened", "flowproof_divergence") == {
        "error": {
            "message": "what happened",
            "type": kind,
            "param": None,
            "code": "flowproof_divergence",
        }
    }


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("model", "$.model", "model"),
        ("tool names", "$.tools[1]", "tool names or their order"),
        ("tools", "$.tools[0].function.description", "tool description"),
        ("tools", "$.tools[0].function.parameters.properties.description", "tool parameter schema"),
        ("tools", "$.tools[0].custom.format.type", "tool parameter schema"),
        ("tools", "$.tools[0].function.strict", "tool definition"),
        ("functions", "$.functions[0].description", "tool description"),
        ("roles", "$.messages[1]", "message roles"),
        ("temperature", "$.temperature", "temperature"),
        ("response_format", "$.response_format.type", "response_format"),
    ],
)
def test_kinds_of_differences_in_the_envelope(name: str, path: str, kind: str) -> None:
    assert CHAT.part_kind(name, path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("$.messages[0].content", "system text"),
        ("$.messages[1].content", "user text"),
        ("$.messages[1].content[0].text", "user content part text"),
        ("$.messages[1].content[0].image_url.url", "image"),
        ("$.messages[1].content[0].input_audio.data", "audio"),
        ("$.messages[1].content[0].file.file_id", "file"),
        ("$.messages[1].content[2]", "user content part"),
        ("$.messages[2].tool_calls[0].function.arguments", "tool call arguments"),
        ("$.messages[2].tool_calls[0].custom.input", "tool call arguments"),
        ("$.messages[2].tool_calls[0].function.name", "tool call name"),
        ("$.messages[2].tool_calls[0].id", "tool call id"),
        ("$.messages[2].tool_calls[1]", "tool call"),
        ("$.messages[2].tool_calls", "tool call"),
        ("$.messages[2].function_call.arguments", "tool call arguments"),
        ("$.messages[3].tool_call_id", "tool call id"),
        ("$.messages[3].content", "tool result"),
        ("$.messages[1].name", "user message's name"),
        ("$.messages[1]", "message"),
        ("$.messages[99].content", "user text"),
        ("$.messages", "messages"),
        ("$", "request"),
        ('$["odd key"]', "request"),
    ],
)
def test_kinds_of_differences_in_messages(path: str, kind: str) -> None:
    pinned: JsonObject = {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": []},
            calling(call("a", "search")),
            result("a", "r"),
        ]
    }
    assert CHAT.message_kind(pinned, path) == kind
