"""Requests of the Gemini dialect: routed, split, and taken apart for comparison."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects import registry
from flowproof.dialects.interface import Target
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.turn import Operation
from tests.dialects.google_generate_tools import GEMINI, call, content, result, text

FLASH = Operation("google.generate", "/models/gemini-2.5-flash:generateContent")
TOOLS: list[JsonValue] = [
    {
        "functionDeclarations": [
            {
                "name": "search",
                "description": "Looks things up",
                "parameters": {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}},
            },
            {"name": "open", "parametersJsonSchema": {"type": "object"}},
        ]
    },
    {"googleSearch": {}},
    {"codeExecution": {}},
]


@pytest.mark.parametrize("method", ["generateContent", "streamGenerateContent"])
@pytest.mark.parametrize(
    "prefix",
    ["", "/v1", "/v1beta", "/v1alpha", "/v1/v1beta", "/v1/v1", "/gateway/team-a/v1beta", "/v2"],
    ids=lambda prefix: prefix or "none",
)
def test_every_prefix_and_both_methods_name_the_same_operation(prefix: str, method: str) -> None:
    path = f"{prefix}/models/gemini-2.5-flash:{method}"
    assert GEMINI.operation("POST", path) == FLASH
    assert registry.find("POST", path) == (registry.by_name("google.generate"), FLASH)


def test_a_tuned_model_is_an_operation_of_its_own() -> None:
    operation = GEMINI.operation("POST", "/v1beta/tunedModels/mine-7:generateContent")
    assert operation == Operation("google.generate", "/tunedModels/mine-7:generateContent")
    assert GEMINI.model_of(operation) == "mine-7"


def test_the_path_names_the_model() -> None:
    assert GEMINI.model_of(FLASH) == "gemini-2.5-flash"
    assert GEMINI.model_of(Operation("google.generate", "/other")) is None


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1beta/models/m:generateContent"),
        ("POST", "/v1beta/models/m"),
        ("POST", "/v1beta/models/m:countTokens"),
        ("POST", "/v1beta/models/m:batchGenerateContent"),
        ("POST", "/v1beta/models/m:generateContent/"),
        ("POST", "/v1beta/models/m:generateContent/x"),
        ("POST", "/v1beta/models/:generateContent"),
        ("POST", "/v1beta/models/a/b:generateContent"),
        ("POST", "/v1beta/models/..:generateContent"),
        ("POST", "/v1beta/models/a%2Fb:generateContent"),
        ("POST", "/v1beta/models/a%2e:generateContent"),
        ("POST", "/v1beta/models/a:b:generateContent"),
        ("POST", "/v1beta/models/a?b:generateContent"),
        ("POST", "/v1beta/models/\u00e9:generateContent"),
        ("POST", "/v1beta/xmodels/m:generateContent"),
        ("POST", "/v1/projects/p/locations/l/publishers/google/models/m:generateContent"),
        ("POST", "/v1beta/models/m:generateContent\n"),
        ("POST", ""),
    ],
)
def test_other_requests_are_not_ours(method: str, path: str) -> None:
    assert GEMINI.operation(method, path) is None


@pytest.mark.parametrize(
    ("method", "query", "stream", "transport"),
    [
        pytest.param("generateContent", "", False, {}, id="plain"),
        pytest.param("generateContent", "alt=sse", False, {}, id="plain, whatever the query"),
        pytest.param("streamGenerateContent", "alt=sse", True, {"alt": "sse"}, id="events"),
        pytest.param("streamGenerateContent", "$alt=sse", True, {"alt": "sse"}, id="system name"),
        pytest.param("streamGenerateContent", "k=1&%61lt=sse", True, {"alt": "sse"}, id="escaped"),
        pytest.param("streamGenerateContent", "", True, {"alt": "json"}, id="array"),
        pytest.param("streamGenerateContent", "alt=json", True, {"alt": "json"}, id="named array"),
        pytest.param("streamGenerateContent", "valt=sse", True, {"alt": "json"}, id="other member"),
    ],
)
def test_path_and_query_say_how_to_answer_and_all_of_the_body_is_pinned(
    method: str, query: str, stream: bool, transport: JsonObject
) -> None:
    body: JsonObject = {"contents": [content(text("Hi"))], "stream": True, "unknown": [1]}
    before = copy.deepcopy(body)
    asked = GEMINI.asked(body, Target(f"/v1beta/models/m:{method}", query))
    assert (asked.pinned, asked.stream, asked.transport) == (before, stream, transport)
    assert GEMINI.forwarded(asked.pinned, asked) == before
    framing = GEMINI.framing(asked)
    media = "application/json" if transport == {"alt": "json"} else "text/event-stream"
    assert framing.media_types == {media}
    assert framing.content_type.startswith(media)


@pytest.mark.parametrize(
    ("path", "query", "to"),
    [
        ("/v1/models/m:generateContent", "", "/v1/models/m:generateContent"),
        ("/v1beta/models/m:generateContent", "", "/v1beta/models/m:generateContent"),
        ("/v1alpha/models/m:generateContent", "a=1", "/v1alpha/models/m:generateContent?a=1"),
        ("/models/m:generateContent", "", "/v1beta/models/m:generateContent"),
        ("/v1/v1beta/models/m:generateContent", "", "/v1beta/models/m:generateContent"),
        ("/a/../v1/models/m:generateContent", "", "/v1/models/m:generateContent"),
        (
            "/models/m:streamGenerateContent",
            "alt=sse",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
        ),
        (
            "/v1/tunedModels/t:streamGenerateContent",
            "alt=sse&key=AIza&x=%2Fy",
            "/v1/tunedModels/t:streamGenerateContent?alt=sse&x=%2Fy",
        ),
        ("/v1/models/m:generateContent", "KEY=a&%6bey=b&key", "/v1/models/m:generateContent"),
        (
            "/v1/models/m:generateContent",
            "access_token=a&$access_token=b&oauth_token=c&monkey=d",
            "/v1/models/m:generateContent?monkey=d",
        ),
    ],
)
def test_a_request_goes_to_the_version_it_names_without_credentials(
    path: str, query: str, to: str
) -> None:
    target = Target(path, query)
    operation = GEMINI.operation("POST", path)
    assert operation is not None
    found = GEMINI.destination(operation, GEMINI.asked({}, target), target)
    assert found.path + ("?" if found.query else "") + found.query == to


def test_envelope_parts_come_in_the_order_of_reporting() -> None:
    roles: list[JsonValue] = [content(text("u"), role="user"), content(text("m")), 3]
    body: JsonObject = {
        "generationConfig": {"temperature": 0.5},
        "contents": roles,
        "systemInstruction": content(text("s"), role="user"),
        "tools": TOOLS,
        "cachedContent": "cachedContents/1",
        "model": "models/m",
    }
    parts = [(part.name, part.path, part.value) for part in GEMINI.envelope(body).parts]
    assert parts == [
        ("model", "$.model", "models/m"),
        ("tool names", "$.tools", ["search", "open", "googleSearch", "codeExecution"]),
        ("tools", "$.tools", TOOLS),
        ("roles", "$.contents", ["user", "model", None]),
        ("cachedContent", "$.cachedContent", "cachedContents/1"),
        ("generationConfig", "$.generationConfig", {"temperature": 0.5}),
    ]


def test_said_tells_the_instructions_the_tools_and_their_arguments() -> None:
    said = GEMINI.said(
        {
            "systemInstruction": content(text("Be brief."), text("Be kind."), role="user"),
            "contents": [content(text("u"), role="user")],
            "tools": TOOLS,
        }
    )
    assert (said.model, said.system) == (None, "Be brief.\nBe kind.")
    assert said.tools == ("search", "open", "google_search", "code_execution")
    assert said.served == ("google_search", "code_execution")
    assert said.parameters == {"search": ("q",)}
    assert said.continues is None


@pytest.mark.parametrize(
    "instructions",
    [
        {"system_instruction": {"parts": [{"text": "Be brief."}]}},
        {"systemInstruction": {"parts": {"text": "Be brief."}}},
        {"systemInstruction": "Be brief."},
        {"systemInstruction": [{"text": "Be brief."}]},
    ],
    ids=["snake case", "one part", "string", "parts alone"],
)
def test_instructions_are_read_in_every_spelling_and_come_first(instructions: JsonObject) -> None:
    body: JsonObject = {"contents": [content(text("u"), role="user")], **instructions}
    assert GEMINI.said(body).system == "Be brief."
    first = GEMINI.message(GEMINI.message_list(body)[0], {})
    assert (first.role, first.text) == ("system", "Be brief.")
    assert len(GEMINI.message_list(body)) == 2


def test_tools_are_read_in_snake_case_and_of_two_schemas_both_count() -> None:
    declarations: list[JsonValue] = [
        {"name": "f", "parameters_json_schema": {"properties": {"a": {}}}},
        {"name": "f", "parameters": {"properties": {"b": {}}}},
        {"name": "g", "parameters": {"properties": {"b": {}}}},
        {"name": "g"},
    ]
    said = GEMINI.said({"tools": {"function_declarations": declarations, "google_search": {}}})
    assert said.tools == ("f", "g", "google_search")
    assert said.parameters == {"f": ("a", "b")}


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"contents": 3, "tools": "x", "systemInstruction": 1, "model": 3},
        {"contents": [None, 1, [], {"parts": 7}], "tools": [None, {"functionDeclarations": [1]}]},
    ],
    ids=["null", "list", "string", "empty", "wrong types", "wrong entries"],
)
def test_malformed_requests_do_not_raise(body: JsonValue) -> None:
    names: dict[str, str] = {}
    for raw in GEMINI.message_list(body):
        GEMINI.message(raw, names)
    assert GEMINI.said(body).parameters == {}
    assert all(part.path.startswith("$.") for part in GEMINI.envelope(body).parts)
    assert names == {}


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (404, "NOT_FOUND"),
        (413, "INVALID_ARGUMENT"),
        (426, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (502, "UNAVAILABLE"),
        (599, "INTERNAL"),
    ],
)
def test_errors_have_the_shape_that_clients_read(status: int, name: str) -> None:
    assert GEMINI.error(status, "what happened", "flowproof_divergence") == {
        "error": {
            "code": status,
            "message": "what happened",
            "status": name,
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "flowproof_divergence",
                    "domain": "flowproof",
                }
            ],
        }
    }


DECLARED = "$.tools[0].functionDeclarations[0]"


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("model", "$.model", "model"),
        ("tool names", "$.tools[1]", "tool names or their order"),
        ("tools", f"{DECLARED}.description", "tool description"),
        ("tools", f"{DECLARED}.parameters.properties.q.description", "tool parameter schema"),
        ("tools", f"{DECLARED}.parametersJsonSchema.type", "tool parameter schema"),
        ("tools", f"{DECLARED}.behavior", "tool definition"),
        ("tools", "$.tools[1].googleSearch.x", "tool definition"),
        ("roles", "$.contents[1]", "message roles"),
        ("generationConfig", "$.generationConfig.temperature", "temperature"),
        ("generationConfig", "$.generationConfig.thinkingConfig.thinkingBudget", "thinkingConfig"),
        ("generationConfig", "$.generationConfig", "generationConfig"),
        ("safetySettings", "$.safetySettings[0].threshold", "safetySettings"),
    ],
)
def test_kinds_of_differences_in_the_envelope(name: str, path: str, kind: str) -> None:
    assert GEMINI.part_kind(name, path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("$.systemInstruction", "system text"),
        ("$.systemInstruction.parts[0].text", "system text"),
        ("$.contents[0].parts[0].text", "user text"),
        ("$.contents[0].parts[1].inlineData.data", "image"),
        ("$.contents[0].parts[2].fileData.fileUri", "file"),
        ("$.contents[0].parts[3].inline_data.data", "audio"),
        ("$.contents[0].parts[7]", "user content part"),
        ("$.contents[0].parts[7].text", "user text"),
        ("$.contents[0].parts", "user content part"),
        ("$.contents[1].parts[0].text", "thinking"),
        ("$.contents[1].parts[0].thoughtSignature", "thought signature"),
        ("$.contents[1].parts[1].functionCall.args.q", "tool call arguments"),
        ("$.contents[1].parts[1].functionCall.name", "tool call name"),
        ("$.contents[1].parts[1].functionCall.id", "tool call id"),
        ("$.contents[1].parts[1].functionCall", "tool call"),
        ("$.contents[1].parts[2].text", "assistant text"),
        ("$.contents[1].parts[3].executableCode.code", "executed code"),
        ("$.contents[1].parts[4].toolCall.args", "server tool call"),
        ("$.contents[2].parts[0].functionResponse.response.result", "tool result"),
        ("$.contents[2].parts[0].functionResponse", "tool result"),
        ("$.contents[2].parts[0].functionResponse.id", "tool call id"),
        ("$.contents[2].parts[0].functionResponse.name", "tool result name"),
        ("$.contents[2].parts[0].partMetadata", "user content part"),
        ("$.contents[1].custom", "assistant message's custom"),
        ("$.contents[1]", "message"),
        ("$.contents[99].parts[0].text", "user text"),
        ("$.contents", "messages"),
        ("$", "request"),
        ('$["odd key"]', "request"),
    ],
)
def test_kinds_of_differences_in_messages(path: str, kind: str) -> None:
    image: JsonValue = {"inlineData": {"mimeType": "image/png", "data": ""}}
    linked: JsonValue = {"fileData": {"mimeType": "application/pdf", "fileUri": "u"}}
    sound: JsonValue = {"inline_data": {"mime_type": "audio/wav", "data": ""}}
    pinned: JsonObject = {
        "contents": [
            content(text("u"), image, linked, sound, role="user"),
            content(text("hm", thought=True), call("search", q="x"), text("a")),
            content(result("search", {"result": "r"}), role="user"),
        ]
    }
    assert GEMINI.message_kind(pinned, path) == kind


@pytest.mark.parametrize(
    ("contents", "path", "kind"),
    [
        (content(text("u"), role="user"), "$.contents.parts[0].text", "user text"),
        ({"parts": text("u")}, "$.contents.parts.text", "user text"),
        ("u", "$.contents", "user text"),
        (["u"], "$.contents[0]", "user text"),
    ],
    ids=["one content", "one part", "a string", "a string in a list"],
)
def test_kinds_in_contents_that_are_no_list(contents: JsonValue, path: str, kind: str) -> None:
    assert GEMINI.message_kind({"contents": contents}, path) == kind
