"""The scripted model against the official SDK: it has to be a convincing upstream."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import openai
import psutil
import pytest
from openai import OpenAI
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageParam,
    ChatCompletionToolParam,
)

from tests.examples.tools import SCRIPTED_MODEL, environment, scripted_model

NAME = "scripted-model-not-a-real-model"
WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object"}},
}
ASK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How is the weather?"}]
SCRIPT = {
    "rules": [
        {
            "when": {"last_role": "user", "user_contains": "weather"},
            "answer": {
                "content": "Let me look.",
                "tool_calls": [
                    {"name": "get_weather", "arguments": {"city": "Nairobi", "days": [1, 2]}},
                    {"name": "get_weather", "arguments": '{"city": "Osl'},
                ],
            },
        },
        {
            "when": {"last_tool": "get_weather", "last_contains": "sunny"},
            "answer": {"content": "It is sunny — 25 °C — in Nairobi and in Oslo."},
        },
        {"when": {"system_contains": "pirate"}, "answer": {"content": "Arr!"}},
        {"when": {"offers": "get_weather"}, "answer": {"content": "Ask about the weather."}},
    ]
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    script = tmp_path_factory.mktemp("script") / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    with scripted_model(script) as served:
        yield served


@pytest.fixture(scope="module")
def client(served: tuple[str, int]) -> Iterator[OpenAI]:
    with OpenAI(base_url=served[0], api_key="none needed") as client:
        yield client


def ask(client: OpenAI, messages: list[ChatCompletionMessageParam]) -> ChatCompletion:
    return client.chat.completions.create(model="any", messages=messages, tools=[WEATHER])


def with_results(first: ChatCompletion, result: str) -> list[ChatCompletionMessageParam]:
    """The conversation after every call of an answer got this result."""
    message = first.choices[0].message
    results: list[ChatCompletionMessageParam] = [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call in message.tool_calls or []
    ]
    return [*ASK, message, *results]  # type: ignore[list-item]


def streamed(client: OpenAI, include_usage: bool) -> list[ChatCompletionChunk]:
    with client.chat.completions.create(
        model="any",
        messages=ASK,
        tools=[WEATHER],
        stream=True,
        stream_options={"include_usage": include_usage},
    ) as stream:
        return list(stream)


def test_an_answer_with_tool_calls(client: OpenAI) -> None:
    answer = ask(client, ASK)
    choice = answer.choices[0]
    assert (answer.object, answer.model, choice.finish_reason) == (
        "chat.completion",
        NAME,
        "tool_calls",
    )
    assert answer.id.startswith("chatcmpl-")
    assert answer.created > 1_700_000_000
    assert choice.message.content == "Let me look."
    calls = [call for call in choice.message.tool_calls or [] if call.type == "function"]
    assert [call.function.name for call in calls] == ["get_weather", "get_weather"]
    assert [call.function.arguments for call in calls] == [
        '{"city":"Nairobi","days":[1,2]}',
        '{"city": "Osl',
    ]
    assert len({call.id for call in calls}) == 2
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_tool_loop_ends_in_words(client: OpenAI) -> None:
    answer = ask(client, with_results(ask(client, ASK), "sunny, 25 °C"))
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.content == "It is sunny — 25 °C — in Nairobi and in Oslo."


def test_equal_conversations_get_equal_ids(client: OpenAI) -> None:
    first, second = ask(client, ASK), ask(client, ASK)
    other = ask(client, with_results(first, "sunny"))
    assert first.id == second.id != other.id


@pytest.mark.parametrize("include_usage", [True, False], ids=["usage", "no usage"])
def test_a_stream_carries_the_same_answer(client: OpenAI, include_usage: bool) -> None:
    whole, chunks = ask(client, ASK), streamed(client, include_usage)
    message = whole.choices[0].message
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert {(chunk.object, chunk.id, chunk.model) for chunk in chunks} == {
        ("chat.completion.chunk", whole.id, NAME)
    }
    assert deltas[0].role == "assistant"
    assert len(deltas) > 6
    assert "".join(delta.content or "" for delta in deltas) == message.content
    pieces: dict[int, str] = {}
    ids: list[str] = []
    for call in (call for delta in deltas for call in delta.tool_calls or []):
        assert call.function is not None
        pieces[call.index] = pieces.get(call.index, "") + (call.function.arguments or "")
        ids += [call.id] if call.id else []
    calls = [call for call in message.tool_calls or [] if call.type == "function"]
    assert ids == [call.id for call in calls]
    assert list(pieces.values()) == [call.function.arguments for call in calls]
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    assert usages == ([whole.usage] if include_usage else [])
    assert [c.finish_reason for chunk in chunks for c in chunk.choices][-1] == "tool_calls"


def test_the_stream_ends_as_the_format_says(served: tuple[str, int]) -> None:
    body = {"model": "any", "messages": [{"role": "system", "content": "a pirate"}], "stream": True}
    request = urllib.request.Request(
        f"{served[0]}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        text = response.read().decode()
    assert text.endswith("\n\ndata: [DONE]\n\n")
    assert all(line.startswith("data: ") for line in text.splitlines() if line)
    assert '"usage"' not in text


def test_it_names_itself_as_no_real_model(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [NAME]


def test_the_first_rule_that_fits_answers(client: OpenAI) -> None:
    pirate: ChatCompletionMessageParam = {"role": "system", "content": "Talk like a pirate."}
    hello: ChatCompletionMessageParam = {
        "role": "user",
        "content": [{"type": "text", "text": "Hello"}],
    }
    assert ask(client, [pirate, hello]).choices[0].message.content == "Arr!"
    assert ask(client, [hello]).choices[0].message.content == "Ask about the weather."


class TestRefusals:
    """Errors in OpenAI's shape, each saying what to do about it; the SDK retries none."""

    def test_no_rule_fits(self, client: OpenAI) -> None:
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(
                model="any", messages=[{"role": "user", "content": "What is love?"}]
            )
        assert (caught.value.code, caught.value.param) == ("no_rule_fits", "messages")
        assert "'What is love?'" in caught.value.message
        assert '3: {"system_contains": "pirate"}' in caught.value.message

    def test_the_rule_calls_a_tool_that_is_not_offered(self, client: OpenAI) -> None:
        with pytest.raises(openai.BadRequestError, match="rule 1 calls get_weather"):
            client.chat.completions.create(model="any", messages=ASK)

    def test_a_tool_result_without_its_call(self, client: OpenAI) -> None:
        with pytest.raises(openai.BadRequestError, match=r"messages\[1\]: a tool message must"):
            ask(client, [*ASK, {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}])

    def test_no_messages(self, client: OpenAI) -> None:
        with pytest.raises(openai.BadRequestError, match="at least one message"):
            ask(client, [])

    def test_two_choices(self, client: OpenAI) -> None:
        with pytest.raises(openai.BadRequestError, match="one choice only"):
            client.chat.completions.create(model="any", messages=ASK, n=2)

    def test_another_endpoint(self, client: OpenAI) -> None:
        with pytest.raises(openai.NotFoundError, match="nothing is served at POST /v1/embeddings"):
            client.embeddings.create(model="any", input="x")

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"{", id="not JSON"),
            pytest.param(b"[" * 100_000, id="nested too deep"),
            pytest.param(b"[]", id="no object"),
            pytest.param(b'{"model": 1, "messages": []}', id="model is a number"),
            pytest.param(b'{"model": "m", "messages": [{"role": "king"}]}', id="unknown role"),
            pytest.param(b'{"model": "m", "messages": [{"role": ["user"]}]}', id="role is a list"),
            pytest.param(b'{"model": "m", "messages": ["hello"]}', id="message is a text"),
            pytest.param(
                b'{"model": "m", "messages": [{"role": "assistant", "tool_calls": [{}]}]}',
                id="call without id",
            ),
            pytest.param(
                b'{"model": "m", "messages": [{"role": "assistant", "tool_calls": 7}]}',
                id="calls are a number",
            ),
            pytest.param(
                b'{"model": "m", "messages": [{"role": "tool", "tool_call_id": {}}]}',
                id="call id is an object",
            ),
            pytest.param(
                b'{"model": "m", "messages": [{"role": "user"}], "tools": [{}]}',
                id="tool without name",
            ),
            pytest.param(
                b'{"model": "m", "messages": [{"role": "user"}], "stream": true,'
                b' "stream_options": 1, "tools": [{"type": "function", "function":'
                b' {"name": "get_weather"}}]}',
                id="stream options are a number",
            ),
        ],
    )
    def test_bad_bodies(self, served: tuple[str, int], body: bytes) -> None:
        request = urllib.request.Request(f"{served[0]}/chat/completions", body)
        with pytest.raises(HTTPError) as caught:
            urllib.request.urlopen(request, timeout=10)
        with caught.value as response:
            assert (response.code, response.headers["x-should-retry"]) == (400, "false")
            assert json.loads(response.read())["error"]["type"] == "invalid_request_error"


