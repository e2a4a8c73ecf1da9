"""A trace as the bytes of its file; `decode` reads them back."""

from __future__ import annotations

import base64
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from flowproof.errors import TraceTooLarge
from flowproof.model import rawtext
from flowproof.model.jsonvalue import JsonObject, JsonValue, same, write
from flowproof.model.traffic import Unserved
from flowproof.model.turn import Operation, Response, SideCall, Turn
from flowproof.trace.decode import JSON_TYPE, MAX_PATCH, MAX_SIZE, MAX_TURNS
from flowproof.trace.document import FORMAT, VERSION, Trace
from flowproof.trace.layout import pretty
from flowproof.trace.patch import diff

_CANDIDATES = 16
"""How many earlier turns of the same operation are considered as the base of a turn."""


def encode(trace: Trace) -> bytes:
    """The file of a trace: JSON in UTF-8, keys in a fixed order, one final newline.

    :raises TraceTooLarge: if `decode` would refuse it for its size.
    :raises ValueError: for a legacy trace, which would claim to pin more than it does.
    """
    if trace.pins != "whole":
        raise ValueError("a legacy trace cannot be written again")
    if len(trace.turns) > MAX_TURNS:
        raise TraceTooLarge(
            f"the recording has {len(trace.turns)} model calls; a trace holds at most {MAX_TURNS}; "
            "split the flow"
        )
    if len(trace.side_calls) > MAX_TURNS:
        raise TraceTooLarge(
            f"the recording has {len(trace.side_calls)} side calls; a trace holds at most "
            f"{MAX_TURNS}; split the flow"
        )
    document: JsonObject = {
        "format": FORMAT,
        "version": VERSION,
        "flowproof": trace.flowproof,
        "recorded": trace.recorded,
        "spec": {
            "name": trace.spec_name,
            "file": trace.spec_file,
            "sha256": trace.spec_sha256,
        },
        "driver": trace.driver,
        "platform": trace.platform,
        "containment": trace.containment,
        "mocks": {
            tool: {"results": list(mock.results), "repeat_last": mock.repeat_last}
            for tool, mock in trace.mocks.items()
        },
        "retries_dropped": trace.retries_dropped,
        "turns": [
            _turn(number, turn, request)
            for number, (turn, request) in enumerate(
                zip(trace.turns, _requests(trace.turns), strict=True), 1
            )
        ],
    }
    if trace.side_calls:
        document["side_calls"] = [
            _side_call(call, request)
            for call, request in zip(trace.side_calls, _requests(trace.side_calls), strict=True)
        ]
    if trace.unserved is not None:
        document["unserved"] = list(map(_unserved, trace.unserved))
    if trace.mcp:
        from flowproof.trace.lanes import written_servers

        document["mcp"] = written_servers(trace.mcp)
    data = pretty(document).encode()
    if len(data) > MAX_SIZE:
        raise TraceTooLarge(
            f"the trace would have {len(data) >> 20} MiB; at most {MAX_SIZE >> 20} MiB are read; "
            "split the flow"
        )
    return data


def _turn(number: int, turn: Turn, request: JsonObject) -> JsonValue:
    stored: JsonObject = {
        "turn": number,
        "dialect": turn.operation.dialect,
        "path": turn.operation.path,
        "request": request,
        "response": _response(turn.response),
    }
    if turn.streamed:
        stored["streamed"] = True
    if turn.mocked:
        stored["mocked"] = list(turn.mocked)
    return stored


def _unserved(one: Unserved) -> JsonValue:
    kind: JsonObject = {} if one.kind == "request" else {"kind": one.kind}
    return {"method": one.method, "path": one.path, "count": one.count, **kind}


def _side_call(call: SideCall, request: JsonObject) -> JsonValue:
    stored: JsonObject = {
        "endpoint": call.operation.dialect,
        "method": call.method,
        "path": call.operation.path,
    }
    if call.request is not None:
        stored["request"] = request
    return stored | {"response": _response(call.response)}


def _response(response: Response) -> JsonObject:
    stored: JsonObject = {"status": response.status}
    if response.content_type != JSON_TYPE:
        stored["content_type"] = response.content_type
    if response.text is None:
        stored["body"] = response.body
    else:
        stored["text"] = _text(response.text)
    if response.events is not None:
        stored["events"] = [_text(event) for event in response.events]
    return stored


def _text(text: str) -> JsonValue:
    """Text from the wire: as it is, or in base64 where its bytes are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            data = rawtext.to_bytes(text)
        except UnicodeEncodeError:
            return text
        if rawtext.from_bytes(data) == text:
            return {"base64": base64.b64encode(data).decode()}
    return text


def _requests(turns: Sequence[Turn | SideCall]) -> Iterator[JsonObject]:
    """Each request as it is stored: whole, or as what it adds to an earlier one."""
    latest: dict[Operation, deque[int]] = defaultdict(lambda: deque(maxlen=_CANDIDATES))
    for number, turn in enumerate(turns, 1):
        candidates = latest[turn.operation]
        stored: JsonObject = {"body": turn.request}
        if candidates:
            base = _nearest(turns, candidates, turn.request)
            patch = diff(turns[base - 1].request, turn.request)
            if len(patch) <= MAX_PATCH and len(write(patch)) < len(write(turn.request)):
                stored = {"base": base, "patch": patch}
        candidates.append(number)
        yield stored


def _nearest(
    turns: Sequence[Turn | SideCall], candidates: Iterable[int], request: JsonValue
) -> int:
    """The number of the candidate that shares most with a request; the latest of several."""
    best, most = 0, -1
    for number in sorted(candidates, reverse=True):
        shared, size = _likeness(turns[number - 1].request, request)
        if shared > most:
            best, most = number, shared
        # To look further would compare a long conversation many times over, for little.
        if size - shared <= min(4, size // 10):
            break
    return best


def _likeness(old: JsonValue, new: JsonValue) -> tuple[int, int]:
    """How many members `old` shares with `new`, and of how many; of a list, each element is one.

    Lists share only what they begin with: that is how conversations grow.
    """
    if not isinstance(old, dict) or not isinstance(new, dict):
        return int(same(old, new)), 1
    shared = size = 0
    for key, value in old.items():
        other = new.get(key)
        if isinstance(value, list) and isinstance(other, list):
            size += len(value)
            alike = map(same, value, other)
            shared += next(
                (n for n, equal in enumerate(alike) if not equal), min(len(value), len(other))
            )
        else:
            size += 1
            shared += key in new and same(value, other)
    return shared, size
