"""Any valid body told as a stream, cut anywhere, is the same body when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonObject, JsonValue, same
from tests.dialects.openai_completions_tools import COMPLETIONS, assemble
from tests.dialects.strategies import PLACES, TEXT, UNKNOWN
from tests.dialects.tools import WITHOUT_USAGE, survives


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


@given(bodies(), PLACES)
def test_a_body_survives_the_stream_with_usage(body: JsonObject, places: list[int]) -> None:
    survives(COMPLETIONS, body, places)


@given(bodies())
def test_without_usage_all_but_the_usage_survives(body: JsonObject) -> None:
    assembled = assemble(COMPLETIONS.stream(body, WITHOUT_USAGE), WITHOUT_USAGE)
    assert assembled.complete and assembled.lossless
    assert same(assembled.body, {key: value for key, value in body.items() if key != "usage"})
