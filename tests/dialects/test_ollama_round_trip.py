"""Any finished body told as lines, cut anywhere, is the same body when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects.ollama import Ollama
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText, same
from tests.dialects.ollama_tools import CHAT, GENERATE, STREAMING, assemble, split
from tests.dialects.tools import cut

TEXT = st.text(max_size=12)
ODD: list[JsonValue] = [NumberText("1.10"), NumberText("1e5"), 0.5]
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(ODD), TEXT
)
UNKNOWN_KEYS = st.text("abcxyz_é ", min_size=1, max_size=6).map(lambda key: f"x_{key}")
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(UNKNOWN_KEYS, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN: st.SearchStrategy[JsonObject] = st.dictionaries(UNKNOWN_KEYS, VALUES, max_size=3)


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


def survives(dialect: Ollama, body: JsonObject, places: list[int]) -> None:
    data = b"".join(dialect.stream(body, STREAMING))
    lines, rest = split(cut(data, places))
    assert rest == b""
    assert all(len(line.decode().splitlines()) == 1 for line in lines)
    assembled = assemble(lines, dialect)
    assert assembled.complete and assembled.lossless and not assembled.failed
    assert same(assembled.body, body)


@given(chats(), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_chat_survives_its_stream(body: JsonObject, places: list[int]) -> None:
    survives(CHAT, body, places)


@given(texts(), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_text_survives_its_stream(body: JsonObject, places: list[int]) -> None:
    survives(GENERATE, body, places)


PIECES = [b"\n", b"{", b'{"message":{', b'"content":"x"', b"}", b'{"done":true}', b"\xff"]


@given(st.lists(st.binary(max_size=20) | st.sampled_from(PIECES)))
def test_no_bytes_make_the_assembler_raise(chunks: list[bytes]) -> None:
    lines, rest = split(chunks)
    assemble([*lines, rest])
    assemble([*lines, rest], GENERATE)


KEYS = ["message", "content", "thinking", "tool_calls", "response", "done", "error", "logprobs"]
HOSTILE: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(HOSTILE, max_size=4))
def test_no_value_makes_the_assembler_raise(values: list[JsonValue]) -> None:
    for dialect in (CHAT, GENERATE):
        told: list[JsonValue] = [*values, {"done": True, "message": values}]
        told += [
            {"done": True, "message": {"content": value, "tool_calls": value}, "response": ""}
            for value in values
        ]
        assemble([line for value in told for line in dialect.stream(value, STREAMING)], dialect)
