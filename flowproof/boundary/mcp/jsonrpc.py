"""Messages of JSON-RPC 2.0, as bytes and as what they are.

`recording` and `replaying` are made of it; the transports know only where a message ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, NumberText, parse, write
from flowproof.model.mcp import Broken, CallOutcome, RequestId, Result, RpcError

MAX_MESSAGE = 10 << 20
"""Largest message in bytes, of either side."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
# -32000 to -32019 are free for implementations; SDKs read meaning into the first few.
CONNECTION_CLOSED = -32000
REFUSED_CODE = -32009
"""The code of flowproof's own errors: a diverged replay, a recording that cannot be kept."""

BATCH_VERSION = "2025-03-26"
"""The one version of the protocol that has batches."""


@dataclass(frozen=True, slots=True)
class Request:
    """Asks for an answer. `message` is all of it."""

    id: RequestId
    method: str
    params: JsonValue
    message: JsonObject


@dataclass(frozen=True, slots=True)
class Notification:
    """Asks for none."""

    method: str
    message: JsonObject


@dataclass(frozen=True, slots=True)
class Response:
    """Answers the request with this id; None where its sender could not tell which."""

    id: RequestId
    outcome: Result | RpcError
    message: JsonObject


@dataclass(frozen=True, slots=True)
class Invalid:
    """JSON, but no message; `id` as far as it has a valid one."""

    id: RequestId
    reason: str


Message: TypeAlias = Request | Notification | Response | Invalid


class Unreadable(ValueError):
    """Bytes that are no JSON, or more than we accept; the message says so as a predicate, such as
    `is not JSON: …`."""

    def __init__(self, reason: str, *, too_large: bool = False) -> None:
        self.too_large = too_large
        super().__init__(reason)


def read(data: bytes) -> JsonValue:
    """The JSON value of a message.

    :raises Unreadable: if it is too large, no JSON, or nested too deeply.
    """
    if len(data) > MAX_MESSAGE:
        raise Unreadable(f"is larger than {MAX_MESSAGE >> 20} MiB", too_large=True)
    try:
        return parse(data)
    except JsonError as error:
        raise Unreadable(f"is not JSON that flowproof accepts: {error}") from None


def classify(value: JsonValue) -> Message:
    """What a JSON value is as a message. Members that it need not have are not looked at."""
    if not isinstance(value, dict):
        return Invalid(None, "a message is an object")
    found = value.get("id")
    request_id = found if _is_id(found) else None
    if "method" in value:
        method = value["method"]
        if not isinstance(method, str):
            return Invalid(request_id, "`method` is a string")
        if "id" not in value:
            return Notification(method, value)
        if request_id is None:
            return Invalid(None, "`id` of a request is a string or a number")
        return Request(request_id, method, value.get("params"), value)
    if "result" in value and "error" not in value and request_id is not None:
        return Response(request_id, Result(value["result"]), value)
    if "error" in value and "result" not in value and (found is None or request_id is not None):
        return Response(request_id, RpcError(value["error"]), value)
    return Invalid(request_id, "a message has a `method`, or an `id` with a `result` or an `error`")


def _is_id(value: JsonValue) -> bool:
    return isinstance(value, str | int | float | NumberText) and not isinstance(value, bool)


def key(request_id: JsonValue) -> str:
    """A text that two ids (or tokens) share exactly if they are the same: 1 is not "1"."""
    return write(request_id)


def error(request_id: RequestId, code: int, message: str) -> JsonObject:
    """An error as an answer."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def answer(request_id: RequestId, outcome: CallOutcome) -> JsonObject:
    """An outcome as an answer.

    :raises ValueError: for an outcome that is none.
    """
    match outcome:
        case Result(value):
            return {"jsonrpc": "2.0", "id": request_id, "result": value}
        case RpcError(value):
            return {"jsonrpc": "2.0", "id": request_id, "error": value}
        case Broken(_, text):
            return error(request_id, CONNECTION_CLOSED, text)
        case _:
            raise ValueError("no answer came")


def has_batches(outcome: CallOutcome) -> bool:
    """Whether the answer to `initialize` settles on the version that has batches."""
    match outcome:
        case Result({"protocolVersion": version}):
            return version == BATCH_VERSION
        case _:
            return False
