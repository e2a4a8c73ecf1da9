"""Any valid message told as a stream, cut anywhere, is the same when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects.anthropic_messages_tools import MESSAGES
from tests.dialects.strategies import PLACES, TEXT, UNKNOWN, VALUES
from tests.dialects.tools import survives

OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(TEXT, VALUES, max_size=4)


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


@given(bodies(), PLACES)
def test_a_body_survives_the_stream(body: JsonObject, places: list[int]) -> None:
    again = survives(MESSAGES, body, places)
    inputs = [write(part["input"]) for part in content_of(body) if "input" in part]
    assert inputs == [write(part["input"]) for part in content_of(again) if "input" in part]


def content_of(body: JsonValue) -> list[JsonObject]:
    content = body["content"] if isinstance(body, dict) else None
    assert isinstance(content, list)
    return [block for block in content if isinstance(block, dict)]
