"""The official SDK reads what the Gemini dialect writes: streams and plain bodies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx2
import pytest
from google.genai import errors, types

from flowproof.dialects.interface import Asked, Target
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from tests.dialects.google_generate_tools import (
    ARRAY,
    EVENTS,
    GEMINI,
    USAGE,
    array,
    assemble,
    body,
    call,
    candidate,
    events,
    split,
    text,
)
from tests.dialects.sdk import google_client, served, served_stream

BODIES = [
    pytest.param(
        body(candidate(text("Gr\u00fc\u00dfe \U0001f44b\u2028"), finish="STOP")), id="text"
    ),
    pytest.param(
        body(
            candidate(
                text("Hm", thought=True),
                text("I look."),
                {**call("f", "c1", a=1.5, b=[None, {"c": "\u00e9"}]), "thoughtSignature": "c2ln"},
                call("g"),
                finish="STOP",
            ),
            usageMetadata=USAGE,
        ),
        id="thought, text and calls",
    ),
    pytest.param(
        body(candidate(text("a"), finish="STOP"), candidate(text("b"), finish="STOP", index=1)),
        id="two candidates",
    ),
    pytest.param(
        body(
            candidate(
                {"executableCode": {"language": "PYTHON", "code": "1+1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
                finish="STOP",
                groundingMetadata={"webSearchQueries": ["q"]},
                citationMetadata={"citations": [{"uri": "u", "startIndex": 1}]},
            )
        ),
        id="server tools",
    ),
    pytest.param(
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE}, id="blocked"
    ),
]


def dumped(response: Any) -> Any:
    added = {"sdk_http_response", "automatic_function_calling_history"}
    return response.model_dump(exclude_none=True, exclude=added)


def plain(answer: JsonValue) -> Any:
    with google_client(served(GEMINI, answer)) as sdk:
        return sdk.models.generate_content(model="m", contents="Hi")


def streamed(frames: Iterable[bytes]) -> list[Any]:
    with google_client(served_stream(GEMINI, frames)) as sdk:
        return list(sdk.models.generate_content_stream(model="m", contents="Hi"))


@pytest.mark.parametrize("answer", BODIES)
def test_the_stream_says_what_the_plain_answer_says(answer: JsonObject) -> None:
    (chunk,) = streamed(GEMINI.stream(answer, EVENTS))
    assert dumped(chunk) == dumped(plain(answer))


@pytest.mark.parametrize("answer", BODIES)
def test_the_dialect_and_the_sdk_read_the_same_answer(answer: JsonObject) -> None:
    read = plain(answer)
    messages = GEMINI.answer(answer).messages
    calls = [(made.id, made.name, made.arguments) for made in messages[0].asks]
    assert calls == [(c.id, c.name, c.args) for c in read.function_calls or []]
    assert (messages[0].text or None) == read.text


PIECES = [
    body(candidate(text("Le", thought=True)), usageMetadata={"promptTokenCount": 9}),
    body(candidate(text("t me", thought=True))),
    body(candidate(text("Gr\u00fc"))),
    body(candidate(text("\u00dfe"))),
    body(candidate(call("f", "c1", a="b"), call("g"))),
    body(candidate(text("", thoughtSignature="c2ln"), finish="STOP"), usageMetadata=USAGE),
]


def test_an_assembled_body_says_what_all_chunks_said() -> None:
    chunks = streamed(events(*PIECES))
    whole = plain(assemble(events(*PIECES)).body)
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]

    def said(all_parts: list[Any], thought: bool) -> str:
        texts = [p.text for p in all_parts if p.text is not None and bool(p.thought) is thought]
        return "".join(texts)

    joined = whole.candidates[0].content.parts
    for thought in (True, False):
        assert said(joined, thought) == said(parts, thought)
    calls = [part.function_call for part in parts if part.function_call]
    assert whole.function_calls == calls
    assert [part.thought_signature for part in joined if part.thought_signature] == [b"sig"]
    last = chunks[-1]
    assert whole.usage_metadata == last.usage_metadata
    assert whole.candidates[0].finish_reason == last.candidates[0].finish_reason
    assert (whole.model_version, whole.response_id) == (last.model_version, last.response_id)


@pytest.mark.parametrize("stored", [EVENTS, ARRAY], ids=["events", "array"])
def test_stored_frames_give_the_chunks_that_came(stored: Asked) -> None:
    data = b"".join(events(*PIECES)) if stored is EVENTS else array(*PIECES)
    kept = [frame.decode() for frame in split([data], stored)[0]]
    served = streamed(GEMINI.replayed(kept, EVENTS))
    assert [dumped(chunk) for chunk in served] == [dumped(one) for one in map(plain, PIECES)]


def test_a_server_error_is_one_for_the_sdk() -> None:
    error = GEMINI.error(502, "no complete answer", "flowproof_upstream")
    sdk = google_client(served(GEMINI, error, 502))
    with sdk, pytest.raises(errors.ServerError, match="no complete answer"):
        sdk.models.generate_content(model="m", contents="Hi")


def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Where.
    """
    return f"rain in {city}"


def test_what_the_sdk_sends_is_read() -> None:
    seen: list[httpx2.Request] = []
    answers = [
        body(candidate(call("get_weather", city="Oslo"), finish="STOP")),
        body(candidate(text("It rains."), finish="STOP")),
    ]

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=answers[len(seen) - 1])

    picture = types.Part.from_bytes(data=b"abc", mime_type="image/png")
    config = types.GenerateContentConfig(
        system_instruction="Be brief.", tools=[get_weather], temperature=0.5
    )
    with google_client(answer) as sdk:
        contents: Any = ["Weather?", picture]
        found = sdk.models.generate_content(model="m", contents=contents, config=config)
    assert found.text == "It rains."
    first, second = (parse(request.content) for request in seen)
    said = GEMINI.said(first)
    assert (said.system, said.tools) == ("Be brief.", ("get_weather",))
    assert said.parameters == {"get_weather": ("city",)}
    names: dict[str, str] = {}
    conversation = [GEMINI.message(unit, names) for unit in GEMINI.message_list(second)]
    assert [message.role for message in conversation] == ["system", "user", "assistant", "tool"]
    assert conversation[1].text == "Weather?"
    assert conversation[1].attachments == ("image/png, 3 bytes",)
    assert conversation[2].tool_calls[0].arguments == {"city": "Oslo"}
    assert (conversation[3].tool, conversation[3].text) == ("get_weather", "rain in Oslo")
    assert isinstance(second, dict)
    mocked, tools = GEMINI.substitute(second, lambda *_: "rain in Oslo", {})
    # A mocked text has the form in which the SDK itself sends what a function returned.
    assert (tools, mocked) == (("get_weather",), second)
    asked = GEMINI.asked(second, Target(seen[1].url.path, seen[1].url.query.decode()))
    assert not asked.stream


def test_the_sdk_asks_for_events_by_path_and_query() -> None:
    seen: list[httpx2.URL] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url)
        frames = b"".join(GEMINI.stream(body(candidate(text("x"), finish="STOP")), EVENTS))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=frames)

    with google_client(answer) as sdk:
        list(sdk.models.generate_content_stream(model="m", contents="Hi"))
    asked = GEMINI.asked({}, Target(seen[0].path, seen[0].query.decode()))
    assert asked == Asked({}, stream=True, stream_usage=True, transport={"alt": "sse"})
