"""Any response told as a stream, cut anywhere, is the same response when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Target
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText, same, write
from tests.dialects.openai_responses_tools import (
    RESPONSES,
    STREAMING,
    assemble,
    response,
)
from tests.dialects.tools import cut, split

TEXT = st.text(max_size=12)
NAMES = st.sampled_from(["f", "get_x"])
ODD_NUMBERS: list[JsonValue] = [NumberText("1.10"), NumberText("1e5"), 0.5]
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(ODD_NUMBERS), TEXT
)
UNKNOWN_KEYS = st.text("abcxyz_é ", min_size=1, max_size=6).map(lambda key: f"x_{key}")
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(UNKNOWN_KEYS, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN: st.SearchStrategy[JsonObject] = st.dictionaries(UNKNOWN_KEYS, VALUES, max_size=2)


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
    status = draw(st.sampled_from(["completed", "incomplete", "failed", "cancelled", None]))
    tier = draw(st.sampled_from(["default", None]))
    output = draw(st.lists(items(), max_size=3))
    body = response(*output, id=draw(TEXT), status=status, service_tier=tier)
    return body | draw(UNKNOWN)


@given(bodies(), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_body_survives_the_stream(body: JsonObject, places: list[int]) -> None:
    data = b"".join(RESPONSES.stream(body, STREAMING))
    frames, rest = split(cut(data, places))
    assert rest == b""
    assembled = assemble(frames)
    assert assembled.complete and assembled.lossless and not assembled.failed
    assert same(assembled.body, body)


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


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"data: ", b"\n\n", b'{"type":"'])))
def test_no_bytes_make_the_assembler_raise(chunks: list[bytes]) -> None:
    frames, _ = split(chunks)
    assemble(frames)


KINDS: list[JsonValue] = [
    "message",
    "function_call",
    "reasoning",
    "mcp_call",
    "shell_call",
    "output_text",
    "tool_search_call",
    "computer_call_output",
    "in_progress",
]
KEYS = [
    "type",
    "id",
    "status",
    "role",
    "content",
    "summary",
    "output",
    "text",
    "logprobs",
    "annotations",
    "call_id",
    "arguments",
    "name",
    "action",
    "image_url",
    "tools",
    "",
]
HOSTILE: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS | st.sampled_from(KINDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=14,
)
EVENTS = st.sampled_from(
    [
        "response.created",
        "response.completed",
        "response.failed",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "error",
    ]
)


@given(st.lists(HOSTILE, max_size=3))
def test_no_body_makes_anything_raise(output: list[JsonValue]) -> None:
    body = response(*output)
    assembled = assemble(RESPONSES.stream(body, STREAMING))
    assert assembled.lossless
    assert same(assembled.body, body)
    for value in (*output, body, output):
        list(RESPONSES.stream(value, STREAMING))
        RESPONSES.answer(value)


@given(st.lists(st.tuples(EVENTS, HOSTILE, HOSTILE, HOSTILE), max_size=6))
def test_no_event_makes_the_assembler_raise(
    events: list[tuple[str, JsonValue, JsonValue, JsonValue]],
) -> None:
    frames: list[bytes] = []
    for kind, one, two, index in events:
        event: JsonObject = {"type": kind, "response": one, "item": two, "delta": two}
        frames.append(sse.frame(write(event | {"output_index": index, "logprobs": one})))
    assemble(frames, Asked({"service_tier": 7}, stream=True, stream_usage=True))


@given(st.dictionaries(st.sampled_from(["input", "instructions", "tools", "model"]), HOSTILE))
def test_no_request_makes_anything_raise(body: JsonObject) -> None:
    asked = RESPONSES.asked(body, Target("/v1/responses"))
    RESPONSES.envelope(asked.pinned)
    RESPONSES.said(asked.pinned)
    RESPONSES.substitute(asked.pinned, lambda *_call: "mock", {})
    names: dict[str, str] = {}
    for index, raw in enumerate(RESPONSES.message_list(asked.pinned)):
        RESPONSES.message(raw, names)
        for member in ("content[0].text", "output[0]", "arguments", "action"):
            assert RESPONSES.message_kind(asked.pinned, f"$.input[{index}].{member}")
