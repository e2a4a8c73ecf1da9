"""Any valid body told as a stream, cut anywhere, is the same body when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText, same
from tests.dialects.completions_tools import COMPLETIONS, assemble
from tests.dialects.tools import WITH_USAGE, WITHOUT_USAGE, cut, split

TEXT = st.text(max_size=12)
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.just(NumberText("1.10")), TEXT
)
UNKNOWN_KEYS = st.text("abcxyz_é ", min_size=1, max_size=6).map(lambda key: f"x_{key}")
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(UNKNOWN_KEYS, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN: st.SearchStrategy[JsonObject] = st.dictionaries(UNKNOWN_KEYS, VALUES, max_size=3)


@st.composite
def logprobs(draw: st.DrawFn) -> JsonObject:
    tokens = draw(st.lists(TEXT, max_size=3))
    top: JsonValue = [{"index": -1, token: -2} for token in tokens]
    return {
        "tokens": [*tokens],
        "token_logprobs": [None for _ in tokens],
        "top_logprobs": top if draw(st.booleans()) else None,
        "text_offset": [0 for _ in tokens],
    }


@st.composite
def bodies(draw: st.DrawFn) -> JsonObject:
    choices: list[JsonValue] = []
    for index in range(draw(st.integers(1, 3))):
        choice: JsonObject = {"text": draw(TEXT), "index": index}
        if draw(st.booleans()):
            choice["logprobs"] = draw(st.none() | logprobs())
        choice["finish_reason"] = draw(st.sampled_from(["stop", "length", "content_filter"]))
        choices.append(choice | draw(UNKNOWN))
    body: JsonObject = {
        "id": draw(TEXT),
        "object": "text_completion",
        "created": draw(st.integers(0)),
        "model": draw(TEXT),
        "choices": choices,
    }
    if draw(st.booleans()):
        usage: JsonObject = {"prompt_tokens": 1, "completion_tokens": 2}
        body["usage"] = draw(st.sampled_from([None, usage]))
    return body | draw(UNKNOWN)


@given(bodies(), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_body_survives_the_stream_with_usage(body: JsonObject, places: list[int]) -> None:
    data = b"".join(COMPLETIONS.stream(body, WITH_USAGE))
    frames, rest = split(cut(data, places))
    assert rest == b""
    assembled = assemble(frames)
    assert assembled.complete and assembled.lossless and not assembled.failed
    assert same(assembled.body, body)


@given(bodies())
def test_without_usage_all_but_the_usage_survives(body: JsonObject) -> None:
    assembled = assemble(COMPLETIONS.stream(body, WITHOUT_USAGE), WITHOUT_USAGE)
    assert assembled.complete and assembled.lossless
    assert same(assembled.body, {key: value for key, value in body.items() if key != "usage"})


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"data: ", b"\n\n", b'{"choices":['])))
def test_no_bytes_make_the_assembler_raise(chunks: list[bytes]) -> None:
    frames, _ = split(chunks)
    assemble(frames)


KEYS = ["choices", "index", "text", "logprobs", "tokens", "finish_reason", "usage", "object"]
HOSTILE: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(HOSTILE, max_size=4))
def test_no_chunk_makes_the_assembler_raise(values: list[JsonValue]) -> None:
    frames = [frame for value in values for frame in COMPLETIONS.stream(value, WITH_USAGE)][:-1]
    frames += COMPLETIONS.stream({"choices": values}, WITH_USAGE)
    assemble(frames)
