"""The endpoint of these tests refuses what a provider refuses, so that no client passes by luck."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pytest

from tests.e2e.clients.cases import LONG, NO_TOOL
from tests.support.wire.script import Part
from tests.support.wire.serving import endpoint

Body: TypeAlias = Mapping[str, Any]

KEY = {"authorization": "Bearer k"}
CLAUDE = {**KEY, "anthropic-version": "2023-06-01"}
USER = [{"role": "user", "content": "Hello"}]
CHAT: Body = {"model": "m", "messages": USER}
RESPONSES: Body = {"model": "m", "input": "Hello"}
MESSAGES: Body = {"model": "m", "messages": USER, "max_tokens": 9}
GOOGLE: Body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
GENERATE = "/v1beta/models/m:generateContent"


def asked(
    path: str, body: Body, headers: Mapping[str, str], turns: Sequence[Sequence[Part]] = NO_TOOL
) -> tuple[int, str]:
    """The status and body that a request gets."""
    with endpoint(*turns) as upstream:
        url = upstream.url.removesuffix("/v1") + path
        request = urllib.request.Request(url, json.dumps(body).encode(), dict(headers))
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


INNOCENT = {
    "chat": ("/v1/chat/completions", CHAT, KEY),
    "completions": ("/v1/completions", {"model": "m", "prompt": "Hello"}, KEY),
    "responses": ("/v1/responses", RESPONSES, KEY),
    "messages": ("/v1/messages", MESSAGES, CLAUDE),
    "messages, beta": ("/v1/messages?beta=true", MESSAGES, CLAUDE),
    "google": (GENERATE, GOOGLE, {"x-goog-api-key": "k"}),
    "google, streamed as a list": (GENERATE.replace("gen", "streamGen"), GOOGLE, KEY),
    "ollama": ("/api/chat", CHAT, {}),
}


@pytest.mark.parametrize(("path", "body", "headers"), INNOCENT.values(), ids=list(INNOCENT))
def test_what_a_provider_serves_is_served(
    path: str, body: Body, headers: Mapping[str, str]
) -> None:
    status, told = asked(path, body, headers)
    assert status == 200, told
    assert "in Oslo." in told


def result(**block: str) -> Body:
    return {**MESSAGES, "messages": [{"role": "user", "content": [block]}]}


GUILTY = {
    "nobody's path": (404, "/v2/chat/completions", CHAT, KEY, "nobody serves"),
    "a doubled version": (404, "/v1/v1/messages", MESSAGES, CLAUDE, "nobody serves"),
    "no model": (400, "/v1/chat/completions", {"messages": USER}, KEY, "model: field"),
    "no messages": (400, "/v1/chat/completions", {**CHAT, "messages": []}, KEY, "'messages'"),
    "no max_tokens": (400, "/v1/messages", CHAT, CLAUDE, "max_tokens: field"),
    "no version": (400, "/v1/messages", MESSAGES, KEY, "anthropic-version"),
    "no key": (401, GENERATE, GOOGLE, {}, "none"),
    "two keys": (401, "/v1/messages", MESSAGES, {**CLAUDE, "x-api-key": "k"}, "x-api-key"),
    "a result of no call": (
        400,
        "/v1/chat/completions",
        {**CHAT, "messages": [{"role": "tool", "tool_call_id": "x", "content": ""}]},
        KEY,
        "must answer a tool call",
    ),
    "a response of nobody": (
        400,
        "/v1/responses",
        {**RESPONSES, "previous_response_id": "resp_x"},
        KEY,
        "previous_response_not_found",
    ),
    "an output of no call": (
        400,
        "/v1/responses",
        {**RESPONSES, "input": [{"type": "function_call_output", "call_id": "x", "output": ""}]},
        KEY,
        "No tool call found",
    ),
    "a block of no call": (
        400,
        "/v1/messages",
        result(type="tool_result", tool_use_id="toolu_x"),
        CLAUDE,
        "unexpected `tool_use_id`",
    ),
    "a thought of nobody": (
        400,
        "/v1/messages",
        result(type="thinking", thinking="", signature="eA=="),
        CLAUDE,
        "Invalid `signature`",
    ),
    "a thread of nobody": (
        404,
        "/v1/messages",
        {**MESSAGES, "thread": {"type": "continue", "previous_message_id": "msg_x"}},
        CLAUDE,
        "thread_not_found",
    ),
    "a signature of nobody": (
        400,
        GENERATE,
        {"contents": [{"role": "model", "parts": [{"text": "", "thoughtSignature": "eA=="}]}]},
        KEY,
        "signature is not valid",
    ),
}


@pytest.mark.parametrize(
    ("status", "path", "body", "headers", "text"), GUILTY.values(), ids=list(GUILTY)
)
def test_what_a_provider_refuses_is_refused(
    status: int, path: str, body: Body, headers: Mapping[str, str], text: str
) -> None:
    found, told = asked(path, body, headers, LONG)
    assert (found, text in told) == (status, True), told


def test_nothing_is_said_beyond_the_script() -> None:
    status, told = asked("/v1/chat/completions", CHAT, KEY, turns=())
    assert (status, "the script has ended" in told) == (400, True)
