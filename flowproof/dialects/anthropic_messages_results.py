"""Puts the results that an author wrote into the tool results of an Anthropic conversation.

`anthropic_messages` gives it the messages of a request, one after another.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowproof.dialects.anthropic_messages_blocks import is_call
from flowproof.dialects.calls import text_of_arguments
from flowproof.dialects.interface import Substitution
from flowproof.dialects.mocks import Mocks
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import ToolCall


class Replacing:
    """Goes through a conversation in order, and puts results in where a tool has one."""

    def __init__(self, substitution: Substitution, earlier: Mapping[str, ToolCall]) -> None:
        self._mocks = Mocks(substitution)
        self._earlier = earlier
        # Mutable: the tool and arguments of each call made so far.
        self._made: dict[str, tuple[str, str]] = {}

    @property
    def tools(self) -> list[str]:
        """The tools of the results replaced so far."""
        return self._mocks.tools

    def message(self, raw: JsonValue) -> JsonValue:
        """A message with its results replaced; itself where none is."""
        content = raw.get("content") if isinstance(raw, dict) else None
        if not isinstance(raw, dict) or not isinstance(content, list):
            return raw
        before = len(self.tools)
        changed = [self._block(block) for block in content]
        return raw if len(self.tools) == before else raw | {"content": changed}

    def _block(self, block: JsonValue) -> JsonValue:
        if not isinstance(block, dict):
            return block
        match block:
            case {"type": "tool_result", "tool_use_id": str(call_id)}:
                return self._result(block, call_id)
            case {"id": str(call_id), "name": str(name)} if is_call(block):
                self._made[call_id] = (name, text_of_arguments(block.get("input")))
        return block

    def _result(self, block: JsonObject, call_id: str) -> JsonObject:
        tool, arguments = self._made.get(call_id, (None, ""))
        if tool is None and (call := self._earlier.get(call_id)) is not None:
            tool, arguments = call.name, call.text
        text = self._mocks.text(tool, call_id, arguments)
        if text is None:
            return block
        kept = {key: value for key, value in block.items() if key != "is_error"}
        return kept | {"content": text}
