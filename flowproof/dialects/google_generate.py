"""The Gemini API: generateContent and streamGenerateContent.

Requests and plain answers here; contents, results, frames and assembly in the files beside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl

from flowproof.dialects import google_generate_frames as frames
from flowproof.dialects import google_generate_kinds as kinds
from flowproof.dialects import google_generate_message as messages
from flowproof.dialects import google_generate_results as results
from flowproof.dialects import google_generate_tools as tools
from flowproof.dialects import requests
from flowproof.dialects.answers import messages_by_index, tokens
from flowproof.dialects.attachments import short
from flowproof.dialects.credentials import without_credentials
from flowproof.dialects.google_generate_assembly import GenerateAssembler, blocked
from flowproof.dialects.google_generate_message import INSTRUCTIONS, entries
from flowproof.dialects.google_generate_names import member
from flowproof.dialects.google_generate_served import shown_calls
from flowproof.dialects.interface import (
    Answer,
    Asked,
    Assembler,
    Envelope,
    Framing,
    Said,
    Substitution,
    Target,
)
from flowproof.dialects.values import member_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall
from flowproof.model.turn import Operation

# A model is one plain segment: nothing in a request may climb out of the upstream's path.
_NAMED = re.compile(
    r"(?:/(v\d{1,3}(?:(?:alpha|beta)\d{0,3})?))?"
    r"(/(?:models|tunedModels)/([A-Za-z0-9_][A-Za-z0-9_.@-]*)):(generateContent|streamGenerateContent)\Z"
)
_VERSION = "v1beta"
# Another API with paths of the same form, which names a project before the model.
_OTHER_API = "/publishers/"
_STATUS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_CALLS_UNTOLD = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
"""Reasons to finish by which the model called a tool, and the API does not say how."""


class GoogleGenerate:
    """The dialect `google.generate`."""

    name = "google.generate"
    provider = "google"
    messages_path = "$.contents"

    def operation(self, method: str, path: str) -> Operation | None:
        """`:generateContent` of a model under any prefix; asked for as a stream, it is the same
        operation."""
        named = _NAMED.search(path)
        if named is None or method.upper() != "POST" or _OTHER_API in path:
            return None
        return Operation(self.name, f"{named[2]}:generateContent")

    def model_of(self, operation: Operation) -> str | None:
        """The model in the path."""
        named = _NAMED.fullmatch(operation.path)
        return named[3] if named else None

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """All of a body is pinned: path and query say whether and how to stream."""
        stream = target.path.endswith(":streamGenerateContent")
        query = parse_qsl(target.query, keep_blank_values=True, max_num_fields=None)
        events = any(key in ("alt", "$alt") and value == frames.EVENTS for key, value in query)
        transport: JsonObject = {"alt": frames.EVENTS if events else frames.ARRAY}
        return Asked(
            pinned=body,
            stream=stream,
            stream_usage=stream,
            transport=transport if stream else {},
        )

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body as it is; the API always tells the usage."""
        return pinned

    def destination(self, operation: Operation, asked: Asked, target: Target) -> Target:
        """The operation under the version that the client named, else under `v1beta`; of the
        query, what is no credential."""
        named = _NAMED.search(target.path)
        version = (named[1] if named else None) or _VERSION
        path = operation.path
        if asked.stream:
            path = f"{path.removesuffix(':generateContent')}:streamGenerateContent"
        return Target(f"/{version}{path}", without_credentials(target.query))

    def framing(self, asked: Asked) -> Framing:
        """Server-sent events where they were asked for, else one JSON array."""
        return frames.framing(asked)

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace the `response` of function responses."""
        return results.substitute(pinned, substitution, earlier)

    def envelope(self, pinned: JsonValue) -> Envelope:
        """Model, tool names, tools, roles, then every other parameter by name."""
        if not isinstance(pinned, dict):
            return Envelope(())
        return requests.envelope(
            pinned,
            requests.tool_names(tools.labels(pinned)),
            "tools",
            requests.roles("$.contents", entries(pinned.get("contents"))),
            apart=("contents", *INSTRUCTIONS),
        )

    def part_kind(self, name: str, path: str) -> str:
        """What a reader calls a difference at a JSON path inside one part of the envelope."""
        return kinds.of_part(name, path)

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference in the instructions or the contents."""
        return kinds.of_message(pinned, path)

    def said(self, pinned: JsonValue) -> Said:
        """The instructions and the tools offered; the path names the model."""
        if not isinstance(pinned, dict):
            return Said(None, "", ())
        opening = [messages.message(unit, {}).text or "" for unit in _instructions(pinned)]
        return requests.said(
            pinned, "\n".join(opening), tools.offered(pinned), tools.parameters(pinned)
        )

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The instructions, then the contents, of which every function response is one unit."""
        if not isinstance(pinned, dict):
            return ()
        contents = pinned.get("contents")
        listed = [contents] if isinstance(contents, str) else entries(contents)
        units = [unit for content in listed for unit in messages.units(content)]
        return [*_instructions(pinned), *units]

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One unit in neutral words; calls in it are added to `names`."""
        return messages.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """A message per candidate, by index, and the usage; no message if one cannot be read.

        Of a request that was blocked the API says so: the model was not asked, and calls nothing.
        """
        listed = member_of(body, "candidates")
        spoken = messages_by_index(listed, _candidate)
        reason = None if listed else blocked(body)
        if reason is not None:
            spoken = (
                Message("assistant", None, attachments=(f"blocked prompt ({short(reason)})",)),
            )
        return Answer(spoken, _tokens(member(body, "usageMetadata")))

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""
        return GenerateAssembler(asked)

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body."""
        return frames.frames(body, asked)

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterator[bytes]:
        """Stored raw frames, as events or as an array."""
        return frames.replayed(events, asked)

    def error(self, status: int, message: str, code: str) -> JsonObject:
        """An error body as the official SDKs read it."""
        name = _STATUS.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        detail: JsonObject = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": code,
            "domain": "flowproof",
        }
        told: JsonObject = {"code": status, "message": message, "status": name, "details": [detail]}
        return {"error": told}


def _instructions(pinned: JsonObject) -> list[JsonValue]:
    """A unit for the instructions, under the name that they have in the request."""
    return [{key: pinned[key]} for key in INSTRUCTIONS if pinned.get(key) is not None]


def _candidate(candidate: JsonValue) -> Message | None:
    """What a candidate says; None where that cannot be told."""
    content, reason = member(candidate, "content"), member(candidate, "finishReason")
    if not messages.readable(content) or (content is None and not isinstance(reason, str)):
        return None
    said = messages.answered(content)
    if reason in _CALLS_UNTOLD and not said.asks:
        return None
    shown = tuple(shown_calls(candidate, said.tool_calls))
    return replace(said, tool_calls=(*shown, *said.tool_calls)) if shown else said


def _tokens(usage: JsonValue) -> tuple[int, int] | None:
    """Tokens in and out, thoughts included; the API leaves out a count of 0."""
    given = [member(usage, key) or 0 for key in ("candidatesTokenCount", "thoughtsTokenCount")]
    return tokens(member(usage, "promptTokenCount"), *given)
