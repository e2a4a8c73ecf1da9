"""What Ollama's two generating APIs share: NDJSON streams, transport and errors.

`ollama_chat` and `ollama_generate` are the dialects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flowproof.dialects import ndjson, ollama_stream, requests
from flowproof.dialects.answers import tokens
from flowproof.dialects.interface import Asked, Assembler, Framing, Target
from flowproof.dialects.ollama_stream import Form, LineAssembler
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.rawtext import to_bytes
from flowproof.model.turn import Operation


class Ollama:
    """The part of a dialect that does not depend on what is said. `path` is that of its
    requests, below any prefix; `form` that of its answers."""

    name: str
    provider = "ollama"
    path: str
    form: Form

    def operation(self, method: str, path: str) -> Operation | None:
        """The path of this API under any prefix."""
        ours = path.removesuffix("/").endswith(self.path) and method.upper() == "POST"
        return Operation(self.name, self.path) if ours else None

    def model_of(self, operation: Operation) -> str | None:
        """None: the body names the model."""
        return None

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """Split a request body: `stream` is transport. The server streams unless told not to."""
        return requests.asked(body, ("stream",), stream=body.get("stream") is not False)

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream: `stream` as it was sent; usage is always told."""
        return pinned | asked.transport

    def destination(self, operation: Operation, asked: Asked, target: Target) -> Target:
        """The operation's own path: the upstream's base URL ends before `/api`."""
        return Target(operation.path, target.query)

    def framing(self, asked: Asked) -> Framing:
        """Newline-delimited JSON."""
        return ndjson.LINES_OR_JSON if asked.stream else ndjson.LINES

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream."""
        return LineAssembler(self.form)

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The lines that say the same as a plain response body."""
        return ollama_stream.lines(self.form, body)

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterator[bytes]:
        """Stored raw lines, as they came."""
        return map(to_bytes, events)

    def error(self, status: int, message: str, code: str) -> JsonObject:
        """An error body as the official clients read it: it has no place for a code."""
        return {"error": message}


def tokens_of(body: JsonObject) -> tuple[int, int] | None:
    """Tokens in and out, None where neither is told; the server leaves out a zero."""
    keys = ("prompt_eval_count", "eval_count")
    if not any(key in body for key in keys):
        return None
    return tokens(*(body.get(key, 0) for key in keys))
