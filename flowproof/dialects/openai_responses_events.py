"""A response body told as stream events; the way back is `openai_responses_assembly`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked
from flowproof.dialects.values import only_objects
from flowproof.model.jsonvalue import JsonObject, JsonValue, write

PENDING = ("queued", "in_progress")
"""The statuses of a response whose model has not answered yet."""

_ENDS: Mapping[JsonValue, str] = {
    "failed": "response.failed",
    "incomplete": "response.incomplete",
    "cancelled": "response.incomplete",
}
_BEGUN: JsonObject = {
    "status": "in_progress",
    "completed_at": None,
    "error": None,
    "incomplete_details": None,
    "output": [],
    "usage": None,
}


class _Course(NamedTuple):
    """What the stream tells of an item that is a call: states on the way, a text in pieces under
    a member, and what the item does not hold at first."""

    before: tuple[str, ...] = ()
    member: str = ""
    told_as: str = ""
    after: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


_SEARCH = _Course(before=("in_progress", "searching"), after=("completed",), later=("results",))
_COURSES: Mapping[str, _Course] = {
    "function_call": _Course(member="arguments", told_as="function_call_arguments"),
    "custom_tool_call": _Course(member="input", told_as="custom_tool_call_input"),
    "mcp_call": _Course(
        before=("in_progress",),
        member="arguments",
        told_as="mcp_call_arguments",
        after=("completed",),
        later=("output", "error"),
    ),
    "mcp_list_tools": _Course(before=("in_progress",), after=("completed",)),
    "code_interpreter_call": _Course(
        before=("in_progress",),
        member="code",
        told_as="code_interpreter_call_code",
        after=("interpreting", "completed"),
        later=("outputs",),
    ),
    "web_search_call": _SEARCH,
    "file_search_call": _SEARCH,
    "image_generation_call": _Course(
        before=("in_progress", "generating"), after=("completed",), later=("result",)
    ),
}


class _Place(NamedTuple):
    """A list of parts in an item: how its events call it and number its parts."""

    member: str
    part: str
    number: str


_CONTENT = _Place("content", "content_part", "content_index")
_SUMMARY = _Place("summary", "reasoning_summary_part", "summary_index")
_PARTS: Mapping[str, tuple[_Place, ...]] = {
    "message": (_CONTENT,),
    "reasoning": (_SUMMARY, _CONTENT),
}
_TEXTS: Mapping[str, tuple[str, str]] = {
    "output_text": ("output_text", "text"),
    "refusal": ("refusal", "refusal"),
    "summary_text": ("reasoning_summary_text", "text"),
    "reasoning_text": ("reasoning_text", "text"),
}
"""By the type of a part: how the events of its text are called, and the member that holds it."""


def frames(body: JsonValue, asked: Asked) -> Iterator[bytes]:
    """The frames that say the same as a plain response body.

    A body that is no response, such as an error, is one frame of its own.
    """
    if not is_response(body):
        is_error = isinstance(body, dict) and ("error" in body or body.get("type") == "error")
        yield sse.frame(write(body), "error" if is_error else None)
        return
    for number, event in enumerate(events(body, asked)):
        kind = event["type"]
        numbered: JsonObject = {"type": kind, "sequence_number": number}
        yield sse.frame(write(numbered | event), str(kind))


def is_response(body: JsonValue) -> bool:
    """Whether a body has the form of a response."""
    return isinstance(body, dict) and isinstance(body.get("output"), list)


def events(body: JsonValue, asked: Asked) -> Iterator[JsonObject]:
    """The events that tell a response, without their numbers; none where a body is none."""
    output = body.get("output") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(output, list):
        return
    begun: JsonObject = {key: _BEGUN.get(key, value) for key, value in body.items()}
    if isinstance(body.get("service_tier"), str):
        # At first the API repeats which tier was asked for, and at the end which one it was.
        begun["service_tier"] = asked.pinned.get("service_tier") or "auto"
    status = body.get("status")
    yield {"type": "response.created", "response": begun}
    if status in PENDING:
        yield {"type": f"response.{status}", "response": body}
        return
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(output):
        if isinstance(item, dict):
            yield from _item_events(index, item)
    end = _ENDS.get(status, "response.completed") if isinstance(status, str) else None
    yield {"type": end or "response.completed", "response": body}


def _item_events(index: int, item: JsonObject) -> Iterator[JsonObject]:
    kind = item.get("type")
    course = _COURSES.get(kind, _Course()) if isinstance(kind, str) else _Course()
    places = [
        place
        for place in (_PARTS.get(kind, ()) if isinstance(kind, str) else ())
        if only_objects(item.get(place.member))
    ]
    begun: JsonObject = {place.member: [] for place in places}
    begun |= {key: None for key in course.later if key in item}
    if isinstance(item.get("status"), str):
        begun["status"] = "in_progress"
    if course.member and isinstance(item.get(course.member), str):
        begun[course.member] = ""
    yield {"type": "response.output_item.added", "output_index": index, "item": item | begun}
    at: JsonObject = {"item_id": item.get("id", ""), "output_index": index}
    for place in places:
        for number, part in enumerate(only_objects(item[place.member])):
            yield from _part_events(place, at | {place.number: number}, part)
    yield from _course_events(f"response.{kind}", course, at, item)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _event(kind: str, *members: JsonObject) -> JsonObject:
    event: JsonObject = {"type": kind}
    for member in members:
        event |= member
    return event


def _course_events(
    prefix: str, course: _Course, at: JsonObject, item: JsonObject
) -> Iterator[JsonObject]:
    for state in course.before:
        yield _event(f"{prefix}.{state}", at)
    text = item.get(course.member) if course.member else None
    if isinstance(text, str):
        told = f"response.{course.told_as}"
        if text:
            yield _event(f"{told}.delta", at, {"delta": text})
        yield _event(f"{told}.done", at, {course.member: text})
    for state in course.after:
        failed = state == "completed" and item.get("status") == "failed"
        yield _event(f"{prefix}.{'failed' if failed else state}", at)


def _part_events(place: _Place, at: JsonObject, part: JsonObject) -> Iterator[JsonObject]:
    kind = part.get("type")
    told, member = _TEXTS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    text = part.get(member) if told else None
    annotations = only_objects(part.get("annotations"))
    begun: JsonObject = {}
    if isinstance(text, str):
        begun[member] = ""
    beside: JsonObject = {}
    if told == "output_text":
        # The official SDK wants log probabilities in each of these events.
        logprobs = part.get("logprobs")
        beside["logprobs"] = logprobs if isinstance(logprobs, list) else []
        begun |= {"logprobs": []} if isinstance(logprobs, list) else {}
        begun |= {"annotations": []} if annotations else {}
    yield _event(f"response.{place.part}.added", at, {"part": part | begun})
    if isinstance(text, str):
        if text or beside.get("logprobs"):
            yield _event(f"response.{told}.delta", at, {"delta": text}, beside)
        for number, annotation in enumerate(annotations if told == "output_text" else ()):
            which: JsonObject = {"annotation_index": number, "annotation": annotation}
            yield _event("response.output_text.annotation.added", at, which)
        yield _event(f"response.{told}.done", at, {member: text}, beside)
    yield _event(f"response.{place.part}.done", at, {"part": part})
