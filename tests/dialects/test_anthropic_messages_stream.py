"""Streams as the Messages API sends them: what they amount to, and what keeps their raw frames."""

from __future__ import annotations

import pytest

from flowproof.dialects import sse
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText, same, write
from tests.dialects.anthropic_messages_tools import (
    MESSAGES,
    PING,
    STREAMED,
    TEXT,
    TEXT_BODY,
    USAGE,
    assemble,
    begin,
    body,
    close,
    delta,
    end,
    event,
    start,
    text,
    tool_use,
)


def typed(text: str) -> bytes:
    """The text of a tool's input."""
    return delta(0, "input_json", partial_json=text)


CALL = [
    start(),
    begin(0, tool_use("get_weather", {})),
    delta(0, "input_json", partial_json=""),
    delta(0, "input_json", partial_json='{"city": "São'),
    delta(0, "input_json", partial_json=' Paulo", "days": 1.10}'),
    end(0),
    *close("tool_use"),
]
CALL_BODY = body(
    tool_use("get_weather", {"city": "São Paulo", "days": NumberText("1.10")}), stop="tool_use"
)
THOUGHT = [
    start(),
    begin(0, {"type": "thinking", "thinking": "", "signature": ""}),
    delta(0, "thinking", thinking="Let me "),
    delta(0, "thinking", thinking="see."),
    delta(0, "signature", signature="c2ln"),
    end(0),
    begin(1, {"type": "redacted_thinking", "data": "b3BhcXVl"}),
    end(1),
    begin(2, {"type": "text", "text": "", "citations": []}),
    delta(2, "text", text="It is so"),
    delta(2, "citations", citation={"type": "char_location", "cited_text": "so"}),
    end(2),
    *close(),
]
THOUGHT_BODY = body(
    {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    text("It is so", citations=[{"type": "char_location", "cited_text": "so"}]),
)
SEARCH = [
    start(),
    begin(0, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
    delta(0, "input_json", partial_json='{"query": "x"}'),
    end(0),
    begin(
        1, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": 1}]}
    ),
    end(1),
    *close(input_tokens=25, server_tool_use={"web_search_requests": 1}),
]
SEARCH_BODY = body(
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": 1}]},
    usage=USAGE | {"server_tool_use": {"web_search_requests": 1}},
)
SUMMARY = [
    start(context_management=None),
    begin(0, {"type": "compaction", "content": None, "encrypted_content": None}),
    delta(0, "compaction", content="Short.", encrypted_content="eA=="),
    end(0),
    event(
        "message_delta",
        delta={"stop_reason": "compaction", "stop_sequence": None, "container": {"id": "c"}},
        usage={"output_tokens": 15, "iterations": [{"type": "compaction"}]},
        context_management={"applied_edits": []},
    ),
    event("message_stop"),
]
SUMMARY_BODY = body(
    {"type": "compaction", "content": "Short.", "encrypted_content": "eA=="},
    stop="compaction",
    container={"id": "c"},
    context_management={"applied_edits": []},
    usage=USAGE | {"iterations": [{"type": "compaction"}]},
)
STREAMS = [
    pytest.param(TEXT, TEXT_BODY, id="text"),
    pytest.param(CALL, CALL_BODY, id="tool call"),
    pytest.param(THOUGHT, THOUGHT_BODY, id="thinking and citations"),
    pytest.param(SEARCH, SEARCH_BODY, id="server tool"),
    pytest.param([start(), *close("refusal")], body(stop="refusal"), id="nothing said"),
]


@pytest.mark.parametrize(("frames", "expected"), STREAMS)
def test_a_stream_becomes_the_plain_body_in_the_order_of_the_api(
    frames: list[bytes], expected: JsonObject
) -> None:
    assembled = assemble(frames)
    assert (assembled.complete, assembled.lossless, assembled.failed) == (True, True, False)
    assert write(assembled.body) == write(expected)


def test_a_compaction_and_what_is_known_only_at_the_end() -> None:
    assembled = assemble(SUMMARY)
    assert same(assembled.body, SUMMARY_BODY)
    # Where the container first stood, a null, is not told: nulls say nothing.
    assert assembled.complete and assembled.lossless


@pytest.mark.parametrize(("frames", "expected"), STREAMS)
def test_what_ends_early_is_never_complete(frames: list[bytes], expected: JsonObject) -> None:
    assert assemble(frames).complete
    for length in range(len(frames)):
        assembled = assemble(frames[:length])
        assert not (assembled.complete or assembled.lossless or assembled.failed)
    assert assemble([]).body is None


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(TEXT[1:], id="no beginning"),
        pytest.param([TEXT[0], *TEXT], id="two beginnings"),
        pytest.param([TEXT[0], *TEXT[2:]], id="a text that never began"),
        pytest.param([*TEXT[:3], *TEXT[4:5], *TEXT[6:]], id="a block without end"),
        pytest.param([*TEXT[:-2], TEXT[-1]], id="no reason to stop"),
        pytest.param([*TEXT[:6], begin(0, text("")), *TEXT[5:]], id="an index used again"),
        pytest.param(
            [*TEXT[:6], delta(0, "text", text="more"), *TEXT[6:]], id="text after its end"
        ),
        pytest.param([*TEXT[:3], delta(0, "text", text=5), *TEXT[5:]], id="text that is no text"),
        pytest.param([*TEXT[:3], delta(0, "text"), *TEXT[5:]], id="a delta without text"),
        pytest.param([*TEXT[:3], delta(0, "some"), *TEXT[5:]], id="a delta without anything"),
        pytest.param(
            [*TEXT[:3], event("content_block_delta", index=0, delta=[]), *TEXT[5:]],
            id="a delta that is no object",
        ),
        pytest.param(
            [*TEXT[:3], event("content_block_delta", index="0", delta={}), *TEXT[5:]],
            id="an index that is no number",
        ),
        pytest.param([TEXT[0], begin(0, "text"), *TEXT[3:]], id="a block that is no object"),
        pytest.param([event("message_start", message=[]), *TEXT[1:]], id="a message of no kind"),
        pytest.param([start(content=[text("Hi")]), *TEXT[1:]], id="content before the blocks"),
    ],
)
def test_a_stream_of_which_something_is_missing_is_not_complete(frames: list[bytes]) -> None:
    assembled = assemble(frames)
    assert not (assembled.complete or assembled.lossless)


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([b": note\n\n", *TEXT], id="a comment"),
        pytest.param([b"id: 1\n" + TEXT[0], *TEXT[1:]], id="an id"),
        pytest.param([*TEXT[:3], TEXT[3].replace("ü".encode(), b"\xfc"), *TEXT[4:]], id="no utf-8"),
        pytest.param([*TEXT[:3], TEXT[3].split(b"\n", 1)[1], *TEXT[4:]], id="no event line"),
        pytest.param([*TEXT, event("message_stop")], id="an event after the end"),
        pytest.param([*TEXT[:5], event("novelty", x=1), *TEXT[5:]], id="an unknown event"),
        pytest.param([*TEXT[:5], delta(0, "novel", note="n"), *TEXT[5:]], id="an unknown delta"),
        pytest.param([*TEXT[:3], delta(0, "text", text="a", p="x"), *TEXT[4:]], id="a field more"),
        pytest.param([*TEXT[:-1], event("message_stop", metrics={})], id="a field in the end"),
        pytest.param([TEXT[0], begin(0, text("G")), *TEXT[2:]], id="text in the start"),
        pytest.param(
            [start(usage=USAGE | {"input_tokens": 1}), *TEXT[1:-2], *close(input_tokens=25)],
            id="a count that grew",
        ),
        pytest.param([*CALL[:3], typed('{"a":1}'), *CALL[5:]], id="an input without blanks"),
        pytest.param([*CALL[:3], typed('{"a": 1, "a": 2}'), *CALL[5:]], id="a key twice"),
        pytest.param([*CALL[:3], *CALL[5:]], id="an empty input"),
        pytest.param(
            [
                start(),
                begin(0, text("")),
                begin(1, text("")),
                delta(1, "text", text="b"),
                delta(0, "text", text="a"),
                end(0),
                end(1),
                *close(),
            ],
            id="blocks at once",
        ),
    ],
)
def test_what_a_body_cannot_hold_keeps_the_raw_frames(frames: list[bytes]) -> None:
    assembled = assemble(frames)
    assert assembled.complete and not assembled.lossless


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([PING, *TEXT, PING], id="pings"),
        pytest.param([b": \n\n", *TEXT], id="an empty comment"),
        pytest.param([*TEXT[:4], delta(0, "text", text=""), *TEXT[4:]], id="an empty piece"),
        pytest.param(
            [*TEXT[:-2], *close(input_tokens=25, cache_read_input_tokens=7)],
            id="counts told again",
        ),
        pytest.param([*TEXT[:-2], *close(server_tool_use=None)], id="a null count"),
    ],
)
def test_what_says_nothing_is_not_kept(frames: list[bytes]) -> None:
    assembled = assemble(frames)
    assert assembled.complete and assembled.lossless


