"""What a POST carries, as far as the transport has to know; sessions read it themselves."""

from __future__ import annotations

from dataclasses import dataclass

from flowproof.boundary.http1 import Request as HttpRequest
from flowproof.boundary.mcp.jsonrpc import Invalid, Request, Unreadable, classify, read
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.mcp import RequestId

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_WITH_SESSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})


@dataclass(frozen=True, slots=True)
class Posted:
    """`method` is that of a single message, empty if it has none; `requests` are the ids that
    want an answer. `modern`: it speaks a version without sessions. `streams`: the agent takes a
    stream for an answer."""

    method: str
    requests: tuple[RequestId, ...]
    batch: bool
    modern: bool
    streams: bool


def header(request: HttpRequest, name: str) -> str | None:
    """The first value of a header."""
    return next((value for found, value in request.headers if found == name), None)


def is_modern(version: JsonValue) -> bool:
    """Whether a version, if any is named, is one without sessions."""
    return isinstance(version, str) and bool(version) and version not in _WITH_SESSIONS


def posted(request: HttpRequest) -> Posted:
    """What a POST carries; of a body that cannot be read, nothing."""
    try:
        value = read(request.body)
    except Unreadable:
        value = None
    many = value if isinstance(value, list) else [value]
    messages = [classify(one) for one in many]
    single = value if isinstance(value, dict) else {}
    method = single.get("method")
    version = header(request, VERSION)
    accepted = ",".join(value for name, value in request.headers if name == "accept")
    return Posted(
        method=method if isinstance(method, str) else "",
        requests=tuple(
            one.id for one in messages if isinstance(one, Request | Invalid) and one.id is not None
        ),
        batch=isinstance(value, list),
        modern=is_modern(version) or (version is None and is_modern(_version_in(single))),
        streams=any(kind in accepted for kind in ("text/event-stream", "text/*", "*/*")),
    )


def _version_in(message: dict[str, JsonValue]) -> JsonValue:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
