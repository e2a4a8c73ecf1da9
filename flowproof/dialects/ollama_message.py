"""Ollama's chat messages in neutral words, with the calls that tool results answer.

They are those of chat completions but for images, thinking and results without call ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from flowproof.dialects import attachments
from flowproof.dialects import openai_chat_message as chat
from flowproof.dialects.calls import Made
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message


def message(raw: JsonValue, names: dict[str, str]) -> Message:
    """One raw message in neutral words.

    `names` maps call ids to tool names; a message that calls tools adds to it.
    """
    said = chat.message(raw, names)
    if not isinstance(raw, dict):
        return said
    tool = said.tool
    if said.role == "tool" and names.get(said.call_id or "") is None:
        tool = tool_named(raw)
    attached = [*said.attachments, *_thought(raw.get("thinking")), *_images(raw.get("images"))]
    return replace(said, tool=tool, attachments=tuple(attached))


def tool_named(raw: JsonObject) -> str | None:
    """The tool that a result says it comes from."""
    named = (raw.get(key) for key in ("tool_name", "name"))
    return next((name for name in named if isinstance(name, str) and name), None)


def readable(raw: JsonObject) -> bool:
    """Whether everything that a raw message says and calls has the form that it should have."""
    return isinstance(raw.get("content"), str | None) and chat.readable(raw)


def _thought(thinking: JsonValue) -> Iterator[str]:
    if isinstance(thinking, str) and thinking:
        yield attachments.reasoning(len(thinking))


def _images(images: JsonValue) -> Iterator[str]:
    for image in images if isinstance(images, list) else ():
        yield attachments.encoded("image", image) if isinstance(image, str) else "image"


class _Calls:
    """The calls of one assistant message, of which each result answers one."""

    def __init__(self) -> None:
        self._made: list[Made] = []
        self._answered: list[bool] = []
        # Mutable: where the calls of a tool stand, and before which place all are answered.
        self._by_tool: dict[str, deque[int]] = {}
        self._by_id: dict[str, int] = {}
        self._first = 0

    def add(self, call: Made) -> None:
        place = len(self._made)
        self._made.append(call)
        self._answered.append(False)
        self._by_tool.setdefault(call.name, deque()).append(place)
        if call.id is not None:
            self._by_id[call.id] = place

    def with_id(self, call_id: str) -> None:
        """The call of this id is answered, if it is one of these."""
        if (place := self._by_id.get(call_id)) is not None:
            self._answered[place] = True

    def of_tool(self, tool: str) -> Made | None:
        """The first call of a tool that is not answered yet; now it is."""
        places = self._by_tool.get(tool)
        while places:
            place = places.popleft()
            if not self._answered[place]:
                return self._answer(place)
        return None

    def next(self) -> Made | None:
        """The first call that is not answered yet; now it is."""
        for place in count(self._first):
            self._first = place
            if place == len(self._made):
                break
            if not self._answered[place]:
                return self._answer(place)
        return None

    def _answer(self, place: int) -> Made:
        self._answered[place] = True
        return self._made[place]


def answered(raws: Sequence[JsonValue]) -> dict[int, Made]:
    """The call that each tool result answers, by the place of the result.

    A result names its call by id, else its tool, of which calls are answered in order; one that
    names neither answers the next call. Where there is no such call, a result that names its
    tool has one without id and arguments, and any other is left out.
    """
    found: dict[int, Made] = {}
    by_id: dict[str, Made] = {}
    calls = _Calls()
    before = ""
    for place, raw in enumerate(raws):
        if not isinstance(raw, dict):
            continue
        role = chat.role_of(raw)
        if role == "tool":
            call = _answered_by(raw, calls, by_id)
            if call is not None:
                found[place] = call
        elif made := list(chat.calls_of(raw)):
            # Some agents keep each call in a message of its own.
            calls = calls if before == "assistant" else _Calls()
            for call in made:
                calls.add(call)
            by_id.update((call.id, call) for call in made if call.id is not None)
        before = role
    return found


def _answered_by(raw: JsonObject, calls: _Calls, by_id: dict[str, Made]) -> Made | None:
    call_id, tool = raw.get("tool_call_id"), tool_named(raw)
    if isinstance(call_id, str) and (call_id in by_id or tool is None):
        calls.with_id(call_id)
        return by_id.get(call_id)
    if tool is None:
        return calls.next()
    return calls.of_tool(tool) or Made(None, tool, "")


def with_tools(raws: Sequence[JsonValue]) -> Sequence[JsonValue]:
    """The same messages, those results naming their tool that named nothing."""
    bare = [
        place
        for place, raw in enumerate(raws)
        if isinstance(raw, dict)
        and chat.role_of(raw) == "tool"
        and not isinstance(raw.get("tool_call_id"), str)
        and tool_named(raw) is None
    ]
    if not bare:
        return raws
    calls = answered(raws)
    named = list(raws)
    for place in bare:
        raw = raws[place]
        if isinstance(raw, dict) and place in calls:
            named[place] = raw | {"tool_name": calls[place].name}
    return named
