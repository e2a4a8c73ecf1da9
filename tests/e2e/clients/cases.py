"""Every Python client that is recorded and replayed, what its model says, and how it is caught.

docs/clients.md is made of this table; the agents are in the folder beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.wire.script import Call, Part, Say, Think

PLAIN, STREAM = ("plain",), ("stream",)
PLAIN_FIRST, STREAM_FIRST = ("plain", "stream"), ("stream", "plain")

_WEATHER = Call("get_weather", {"city": "Oslo"})
_REPLY = (Say("It is 4 degrees in Oslo."),)
_JSON = (Say('{"city": "Oslo", "degrees": 4}'),)
_THOUGHT = Think("The tool will know.")
_TEXT = Say("Let me look.")

NO_TOOL: Sequence[Sequence[Part]] = (_REPLY,)
SHORT: Sequence[Sequence[Part]] = ((_WEATHER,), _REPLY)
WORDY: Sequence[Sequence[Part]] = ((_TEXT, _WEATHER), _REPLY)
LONG: Sequence[Sequence[Part]] = ((_THOUGHT, _TEXT, _WEATHER), _REPLY)
PARSED: Sequence[Sequence[Part]] = ((_WEATHER,), _JSON, _JSON)


@dataclass(frozen=True, slots=True)
class Api:
    """What is asked of a client, in words, and the dialects in which its turns are recorded."""

    name: str
    dialects: frozenset[str]


@dataclass(frozen=True, slots=True)
class Change:
    """What AGENT_CHANGE makes an agent do, and the kind and JSON path of the divergence."""

    what: str
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Case:
    """One agent: `client` names the distributions that it uses, `agent` its module and arguments.

    It is recorded in the first of its `ways` and replayed in each.
    """

    client: str
    agent: str
    api: Api
    ways: Sequence[str]
    change: Change
    turns: Sequence[Sequence[Part]]

    @property
    def id(self) -> str:
        """Its name in a test report."""
        return f"{self.agent} {self.ways[0]}"

    @property
    def steps(self) -> list[object]:
        """What must hold, and is the same for all that have tools."""
        reply: object = {"assert": f"reply contains {'Oslo' if self.turns is PARSED else '4 deg'}"}
        if self.turns is NO_TOOL:
            return [reply]
        called = {"assert_tool_call": "get_weather where city equals Oslo"}
        return [called, {"assert_no_tool_call": "delete_all"}, reply]


CHAT = Api("chat completions", frozenset({"openai.chat"}))
RESPONSES = Api("responses", frozenset({"openai.responses"}))
CHAINED = Api("responses, by previous_response_id", RESPONSES.dialects)
STRUCTURED = Api("structured output", CHAT.dialects | RESPONSES.dialects)
BESIDE = Api("chat completions beside embeddings and models", CHAT.dialects)
LEGACY = Api("completions", frozenset({"openai.completions"}))
MESSAGES = Api("messages", frozenset({"anthropic.messages"}))
COUNTED = Api("messages, token counts", MESSAGES.dialects)
THINKING = Api("messages, thinking", MESSAGES.dialects)
THREADS = Api("messages, tool runner on threads", MESSAGES.dialects)
GENERATE = Api("generateContent", frozenset({"google.generate"}))
AUTOMATIC = Api("generateContent, automatic function calling", GENERATE.dialects)
OLLAMA = Api("Ollama chat", frozenset({"ollama.chat"}))
OLLAMA_GENERATE = Api("Ollama generate", frozenset({"ollama.generate"}))

_SYSTEM = "system text"
_CHAT_SYSTEM = Change("system", _SYSTEM, "$.messages[0].content")
_CHAT_TOOL = Change("tool", "tool description", "$.tools[0].function.description")
_CHAT_RESULT = Change("result", "tool result", "$.messages[3].content")
_RESPONSES_SYSTEM = Change("system", _SYSTEM, "$.instructions")
_FIRST_ITEM = Change("system", _SYSTEM, "$.input[0].content")
_TOOL = Change("tool", "tool description", "$.tools[0].description")
_GOOGLE_SYSTEM = Change("system", _SYSTEM, "$.systemInstruction.parts[0].text")
_GOOGLE_TOOL = Change("tool", "tool description", "$.tools[0].functionDeclarations[0].description")


def _result(path: str) -> Change:
    return Change("result", "tool result", path)


_BLOCK_RESULT = _result("$.messages[2].content[0].content")
_GOOGLE_RESULT = _result("$.contents[2].parts[0].functionResponse.response.result")

_GRAPH_OPENAI = "langgraph, langchain, langchain-openai"
_GRAPH_ANTHROPIC = "langgraph, langchain, langchain-anthropic"

_OPENAI = [
    Case("openai", "openai_chat", CHAT, PLAIN_FIRST, _CHAT_RESULT, SHORT),
    Case("openai", "openai_chat", CHAT, STREAM_FIRST, _CHAT_TOOL, WORDY),
    Case(
        "openai",
        "openai_responses",
        RESPONSES,
        PLAIN_FIRST,
        _result("$.input[4].output"),
        LONG,
    ),
    Case("openai", "openai_responses", RESPONSES, STREAM_FIRST, _TOOL, LONG),
    Case(
        "openai",
        "openai_responses chained",
        CHAINED,
        STREAM_FIRST,
        _result("$.input[0].output"),
        LONG,
    ),
    Case("openai", "openai_parse", STRUCTURED, PLAIN, _CHAT_SYSTEM, PARSED),
    Case("openai", "openai_embeddings", BESIDE, PLAIN_FIRST, _CHAT_RESULT, SHORT),
    Case(
        "openai",
        "openai_completions",
        LEGACY,
        STREAM_FIRST,
        Change("system", "user text", "$.prompt"),
        NO_TOOL,
    ),
]
_ANTHROPIC = [
    Case("anthropic", "anthropic_messages", MESSAGES, STREAM_FIRST, _BLOCK_RESULT, WORDY),
    Case(
        "anthropic",
        "anthropic_messages counted",
        COUNTED,
        PLAIN_FIRST,
        Change("system", "system text", "$.system"),  # in the count, which comes first
        SHORT,
    ),
    Case("anthropic", "anthropic_messages thinking", THINKING, PLAIN_FIRST, _TOOL, LONG),
    Case(
        "anthropic",
        "anthropic_messages thinking",
        THINKING,
        STREAM_FIRST,
        _BLOCK_RESULT,
        LONG,
    ),
    Case(
        "anthropic",
        "anthropic_tool_runner",
        THREADS,
        STREAM_FIRST,
        _result("$.messages[0].content[0].content"),
        WORDY,
    ),
]
_GOOGLE = [
    Case("google-genai", "google_generate", GENERATE, PLAIN_FIRST, _GOOGLE_RESULT, WORDY),
    Case("google-genai", "google_generate", GENERATE, STREAM_FIRST, _GOOGLE_TOOL, LONG),
    Case(
        "google-genai", "google_generate automatic", AUTOMATIC, PLAIN_FIRST, _GOOGLE_SYSTEM, SHORT
    ),
    Case(
        "google-genai", "google_generate automatic", AUTOMATIC, STREAM_FIRST, _GOOGLE_RESULT, SHORT
    ),
]
_OLLAMA = [
    Case("ollama", "ollama_chat", OLLAMA, PLAIN_FIRST, _CHAT_RESULT, LONG),
    Case("ollama", "ollama_chat", OLLAMA, STREAM_FIRST, _CHAT_TOOL, LONG),
    Case(
        "ollama",
        "ollama_generate",
        OLLAMA_GENERATE,
        STREAM_FIRST,
        Change("system", _SYSTEM, "$.system"),
        NO_TOOL,
    ),
]
_FRAMEWORKS = [
    Case(
        "openai-agents",
        "openai_agents responses",
        RESPONSES,
        STREAM_FIRST,
        _RESPONSES_SYSTEM,
        WORDY,
    ),
    Case("openai-agents", "openai_agents chat", CHAT, STREAM_FIRST, _CHAT_RESULT, SHORT),
    Case(
        "pydantic-ai-slim",
        "pydantic_ai_agent openai:gpt-5-mini",
        RESPONSES,
        PLAIN_FIRST,
        _result("$.input[4].output"),
        LONG,
    ),
    Case(
        "pydantic-ai-slim",
        "pydantic_ai_agent openai-chat:gpt-5-mini",
        CHAT,
        STREAM_FIRST,
        _CHAT_TOOL,
        SHORT,
    ),
    Case(
        "pydantic-ai-slim",
        "pydantic_ai_agent anthropic:claude-small-1",
        MESSAGES,
        STREAM_FIRST,
        Change("system", _SYSTEM, "$.system[0].text"),
        LONG,
    ),
    Case(
        _GRAPH_OPENAI, "langgraph_agent openai:gpt-5-mini", CHAT, PLAIN_FIRST, _CHAT_RESULT, SHORT
    ),
    # It sends back less of an item that it read from a stream, so the two ways ask differently.
    Case(
        _GRAPH_OPENAI,
        "langgraph_agent openai:gpt-5-mini responses",
        RESPONSES,
        STREAM,
        _FIRST_ITEM,
        LONG,
    ),
    Case(
        _GRAPH_ANTHROPIC,
        "langgraph_agent anthropic:claude-small-1",
        MESSAGES,
        STREAM_FIRST,
        _BLOCK_RESULT,
        LONG,
    ),
    Case("litellm", "litellm_agent openai/gpt-5-mini", CHAT, STREAM_FIRST, _CHAT_SYSTEM, SHORT),
    Case("litellm", "litellm_agent anthropic/claude-small-1", MESSAGES, STREAM_FIRST, _TOOL, SHORT),
    Case(
        "litellm",
        "litellm_agent gemini/gemini-small-1",
        GENERATE,
        STREAM_FIRST,
        _result("$.contents[2].parts[0].function_response.response.content"),
        SHORT,
    ),
    # From a stream it makes up call ids, others in each run, and sends them back.
    Case("litellm", "litellm_agent ollama_chat/small:1b", OLLAMA, PLAIN, _CHAT_RESULT, SHORT),
]
CASES: Sequence[Case] = (*_OPENAI, *_ANTHROPIC, *_GOOGLE, *_OLLAMA, *_FRAMEWORKS)
