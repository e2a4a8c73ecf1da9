"""What flowproof must know of a model API. One file per API beside this one, all sans-I/O.

A dialect never sees a socket or a spec: JSON values and stream frames in, the same out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall
from flowproof.model.turn import Operation

Substitution: TypeAlias = Callable[[str, str | None, int, str], str | None]
"""`(tool, call id, occurrence of that id in this request, arguments) → the text to tell the model`.

The occurrence counts from 0; it and the text of the arguments tell calls apart that share an id.
None leaves the result that the agent sent.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: its path, and its query without the question mark."""

    path: str
    query: str = ""


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
    others. `served` has those of `tools` that the provider runs itself; each is named as its calls
    are. `continues` is the id of the earlier answer whose conversation the server is asked to
    go on with, where the request does not repeat that conversation itself.
    """

    model: str | None
    system: str
    tools: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    continues: str | None = None
    served: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A response in neutral words: a message per choice, and tokens in and out if told.

    `id` is what a later request may name to continue from it. `failed` is true if the API tells
    that it failed, in place of an answer.
    """

    messages: tuple[Message, ...]
    tokens: tuple[int, int] | None
    id: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Assembled:
    """A stream put together again.

    `body` is what the API would have answered without streaming. `complete` is false if the
    stream ended early; `lossless` is true if synthesising a stream from `body` loses nothing.
    `failed` is true if the stream told an error instead of an answer.
    """

    body: JsonValue
    complete: bool
    lossless: bool
    failed: bool = False


class Splitter(Protocol):
    """Cuts a byte stream into whole frames, wherever the transport cut it."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The frames that `chunk` completes, each with its separator.

        :raises FrameError: if a frame is longer than any event of a model API.
        """

    def rest(self) -> bytes:
        """The bytes after the last whole frame."""


@dataclass(frozen=True, slots=True)
class Framing:
    """How the stream of an answer is cut into frames.

    A stream is served as `content_type`; an upstream's answer is one if its media type is among
    `media_types`.
    """

    content_type: str
    media_types: frozenset[str]
    splitter: Callable[[], Splitter]


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
    """One model API. `messages_path` is the JSON path of the conversation in a pinned body."""

    name: str
    provider: str
    messages_path: str

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation that a request path (without query) names, or None: not ours."""

    def model_of(self, operation: Operation) -> str | None:
        """The model that the path of an operation names, None where the body does."""

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """Split a request into what is pinned and what is transport."""

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream: transport put back, usage always asked for in a stream."""

    def destination(self, operation: Operation, asked: Asked, target: Target) -> Target:
        """Where below the upstream's base URL a request goes that came for `target`."""

    def framing(self, asked: Asked) -> Framing:
        """How the stream is cut that a request asks for."""

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace tool results in a request; also the names of the tools replaced, in order.

        `earlier` has the calls of earlier answers by id, for requests that do not repeat them.
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
        """What a request says, in order, as values of which `message` makes one message each.

        Instructions come first, wherever the API keeps them. What it holds is compared and
        counted, so that equal requests have equal lists.
        """

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One of these in neutral words.

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