@pytest.mark.parametrize(
    "said",
    ['{"city": "Os', '{"city": NaN}', "[1]", '"text"', "[" * 190 + "]" * 190],
    ids=["cut off", "no JSON", "a list", "a string", "too deep"],
)
def test_an_input_that_is_no_object_is_still_a_call(said: str) -> None:
    frames = [*CALL[:3], typed(said), *CALL[5:]]
    assembled = assemble(frames)
    assert assembled.complete and not assembled.lossless
    (answer,) = MESSAGES.answer(assembled.body).messages
    (call,) = answer.tool_calls
    assert (call.name, call.text) == ("get_weather", said)
    # Told from the body, such as where the raw frames are not at hand, it is the same text.
    again = assemble(MESSAGES.stream(assembled.body, STREAMED))
    assert same(again.body, assembled.body)


def test_an_error_event_is_no_answer() -> None:
    error: JsonObject = {"type": "overloaded_error", "message": "Overloaded"}
    assembled = assemble([*TEXT[:4], event("error", error=error)])
    assert assembled.failed and not assembled.complete and not assembled.lossless
    assert assembled.body == {"type": "error", "error": error}
    assert MESSAGES.answer(assembled.body).messages == ()
    named = assemble([sse.frame('"broken"', "error")])
    assert named.failed and named.body == {"error": "broken"}


