"""The Responses API, as OpenAI and the servers that imitate it speak it.

Requests and plain answers here; items, events and assembly in the files beside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flowproof.dialects import openai_responses_calls as calls
from flowproof.dialects import openai_responses_events as events
from flowproof.dialects import openai_responses_items as items
from flowproof.dialects import openai_responses_kinds as kinds
from flowproof.dialects import openai_responses_tools as tools
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
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.dialects.openai_chat_chunks import number_of
from flowproof.dialects.openai_responses_assembly import ResponsesAssembler
from flowproof.dialects.sse import EVENT_STREAM
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.rawtext import to_bytes
from flowproof.model.trajectory import Message, ToolCall
from flowproof.model.turn import Operation
from flowproof.model.visible import member_path

# A deployment is one plain segment: nothing in a request may climb out of the upstream's path.
_NAMED = re.compile(r"((?:/deployments/([A-Za-z0-9_][A-Za-z0-9_.:-]*))?/responses)/?\Z")
_TRANSPORT = ("stream", "stream_options")
_TOLD_APART = ("model", "tools", "input", "instructions")


class OpenAIResponses:
    """The dialect `openai.responses`."""

    name = "openai.responses"
    provider = "openai"
    messages_path = "$.input"

    def operation(self, method: str, path: str) -> Operation | None:
        """`/responses` under any prefix; an Azure deployment before it is kept, since it names
        the model."""
        named = _NAMED.search(path)
        return Operation(self.name, named[1]) if named and method.upper() == "POST" else None

    def model_of(self, operation: Operation) -> str | None:
        """The deployment in the path of an Azure request."""
        named = _NAMED.fullmatch(operation.path)
        return named[2] if named else None

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """Split a request body: `stream` and `stream_options` are transport."""
        return Asked(
            pinned={key: value for key, value in body.items() if key not in _TRANSPORT},
            stream=body.get("stream") is True,
            stream_usage=True,
            transport={key: body[key] for key in _TRANSPORT if key in body},
        )

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream; the last event of a stream always tells the usage."""
        return pinned | asked.transport

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
        """Replace the output of results whose call stands before them or in an earlier answer."""
        listed = pinned.get("input")
        made: dict[str, ToolCall] = {}
        seen: Counter[str] = Counter()
        replaced: dict[int, JsonValue] = {}
        mocked: list[str] = []
        for position, item in enumerate(listed if isinstance(listed, list) else ()):
            if not isinstance(item, dict):
                continue
            call = calls.call_of(item)
            if call is not None and call.id is not None and not call.served:
                made[call.id] = call
            call_id = items.answered_call(item)
            if call_id is None or calls.kind_of(item) not in tools.MOCKED:
                continue
            occurrence = seen[call_id]
            seen[call_id] += 1
            call = made.get(call_id) or earlier.get(call_id)
            text = substitution(call.name, call_id, occurrence, call.text) if call else None
            if text is not None and call is not None:
                replaced[position] = tools.mocked(item, text)
                mocked.append(call.name)
        if not replaced or not isinstance(listed, list):
            return pinned, ()
        changed = [replaced.get(position, item) for position, item in enumerate(listed)]
        return pinned | {"input": changed}, tuple(mocked)

    def envelope(self, pinned: JsonValue) -> Envelope:
        """Model, tool names, tools, roles, then every other parameter by name.

        Instructions are no part of it: where they changed, that is a change of a text.
        """
        if not isinstance(pinned, dict):
            return Envelope(())
        labels: list[JsonValue] = [*tools.labels(pinned)]
        roles: list[JsonValue] = [_role(item) for item in _input(pinned)]
        others = sorted(key for key in pinned if key not in _TOLD_APART)
        return Envelope(
            (
                *_parts(pinned, ("model",)),
                EnvelopePart("tool names", "$.tools", labels),
                *_parts(pinned, ("tools",)),
                EnvelopePart("roles", "$.input", roles),
                *_parts(pinned, others),
            )
        )

    def part_kind(self, name: str, path: str) -> str:
        """What a reader calls a difference at a JSON path inside one part of the envelope."""
        return kinds.of_part(name, path)

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference in the instructions or the input."""
        return kinds.of_message(pinned, path)

    def said(self, pinned: JsonValue) -> Said:
        """The model, the instructions that open the conversation, the tools on offer, and the
        response whose conversation goes on."""
        if not isinstance(pinned, dict):
            return Said(None, "", ())
        opening: list[str] = []
        for item in self.message_list(pinned):
            if items.role_of(item) != "system":
                break
            opening.append(items.message(item, {}).text or "")
        model, previous = pinned.get("model"), pinned.get("previous_response_id")
        offered = tools.offered(pinned)
        return Said(
            model=model if isinstance(model, str) else None,
            system="\n".join(opening),
            tools=tuple(offered),
            served=tuple(name for name, served in offered.items() if served),
            parameters=tools.parameters(pinned),
            continues=previous if isinstance(previous, str) else None,
        )

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The instructions, then the items of the input; a text for either is one message."""
        if not isinstance(pinned, dict):
            return ()
        given = pinned.get("instructions")
        opening: list[JsonValue] = [*given] if isinstance(given, list) else []
        if given is not None and not isinstance(given, list):
            opening.append({"role": "system", "content": given})
        return [*opening, *_input(pinned)]

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One item in neutral words; a call in it is added to `names`."""
        return items.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """All items of a response as one message, and the usage.

        No message where an item cannot be read, or where the response is not there yet: a
        background response is told elsewhere.
        """
        if not isinstance(body, dict):
            return Answer((), None)
        output, status, own = body.get("output"), body.get("status"), body.get("id")
        message = None
        if isinstance(output, list) and status not in events.PENDING:
            message = items.answer(output)
        return Answer(
            messages=() if message is None else (message,),
            tokens=_tokens(body.get("usage")),
            id=own if isinstance(own, str) else None,
        )

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""
        return ResponsesAssembler(asked)

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body."""
        return events.frames(body, asked)

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterator[bytes]:
        """Stored raw frames, as they came."""
        return map(to_bytes, events)

    def error(self, status: int, message: str, code: str) -> JsonObject:
        """An error body as the official SDKs read it: the one shape of all of OpenAI's APIs."""
        return OpenAIChat().error(status, message, code)


def _input(pinned: JsonObject) -> list[JsonValue]:
    given = pinned.get("input")
    if isinstance(given, list):
        return given
    return [] if given is None else [{"role": "user", "content": given}]


def _role(item: JsonValue) -> JsonValue:
    """Who speaks in an item, or else what it is."""
    if not isinstance(item, dict):
        return None
    role = item.get("role")
    return role if isinstance(role, str) else calls.kind_of(item)


def _parts(pinned: JsonObject, keys: Iterable[str]) -> Iterator[EnvelopePart]:
    for key in keys:
        if key in pinned:
            yield EnvelopePart(key, member_path("$", key), pinned[key])


def _tokens(usage: JsonValue) -> tuple[int, int] | None:
    if not isinstance(usage, dict):
        return None
    told = [number_of(usage.get(key), -1) for key in ("input_tokens", "output_tokens")]
    return (told[0], told[1]) if min(told) >= 0 else None
