"""Any finished body told as lines, cut anywhere, is the same body when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects.interface import Dialect
from flowproof.model.jsonvalue import JsonObject, JsonValue
from tests.dialects.ollama_tools import CHAT, GENERATE, STREAMING
from tests.dialects.strategies import PLACES, TEXT, UNKNOWN
from tests.dialects.tools import survives


@st.composite
def calls(draw: st.DrawFn) -> list[JsonValue]:
    found: list[JsonValue] = []
    for number in range(draw(st.integers(0, 3))):
        function: JsonObject = {"name": draw(TEXT), "arguments": draw(UNKNOWN)}
        if draw(st.booleans()):
            function["index"] = number
        named: JsonObject = {"id": f"call_{number}"} if draw(st.booleans()) else {}
        found.append({**named, "function": function, **draw(UNKNOWN)})
    return found


@st.composite
def speech(draw: st.DrawFn, text: str) -> JsonObject:
    """What either API says, its text under the key given."""
    said: JsonObject = {}
    if draw(st.integers(0, 9)):
        said[text] = draw(TEXT)
    if draw(st.booleans()):
        said["thinking"] = draw(st.none() | TEXT)
    if draw(st.booleans()):
        said["tool_calls"] = draw(st.none() | calls())
    return said


@st.composite
def endings(draw: st.DrawFn) -> JsonObject:
    body: JsonObject = {"done": True}
    if draw(st.booleans()):
        body |= {"done_reason": draw(st.sampled_from(["stop", "length", "load"])), "eval_count": 3}
    if draw(st.booleans()):
        body["logprobs"] = [
            {"token": token, "logprob": -1} for token in draw(st.lists(TEXT, max_size=3))
        ]
    return body | draw(UNKNOWN)


def heads() -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries({}, optional={"model": TEXT, "created_at": TEXT})


@st.composite
def chats(draw: st.DrawFn) -> JsonObject:
    role: JsonObject = {"role": "assistant"} if draw(st.integers(0, 9)) else {}
    message = role | draw(speech("content")) | draw(UNKNOWN)
    return draw(heads()) | {"message": message} | draw(endings())


@st.composite
def texts(draw: st.DrawFn) -> JsonObject:
    context: JsonObject = {"context": [1, 2, 2]} if draw(st.booleans()) else {}
    return draw(heads()) | draw(speech("response")) | context | draw(endings())


def lines(dialect: Dialect, body: JsonObject, places: list[int]) -> None:
    survives(dialect, body, places)
    assert all(len(line.decode().splitlines()) == 1 for line in dialect.stream(body, STREAMING))


@given(chats(), PLACES)
def test_a_chat_survives_its_stream(body: JsonObject, places: list[int]) -> None:
    lines(CHAT, body, places)


@given(texts(), PLACES)
def test_a_text_survives_its_stream(body: JsonObject, places: list[int]) -> None:
    lines(GENERATE, body, places)
