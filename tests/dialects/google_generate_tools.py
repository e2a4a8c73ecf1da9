"""What the tests of the Gemini dialect share: requests, chunks, streams in both framings."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects.google_generate import GoogleGenerate
from flowproof.dialects.interface import Asked, Assembled
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects import tools

GEMINI = GoogleGenerate()
EVENTS = Asked({}, stream=True, stream_usage=True, transport={"alt": "sse"})
ARRAY = Asked({}, stream=True, stream_usage=True, transport={"alt": "json"})
PLAIN = Asked({}, stream=False, stream_usage=False)
USAGE: JsonObject = {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11}


def content(*parts: JsonValue, role: str = "model") -> JsonObject:
    return {"parts": [*parts], "role": role}


def text(said: str, **others: JsonValue) -> JsonObject:
    return {"text": said, **others}


def call(name: str, call_id: str | None = None, **arguments: JsonValue) -> JsonObject:
    identified: JsonObject = {} if call_id is None else {"id": call_id}
    return {"functionCall": {**identified, "name": name, "args": arguments}}


def result(name: str, response: JsonValue, call_id: str | None = None) -> JsonObject:
    identified: JsonObject = {} if call_id is None else {"id": call_id}
    return {"functionResponse": {**identified, "name": name, "response": response}}


def candidate(
    *parts: JsonValue, finish: str | None = None, index: int = 0, **others: JsonValue
) -> JsonObject:
    reason: JsonObject = {} if finish is None else {"finishReason": finish}
    return {"content": content(*parts), **reason, "index": index, **others}


def body(*candidates: JsonValue, **others: JsonValue) -> JsonObject:
    """A response, which is a chunk of a stream just as well."""
    return {
        "candidates": [*candidates],
        **others,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r-1",
    }


def event(chunk: JsonValue) -> bytes:
    """One chunk as the API sends it to a client that asks for events."""
    return b"data: " + write(chunk).encode() + b"\r\n\r\n"


def events(*chunks: JsonValue) -> list[bytes]:
    return [event(chunk) for chunk in chunks]


def array(*chunks: JsonValue) -> bytes:
    """All chunks as the API sends them to a client that does not ask for events."""
    return b"[" + b"\n,\r\n".join(write(chunk, indent=2).encode() for chunk in chunks) + b"\n]"


def split(chunks: Iterable[bytes], asked: Asked = EVENTS) -> tuple[list[bytes], bytes]:
    return tools.split(chunks, GEMINI.framing(asked))


def assemble(frames: Iterable[bytes], asked: Asked = EVENTS) -> Assembled:
    return tools.assembled(GEMINI, frames, asked)


EARLY: JsonObject = {"promptTokenCount": 9, "totalTokenCount": 9}
TEXT = [
    body(candidate(text("Gr\u00fc")), usageMetadata=EARLY),
    body(candidate(text("\u00dfe ")), usageMetadata=EARLY),
    body(candidate(text("\U0001f44b"), finish="STOP"), usageMetadata=USAGE),
]
TEXT_BODY: JsonObject = {
    "candidates": [
        {
            "content": {"parts": [{"text": "Gr\u00fc\u00dfe \U0001f44b"}], "role": "model"},
            "index": 0,
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": USAGE,
    "modelVersion": "gemini-2.5-flash",
    "responseId": "r-1",
}
