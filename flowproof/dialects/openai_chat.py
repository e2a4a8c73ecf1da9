"""The Chat Completions API, as OpenAI and the many servers that imitate it speak it.

Requests and plain answers here; messages, chunks and assembly in the files beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flowproof.dialects import openai_chat_chunks as chunks
from flowproof.dialects import openai_chat_kinds as kinds
from flowproof.dialects import openai_chat_message as messages
from flowproof.dialects import requests
from flowproof.dialects.answers import messages_by_index, tokens
from flowproof.dialects.calls import Made
from flowproof.dialects.interface import Answer, Asked, Assembler, Envelope, Said, Substitution
from flowproof.dialects.mocks import Mocks
from flowproof.dialects.openai import ChunkedOpenAI, route
from flowproof.dialects.openai_chat_assembly import ChatAssembler
from flowproof.dialects.parameters import parameters_of
from flowproof.dialects.values import list_of, member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall

_CALLED = ("tool_calls", "function_call")


class OpenAIChat(ChunkedOpenAI):
    """The dialect `openai.chat`."""

    name = "openai.chat"
    messages_path = "$.messages"
    named = route("/chat/completions")

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace the content of results whose call stands in an earlier message."""
        raws = self.message_list(pinned)
        made: dict[tuple[str | None, str], Made] = {}
        mocks = Mocks(substitution)
        changed = list(raws)
        for position, raw in enumerate(raws):
            if not isinstance(raw, dict):
                continue
            call_id, tool, arguments = _result_of(raw, made)
            if call_id is not None or tool is not None:
                text = mocks.text(tool, call_id, arguments)
                if text is not None:
                    changed[position] = raw | {"content": text}
            for call in messages.calls_of(raw):
                made[call.id, call.name if call.id is None else ""] = call
        return (pinned | {"messages": changed}, tuple(mocks.tools)) if mocks.tools else (pinned, ())

    def envelope(self, pinned: JsonValue) -> Envelope:
        """Model, tool names, tools, roles, then every other parameter by name."""
        if not isinstance(pinned, dict):
            return Envelope(())
        listed = "$.functions" if "tools" not in pinned and "functions" in pinned else "$.tools"
        return requests.envelope(
            pinned,
            requests.tool_names(map(_label, _tools(pinned)), listed),
            "tools",
            "functions",
            requests.roles("$.messages", self.message_list(pinned)),
            apart=("messages",),
        )

    def part_kind(self, name: str, path: str) -> str:
        """What a reader calls a difference at a JSON path inside one part of the envelope."""
        return kinds.of_part(name, path)

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference at a JSON path inside the messages."""
        return kinds.of_message(self.message_list(pinned), path)

    def said(self, pinned: JsonValue) -> Said:
        """The model, the instructions that open the conversation, and the tools offered."""
        if not isinstance(pinned, dict):
            return Said(None, "", ())
        system = requests.opening(self.message_list(pinned), messages.role_of, messages.message)
        return requests.said(pinned, system, _offered(pinned), _parameters(pinned))

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The raw messages of a request, in order."""
        return list_of(member_of(pinned, "messages"))

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One raw message in neutral words; calls in it are added to `names`."""
        return messages.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """A message per choice, by index, and the usage; no message if one cannot be read."""
        usage = member_of(body, "usage")
        return Answer(
            messages_by_index(member_of(body, "choices"), _answered),
            tokens(member_of(usage, "prompt_tokens"), member_of(usage, "completion_tokens")),
        )

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""
        return ChatAssembler(asked, _offered(asked.pinned))

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body, usage only if asked for."""
        return chunks.frames(body, usage=asked.stream_usage)


def _result_of(
    raw: JsonObject, made: Mapping[tuple[str | None, str], Made]
) -> tuple[str | None, str | None, str]:
    """Call id, tool and arguments of a tool result; the tool is None where no call has that
    id."""
    match raw:
        case {"role": "tool", "tool_call_id": str(call_id)}:
            call = made.get((call_id, ""))
            return (call_id, None, "") if call is None else (call_id, call.name, call.arguments)
        case {"role": "function", "name": str(name)}:
            call = made.get((None, name))
            return None, name, "" if call is None else call.arguments
        case _:
            return None, None, ""


def _answered(choice: JsonValue) -> Message | None:
    raw = member_of(choice, "message")
    if not isinstance(raw, dict) or not messages.readable(raw):
        return None
    said = messages.message({**raw, "role": "assistant"}, {})
    called = text_of(member_of(choice, "finish_reason")) in _CALLED
    # Where a call is told of and none is there, it stands where nobody can see it.
    return None if called and not said.asks else said


def _tools(pinned: JsonObject) -> list[JsonValue]:
    return [*list_of(pinned.get("tools")), *list_of(pinned.get("functions"))]


def _label(tool: JsonValue) -> str | None:
    """How an offered tool is called; one that has no name of its own by its type."""
    match tool:
        case {"function": {"name": str(name)}} | {"custom": {"name": str(name)}}:
            return name
        case {"name": str(name)} | {"type": str(name)}:
            return name
        case _:
            return None


def _offered(pinned: JsonObject) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the API runs it."""
    return requests.offers(_named(pinned))


def _named(pinned: JsonObject) -> Iterator[tuple[str, bool]]:
    for tool in _tools(pinned):
        match tool:
            case {"function": {"name": str(name)}} | {"custom": {"name": str(name)}}:
                yield name, False
            case {"type": str(kind)} if kind.startswith(messages.WEB_SEARCH):
                yield messages.WEB_SEARCH, True
            case {"name": str(name)}:
                yield name, False
            case _:
                # Of an unknown kind no call would be seen, so that a guard on it could not fail.
                pass
    if pinned.get("web_search_options") is not None:
        yield messages.WEB_SEARCH, True


def _parameters(pinned: JsonObject) -> dict[str, tuple[str, ...]]:
    """The arguments of each offered function, without those whose schemas leave them open."""
    functions = [
        tool.get("function", tool) if isinstance(tool, dict) else None for tool in _tools(pinned)
    ]
    named = ((text_of(member_of(function, "name")), function) for function in functions)
    return parameters_of(
        (name, member_of(function, "parameters")) for name, function in named if name is not None
    )
