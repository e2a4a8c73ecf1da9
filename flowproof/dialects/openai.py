"""What OpenAI's APIs share: routes with and without a deployment, SSE streams and errors.

`openai_chat`, `openai_completions` and `openai_responses` are the dialects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from flowproof.dialects import requests
from flowproof.dialects.interface import Asked, Framing, Target
from flowproof.dialects.openai_chunks import without_usage
from flowproof.dialects.sse import EVENT_STREAM
from flowproof.dialects.values import member_of
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.rawtext import to_bytes
from flowproof.model.turn import Operation

_TRANSPORT = ("stream", "stream_options")
_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def route(path: str) -> re.Pattern[str]:
    """Finds the end of a request path: a pattern without groups, and before it a deployment.

    A deployment is one plain segment: nothing in a request may climb out of the upstream's path.
    """
    return re.compile(rf"((?:/deployments/([A-Za-z0-9_][A-Za-z0-9_.:-]*))?{path})/?\Z")


def names_deployment(prefix: str) -> bool:
    """Whether what stands before an endpoint names a deployment that is no plain segment.

    Without it the request would go to another model, so that it is not ours to serve.
    """
    return "/deployments/" in f"{unquote(prefix)}/".lower()


class OpenAI:
    """The part of a dialect that does not depend on what is said. `named` is its `route`."""

    name: str
    provider = "openai"
    named: re.Pattern[str]

    def operation(self, method: str, path: str) -> Operation | None:
        """The path of this API under any prefix; an Azure deployment before it is kept, since it
        names the model."""
        found = self.named.search(path)
        if found is None or method.upper() != "POST" or names_deployment(path[: found.start()]):
            return None
        return Operation(self.name, found[1])

    def model_of(self, operation: Operation) -> str | None:
        """The deployment in the path of an Azure request."""
        found = self.named.fullmatch(operation.path)
        return found[2] if found else None

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """Split a request body: `stream` and `stream_options` are transport."""
        return requests.asked(body, _TRANSPORT, stream=body.get("stream") is True)

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream, transport put back."""
        return pinned | asked.transport

    def destination(self, operation: Operation, asked: Asked, target: Target) -> Target:
        """The operation's own path: the upstream's base URL holds the version."""
        return Target(operation.path, target.query)

    def framing(self, asked: Asked) -> Framing:
        """Server-sent events."""
        return EVENT_STREAM

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterator[bytes]:
        """Stored raw frames, as they came."""
        return map(to_bytes, events)

    def error(self, status: int, message: str, code: str) -> JsonObject:
        """An error body as the official SDKs read it."""
        kind = "server_error" if status >= 500 else "invalid_request_error"
        kind = _ERROR_TYPES.get(status, kind)
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class ChunkedOpenAI(OpenAI):
    """One whose streams tell the usage in a chunk of its own, to those who ask for it."""

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """Split a request body: `stream` and `stream_options` are transport."""
        usage = member_of(body.get("stream_options"), "include_usage") is True
        stream = body.get("stream") is True
        return requests.asked(body, _TRANSPORT, stream=stream, stream_usage=usage)

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream; a stream always asks for usage.

        Stream options that are no object are sent as they are, for the upstream to refuse.
        """
        body = super().forwarded(pinned, asked)
        if not asked.stream:
            return body
        options = asked.transport.get("stream_options")
        if options is None or isinstance(options, dict):
            body["stream_options"] = (options or {}) | {"include_usage": True}
        return body | {"stream": True}

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterator[bytes]:
        """Stored raw frames, without the usage frame unless it was asked for."""
        frames = super().replayed(events, asked)
        return frames if asked.stream_usage else without_usage(frames)
