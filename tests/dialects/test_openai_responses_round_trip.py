"""Any response told as a stream, cut anywhere, is the same response when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonObject, JsonValue
from tests.dialects.openai_responses_tools import RESPONSES, STREAMING, assemble, response
from tests.dialects.samples import SAMPLES
from tests.dialects.strategies import PLACES, TEXT, UNKNOWN, VALUES
from tests.dialects.tools import split, survives

NAMES = st.sampled_from(["f", "get_x"])


@st.composite
def parts(draw: st.DrawFn) -> JsonObject:
    kind, member = draw(
        st.sampled_from(
            [("output_text", "text"), ("refusal", "refusal"), ("summary_text", "text"), ("x", "y")]
        )
    )
    part: JsonObject = {"type": kind, member: draw(TEXT)}
    if kind == "output_text":
        part["annotations"] = [*draw(st.lists(UNKNOWN, max_size=2))]
        if draw(st.booleans()):
            part["logprobs"] = [{"token": token} for token in draw(st.lists(TEXT, max_size=2))]
    return part | draw(UNKNOWN)


@st.composite
def items(draw: st.DrawFn) -> JsonObject:
    item: JsonObject = {"id": draw(TEXT), "status": draw(st.sampled_from(["completed", "failed"]))}
    match draw(st.integers(0, 7)):
        case 0 | 1:
            listed = draw(st.lists(parts(), max_size=3))
            item |= {"type": "message", "role": "assistant", "content": [*listed]}
        case 2:
            item |= {"type": "function_call", "name": draw(NAMES), "arguments": draw(TEXT)}
        case 3:
            item |= {"type": "custom_tool_call", "name": draw(NAMES), "input": draw(TEXT)}
        case 4:
            item |= {"type": "reasoning", "summary": [*draw(st.lists(parts(), max_size=2))]}
            item |= {"encrypted_content": draw(st.none() | TEXT)}
        case 5:
            item |= {"type": "mcp_call", "arguments": draw(TEXT), "output": draw(st.none() | TEXT)}
        case 6:
            item |= {"type": "code_interpreter_call", "code": draw(st.none() | TEXT)}
        case _:
            kind = draw(st.sampled_from(["web_search_call", "image_generation_call", "news"]))
            item |= {"type": kind, "result": draw(VALUES)}
    return item | draw(UNKNOWN)


@st.composite
def bodies(draw: st.DrawFn) -> JsonObject:
    status = draw(st.sampled_from(["completed", "incomplete", "cancelled", None]))
    tier = draw(st.sampled_from(["default", None]))
    output = draw(st.lists(items(), max_size=3))
    body = response(*output, id=draw(TEXT), status=status, service_tier=tier)
    return body | draw(UNKNOWN)


@given(bodies(), PLACES)
def test_a_body_survives_the_stream(body: JsonObject, places: list[int]) -> None:
    survives(RESPONSES, body, places)


@given(st.lists(SAMPLES[RESPONSES.name].odd(), max_size=3), PLACES)
def test_any_output_survives_the_stream(output: list[JsonValue], places: list[int]) -> None:
    survives(RESPONSES, response(*output), places)


@given(bodies(), st.integers(0, 10_000))
def test_a_stream_cut_short_is_never_complete(body: JsonObject, place: int) -> None:
    data = b"".join(RESPONSES.stream(body, STREAMING))
    frames, _ = split([data[: place % len(data)]])
    assembled = assemble(frames)
    assert not assembled.complete and not assembled.lossless


@given(bodies(), st.integers(0, 100))
def test_a_lost_frame_is_noticed(body: JsonObject, place: int) -> None:
    frames = list(RESPONSES.stream(body, STREAMING))
    del frames[place % len(frames)]
    assert not assemble(frames).lossless


@given(bodies())
def test_replayed_frames_are_the_recorded_ones(body: JsonObject) -> None:
    frames = list(RESPONSES.stream(body, STREAMING))
    assert list(RESPONSES.replayed([frame.decode() for frame in frames], STREAMING)) == frames
