"""What flowproof must know of a model API. One file per API beside this one, all sans-I/O.

A dialect never sees a socket or a spec: JSON values and stream frames in, the same out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message
from flowproof.model.turn import Operation

Substitution: TypeAlias = Callable[[str, str | None, int, str], str | None]
"""`(tool, call id, occurrence of that id in this request, arguments) → the text to tell the model`.

The occurrence counts from 0; it and the text of the arguments tell calls apart that share an id.
None leaves the result that the agent sent.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request split into what it asks (`pinned`) and how it wants to be answered.

    `transport` holds the members left out of `pinned`, as they were sent.
    """

    pinned: JsonObject
    stream: bool
    stream_usage: bool
    transport: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Envelope:
    """The parts of a request that are compared and reported before any message.

    `parts` are named JSON values in the order of reporting (`model`, `tool names`, …), each with
    its JSON path in the pinned body; what no part covers is compared last.
    """

    parts: tuple[EnvelopePart, ...]


@dataclass(frozen=True, slots=True)
class EnvelopePart:
    """One named part of a request. `path` is where it stands, such as `$.model`."""

    name: str
    path: str
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Said:
    """A request in neutral words, without its messages.

    `parameters` has the names of the arguments of each tool whose schema says that there are no
    others.
    """

    model: str | None
    system: str
    tools: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response in neutral words: a message per choice, and tokens in and out if told."""

    messages: tuple[Message, ...]
    tokens: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Assembled:
    """A stream put together again.

    `body` is what the API would have answered without streaming. `complete` is false if the
    stream ended early; `lossless` is true if synthesising a stream from `body` loses nothing.
    `failed` is true if the stream carried an error event instead of an answer.
    """

    body: JsonValue
    complete: bool
    lossless: bool
    failed: bool = False


class Assembler(Protocol):
    """Puts one upstream stream together, frame by frame."""

    @property
    def unread(self) -> str | None:
        """The first data fed that cannot be read as this API speaks, None if there was none."""

    def feed(self, frame: bytes) -> bool:
        """Take one whole frame, separator included; say whether the agent shall get it."""

    def result(self) -> Assembled:
        """What the frames fed so far amount to."""


class Dialect(Protocol):
    """One model API."""

    name: str
    provider: str

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation that a request path (without query) names, or None: not ours."""

    def asked(self, body: JsonObject) -> Asked:
        """Split a request body into what is pinned and what is transport."""

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream: transport put back, usage always asked for in a stream."""

    def substitute(
        self, pinned: JsonObject, substitution: Substitution
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace tool results in a request; also the names of the tools replaced, in order.

        The body given is not changed; where nothing is replaced it is returned as it is.
        """

    def envelope(self, pinned: JsonValue) -> Envelope:
        """The parts of a request that are compared before its messages."""

    def part_kind(self, name: str, path: str) -> str:
        """What a reader calls a difference at a JSON path inside one part of the envelope."""

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference at a JSON path outside the envelope.

        Such as `system text`, `tool call arguments` or `image`.
        """

    def said(self, pinned: JsonValue) -> Said:
        """Who is asked, with which instructions and tools."""

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The raw messages of a request, in order; empty where there is none."""

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One raw message in neutral words.

        `names` maps call ids to tool names; a message that calls tools adds to it.
        """

    def answer(self, body: JsonValue) -> Answer:
        """A response body in neutral words; no messages where it holds none, or anything that
        is said there cannot be read."""

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""

    def stream(self, body: JsonValue, asked: Asked) -> Iterable[bytes]:
        """The frames that say the same as a plain response body."""

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterable[bytes]:
        """Stored raw frames as this request wants them."""

    def error(self, status: int, message: str, code: str) -> JsonObject:
        """An error body in the shape that clients of this API read."""
