"""Contents and answers of the Gemini API in neutral words, whatever stands in them."""

from __future__ import annotations

import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall
from tests.dialects.google_generate_tools import (
    GEMINI,
    USAGE,
    body,
    call,
    candidate,
    content,
    result,
    text,
)

PNG: JsonObject = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def messages(*contents: JsonValue) -> list[Message]:
    names: dict[str, str] = {}
    return [GEMINI.message(unit, names) for unit in GEMINI.message_list({"contents": [*contents]})]


def test_a_conversation_is_told_message_by_message() -> None:
    found = messages(
        content(text("Weather in Oslo?"), text("And Rome?"), role="user"),
        content(
            text("Let me think", thought=True),
            text("I look"),
            text(" it up."),
            call("weather", "c1", city="Oslo"),
            call("weather", city="Rome"),
        ),
        content(
            result("weather", {"result": "rain"}, "c1"),
            result("weather", {"temperature": 21}),
            text("Go on."),
            role="user",
        ),
    )
    assert found == [
        Message("user", "Weather in Oslo?\nAnd Rome?"),
        Message(
            "assistant",
            "I look it up.",
            (
                ToolCall("c1", "weather", '{"city":"Oslo"}', {"city": "Oslo"}),
                ToolCall(None, "weather", '{"city":"Rome"}', {"city": "Rome"}),
            ),
            attachments=("reasoning (12 characters)",),
        ),
        Message("tool", "rain", call_id="c1", tool="weather"),
        Message("tool", '{"temperature":21}', tool="weather"),
        Message("user", "Go on."),
    ]


@pytest.mark.parametrize(
    ("part", "attached"),
    [
        pytest.param(PNG, "image/png, 3 bytes", id="image"),
        pytest.param(
            {"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}},
            "audio/wav, 3 bytes",
            id="snake case",
        ),
        pytest.param(
            {"fileData": {"mimeType": "video/mp4", "fileUri": "https://e.org/v"}},
            "video (https://e.org/v)",
            id="video",
        ),
        pytest.param({"fileData": {}}, "file (no address)", id="file"),
        pytest.param(
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            "code execution result (OUTCOME_OK)",
            id="code result",
        ),
        pytest.param({"toolResponse": {"id": "1"}}, "server tool result", id="server tool result"),
        pytest.param({"thoughtSignature": "AA"}, "thoughtSignature", id="signature alone"),
        pytest.param({"x" * 200: 1}, "x" * 100, id="unknown"),
        pytest.param({}, "a part without content", id="empty"),
    ],
)
def test_what_is_no_text_is_described(part: JsonValue, attached: str) -> None:
    (message,) = messages(content(part))
    assert (message.text, message.tool_calls, message.attachments) == (None, (), (attached,))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param({"name": "f"}, ToolCall(None, "f", "{}", {}), id="no arguments"),
        pytest.param({"name": "f", "args": None}, ToolCall(None, "f", "{}", {}), id="null"),
        pytest.param(
            {"name": "f", "args": {"b": 1, "a": "\u00e9"}},
            ToolCall(None, "f", '{"b":1,"a":"\u00e9"}', {"b": 1, "a": "\u00e9"}),
            id="compact in the order of the wire",
        ),
        pytest.param({"name": "f", "args": [1]}, ToolCall(None, "f", "[1]", [1]), id="a list"),
        pytest.param({"id": 5, "args": {}}, ToolCall(None, "", "{}", {}), id="no name"),
        pytest.param("f", ToolCall(None, "", "", None, malformed=True), id="no object"),
    ],
)
def test_tool_calls(made: JsonValue, expected: ToolCall) -> None:
    for key in ("functionCall", "function_call"):
        assert messages(content({key: made}))[0].tool_calls == (expected,)


@pytest.mark.parametrize(
    ("response", "told"),
    [
        pytest.param({"result": "ok"}, "ok", id="result"),
        pytest.param({"output": "ok"}, "ok", id="output"),
        pytest.param({"result": {"a": 1}}, '{"a":1}', id="result that is no text"),
        pytest.param({"error": "no"}, '{"error":"no"}', id="error"),
        pytest.param({"result": "ok", "n": 1}, '{"result":"ok","n":1}', id="more than a result"),
        pytest.param({}, "{}", id="empty"),
        pytest.param("ok", '"ok"', id="no object"),
        pytest.param(None, None, id="none"),
    ],
)
def test_tool_results(response: JsonValue, told: str | None) -> None:
    (message,) = messages(content(result("f", response, "c"), role="function"))
    assert (message.role, message.text, message.call_id, message.tool) == ("tool", told, "c", "f")


def test_pictures_that_a_tool_returned_are_attached_and_the_call_names_the_tool() -> None:
    shown = result("other", {"result": "see"}, "c1")
    inner = shown["functionResponse"]
    assert isinstance(inner, dict)
    inner["parts"] = [PNG]
    _, message = messages(content(call("draw", "c1")), content(shown, role="user"))
    assert (message.tool, message.attachments) == ("draw", ("image/png, 3 bytes",))


@pytest.mark.parametrize(
    "contents",
    [
        content(text("Hi"), role="user"),
        {"parts": {"text": "Hi"}},
        {"parts": "Hi", "role": "user"},
        "Hi",
        ["Hi"],
    ],
    ids=["one content", "one part", "a string as parts", "a string", "a string in a list"],
)
def test_contents_are_read_in_every_form(contents: JsonValue) -> None:
    (unit,) = GEMINI.message_list({"contents": contents})
    assert GEMINI.message(unit, {}) == Message("user", "Hi")


