"""Anthropic messages in neutral words; used for requests and answers alike.

Agents send whatever they like, so every shape is read and none raises. `anthropic_messages_blocks`
describes what is not text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowproof.dialects import anthropic_messages_blocks as blocks
from flowproof.dialects.calls import call_of_text, looks_called
from flowproof.dialects.values import list_of, member_of, role_in, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, Role, ToolCall

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


def role_of(raw: JsonValue) -> Role:
    """The neutral role of a raw message; of an unknown one, `user`."""
    return role_in(raw, _ROLES)


def units(pinned: JsonValue) -> Sequence[JsonValue]:
    """What a request says, as values of which each makes one message.

    The instructions that stand apart come first, as a system message. A tool result is a unit of
    its own, and so is what stands around it.
    """
    if not isinstance(pinned, dict):
        return ()
    found: list[JsonValue] = []
    system = pinned.get("system")
    if system is not None:
        found.append({"role": "system", "content": system})
    for raw in list_of(pinned.get("messages")):
        found.extend(_exploded(raw))
    return found


def _exploded(raw: JsonValue) -> Iterator[JsonValue]:
    content = member_of(raw, "content")
    if not (isinstance(raw, dict) and isinstance(content, list)) or raw.get("role") == "assistant":
        yield raw
        return
    groups: list[list[JsonValue]] = []
    apart = True
    for block in content:
        result = blocks.type_of(block) == "tool_result"
        if result or apart:
            groups.append([block])
        else:
            groups[-1].append(block)
        apart = result
    if len(groups) < 2:
        yield raw
        return
    for group in groups:
        yield raw | {"content": group}


def message(raw: JsonValue, names: dict[str, str]) -> Message:
    """One unit in neutral words.

    `names` maps call ids to tool names; a message that calls tools adds to it.
    """
    if not isinstance(raw, dict):
        return Message("user", text_of(raw))
    content = raw.get("content")
    if isinstance(content, str):
        return Message(role_of(raw), content)
    listed = list_of(content)
    match listed:
        case [dict(block)] if _is_result(raw, block):
            return _result(block, names)
        case _:
            return _spoken(role_of(raw), listed, names)


def _is_result(raw: JsonObject, block: JsonObject) -> bool:
    return raw.get("role") != "assistant" and blocks.type_of(block) == "tool_result"


def _spoken(role: Role, content: list[JsonValue], names: dict[str, str]) -> Message:
    calls = tuple(map(call_of, filter(_calls, content)))
    names.update((call.id, call.name) for call in calls if call.id is not None)
    texts, attached = blocks.told(content)
    return Message(
        role=role,
        text="\n".join(texts) if texts else None,
        tool_calls=calls,
        attachments=tuple(attached),
    )


def _calls(block: JsonValue) -> bool:
    return blocks.is_call(block) or blocks.is_served(block)


def _result(result: JsonObject, names: dict[str, str]) -> Message:
    content, call_id = result.get("content"), text_of(result.get("tool_use_id"))
    texts, attached = blocks.told(content if isinstance(content, list) else [content])
    if result.get("is_error") is True:
        attached.append("marked as an error")
    return Message(
        role="tool",
        text="\n".join(texts) if texts else None,
        call_id=call_id,
        tool=names.get(call_id) if call_id is not None else None,
        attachments=tuple(attached),
    )


def call_of(block: JsonValue) -> ToolCall:
    """The call that a block makes.

    An input that is a string is the text of one that streamed and could not be parsed.
    """
    call_id, name = text_of(member_of(block, "id")), text_of(member_of(block, "name")) or ""
    return call_of_text(call_id, name, member_of(block, "input"), served=blocks.is_served(block))


def readable(content: JsonValue) -> bool:
    """Whether all that a response says can be told: its texts, and the name of every call."""
    return isinstance(content, list) and all(map(_readable, content))


def _readable(block: JsonValue) -> bool:
    if not isinstance(block, dict) or not blocks.type_of(block):
        return False
    if _calls(block):
        return bool(text_of(block.get("name")))
    if looks_called(block):
        return False
    return block["type"] != "text" or isinstance(block.get("text"), str)
