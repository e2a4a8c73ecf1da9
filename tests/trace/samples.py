"""Values, turns and traces for the tests of this folder."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from flowproof.model import rawtext
from flowproof.model.jsonvalue import JsonValue, parse
from flowproof.model.turn import Operation, Response, Turn
from flowproof.trace.document import RecordedMock, Trace

CHAT = Operation("openai.chat", "/chat/completions")

_NUMBERS = ("0", "1", "-1", "-0", "0.0", "-0.0", "1.0", "1.10", "1e5", "1E400", "1" * 30)
_STRINGS = ("", "a", "b", "1", "a/b", "~0~1", "\ud800", "\udcff", "a\u202eb", "\u2028", "é🙂", "\0")

strings = st.sampled_from(_STRINGS) | st.text(max_size=6)
scalars = st.none() | st.booleans() | st.sampled_from(_NUMBERS).map(parse) | strings
values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.sampled_from(("a", "b", "c/d", "~", "")) | strings, inner, max_size=5)
    ),
    max_leaves=25,
)

wire_text = st.text(max_size=20) | st.binary(max_size=20).map(rawtext.from_bytes)
responses = st.builds(
    lambda status, content, content_type, events: Response(
        status, content[0], content[1], content_type, events
    ),
    st.integers(200, 599),
    st.tuples(values, st.none()) | st.tuples(st.none(), wire_text),
    st.sampled_from(("application/json", "text/plain; charset=utf-8")),
    st.none() | st.lists(wire_text, max_size=3).map(tuple),
)
turns = st.builds(
    Turn,
    st.sampled_from((CHAT, Operation("anthropic.messages", "/messages"))),
    values,
    responses,
    st.booleans(),
    st.lists(st.sampled_from(("search", "book")), max_size=2).map(tuple),
)


def trace_of(*turns: Turn) -> Trace:
    """A trace of these turns."""
    return Trace(
        flowproof="0.1.0",
        recorded="2026-11-30T09:00:00Z",
        spec_name="Books a flight",
        spec_file="booking.flow.yaml",
        spec_sha256="ab" * 32,
        driver="command",
        platform="linux-x86_64",
        containment="not contained",
        turns=turns,
        mocks={"search": RecordedMock(({"flights": []}, "none"), False)},
        retries_dropped=1,
    )


def conversation(length: int) -> tuple[Turn, ...]:
    """Turns of one agent that calls a tool each time and gets 1 KB back."""
    messages: list[JsonValue] = [
        {"role": "system", "content": "You keep the books."},
        {"role": "user", "content": "Go through all accounts."},
    ]
    turns: list[Turn] = []
    for number in range(length):
        call: JsonValue = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": f"call_{number}",
                    "type": "function",
                    "function": {"name": "account", "arguments": f'{{"number": {number}}}'},
                }
            ],
        }
        request: JsonValue = {
            "model": "m",
            "messages": list(messages),
            "tools": [{"type": "function", "function": {"name": "account", "parameters": {}}}],
        }
        body: JsonValue = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": call, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        turns.append(Turn(CHAT, request, Response(200, body)))
        result = f"{number} ".ljust(1024, "x")
        messages += [call, {"role": "tool", "tool_call_id": f"call_{number}", "content": result}]
    return tuple(turns)


def with_request(turn: Turn, request: JsonValue) -> Turn:
    """The same turn asked for otherwise."""
    return dataclasses.replace(turn, request=request)