def test_data_that_is_no_json_is_told() -> None:
    assembler = MESSAGES.assembler(STREAMED)
    for frame in [*TEXT[:2], b"event: content_block_delta\ndata: {oops\n\n", b"data:  \n\n"]:
        assembler.feed(frame)
    assert assembler.unread == "{oops"
    assert not assembler.result().complete
    pinged = MESSAGES.assembler(STREAMED)
    pinged.feed(b"event: ping\ndata: not read by any client\n\n")
    assert pinged.unread is None


@pytest.mark.parametrize(
    ("value", "named"),
    [
        pytest.param(MESSAGES.error(500, "it broke", "code"), "error", id="error"),
        pytest.param({"x": 1}, "message", id="object"),
        pytest.param(None, "message", id="null"),
    ],
)
def test_what_is_no_message_is_one_frame(value: JsonValue, named: str) -> None:
    (frame,) = MESSAGES.stream(value, STREAMED)
    assert (sse.event_of(frame), sse.data_of(frame)) == (named, write(value))


def test_raw_frames_are_served_as_they_were() -> None:
    frames = [*TEXT[:3], b"event: x\ndata: \xff\n\n"]
    events = [frame.decode("utf-8", "surrogateescape") for frame in frames]
    assert list(MESSAGES.replayed(events, STREAMED)) == frames
