"""Requests of Ollama's dialects: routed, split, mocked, and taken apart for comparison."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects import registry
from flowproof.dialects.interface import Target
from flowproof.dialects.ollama import Ollama
from flowproof.dialects.ollama_chat import OllamaChat
from flowproof.dialects.ollama_generate import OllamaGenerate
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.turn import Operation
from tests.dialects.ollama_tools import CHAT, GENERATE, call

TOOLS: list[JsonValue] = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        },
    },
    {"type": "function", "function": {"name": "book"}},
]
BOTH = pytest.mark.parametrize("dialect", [CHAT, GENERATE], ids=["chat", "generate"])


@BOTH
@pytest.mark.parametrize("prefix", ["", "/v1", "/gateway/ollama", "/api", "/v1/v1"])
@pytest.mark.parametrize("end", ["", "/"])
def test_every_prefix_names_the_same_operation(dialect: Ollama, prefix: str, end: str) -> None:
    path = f"{prefix}{dialect.path}{end}"
    assert dialect.operation("POST", path) == Operation(dialect.name, dialect.path)
    found = registry.find("post", path)
    assert found == (registry.by_name(dialect.name), Operation(dialect.name, dialect.path))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/chat"),
        ("POST", "/api/chatter"),
        ("POST", "/api/chat/completions"),
        ("POST", "/xapi/chat"),
        ("POST", "/api/chat//"),
        ("POST", "/chat"),
        ("POST", "/api/generated"),
        ("POST", "/api/embed"),
        ("POST", "/"),
        ("POST", ""),
    ],
)
def test_other_requests_are_not_ours(method: str, path: str) -> None:
    assert CHAT.operation(method, path) is None
    assert GENERATE.operation(method, path) is None


def test_each_serves_its_own_path() -> None:
    assert CHAT.operation("POST", "/api/generate") is None
    assert GENERATE.operation("POST", "/api/chat") is None
    found = registry.find("POST", "/api/chat/completions")
    assert found is not None and found[0].name == "openai.chat"


@BOTH
@pytest.mark.parametrize(
    ("transport", "stream"),
    [
        pytest.param({}, True, id="the server streams by default"),
        pytest.param({"stream": True}, True, id="stream"),
        pytest.param({"stream": None}, True, id="null is the default"),
        pytest.param({"stream": False}, False, id="plain"),
        pytest.param({"stream": "no"}, True, id="no boolean"),
        pytest.param({"stream": 0}, True, id="zero is not false"),
    ],
)
def test_transport_is_not_pinned_and_put_back(
    dialect: Ollama, transport: JsonObject, stream: bool
) -> None:
    pinned: JsonObject = {"model": "m", "keep_alive": "5m", "unknown": [1]}
    body = pinned | transport
    before = copy.deepcopy(body)
    asked = dialect.asked(body, Target("/v1" + dialect.path, "a=b"))
    assert (asked.pinned, asked.stream) == (pinned, stream)
    assert dialect.forwarded(asked.pinned, asked) == body == before
    assert ("application/json" in dialect.framing(asked).media_types) is stream
    assert "application/x-ndjson" in dialect.framing(asked).media_types


@BOTH
def test_a_request_goes_to_its_own_path(dialect: Ollama) -> None:
    target = Target("/v1" + dialect.path, "a=b")
    operation = dialect.operation("POST", target.path)
    assert operation is not None
    asked = dialect.asked({}, target)
    assert dialect.destination(operation, asked, target) == Target(dialect.path, "a=b")
    assert dialect.model_of(operation) is None


def test_envelope_parts_come_in_the_order_of_reporting() -> None:
    body: JsonObject = {
        "think": True,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, 3],
        "tools": TOOLS,
        "options": {"seed": 1},
        "model": "m",
    }
    parts = [(part.name, part.path, part.value) for part in CHAT.envelope(body).parts]
    assert parts == [
        ("model", "$.model", "m"),
        ("tool names", "$.tools", ["search", "book"]),
        ("tools", "$.tools", TOOLS),
        ("roles", "$.messages", ["system", "user", None]),
        ("options", "$.options", {"seed": 1}),
        ("think", "$.think", True),
    ]


def test_the_instructions_of_a_prompt_are_no_part_of_the_envelope() -> None:
    body: JsonObject = {
        "system": "s",
        "prompt": "p",
        "images": ["AAAA"],
        "context": [1, 2],
        "raw": False,
        "model": "m",
    }
    parts = [(part.name, part.path, part.value) for part in GENERATE.envelope(body).parts]
    assert parts == [
        ("model", "$.model", "m"),
        ("context", "$.context", [1, 2]),
        ("raw", "$.raw", False),
    ]
    assert GENERATE.part_kind("context", "$.context[1]") == "context"


def test_said_tells_model_opening_instructions_and_tools() -> None:
    said = CHAT.said(
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "u"},
                {"role": "system", "content": "a reminder in mid-conversation"},
            ],
            "tools": TOOLS,
        }
    )
    assert (said.model, said.system, said.tools) == ("m", "Be brief.", ("search", "book"))
    assert said.parameters == {"search": ("q",)}
    said = GENERATE.said({"model": "m", "system": "Be kind.", "prompt": "p"})
    assert (said.model, said.system, said.tools) == ("m", "Be kind.", ())


@BOTH
@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"messages": {"role": "user"}, "tools": {"name": 1}, "model": 3, "system": 4, "prompt": []},
        {"messages": [None, 1, [], "x", {"role": []}], "system": [], "prompt": {}, "images": 3},
    ],
    ids=["null", "list", "string", "empty", "wrong types", "wrong entries"],
)
def test_malformed_requests_do_not_raise(
    dialect: OllamaChat | OllamaGenerate, body: JsonValue
) -> None:
    names: dict[str, str] = {}
    for raw in dialect.message_list(body):
        dialect.message(raw, names)
    assert dialect.said(body).system == ""
    assert all(part.path.startswith("$.") for part in dialect.envelope(body).parts)
    assert dialect.message_kind(body, "$.messages[7].content") in ("user text", "request")
    assert names == {}


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("model", "$.model", "model"),
        ("tool names", "$.tools[1]", "tool names or their order"),
        ("tools", "$.tools[0].function.description", "tool description"),
        ("tools", "$.tools[0].function.parameters.properties.q", "tool parameter schema"),
        ("roles", "$.messages[1]", "message roles"),
        ("options", "$.options.temperature", "options"),
        ("format", "$.format.type", "format"),
    ],
)
def test_kinds_of_differences_in_the_envelope(name: str, path: str, kind: str) -> None:
    assert CHAT.part_kind(name, path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("$.messages[0].content", "system text"),
        ("$.messages[1].content", "user text"),
        ("$.messages[1].images[0]", "image"),
        ("$.messages[1].images", "image"),
        ("$.messages[2].thinking", "thinking"),
        ("$.messages[2].tool_calls[0].function.arguments.city", "tool call arguments"),
        ("$.messages[2].tool_calls[0].function.arguments", "tool call arguments"),
        ("$.messages[2].tool_calls[0].function.name", "tool call name"),
        ("$.messages[2].tool_calls[0].id", "tool call id"),
        ("$.messages[2].tool_calls[1]", "tool call"),
        ("$.messages[3].content", "tool result"),
        ("$.messages[3].tool_name", "tool result's tool"),
        ("$.messages[3].tool_call_id", "tool call id"),
        ("$.messages[1]", "message"),
        ("$.messages[99].content", "user text"),
        ("$.messages", "messages"),
        ("$", "request"),
        ("$" + ".a" * 5000, "request"),
    ],
)
def test_kinds_of_differences_in_messages(path: str, kind: str) -> None:
    pinned: JsonObject = {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u", "images": []},
            {"role": "assistant", "tool_calls": [call("search", {"city": "Oslo"})]},
            {"role": "tool", "content": "r"},
        ]
    }
    assert CHAT.message_kind(pinned, path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("$.system", "system text"),
        ("$.prompt", "user text"),
        ("$.images[1]", "image"),
        ("$", "request"),
    ],
)
def test_kinds_of_differences_in_a_prompt(path: str, kind: str) -> None:
    assert GENERATE.message_kind({}, path) == kind


@BOTH
def test_errors_have_the_shape_that_clients_read(dialect: Ollama) -> None:
    assert dialect.error(400, "what happened", "code") == {"error": "what happened"}