def test_every_unit_makes_one_message_and_equal_requests_have_equal_lists() -> None:
    mixed = content(text("a"), result("f", {}), result("g", {}), text("b"), text("c"), role="user")
    whole = content(text("a"), text("b"))
    units = GEMINI.message_list({"contents": [mixed, whole]})
    assert len(units) == 5
    assert units[-1] is whole
    assert units[3] == content(text("b"), text("c"), role="user")
    single = content(result("f", {}), role="user")
    assert GEMINI.message_list({"contents": [single]})[0] is single


def test_an_answer_has_a_message_per_candidate_by_index_and_the_usage() -> None:
    answer = GEMINI.answer(
        body(
            candidate(text("second"), finish="STOP", index=1),
            candidate(text("fir"), text("st"), call("f"), finish="STOP", index=0),
            usageMetadata={**USAGE, "thoughtsTokenCount": 5},
        )
    )
    assert [message.text for message in answer.messages] == ["first", "second"]
    assert answer.messages[0].tool_calls == (ToolCall(None, "f", "{}", {}),)
    assert answer.tokens == (9, 7)
    assert answer.id is None


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        pytest.param({"promptTokenCount": 4}, (4, 0), id="nothing out"),
        pytest.param({"promptTokenCount": 4, "thoughtsTokenCount": 2}, (4, 2), id="thoughts only"),
        pytest.param({"candidatesTokenCount": 4}, None, id="nothing in"),
        pytest.param({"promptTokenCount": "4"}, None, id="text"),
        pytest.param({"promptTokenCount": 4, "candidatesTokenCount": "x"}, None, id="odd count"),
        pytest.param({"promptTokenCount": True}, None, id="a boolean"),
        pytest.param(None, None, id="none"),
    ],
)
def test_tokens(usage: JsonValue, tokens: tuple[int, int] | None) -> None:
    assert GEMINI.answer(body(candidate(text("x")), usageMetadata=usage)).tokens == tokens


SILENT: JsonObject = {"finishReason": "SAFETY", "index": 0}


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(body(SILENT), id="stopped for safety"),
        pytest.param(body({**SILENT, "content": {"role": "model"}}), id="no parts"),
        pytest.param(body({**SILENT, "content": {}}), id="empty content"),
        pytest.param(body({**SILENT, "content": None}), id="null content"),
    ],
)
def test_a_candidate_that_says_nothing_is_readable(said: JsonObject) -> None:
    assert GEMINI.answer(said).messages == (Message("assistant", None),)


def test_a_blocked_request_is_an_answer_without_calls_that_says_so() -> None:
    said: JsonObject = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE}
    for one in (said, {**said, "candidates": []}):
        (message,) = GEMINI.answer(one).messages
        assert message == Message("assistant", None, attachments=("blocked prompt (SAFETY)",))


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="a list"),
        pytest.param({}, id="empty"),
        pytest.param({"error": {"code": 400}}, id="an error"),
        pytest.param({"candidates": []}, id="no candidates"),
        pytest.param({"candidates": {}}, id="no list"),
        pytest.param(body({"index": 0}), id="neither content nor end"),
        pytest.param(body(candidate(text("x")), 7), id="no object"),
        pytest.param(body({**SILENT, "content": "x"}), id="odd content"),
        pytest.param(body({**SILENT, "content": {"parts": {"text": "x"}}}), id="odd parts"),
        pytest.param(body(candidate(text("x"), "f()")), id="odd part"),
        pytest.param(body(candidate({"text": ["f()"]})), id="odd text"),
        pytest.param(body(candidate({"functionCall": "f"})), id="odd call"),
        pytest.param(body(candidate({"toolCall": {"args": {}}})), id="served call without a tool"),
        pytest.param(body(candidate({"functionCall": {"args": {}}})), id="call without name"),
        pytest.param(body(candidate({"functionCall": {"name": ""}})), id="call with empty name"),
        pytest.param(body(candidate({"functionCall": {"name": 1}})), id="call with odd name"),
        pytest.param(
            body(candidate({"functionCall": {"name": "f", "args": "{}"}})), id="odd arguments"
        ),
        pytest.param(
            body(candidate({"functionCall": {"name": "f", "willContinue": True}})),
            id="unfinished call",
        ),
        pytest.param(
            body(candidate({"functionCall": {"name": "f", "partialArgs": [{}]}})),
            id="arguments in pieces",
        ),
        pytest.param(
            body({"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}), id="malformed call"
        ),
        pytest.param(
            body(candidate(text("x"), finish="UNEXPECTED_TOOL_CALL")), id="unexpected call"
        ),
        pytest.param({"promptFeedback": {"safetyRatings": []}}, id="feedback without a reason"),
        pytest.param(
            {"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}}, id="no reason"
        ),
        pytest.param(
            {"promptFeedback": {"blockReason": "SAFETY"}, "candidates": [7]},
            id="blocked, and a candidate that cannot be read",
        ),
    ],
)
def test_what_cannot_be_read_is_no_answer(said: JsonValue) -> None:
    assert GEMINI.answer(said).messages == ()


def test_a_readable_call_in_snake_case_is_a_call() -> None:
    said = body(candidate({"function_call": {"name": "f", "args": {"a": 1}}}, finish="STOP"))
    assert GEMINI.answer(said).messages[0].tool_calls == (ToolCall(None, "f", '{"a":1}', {"a": 1}),)
