"""Requests of the Responses API: routed, split, mocked, and taken apart for comparison."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects.interface import Target
from flowproof.dialects.registry import find
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.turn import Operation
from tests.dialects.openai_responses_tools import RESPONSES, call, result

OURS = Operation("openai.responses", "/responses")
SEARCH: JsonObject = {
    "type": "function",
    "name": "search",
    "parameters": {"type": "object", "properties": {"to": {}}, "additionalProperties": False},
}
TOOLS: list[JsonValue] = [
    SEARCH,
    {"type": "custom", "name": "sql"},
    {"type": "web_search"},
    {"type": "computer_use_preview"},
    {"type": "mcp", "server_label": "wiki"},
    {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "book"}]},
]
USER: JsonObject = {"role": "user", "content": "u"}


@pytest.mark.parametrize(
    "path",
    [
        "/responses",
        "/v1/responses",
        "/v1/responses/",
        "/v1/v1/responses",
        "/openai/v1/responses",
        "/openai/responses",
        "/gateway/team-a/v1/responses",
    ],
)
def test_every_prefix_names_the_same_operation(path: str) -> None:
    assert RESPONSES.operation("POST", path) == OURS
    found = find("POST", path)
    assert found is not None
    assert found[1] == OURS


def test_a_deployment_in_the_path_names_the_model_and_is_part_of_the_operation() -> None:
    operation = RESPONSES.operation("POST", "/openai/deployments/gpt-5/responses")
    assert operation == Operation("openai.responses", "/deployments/gpt-5/responses")
    assert RESPONSES.model_of(operation) == "gpt-5"
    assert RESPONSES.model_of(OURS) is None


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/responses"),
        ("POST", "/v1/responses/resp_1"),
        ("GET", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("POST", "/v1/responses/input_tokens"),
        ("POST", "/v1/responses/compact"),
        ("POST", "/v1/xresponses"),
        ("POST", "/openai/deployments/my%20gpt/responses"),
        ("POST", "/openai/deployments/team/gpt-5/responses"),
        ("POST", "/openai/deployments/../responses"),
        ("POST", "/v1/chat/completions"),
        ("POST", ""),
    ],
)
def test_other_requests_are_not_ours(method: str, path: str) -> None:
    assert RESPONSES.operation(method, path) is None


def test_a_request_goes_where_the_base_url_of_the_upstream_says() -> None:
    target = Target("/openai/v1/responses", "api-version=preview")
    asked = RESPONSES.asked({}, target)
    assert RESPONSES.destination(OURS, asked, target) == Target("/responses", "api-version=preview")


@pytest.mark.parametrize(
    ("transport", "stream"),
    [
        pytest.param({}, False, id="plain"),
        pytest.param({"stream": False}, False, id="not streaming"),
        pytest.param({"stream": None}, False, id="null"),
        pytest.param({"stream": "yes"}, False, id="no boolean"),
        pytest.param({"stream": True}, True, id="stream"),
        pytest.param(
            {"stream": True, "stream_options": {"include_obfuscation": False}}, True, id="options"
        ),
    ],
)
def test_transport_is_not_pinned_and_put_back(transport: JsonObject, stream: bool) -> None:
    pinned: JsonObject = {"model": "m", "input": "u", "store": False, "unknown": [1]}
    body = pinned | transport
    before = copy.deepcopy(body)
    asked = RESPONSES.asked(body, Target("/v1/responses"))
    assert (asked.pinned, asked.stream) == (pinned, stream)
    assert RESPONSES.forwarded(asked.pinned, asked) == body == before


def test_envelope_parts_come_in_the_order_of_reporting() -> None:
    body: JsonObject = {
        "temperature": 0.5,
        "instructions": "Be brief.",
        "input": [{"role": "developer", "content": "s"}, USER, call("search"), 3],
        "tools": TOOLS,
        "aaa_unknown": {"x": 1},
        "model": "m",
    }
    parts = [(part.name, part.path, part.value) for part in RESPONSES.envelope(body).parts]
    assert parts == [
        ("model", "$.model", "m"),
        (
            "tool names",
            "$.tools",
            ["search", "sql", "web_search", "computer_use_preview", "mcp", "crm"],
        ),
        ("tools", "$.tools", TOOLS),
        ("roles", "$.input", ["developer", "user", "function_call", None]),
        ("aaa_unknown", "$.aaa_unknown", {"x": 1}),
        ("temperature", "$.temperature", 0.5),
    ]


def test_said_tells_model_instructions_own_tools_and_what_goes_on() -> None:
    said = RESPONSES.said(
        {
            "model": "m",
            "instructions": "Be brief.",
            "input": [{"role": "developer", "content": "Be kind."}, USER],
            "tools": TOOLS,
            "previous_response_id": "resp_1",
        }
    )
    assert (said.model, said.system) == ("m", "Be brief.\nBe kind.")
    assert said.continues == "resp_1"
    assert said.tools == ("search", "sql", "web_search", "computer", "book")
    assert said.served == ("web_search",)
    assert dict(said.parameters) == {"search": ("to",)}


def test_tools_that_an_item_adds_are_on_offer() -> None:
    added: JsonObject = {"type": "additional_tools", "role": "developer", "tools": [SEARCH]}
    assert RESPONSES.said({"input": [USER, added]}).tools == ("search",)


def test_a_tool_with_two_schemas_has_all_their_arguments() -> None:
    other = SEARCH | {"parameters": {"type": "object", "properties": {"at": {}}}}
    left_open = SEARCH | {"parameters": {"type": "object", "additionalProperties": True}}
    assert RESPONSES.said({"tools": [SEARCH, other]}).parameters == {"search": ("to", "at")}
    assert RESPONSES.said({"tools": [SEARCH, left_open]}).parameters == {}


@pytest.mark.parametrize(
    ("body", "roles"),
    [
        pytest.param({"instructions": "s", "input": "u"}, ["system", "user"], id="texts"),
        pytest.param({"instructions": None, "input": "u"}, ["user"], id="null"),
        pytest.param(
            {
                "instructions": [{"role": "developer", "content": "s"}, USER],
                "input": [call("f"), result("call_1", "r")],
            },
            ["system", "user", "assistant", "tool"],
            id="lists",
        ),
        pytest.param({"previous_response_id": "resp_1"}, [], id="no input"),
        pytest.param({"instructions": {"a": 1}, "input": 3}, ["system", "user"], id="odd"),
    ],
)
def test_instructions_come_before_the_input(body: JsonObject, roles: list[str]) -> None:
    listed = RESPONSES.message_list(body)
    assert [RESPONSES.message(one, {}).role for one in listed] == roles


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"input": {"role": []}, "tools": {"name": 1}, "model": 3, "instructions": []},
        {
            "input": [None, 1, [], {}, {"type": 1}, {"type": "additional_tools", "tools": 3}],
            "tools": [None, {"type": []}, {"type": "namespace", "tools": [1]}],
        },
    ],
    ids=["null", "list", "string", "empty", "wrong types", "wrong entries"],
)
def test_malformed_requests_do_not_raise(body: JsonValue) -> None:
    names: dict[str, str] = {}
    for raw in RESPONSES.message_list(body):
        RESPONSES.message(raw, names)
    said = RESPONSES.said(body)
    assert (said.system, said.tools, said.continues) == ("", (), None)
    assert all(part.path.startswith("$.") for part in RESPONSES.envelope(body).parts)
    assert RESPONSES.message_kind(body, "$.input[0].content[0].text")
    assert names == {}


def test_a_namespace_inside_itself_does_not_end_the_stack() -> None:
    tool: JsonObject = {"type": "function", "name": "deep"}
    for _ in range(150):
        tool = {"type": "namespace", "name": "n", "tools": [tool]}
    assert RESPONSES.said({"tools": [tool]}).tools == ()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (401, "authentication_error"), (502, "server_error")],
)
def test_errors_have_the_shape_that_clients_read(status: int, kind: str) -> None:
    assert RESPONSES.error(status, "what happened", "code") == {
        "error": {"message": "what happened", "type": kind, "param": None, "code": "code"}
    }


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("model", "$.model", "model"),
        ("tool names", "$.tools[1]", "tool names or their order"),
        ("tools", "$.tools[0].description", "tool description"),
        ("tools", "$.tools[0].parameters.properties.description", "tool parameter schema"),
        ("tools", "$.tools[0].format.type", "tool parameter schema"),
        ("tools", "$.tools[0].strict", "tool definition"),
        ("roles", "$.input[1]", "message roles"),
        ("reasoning", "$.reasoning.effort", "reasoning"),
        ("previous_response_id", "$.previous_response_id", "previous_response_id"),
    ],
)
def test_kinds_of_differences_in_the_envelope(name: str, path: str, kind: str) -> None:
    assert RESPONSES.part_kind(name, path) == kind


PARTS: list[JsonValue] = [
    {"type": "input_text", "text": "t"},
    {"type": "input_image", "image_url": "https://x"},
    {"type": "input_file", "file_id": "f"},
    {"type": "input_audio", "input_audio": {}},
    {"type": "news"},
]
ITEMS: list[JsonValue] = [
    {"role": "developer", "content": "s"},
    {"role": "user", "content": PARTS},
    call("search"),
    result("call_1", "r"),
    {"type": "reasoning", "summary": []},
    {"type": "web_search_call", "action": {}},
    {"type": "shell_call", "call_id": "a", "action": {}},
    {"id": "msg_1"},
    7,
]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("$.instructions", "system text"),
        ("$.instructions[0].content", "system text"),
        ("$.input[0].content", "system text"),
        ("$.input[1].content", "user text"),
        ("$.input[1].content[0].text", "user text"),
        ("$.input[1].content[1].image_url", "image"),
        ("$.input[1].content[2].file_id", "file"),
        ("$.input[1].content[3].input_audio.data", "audio"),
        ("$.input[1].content[4].x", "user content part"),
        ("$.input[1].content[9]", "user content part"),
        ("$.input[1].phase", "user message's phase"),
        ("$.input[1].id", "item id"),
        ("$.input[1]", "message"),
        ("$.input[2].arguments", "tool call arguments"),
        ("$.input[2].name", "tool call name"),
        ("$.input[2].call_id", "tool call id"),
        ("$.input[2].status", "item status"),
        ("$.input[2]", "tool call"),
        ("$.input[3].output", "tool result"),
        ("$.input[3].output[0].text", "tool result"),
        ("$.input[3].call_id", "tool call id"),
        ("$.input[4].encrypted_content", "reasoning"),
        ("$.input[5].action.query", "web search call"),
        ("$.input[6].action.commands[0]", "tool call arguments"),
        ("$.input[7].x", "item reference"),
        ("$.input[8]", "message"),
        ("$.input[99].content", "message"),
        ("$.input", "messages"),
        ("$", "request"),
        ('$["odd key"]', "request"),
    ],
)
def test_kinds_of_differences_in_items(path: str, kind: str) -> None:
    assert RESPONSES.message_kind({"instructions": "s", "input": ITEMS}, path) == kind


def test_a_text_for_input_is_user_text() -> None:
    assert RESPONSES.message_kind({"input": "u"}, "$.input") == "user text"