def test_it_listens_on_loopback_only(served: tuple[str, int]) -> None:
    listening = [
        connection.laddr[0]
        for connection in psutil.Process(served[1]).net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]


def start(script: Path, port: int = 0) -> subprocess.CompletedProcess[str]:
    """Start it where it cannot run."""
    return subprocess.run(
        [sys.executable, str(SCRIPTED_MODEL), "--script", str(script), "--port", str(port)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def rule(when: object, answer: object) -> str:
    return json.dumps({"rules": [{"when": when, "answer": answer}]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("{", "Expecting property name", id="not JSON"),
        pytest.param("{}", "at least one rule", id="no rules"),
        pytest.param('{"rules": [{"when": {}}]}', "rule 1: a rule has", id="no answer"),
        pytest.param(
            rule({"user_contain": "x"}, {"content": "y"}),
            "rule 1: no condition 'user_contain'; there are last_role, last_tool",
            id="misspelt condition",
        ),
        pytest.param(rule({"offers": 1}, {"content": "y"}), "values are text", id="number"),
        pytest.param(rule({}, {}), 'an answer has "content"', id="empty answer"),
        pytest.param(rule({}, {"content": 1}), '"content" is text', id="content"),
        pytest.param(rule({}, {"tool_calls": [{"name": "x"}]}), "a tool call is", id="call"),
    ],
)
def test_a_bad_script_is_refused_at_the_start(tmp_path: Path, text: str, said: str) -> None:
    script = tmp_path / "script.json"
    script.write_text(text, encoding="utf-8")
    done = start(script)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_script_and_a_taken_port_are_said(
    served: tuple[str, int], tmp_path: Path
) -> None:
    assert "No such file" in start(tmp_path / "none.json").stderr
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    port = int(served[0].removesuffix("/v1").rpartition(":")[2])
    done = start(script, port)
    assert done.returncode == 2
    assert f"cannot listen on port {port}" in done.stderr
