"""Every npm client that is recorded and replayed; counterpart of `cases`, with the agents in node/.

docs/clients.md is made of this table too.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.clients.cases import (
    CHAINED,
    CHAT,
    GENERATE,
    LONG,
    MESSAGES,
    PLAIN,
    PLAIN_FIRST,
    RESPONSES,
    SHORT,
    STREAM,
    STREAM_FIRST,
    THINKING,
    THREADS,
    WORDY,
    Case,
    Change,
)


def _system(path: str) -> Change:
    return Change("system", "system text", path)


def _tool(path: str) -> Change:
    return Change("tool", "tool description", path)


def _result(path: str) -> Change:
    return Change("result", "tool result", path)


_CHAT_SYSTEM = _system("$.messages[0].content")
_CHAT_TOOL = _tool("$.tools[0].function.description")
_CHAT_RESULT = _result("$.messages[3].content")
_TOOL = _tool("$.tools[0].description")
_ITEM_RESULT = _result("$.input[5].output")
_CHAINED_RESULT = _result("$.input[0].output")
_BLOCK_RESULT = _result("$.messages[2].content[0].content")
_THREAD_RESULT = _result("$.messages[0].content[0].content")
_GOOGLE_SYSTEM = _system("$.systemInstruction.parts[0].text")
_GOOGLE_TOOL = _tool("$.tools[0].functionDeclarations[0].description")
_GOOGLE_RESULT = "$.contents[2].parts[0].functionResponse.response"

_CHAT, _RESPONSES = "openai_chat.mjs", "openai_responses.mjs"
_MESSAGES, _RUNNER = "anthropic_messages.mjs", "anthropic_tool_runner.mjs"
_GENAI = "google_genai.mjs"
_SDKS = [
    Case("openai", _CHAT, CHAT, PLAIN_FIRST, _CHAT_RESULT, SHORT),
    Case("openai", _CHAT, CHAT, STREAM_FIRST, _CHAT_TOOL, WORDY),
    Case("openai", _RESPONSES, CHAINED, PLAIN_FIRST, _CHAINED_RESULT, LONG),
    Case("openai", _RESPONSES, CHAINED, STREAM_FIRST, _system("$.instructions"), LONG),
    Case("@anthropic-ai/sdk", _MESSAGES, THINKING, PLAIN_FIRST, _system("$.system"), LONG),
    Case("@anthropic-ai/sdk", _MESSAGES, THINKING, STREAM_FIRST, _BLOCK_RESULT, LONG),
    Case("@anthropic-ai/sdk", _RUNNER, THREADS, PLAIN_FIRST, _TOOL, WORDY),
    Case("@anthropic-ai/sdk", _RUNNER, THREADS, STREAM_FIRST, _THREAD_RESULT, WORDY),
    Case(
        "@google/genai",
        _GENAI,
        GENERATE,
        PLAIN_FIRST,
        _result(f"{_GOOGLE_RESULT}.output"),
        WORDY,
    ),
    # It is given back each piece of a stream as it came, so the two ways ask differently.
    Case("@google/genai", _GENAI, GENERATE, STREAM, _GOOGLE_TOOL, LONG),
]

_OPENAI, _ANTHROPIC, _GOOGLE = (
    f"ai, @ai-sdk/{provider}" for provider in ("openai", "anthropic", "google")
)
_AI_SDK = [
    Case(_OPENAI, "ai_sdk.mjs openai", RESPONSES, PLAIN_FIRST, _ITEM_RESULT, LONG),
    Case(
        _OPENAI,
        "ai_sdk.mjs openai",
        RESPONSES,
        STREAM_FIRST,
        _system("$.input[0].content"),
        LONG,
    ),
    Case(_OPENAI, "ai_sdk.mjs openai.chat", CHAT, PLAIN_FIRST, _CHAT_SYSTEM, SHORT),
    Case(_OPENAI, "ai_sdk.mjs openai.chat", CHAT, STREAM_FIRST, _CHAT_RESULT, WORDY),
    # Where it streams, it asks for the arguments of tools early, so the two ways ask differently.
    Case(_ANTHROPIC, "ai_sdk.mjs anthropic", MESSAGES, PLAIN, _system("$.system[0].text"), WORDY),
    Case(_ANTHROPIC, "ai_sdk.mjs anthropic", MESSAGES, STREAM, _BLOCK_RESULT, WORDY),
    Case(
        _GOOGLE,
        "ai_sdk.mjs google",
        GENERATE,
        PLAIN_FIRST,
        _result(f"{_GOOGLE_RESULT}.content"),
        WORDY,
    ),
    Case(_GOOGLE, "ai_sdk.mjs google", GENERATE, STREAM_FIRST, _GOOGLE_SYSTEM, LONG),
]
CASES: Sequence[Case] = (*_SDKS, *_AI_SDK)
