"""The Chat Completions API, as OpenAI and the many servers that imitate it speak it.

Requests and plain answers here; messages, chunks and assembly in the files beside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flowproof.dialects import openai_chat_chunks as chunks
from flowproof.dialects import openai_chat_kinds as kinds
from flowproof.dialects import openai_chat_message as messages
from flowproof.dialects.interface import (
    Answer,
    Asked,
    Assembler,
    Envelope,
    EnvelopePart,
    Framing,
    Said,
    Substitution,
    Target,
)
from flowproof.dialects.openai_chat_assembly import ChatAssembler
from flowproof.dialects.parameters import parameter_names
from flowproof.dialects.sse import EVENT_STREAM
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.rawtext import to_bytes
from flowproof.model.trajectory import Message, ToolCall
from flowproof.model.turn import Operation
from flowproof.model.visible import member_path

# A deployment is one plain segment: nothing in a request may climb out of the upstream's path.
_NAMED = re.compile(r"((?:/deployments/([A-Za-z0-9_][A-Za-z0-9_.:-]*))?/chat/completions)/?\Z")
_TRANSPORT = ("stream", "stream_options")
_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class OpenAIChat:
    """The dialect `openai.chat`."""

    name = "openai.chat"
    provider = "openai"
    messages_path = "$.messages"

    def operation(self, method: str, path: str) -> Operation | None:
        """`/chat/completions` under any prefix; an Azure deployment before it is kept, since it
        names the model."""
        named = _NAMED.search(path)
        return Operation(self.name, named[1]) if named and method.upper() == "POST" else None

    def model_of(self, operation: Operation) -> str | None:
        """The deployment in the path of an Azure request."""
        named = _NAMED.fullmatch(operation.path)
        return named[2] if named else None

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """Split a request body: `stream` and `stream_options` are transport."""
        options = body.get("stream_options")
        usage = options.get("include_usage") if isinstance(options, dict) else None
        return Asked(
            pinned={key: value for key, value in body.items() if key not in _TRANSPORT},
            stream=body.get("stream") is True,
            stream_usage=usage is True,
            transport={key: body[key] for key in _TRANSPORT if key in body},
        )

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream; a stream always asks for usage.

        Stream options that are no object are sent as they are, for the upstream to refuse.
        """
        body = pinned | asked.transport
        if not asked.stream:
            return body
        options = asked.transport.get("stream_options")
        if options is None or isinstance(options, dict):
            body["stream_options"] = (options or {}) | {"include_usage": True}
        return body | {"stream": True}

    def destination(self, operation: Operation, asked: Asked, target: Target) -> Target:
        """The operation's own path: the upstream's base URL holds the version."""
        return Target(operation.path, target.query)

    def framing(self, asked: Asked) -> Framing:
        """Server-sent events."""
        return EVENT_STREAM

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace the content of results whose call stands in an earlier message."""
        raws = self.message_list(pinned)
        made: dict[tuple[str | None, str], messages.Made] = {}
        seen: Counter[tuple[str | None, str | None]] = Counter()
        replaced: dict[int, JsonValue] = {}
        tools: list[str] = []
        for position, raw in enumerate(raws):
            if not isinstance(raw, dict):
                continue
            call_id, tool, arguments = _result_of(raw, made)
            if call_id is not None or tool is not None:
                # An id alone tells calls apart; a result without one counts by its tool.
                key = (call_id, tool if call_id is None else None)
                occurrence = seen[key]
                seen[key] += 1
                text = None
                if tool is not None:
                    text = substitution(tool, call_id, occurrence, arguments)
                if text is not None and tool is not None:
                    replaced[position] = raw | {"content": text}
                    tools.append(tool)
            for call in messages.calls_of(raw):
                made[call.id, call.name if call.id is None else ""] = call
        if not replaced:
            return pinned, ()
        changed = [replaced.get(position, raw) for position, raw in enumerate(raws)]
        return pinned | {"messages": changed}, tuple(tools)

    def envelope(self, pinned: JsonValue) -> Envelope:
        """Model, tool names, tools, roles, then every other parameter by name."""
        if not isinstance(pinned, dict):
            return Envelope(())
        named: list[JsonValue] = [*_tool_labels(pinned)]
        listed = "$.functions" if "tools" not in pinned and "functions" in pinned else "$.tools"
        roles: list[JsonValue] = [
            raw.get("role") if isinstance(raw, dict) else None for raw in self.message_list(pinned)
        ]
        first = ("model", "tools", "functions", "messages")
        return Envelope(
            (
                *_parts(pinned, ("model",)),
                EnvelopePart("tool names", listed, named),
                *_parts(pinned, ("tools", "functions")),
                EnvelopePart("roles", "$.messages", roles),
                *_parts(pinned, sorted(key for key in pinned if key not in first)),
            )
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
        opening: list[str] = []
        for raw in self.message_list(pinned):
            if messages.role_of(raw) != "system":
                break
            opening.append(messages.message(raw, {}).text or "")
        model, offered = pinned.get("model"), _offered(pinned)
        return Said(
            model=model if isinstance(model, str) else None,
            system="\n".join(opening),
            tools=tuple(offered),
            parameters=_parameters(pinned),
            served=tuple(name for name, served in offered.items() if served),
        )

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The raw messages of a request, in order."""
        found = pinned.get("messages") if isinstance(pinned, dict) else None
        return found if isinstance(found, list) else ()

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One raw message in neutral words; calls in it are added to `names`."""
        return messages.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """A message per choice, by index, and the usage; no message if one cannot be read."""
        listed = body.get("choices") if isinstance(body, dict) else None
        found: list[tuple[int, Message]] = []
        for position, choice in enumerate(listed if isinstance(listed, list) else ()):
            raw = choice.get("message") if isinstance(choice, dict) else None
            if not (isinstance(choice, dict) and isinstance(raw, dict) and messages.readable(raw)):
                # What remained of it could look as if no tool had been called.
                found.clear()
                break
            index = chunks.number_of(choice.get("index"), position)
            spoken: JsonObject = {**raw, "role": "assistant"}
            found.append((index, messages.message(spoken, {})))
        found.sort(key=lambda pair: pair[0])
        usage = body.get("usage") if isinstance(body, dict) else None
        return Answer(tuple(message for _, message in found), _tokens(usage))

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""
        return ChatAssembler(asked)

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body, usage only if asked for."""
        return chunks.frames(body, usage=asked.stream_usage)

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterator[bytes]:
        """Stored raw frames, without the usage frame unless it was asked for."""
        frames = map(to_bytes, events)
        return frames if asked.stream_usage else chunks.without_usage(frames)

    def error(self, status: int, message: str, code: str) -> JsonObject:
        """An error body as the official SDKs read it."""
        kind = "server_error" if status >= 500 else "invalid_request_error"
        kind = _ERROR_TYPES.get(status, kind)
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _result_of(
    raw: JsonObject, made: Mapping[tuple[str | None, str], messages.Made]
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


def _parts(pinned: JsonObject, keys: Iterable[str]) -> Iterator[EnvelopePart]:
    for key in keys:
        if key in pinned:
            yield EnvelopePart(key, member_path("$", key), pinned[key])


def _tool_labels(pinned: JsonObject) -> Iterator[str | None]:
    """How each offered tool is called; one that has no name of its own by its type."""
    for key in ("tools", "functions"):
        listed = pinned.get(key)
        for tool in listed if isinstance(listed, list) else ():
            match tool:
                case {"function": {"name": str(name)}} | {"custom": {"name": str(name)}}:
                    yield name
                case {"name": str(name)} | {"type": str(name)}:
                    yield name
                case _:
                    yield None


def _offered(pinned: JsonObject) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the API runs it.

    A tool of an unknown kind is left out: no call of it would be seen, so that a guard on it
    could not fail.
    """
    found: dict[str, bool] = {}
    for key in ("tools", "functions"):
        listed = pinned.get(key)
        for tool in listed if isinstance(listed, list) else ():
            match tool:
                case {"function": {"name": str(name)}} | {"custom": {"name": str(name)}}:
                    found[name] = False
                case {"type": str(kind)} if kind.startswith(messages.WEB_SEARCH):
                    found.setdefault(messages.WEB_SEARCH, True)
                case {"name": str(name)}:
                    found[name] = False
                case _:
                    pass
    if pinned.get("web_search_options") is not None:
        found.setdefault(messages.WEB_SEARCH, True)
    return found


def _parameters(pinned: JsonObject) -> dict[str, tuple[str, ...]]:
    """The arguments of each offered function, without those whose schemas leave them open."""
    found: dict[str, tuple[str, ...]] = {}
    for key in ("tools", "functions"):
        listed = pinned.get(key)
        for tool in listed if isinstance(listed, list) else ():
            function = tool.get("function", tool) if isinstance(tool, dict) else None
            if isinstance(function, dict) and isinstance(name := function.get("name"), str):
                names = parameter_names(function.get("parameters"))
                # Of two schemas for one name, either may be the one that is called.
                known = found.get(name, names)
                found[name] = tuple(dict.fromkeys(known + names)) if known and names else ()
    return {name: names for name, names in found.items() if names}


def _tokens(usage: JsonValue) -> tuple[int, int] | None:
    if not isinstance(usage, dict):
        return None
    told = [chunks.number_of(usage.get(key), -1) for key in ("prompt_tokens", "completion_tokens")]
    return (told[0], told[1]) if min(told) >= 0 else None
