"""The official Gemini client against both proxies over real sockets: what its user meets."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from flowproof.boundary.mocks import MockedTool
from flowproof.flow.trajectory import trajectory_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.turn import Turn
from tests.boundary.tools import SECRET, recording, replaying, send
from tests.dialects.google_generate_tools import USAGE, array, body, call, candidate, event, text
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Responder, Script

HELLO = body(candidate(text("Hello there"), finish="STOP"), usageMetadata=USAGE)
PIECES = [
    body(candidate(text("Hello"))),
    body(candidate(text(" there"), finish="STOP"), usageMetadata=USAGE),
]
CALLING = body(candidate(call("get_weather", city="Oslo"), finish="STOP"), usageMetadata=USAGE)
RAIN = body(candidate(text("It rains."), finish="STOP"), usageMetadata=USAGE)


def gemini(*answers: Sequence[JsonValue]) -> Responder:
    """Answers one list of chunks after another, as a request asks for it."""
    left = list(answers)

    def respond(request: Received) -> Script:
        chunks = left.pop(0)
        path, _, query = request.target.partition("?")
        if path.endswith(":generateContent"):
            return up.answer(chunks[0])
        if "alt=sse" in query:
            return up.stream(map(event, chunks))
        return up.plain(array(*chunks), content_type="application/json; charset=UTF-8")

    return respond


def client(port: int, version: str | None = None) -> genai.Client:
    options = types.HttpOptions(base_url=f"http://127.0.0.1:{port}", api_version=version)
    return genai.Client(api_key="placeholder", http_options=options)


def recorded(respond: Responder, drive: Callable[[int], Any], expected: Any) -> tuple[Turn, ...]:
    with FakeUpstream(respond) as upstream:
        base = upstream.url.removesuffix("/v1")
        with recording(base, provider="google") as boundary:
            assert drive(boundary.port) == expected
            found = boundary.finish()
    assert found.problems == ()
    return found.turns


def replayed(turns: Sequence[Turn], drive: Callable[[int], Any]) -> Any:
    with replaying(turns) as replay:
        answer = drive(replay.port)
        assert replay.cassette.divergence is None
        assert replay.cassette.unconsumed == ()
    return answer


def ask(port: int) -> str | None:
    with client(port) as api:
        return api.models.generate_content(model="m", contents="Hi").text


def listen(port: int) -> str:
    with client(port) as api:
        chunks = api.models.generate_content_stream(model="m", contents="Hi")
        return "".join(chunk.text or "" for chunk in chunks)


def fetch(port: int) -> str:
    """As clients do that do not ask for events."""
    asked = {"parts": [{"text": "Hi"}], "role": "user"}
    answer = send(port, {"contents": [asked]}, path="/v1/models/m:streamGenerateContent?key=x")
    assert answer.headers["content-type"].startswith("application/json")
    chunks = answer.json()
    return "".join(c["candidates"][0]["content"]["parts"][0]["text"] for c in chunks)


MODES = (ask, listen, fetch)


@pytest.mark.parametrize("records", MODES)
def test_a_recording_replays_in_every_mode(records: Callable[[int], Any]) -> None:
    chunks = [HELLO] if records is ask else PIECES
    turns = recorded(gemini(chunks), records, "Hello there")
    for replays in MODES:
        assert replayed(turns, replays) == "Hello there"
    (view,) = trajectory_of(turns).turns
    assert (view.dialect, view.model, view.tokens) == ("google.generate", "m", (9, 2))
    assert view.answers[0].text == "Hello there"


def test_a_request_reaches_its_version_with_the_key_of_the_upstream_only() -> None:
    with FakeUpstream(gemini([HELLO], [HELLO], PIECES)) as upstream:
        base = upstream.url.removesuffix("/v1")
        with recording(base, provider="google") as boundary:
            with client(boundary.port, "v1beta") as api:
                api.models.generate_content(model="m", contents="Hi")
            send(boundary.port, {"contents": []}, path="/models/m:generateContent?key=AIza&a=1")
            fetch(boundary.port)
    targets = [request.target for request in upstream.received]
    assert targets == [
        "/v1beta/models/m:generateContent",
        "/v1beta/models/m:generateContent?a=1",
        "/v1/models/m:streamGenerateContent",
    ]
    for request in upstream.received:
        assert request.header("authorization") == f"Bearer {SECRET}"
        assert request.header("x-goog-api-key") is None


def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"rain in {city}"


def use_tools(port: int) -> str | None:
    config = types.GenerateContentConfig(tools=[get_weather], system_instruction="Be brief.")
    with client(port) as api:
        return api.models.generate_content(model="m", contents="Oslo?", config=config).text


def use_tools_streaming(port: int) -> str:
    config = types.GenerateContentConfig(tools=[get_weather])
    with client(port) as api:
        chunks = api.models.generate_content_stream(model="m", contents="Oslo?", config=config)
        texts = [part.text or "" for c in chunks for part in parts_of(c)]
    return "".join(texts)


def parts_of(chunk: types.GenerateContentResponse) -> list[types.Part]:
    content = chunk.candidates[0].content if chunk.candidates else None
    return (content.parts or []) if content else []


def chat(port: int) -> list[str | None]:
    with client(port) as api:
        talk = api.chats.create(model="m")
        return [talk.send_message("Hi").text, talk.send_message("And?").text]


def chat_streaming(port: int) -> list[str]:
    with client(port) as api:
        talk = api.chats.create(model="m")
        return [
            "".join(chunk.text or "" for chunk in talk.send_message_stream(said))
            for said in ("Hi", "And?")
        ]


@pytest.mark.parametrize(
    ("answers", "drive", "expected"),
    [
        pytest.param([[CALLING], [RAIN]], use_tools, "It rains.", id="functions"),
        pytest.param(
            [[CALLING], [RAIN]], use_tools_streaming, "It rains.", id="streamed functions"
        ),
        pytest.param([[HELLO], [RAIN]], chat, ["Hello there", "It rains."], id="chat"),
        pytest.param(
            [PIECES, [RAIN]], chat_streaming, ["Hello there", "It rains."], id="streamed chat"
        ),
    ],
)
def test_a_conversation_replays(
    answers: list[list[JsonValue]], drive: Callable[[int], Any], expected: Any
) -> None:
    turns = recorded(gemini(*answers), drive, expected)
    assert len(turns) == 2
    # What the client sends next repeats the chunks of a stream as they came.
    kept = [turn.response.events is not None for turn in turns]
    assert kept == [len(chunks) > 1 for chunks in answers]
    assert replayed(turns, drive) == expected
    assert [turn.operation.path for turn in turns] == ["/models/m:generateContent"] * 2


def test_the_trajectory_shows_calls_and_results() -> None:
    turns = recorded(gemini([CALLING], [RAIN]), use_tools, "It rains.")
    trajectory = trajectory_of(turns)
    (placed,) = trajectory.calls()
    assert (placed.turn, placed.call.name, placed.call.arguments) == (
        1,
        "get_weather",
        {"city": "Oslo"},
    )
    first, second = trajectory.turns
    assert (first.system, first.tools) == ("Be brief.", ("get_weather",))
    assert (second.base, second.kept, second.continues) == (1, 2, True)
    assert [(m.role, m.tool, m.text) for m in second.added] == [
        ("assistant", None, None),
        ("tool", "get_weather", "rain in Oslo"),
    ]
    assert trajectory.reply() == "It rains."


def test_mocks_reach_the_model_at_record_and_replay() -> None:
    mocks = {"get_weather": MockedTool(({"temperature": -3},), False)}
    with FakeUpstream(gemini([CALLING], [RAIN])) as upstream:
        base = upstream.url.removesuffix("/v1")
        with recording(base, provider="google", mocks=mocks) as boundary:
            assert use_tools(boundary.port) == "It rains."
            turns = boundary.finish().turns
    told = upstream.received[1].json()["contents"][-1]["parts"][0]["functionResponse"]
    assert told == {"name": "get_weather", "response": {"temperature": -3}}
    assert turns[1].mocked == ("get_weather",)
    with replaying(turns, mocks=mocks) as replay:
        assert use_tools(replay.port) == "It rains."
        assert replay.cassette.divergence is None


def changed(**others: Any) -> Callable[[int], Any]:
    request: dict[str, Any] = {
        "model": "gemini-2.5-flash",
        "contents": "Hi",
        "config": {"system_instruction": "Be brief.", "temperature": 0.5, "tools": [TOOL]},
    }
    config = request["config"] | others.pop("config", {})

    def drive(port: int) -> str | None:
        with client(port) as api:
            return api.models.generate_content(**(request | others | {"config": config})).text

    return drive


TOOL = {"function_declarations": [{"name": "f", "description": "d"}]}
OTHER_TOOL = {"function_declarations": [{"name": "f", "description": "e"}]}


@pytest.mark.parametrize(
    ("guilty", "named"),
    [
        pytest.param(
            changed(model="gemini-2.5-pro"), "in its model, at the request path", id="model"
        ),
        pytest.param(changed(contents="Ho"), "in its user text, at $.contents[0]", id="text"),
        pytest.param(
            changed(config={"system_instruction": "Be kind."}), "in its system text", id="system"
        ),
        pytest.param(changed(config={"temperature": 0.7}), "in its temperature", id="parameter"),
        pytest.param(changed(config={"tools": [OTHER_TOOL]}), "in its tool description", id="tool"),
    ],
)
def test_a_guilty_change_is_refused_and_named(guilty: Callable[[int], Any], named: str) -> None:
    innocent = changed()
    turns = recorded(gemini([HELLO]), innocent, "Hello there")
    assert replayed(turns, innocent) == "Hello there"
    with replaying(turns) as replay:
        with pytest.raises(errors.ClientError) as caught:
            guilty(replay.port)
        assert replay.cassette.requests == 1
        assert replay.cassette.divergence is not None
    assert f"differs from turn 1 {named}" in str(caught.value)


def test_a_recorded_refusal_is_served_again() -> None:
    error: JsonObject = {"error": {"code": 404, "message": "no model m", "status": "NOT_FOUND"}}

    def drive(port: int) -> str:
        with pytest.raises(errors.ClientError) as caught:
            ask(port)
        return str(caught.value.message)

    turns = recorded(lambda _request: up.answer(error, 404), drive, "no model m")
    assert replayed(turns, drive) == "no model m"
    assert trajectory_of(turns).turns[0].status == 404


def test_a_blocked_prompt_is_recorded_and_can_be_judged() -> None:
    blocked: JsonObject = {"promptFeedback": {"blockReason": "SAFETY"}}
    for records, nothing in ((ask, None), (listen, "")):
        turns = recorded(gemini([blocked]), records, nothing)
        trajectory = trajectory_of(turns)
        assert trajectory.unreadable_turns() == ()
        assert list(trajectory.calls()) == []
        assert trajectory.turns[0].answers[0].attachments == ("blocked prompt (SAFETY)",)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(up.stream([event(PIECES[0])]), id="events that end early"),
        pytest.param(up.cut_stream([event(PIECES[0])], up.Close()), id="events that break off"),
        pytest.param(up.stream([event(PIECES[0]), event(PIECES[1])[:40]]), id="half an event"),
        pytest.param(up.stream([b"data: oops\r\n\r\n", event(HELLO)]), id="what is no JSON"),
    ],
)
def test_events_that_were_cut_are_no_turn(script: Script) -> None:
    with FakeUpstream(up.scripted(script)) as upstream:
        base = upstream.url.removesuffix("/v1")
        with recording(base, provider="google") as boundary:
            send_lenient(boundary.port, "/v1beta/models/m:streamGenerateContent?alt=sse")
            found = boundary.finish()
    assert found.turns == ()
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"oops", "what is no JSON: oops", id="no JSON"),
        pytest.param(b"[1]", "what this API does not speak: [1]", id="JSON that is no response"),
    ],
)
def test_what_a_stream_holds_in_place_of_a_response_is_told(data: bytes, says: str) -> None:
    script = up.stream([b"data: " + data + b"\r\n\r\n", event(HELLO)])
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url.removesuffix("/v1"), provider="google") as boundary,
    ):
        send_lenient(boundary.port, "/v1beta/models/m:streamGenerateContent?alt=sse")
        (problem,) = boundary.finish().problems
    assert f"the stream holds {says}" in problem


@pytest.mark.parametrize("kept", [1, -2, -1], ids=["its start", "half of it", "all but its end"])
def test_an_array_that_was_cut_is_no_turn(kept: int) -> None:
    cut = up.plain(array(*PIECES)[:kept])
    whole = up.plain(array(*PIECES))
    with FakeUpstream(up.scripted(cut, whole)) as upstream:
        base = upstream.url.removesuffix("/v1")
        with recording(base, provider="google") as boundary:
            send_lenient(boundary.port, "/v1beta/models/m:streamGenerateContent")
            assert boundary.finish().turns == ()
            # A second try that succeeds makes the first one a failure that does not matter.
            send_lenient(boundary.port, "/v1beta/models/m:streamGenerateContent")
            found = boundary.finish()
    assert (len(found.turns), found.retries_dropped, found.problems) == (1, 1, ())


def send_lenient(port: int, path: str) -> None:
    """A request of a client that takes whatever comes."""
    asked = {"contents": [{"parts": [{"text": "Hi"}], "role": "user"}]}
    with contextlib.suppress(http.client.HTTPException, OSError):
        send(port, asked, path=path)
