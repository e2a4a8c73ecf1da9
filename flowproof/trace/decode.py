"""The bytes of a trace file as a trace: pure, bounded, every defect named; `encode` writes them."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import get_args

from flowproof.errors import TraceCorrupt
from flowproof.model import rawtext
from flowproof.model.jsonvalue import MAX_DEPTH, JsonError, JsonObject, JsonValue, parse
from flowproof.model.traffic import (
    LONGEST_METHOD,
    LONGEST_PATH,
    MOST_UNSERVED,
    Arrival,
    Unserved,
)
from flowproof.model.turn import Operation, Response, SideCall, Turn
from flowproof.model.visible import compact
from flowproof.trace.document import FORMAT, VERSION, RecordedMock, RecordedServer, Trace
from flowproof.trace.node import Defect, Node
from flowproof.trace.patch import Budget, PatchError, apply

MAX_SIZE = 256 << 20
"""Largest trace file in bytes."""
MAX_TURNS = 10_000
"""Most turns of a trace, and most of its side calls."""
MAX_PATCH = 10_000
"""Most operations in the patch of one turn."""
JSON_TYPE = "application/json"
"""The content type of a response that does not name another."""

# A conversation of MAX_TURNS turns with four new messages each copies this much.
_MAX_COPIED = 200_000_000
# Bodies may be MAX_DEPTH levels deep, and stand this far down in the file.
_WRAPPING = 8
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_CONFLICT = re.compile(rb"^(?:<{7}|={7}|>{7})", re.MULTILINE)


def decode(data: bytes, shown: str) -> Trace:
    """The trace that a file holds; `shown` names the file in errors.

    :raises TraceCorrupt: if it is not a trace that this version of flowproof reads.
    """
    try:
        root = Node(_parsed(data), "$")
        if not _is_older(root.value):
            return _trace(root)
        from flowproof.trace import legacy

        return legacy.read(root, MAX_TURNS)
    except Defect as defect:
        raise TraceCorrupt(shown, str(defect)) from defect


def _is_older(value: JsonValue) -> bool:
    """Whether a document looks like a trace of flowproof 0.23."""
    return isinstance(value, dict) and "cassette" in value and "format" not in value


def _parsed(data: bytes) -> JsonValue:
    if len(data) > MAX_SIZE:
        raise Defect(f"it is larger than {MAX_SIZE >> 20} MiB; record it again")
    try:
        return parse(data, max_depth=MAX_DEPTH + _WRAPPING, object_of=_unique)
    except JsonError as error:
        raise Defect(_why_not_json(data, str(error))) from None


def _unique(members: list[tuple[str, JsonValue]]) -> JsonObject:
    """An object whose keys all differ. After a bad merge one half would hide the other."""
    made = dict(members)
    if len(made) < len(members):
        names = [key for key, _ in members]
        key = next(key for at, key in enumerate(names) if key in names[:at])
        raise Defect(
            f"the key {compact(key, limit=80)} stands twice in one object, as after a bad merge; "
            "restore the file or record it again"
        )
    return made


def _why_not_json(data: bytes, error: str) -> str:
    if not data.strip():
        return "it is empty; record it again"
    # No line of JSON starts so: a line end inside a string is always escaped.
    if conflict := _CONFLICT.search(data):
        line = data.count(b"\n", 0, conflict.start()) + 1
        return (
            f"it holds the marks of a merge conflict (line {line}); take one side or record again"
        )
    if data.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, not the file itself; run `git lfs pull`"
    if not data.rstrip().endswith(b"\n}"):
        return f"it is cut off or not JSON: {error}; restore it or record it again"
    return f"it is not JSON: {error}; restore it or record it again"


def _trace(root: Node) -> Trace:
    head = root.entries()
    if "format" not in head or head["format"].value != FORMAT:
        raise Defect(f'it is not a flowproof trace: `format` is not "{FORMAT}"')
    if "version" not in head:
        raise root.defect("the key `version` is missing")
    version = head["version"].count()
    if version != VERSION:
        raise Defect(
            f"it is in version {str(version)[:20]} of the format, this flowproof reads version "
            f"{VERSION}; " + ("update flowproof" if version > VERSION else "record it again")
        )
    members = root.members(
        "format version flowproof recorded spec driver platform containment mocks "
        "retries_dropped turns",
        "side_calls unserved mcp",
    )
    beside, unserved = members.get("side_calls"), members.get("unserved")
    spec = members["spec"].members("name file sha256")
    return Trace(
        flowproof=members["flowproof"].text(),
        recorded=members["recorded"].text(),
        spec_name=spec["name"].text(),
        spec_file=spec["file"].text(),
        spec_sha256=spec["sha256"].text(),
        driver=members["driver"].text(),
        platform=members["platform"].text(),
        containment=members["containment"].text(),
        mocks={tool: _mock(node) for tool, node in members["mocks"].entries().items()},
        retries_dropped=members["retries_dropped"].count(),
        turns=_turns(members["turns"]),
        side_calls=_side_calls(beside) if beside else (),
        unserved=_unserved(unserved) if unserved else None,
        mcp=_servers(members["mcp"]) if "mcp" in members else {},
    )


def _servers(node: Node) -> dict[str, RecordedServer]:
    from flowproof.trace.lanes import read_servers

    return read_servers(node)


def _mock(node: Node) -> RecordedMock:
    members = node.members("results repeat_last")
    results = tuple(item.value for item in members["results"].items())
    return RecordedMock(results, members["repeat_last"].flag())


def _unserved(node: Node) -> tuple[Unserved, ...]:
    items = node.items()
    if len(items) > MOST_UNSERVED:
        raise node.defect(f"more than {MOST_UNSERVED} unserved requests")
    return tuple(map(_unserved_one, items))


def _unserved_one(node: Node) -> Unserved:
    members = node.members("method path count", "kind")
    method, path, count = members["method"], members["path"], members["count"]
    for member, longest in ((method, LONGEST_METHOD), (path, LONGEST_PATH)):
        if len(member.text()) > longest:
            raise member.defect(f"expected at most {longest} characters")
    if not count.count():
        raise count.defect("a request that is told of came at least once")
    kind: Arrival = "request"
    if told := members.get("kind"):
        found = next((one for one in get_args(Arrival) if one == told.text()), None)
        if found is None:
            raise told.defect(f"known are {', '.join(get_args(Arrival))}")
        kind = found
    return Unserved(method.text(), path.text(), count.count(), kind)


def _turns(node: Node) -> tuple[Turn, ...]:
    items = node.items()
    if len(items) > MAX_TURNS:
        raise node.defect(f"more than {MAX_TURNS} turns")
    budget = Budget(_MAX_COPIED)
    turns: list[Turn] = []
    for number, item in enumerate(items, 1):
        turns.append(_turn(item, number, turns, budget))
    return tuple(turns)


def _turn(node: Node, number: int, earlier: list[Turn], budget: Budget) -> Turn:
    members = node.members("turn dialect path request response", "streamed mocked")
    if members["turn"].count() != number:
        raise members["turn"].defect(f"turns are out of order: this one is number {number}")
    streamed, mocked = members.get("streamed"), members.get("mocked")
    return Turn(
        operation=Operation(members["dialect"].text(), members["path"].text()),
        request=_request(members["request"], f"turn {number}", earlier, budget),
        response=_response(members["response"]),
        streamed=streamed.flag() if streamed else False,
        mocked=tuple(item.text() for item in mocked.items()) if mocked else (),
    )


def _side_calls(node: Node) -> tuple[SideCall, ...]:
    items = node.items()
    if len(items) > MAX_TURNS:
        raise node.defect(f"more than {MAX_TURNS} side calls")
    budget = Budget(_MAX_COPIED)
    calls: list[SideCall] = []
    for number, item in enumerate(items, 1):
        calls.append(_side_call(item, number, calls, budget))
    return tuple(calls)


def _side_call(node: Node, number: int, earlier: list[SideCall], budget: Budget) -> SideCall:
    asks = "request" in node.entries()
    members = node.members(f"endpoint method path response{' request' * asks}")
    method, request = members["method"].text(), None
    if method not in ("GET", "POST"):
        raise members["method"].defect("a side call is made with GET or POST")
    if asks:
        request = _request(members["request"], f"side call {number}", earlier, budget)
    if isinstance(request, dict) is not (method == "POST"):
        raise node.defect("a call with POST has an object as its request, one with GET has none")
    return SideCall(
        operation=Operation(members["endpoint"].text(), members["path"].text()),
        method=method,
        request=request,
        response=_response(members["response"]),
    )


def _request(
    node: Node, name: str, earlier: Sequence[Turn | SideCall], budget: Budget
) -> JsonValue:
    """A request, whole or out of that of an earlier one; `name` ends with its number."""
    if "base" not in node.entries():
        return node.members("body")["body"].value
    members = node.members("base patch")
    base = members["base"].count()
    kind = name.rpartition(" ")[0]
    if not 1 <= base <= len(earlier):
        raise members["base"].defect(
            f"{name} builds on {kind} {str(base)[:20]}, which does not come before it"
        )
    operations = members["patch"].items()
    if len(operations) > MAX_PATCH:
        raise members["patch"].defect(f"more than {MAX_PATCH} operations")
    try:
        return apply(earlier[base - 1].request, [item.value for item in operations], budget)
    except PatchError as error:
        raise members["patch"].defect(f"does not fit {kind} {base}: {error}") from None


def _response(node: Node) -> Response:
    has_text = "text" in node.entries()
    members = node.members(
        "status text" if has_text else "status body", optional="content_type events"
    )
    status = members["status"].count()
    if not 200 <= status <= 599:
        raise members["status"].defect(f"{str(status)[:20]} is not the HTTP status of an answer")
    content_type, events = members.get("content_type"), members.get("events")
    return Response(
        status=status,
        body=None if has_text else members["body"].value,
        text=_text(members["text"]) if has_text else None,
        content_type=_header(content_type) if content_type else JSON_TYPE,
        events=tuple(map(_text, events.items())) if events else None,
    )


def _header(node: Node) -> str:
    """The value of a header, such that it can be sent."""
    value = _from_wire(node)
    if value != value.strip(" \t") or _UNSENDABLE.search(value):
        raise node.defect("no header can hold this: control characters, or blanks around it")
    return value


def _from_wire(node: Node) -> str:
    """A string that can become bytes again."""
    try:
        rawtext.to_bytes(node.text())
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise node.defect(f"the surrogate U+{code:04X} in it stands for no byte") from None
    return node.text()


def _text(node: Node) -> str:
    """Text from the wire: a string, or the base64 of bytes that are not UTF-8."""
    if isinstance(node.value, str):
        return _from_wire(node)
    encoded = node.members("base64")["base64"]
    try:
        return rawtext.from_bytes(base64.b64decode(encoded.text(), validate=True))
    except ValueError as error:
        if isinstance(error, Defect):
            raise
        raise encoded.defect("not base64") from None
