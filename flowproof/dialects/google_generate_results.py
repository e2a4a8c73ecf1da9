"""Tool results in requests of the Gemini API, paired with their calls and replaced by mocks.

A call often has no id there: its result is then the next one of the same name.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping

from flowproof.dialects.google_generate_message import (
    call_of,
    entries,
    is_result,
    parts_of,
)
from flowproof.dialects.google_generate_names import member
from flowproof.dialects.interface import Substitution
from flowproof.dialects.mocks import Mocks
from flowproof.dialects.values import text_of
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse
from flowproof.model.trajectory import ToolCall


def substitute(
    pinned: JsonObject, substitution: Substitution, earlier: Mapping[str, ToolCall]
) -> tuple[JsonObject, tuple[str, ...]]:
    """Replace tool results in a request; also the names of the tools replaced, in order.

    The body given is not changed; where nothing is replaced it is returned as it is.
    """
    contents = pinned.get("contents")
    results = _Results(substitution, earlier)
    changed = [_content(content, results) for content in entries(contents)]
    if not results.tools:
        return pinned, ()
    told: JsonValue = changed if isinstance(contents, list) else changed[0]
    return pinned | {"contents": told}, tuple(results.tools)


def _content(content: JsonValue, results: _Results) -> JsonValue:
    if not isinstance(content, dict):
        return content
    before = len(results.tools)
    parts = [results.part(part) for part in parts_of(content)]
    if len(results.tools) == before:
        return content
    told: JsonValue = parts if isinstance(content.get("parts"), list) else parts[0]
    return content | {"parts": told}


class _Results:
    """Goes through the parts of one request in order."""

    def __init__(self, substitution: Substitution, earlier: Mapping[str, ToolCall]) -> None:
        self._mocks = Mocks(substitution)
        self._earlier = earlier
        # Mutable: the tool and arguments of each call by id, and the arguments of those without
        # id that have no result yet, by tool.
        self._by_id: dict[str, tuple[str, str]] = {}
        self._waiting: dict[str, deque[str]] = defaultdict(deque)

    @property
    def tools(self) -> list[str]:
        """The tools of the results replaced so far."""
        return self._mocks.tools

    def part(self, part: JsonValue) -> JsonValue:
        """The next part, its result replaced if it has one that is mocked."""
        made = call_of(part)
        if made is not None:
            if made.id is None:
                self._waiting[made.name].append(made.arguments)
            else:
                self._by_id[made.id] = (made.name, made.arguments)
        return self._result(part) if isinstance(part, dict) and is_result(part) else part

    def _result(self, part: JsonObject) -> JsonObject:
        key = "functionResponse" if part.get("functionResponse") is not None else None
        key = key or "function_response"
        response = part[key]
        call_id, name = text_of(member(response, "id")), text_of(member(response, "name"))
        if not isinstance(response, dict) or name is None:
            return part
        tool, arguments = self._call(call_id, name)
        text = self._mocks.text(tool, call_id, arguments)
        if text is None:
            return part
        # Pictures that the tool returned stand beside what it said.
        kept = {member: value for member, value in response.items() if member != "parts"}
        return part | {key: kept | {"response": response_of(text)}}

    def _call(self, call_id: str | None, name: str) -> tuple[str, str]:
        """The tool and the arguments of the call that a result answers; a result names its tool
        itself where no such call is known."""
        if call_id is not None:
            if (made := self._by_id.get(call_id)) is not None:
                return made
            call = self._earlier.get(call_id)
            return (name, "") if call is None else (call.name, call.text)
        waiting = self._waiting[name]
        return name, waiting.popleft() if waiting else ""


def response_of(text: str) -> JsonObject:
    """What a tool said in the shape that the API wants: an object, as clients make it."""
    try:
        value = parse(text)
    except JsonError:
        value = None
    return value if isinstance(value, dict) else {"result": text}
