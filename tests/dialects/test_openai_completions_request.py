"""Requests of the legacy completions dialect, and its answers in neutral words."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects import registry
from flowproof.dialects.interface import Target
from flowproof.dialects.openai_completions import OpenAICompletions
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message
from flowproof.model.turn import Operation

COMPLETIONS = OpenAICompletions()


@pytest.mark.parametrize(
    "path",
    [
        "/completions",
        "/v1/completions",
        "/v1/completions/",
        "/v1/v1/completions",
        "/gateway/team-a/openai/v1/completions",
    ],
)
def test_every_prefix_names_the_same_operation(path: str) -> None:
    operation = Operation("openai.completions", "/completions")
    assert COMPLETIONS.operation("POST", path) == operation
    found = registry.find("POST", path)
    assert found == (registry.by_name("openai.completions"), operation)


def test_a_deployment_in_the_path_names_the_model_and_is_part_of_the_operation() -> None:
    operation = COMPLETIONS.operation("POST", "/openai/deployments/davinci-2/completions")
    assert operation == Operation("openai.completions", "/deployments/davinci-2/completions")
    assert COMPLETIONS.model_of(operation) == "davinci-2"
    assert COMPLETIONS.model_of(Operation("openai.completions", "/completions")) is None
    target = Target("/openai" + operation.path, "api-version=1")
    asked = COMPLETIONS.asked({}, target)
    found = COMPLETIONS.destination(operation, asked, target)
    assert found == Target(operation.path, "api-version=1")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/completions"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/chat/completions/"),
        ("POST", "/deployments/gpt/chat/completions"),
        ("POST", "/deployments/chat/completions"),
        ("POST", "/openai/deployments/my%20gpt/completions"),
        ("POST", "/openai/deployments/a%2Fb/completions"),
        ("POST", "/openai/deployments/team/gpt-4o/completions"),
        ("POST", "/openai/Deployments/-x/completions"),
        ("POST", "/openai/deployments/../completions"),
        ("POST", "/openai%2Fdeployments%2Fx/completions"),
        ("POST", "/openai/deployments/a/deployments/b/completions"),
        ("POST", "/v1/completions/cmpl-1"),
        ("POST", "/v1/xcompletions"),
        ("POST", "/"),
        ("POST", ""),
    ],
)
def test_other_requests_are_not_ours(method: str, path: str) -> None:
    assert COMPLETIONS.operation(method, path) is None


@pytest.mark.parametrize(
    ("transport", "stream", "usage", "forwarded"),
    [
        pytest.param({}, False, False, {}, id="plain"),
        pytest.param({"stream": False}, False, False, {"stream": False}, id="not streaming"),
        pytest.param(
            {"stream": True},
            True,
            False,
            {"stream": True, "stream_options": {"include_usage": True}},
            id="stream",
        ),
        pytest.param(
            {"stream": True, "stream_options": {"include_usage": True}},
            True,
            True,
            {"stream": True, "stream_options": {"include_usage": True}},
            id="usage",
        ),
    ],
)
def test_transport_is_not_pinned_and_put_back(
    transport: JsonObject, stream: bool, usage: bool, forwarded: JsonObject
) -> None:
    pinned: JsonObject = {"model": "m", "prompt": "p", "unknown": [1]}
    body = pinned | transport
    before = copy.deepcopy(body)
    asked = COMPLETIONS.asked(body, Target("/v1/completions"))
    assert (asked.pinned, asked.stream, asked.stream_usage) == (pinned, stream, usage)
    assert COMPLETIONS.forwarded(asked.pinned, asked) == pinned | forwarded
    assert body == before


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        pytest.param("Say hi", [Message("user", "Say hi")], id="text"),
        pytest.param(["a", "b"], [Message("user", "a"), Message("user", "b")], id="texts"),
        pytest.param(
            [1, 2, 3], [Message("user", None, attachments=("prompt (3 tokens)",))], id="tokens"
        ),
        pytest.param(
            [[1, 2], [3]],
            [
                Message("user", None, attachments=("prompt (2 tokens)",)),
                Message("user", None, attachments=("prompt (1 token)",)),
            ],
            id="lists of tokens",
        ),
        pytest.param(None, [], id="null"),
        pytest.param([], [], id="empty"),
        pytest.param({"a": 1}, [Message("user", None)], id="no prompt"),
        pytest.param(
            ["a", 1], [Message("user", None, attachments=("prompt (1 token)",))], id="mixed"
        ),
    ],
)
def test_prompts_are_messages_of_the_user(prompt: JsonValue, messages: list[Message]) -> None:
    listed = COMPLETIONS.message_list({"prompt": prompt})
    assert [COMPLETIONS.message(raw, {}) for raw in listed] == messages


def test_envelope_parts_come_in_the_order_of_reporting() -> None:
    body: JsonObject = {"suffix": "s", "prompt": "p", "echo": True, "model": "m", "n": 2}
    parts = [(part.name, part.path, part.value) for part in COMPLETIONS.envelope(body).parts]
    assert parts == [
        ("model", "$.model", "m"),
        ("echo", "$.echo", True),
        ("n", "$.n", 2),
        ("suffix", "$.suffix", "s"),
    ]
    assert COMPLETIONS.part_kind("suffix", "$.suffix") == "suffix"
    said = COMPLETIONS.said(body)
    assert (said.model, said.system, said.tools) == ("m", "", ())


@pytest.mark.parametrize(
    ("prompt", "path", "kind"),
    [
        ("p", "$.prompt", "user text"),
        (["a", "b"], "$.prompt[1]", "user text"),
        (["a"], "$.prompt[1]", "user text"),
        ([1, 2], "$.prompt[1]", "prompt tokens"),
        ([[1]], "$.prompt[0][0]", "prompt tokens"),
        ([1], "$.prompt", "prompt"),
        ("p", "$", "request"),
        (None, "$.prompt", "prompt"),
    ],
)
def test_kinds_of_differences_in_the_prompt(prompt: JsonValue, path: str, kind: str) -> None:
    assert COMPLETIONS.message_kind({"prompt": prompt}, path) == kind


def test_there_are_no_results_to_replace() -> None:
    body: JsonObject = {"prompt": "p"}
    changed, tools = COMPLETIONS.substitute(body, lambda *_told: "mock", {})
    assert changed is body
    assert tools == ()


def choice(text: JsonValue, index: int) -> JsonObject:
    return {"text": text, "index": index, "logprobs": None, "finish_reason": "stop"}


def test_an_answer_is_a_message_per_choice_by_index() -> None:
    usage: JsonObject = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    answer = COMPLETIONS.answer({"choices": [choice("b", 1), choice("a", 0)], "usage": usage})
    assert answer.messages == (Message("assistant", "a"), Message("assistant", "b"))
    assert answer.tokens == (5, 7)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"error": {"message": "no"}},
        {"choices": {}},
        {"choices": [None]},
        {"choices": [choice("a", 0), choice(None, 1)]},
        {"choices": [{"message": {"content": "Hi"}}]},
    ],
    ids=["null", "list", "empty", "error", "no list", "no choice", "half", "a chat's choice"],
)
def test_what_cannot_be_read_is_no_answer(body: JsonValue) -> None:
    assert COMPLETIONS.answer(body).messages == ()


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, None),
        ({"prompt_tokens": 1, "completion_tokens": 2}, (1, 2)),
        ({"prompt_tokens": 1}, (1, 0)),
        ({"prompt_tokens": "1", "completion_tokens": 2}, None),
    ],
    ids=["null", "both", "nothing generated", "no number"],
)
def test_usage(usage: JsonValue, tokens: tuple[int, int] | None) -> None:
    assert COMPLETIONS.answer({"usage": usage}).tokens == tokens
