"""Any valid message told as a stream, cut anywhere, is the same when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText, same, write
from tests.dialects.anthropic_messages_tools import MESSAGES, STREAMED, assemble
from tests.dialects.tools import cut, split

TEXT = st.text(max_size=12)
ODD_NUMBERS: list[JsonValue] = [NumberText("1.10"), NumberText("1e5"), NumberText("-0"), 0.5]
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(ODD_NUMBERS), TEXT
)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(TEXT, VALUES, max_size=4)
UNKNOWN: st.SearchStrategy[JsonObject] = st.dictionaries(
    TEXT.map(lambda key: f"x_{key}"), VALUES, max_size=2
)


def entries(**members: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries({**members})


def one(value: str) -> st.SearchStrategy[JsonValue]:
    return st.just(value)


CITATIONS: st.SearchStrategy[JsonValue] = st.none() | st.lists(OBJECTS, max_size=2)
NULLABLE: st.SearchStrategy[JsonValue] = st.none() | TEXT
KNOWN = st.one_of(
    entries(type=one("text"), text=TEXT),
    entries(type=one("text"), text=TEXT, citations=CITATIONS),
    entries(type=one("thinking"), thinking=TEXT, signature=TEXT),
    entries(type=one("redacted_thinking"), data=TEXT),
    entries(
        type=st.sampled_from(["tool_use", "server_tool_use", "mcp_tool_use"]),
        id=TEXT,
        name=TEXT,
        input=OBJECTS,
    ),
    entries(type=one("web_search_tool_result"), tool_use_id=TEXT, content=VALUES),
    entries(type=one("compaction"), content=NULLABLE, encrypted_content=st.none()),
    entries(type=one("compaction"), content=TEXT, encrypted_content=NULLABLE),
    entries(type=one("novelty")),
)
BLOCKS: st.SearchStrategy[JsonObject] = st.builds(lambda block, rest: rest | block, KNOWN, UNKNOWN)
COUNTS: st.SearchStrategy[JsonValue] = st.none() | st.integers(0)


@st.composite
def bodies(draw: st.DrawFn) -> JsonObject:
    usage: JsonObject = {
        "input_tokens": draw(st.integers(0)),
        "output_tokens": draw(st.integers(0)),
    }
    optional = ["cache_read_input_tokens", "output_tokens_details", "iterations", "server_tool_use"]
    for key in draw(st.lists(st.sampled_from(optional), unique=True)):
        usage[key] = draw(COUNTS | OBJECTS)
    body: JsonObject = {
        "id": draw(TEXT),
        "type": "message",
        "role": "assistant",
        "model": draw(TEXT),
        "content": [*draw(st.lists(BLOCKS, max_size=4))],
        "stop_reason": draw(st.sampled_from(["end_turn", "tool_use", "refusal", "novelty"])),
        "stop_sequence": draw(NULLABLE),
    }
    beside = ["stop_details", "container", "context_management", "diagnostics"]
    for key in draw(st.lists(st.sampled_from(beside), unique=True)):
        body[key] = draw(st.none() | OBJECTS)
    return draw(UNKNOWN) | body | {"usage": usage}


@given(bodies(), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_body_survives_the_stream(body: JsonObject, places: list[int]) -> None:
    data = b"".join(MESSAGES.stream(body, STREAMED))
    frames, rest = split(cut(data, places))
    assert rest == b""
    assembled = assemble(frames)
    assert assembled.complete and assembled.lossless and not assembled.failed
    assert same(assembled.body, body)
    inputs = [write(part["input"]) for part in content_of(body) if "input" in part]
    assert inputs == [
        write(part["input"]) for part in content_of(assembled.body) if "input" in part
    ]


def content_of(body: JsonValue) -> list[JsonObject]:
    content = body["content"] if isinstance(body, dict) else None
    assert isinstance(content, list)
    return [block for block in content if isinstance(block, dict)]


@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"data: ", b"\n\n", b'{"type":"'])))
def test_no_bytes_make_the_assembler_raise(chunks: list[bytes]) -> None:
    frames, _ = split(chunks)
    assemble(frames)


KEYS = ["type", "index", "delta", "content_block", "message", "content", "usage", "input", "text"]
KINDS: list[JsonValue] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "text_delta",
    "input_json_delta",
    "citations_delta",
    "tool_use",
    0,
]
HOSTILE: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS | st.sampled_from(KINDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(st.lists(HOSTILE, max_size=4))
def test_no_events_make_the_assembler_raise(values: list[JsonValue]) -> None:
    content: JsonValue = [*values]
    frames = [frame for value in values for frame in MESSAGES.stream(value, STREAMED)]
    body: JsonObject = {"content": content, "usage": {"input_tokens": content}}
    assemble([*MESSAGES.stream(body, STREAMED), *frames])
