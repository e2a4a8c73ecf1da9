"""What moved is named: the kind, the JSON path, and two lines that never look the same."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flowproof.boundary.cassette import Cassette, Taken
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText, canonical, parse, same
from flowproof.model.outcome import Divergence
from flowproof.model.turn import Response, Turn
from tests.boundary.tools import BY_NAME, CHAT, chat_request, pinned, turn

Request = dict[str, Any]
ARGUMENTS = "$.messages[2].tool_calls[0].function.arguments"


def tool(name: str) -> Request:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    return {
        "type": "function",
        "function": {"name": name, "description": f"Does {name}", "parameters": schema},
    }


def booking() -> Request:
    """A request that has everything which may change."""
    arguments = json.dumps({"flight": {"id": "KQ311"}, "seats": 1})
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "book", "arguments": arguments},
    }
    parts = [
        {"type": "text", "text": "Book this flight"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
    ]
    return {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "You book flights."},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": '{"ok":true}'},
            {"role": "user", "content": "Thanks. Is it done?"},
        ],
        "tools": [tool("search"), tool("book")],
        "tool_choice": "auto",
        "response_format": {"type": "text"},
        "temperature": 0.2,
        "max_tokens": 100,
        "seed": 7,
        "x_custom": {"deep": [1, 2]},
    }


def put(*place: str | int, to: Any) -> Callable[[Request], None]:
    """Sets the value at a place."""

    def change(request: Request) -> None:
        inner: Any = request
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = to

    change.__name__ = ".".join(map(str, place))
    return change


def drop(key: str) -> Callable[[Request], None]:
    def change(request: Request) -> None:
        del request[key]

    return change


def swap_tools(request: Request) -> None:
    request["tools"].reverse()


def one_message_more(request: Request) -> None:
    request["messages"].append({"role": "user", "content": "Hello?"})


def call_arguments(text: str) -> Callable[[Request], None]:
    return put("messages", 2, "tool_calls", 0, "function", "arguments", to=text)


def diverge(recorded: Any, sent: Any) -> Divergence:
    cassette = Cassette([turn(recorded)], BY_NAME)
    taken = cassette.take(CHAT, pinned(sent))
    assert isinstance(taken, Divergence)
    return taken


TOOL = ("tools", 1, "function")
CHANGES = [
    pytest.param(put("model", to="gpt-4.1"), "model", "$.model", "gpt-4o", "gpt-4.1", id="model"),
    pytest.param(
        put("messages", 0, "content", to="You book trains."),
        "system text",
        "$.messages[0].content",
        "flights",
        "trains",
        id="system text",
    ),
    pytest.param(
        put("messages", 4, "content", to="Thanks. Is it paid?"),
        "user text",
        "$.messages[4].content",
        "done",
        "paid",
        id="user text",
    ),
    pytest.param(
        put("messages", 4, "content", to="Thanks. Is it done? "),
        "user text",
        "$.messages[4].content",
        'done?"',
        'done? "',
        id="trailing space",
    ),
    pytest.param(
        put("messages", 1, "content", 0, "text", to="Book that flight"),
        "user content part text",
        "$.messages[1].content[0].text",
        "this",
        "that",
        id="content part text",
    ),
    pytest.param(
        put("messages", 1, "content", 1, "image_url", "url", to="data:image/png;base64,aGVsbG9="),
        "image",
        "$.messages[1].content[1].image_url.url",
        "bG8=",
        "bG9=",
        id="image",
    ),
    pytest.param(
        put(*TOOL, "description", to="Does book it"),
        "tool description",
        "$.tools[1].function.description",
        "book",
        "book it",
        id="tool description",
    ),
    pytest.param(
        put(*TOOL, "parameters", "properties", "id", "type", to="integer"),
        "tool parameter schema",
        "$.tools[1].function.parameters.properties.id.type",
        "string",
        "integer",
        id="parameter schema",
    ),
    pytest.param(
        swap_tools, "tool names or their order", "$.tools[0]", "search", "book", id="order"
    ),
    pytest.param(
        put("tool_choice", to="required"),
        "tool_choice",
        "$.tool_choice",
        "auto",
        "required",
        id="tool_choice",
    ),
    pytest.param(
        put("response_format", "type", to="json_object"),
        "response_format",
        "$.response_format.type",
        "text",
        "json_object",
        id="response_format",
    ),
    pytest.param(
        put("temperature", to=0.3), "temperature", "$.temperature", "0.2", "0.3", id="temperature"
    ),
    pytest.param(
        put("max_tokens", to=101), "max_tokens", "$.max_tokens", "100", "101", id="max_tokens"
    ),
    pytest.param(put("seed", to=8), "seed", "$.seed", "7", "8", id="seed"),
    pytest.param(put("seed", to=7.0), "seed", "$.seed", "7", "7.0", id="number text"),
    pytest.param(drop("seed"), "seed", "$.seed", "7", "(absent)", id="parameter left out"),
    pytest.param(
        put("top_p", to="(absent)"), "top_p", "$.top_p", "(absent)", '"(absent)"', id="added"
    ),
    pytest.param(
        put("x_custom", "deep", 1, to="2"),
        "x_custom",
        "$.x_custom.deep[1]",
        "2",
        '"2"',
        id="unknown field",
    ),
    pytest.param(
        call_arguments('{"flight": {"id": "KQ999"}, "seats": 1}'),
        "tool call arguments",
        f"{ARGUMENTS}.flight.id",
        '"KQ311"',
        '"KQ999"',
        id="call arguments",
    ),
    pytest.param(
        call_arguments('{"flight":{"id":"KQ311"},"seats":1}'),
        "tool call arguments",
        ARGUMENTS,
        '"flight": {',
        '"flight":{',
        id="argument white space",
    ),
    pytest.param(
        call_arguments('{"flight": {"id": "KQ311"}, "seats": 1'),
        "tool call arguments",
        ARGUMENTS,
        "1}",
        "1",
        id="arguments that are not JSON",
    ),
    pytest.param(
        put("messages", 2, "tool_calls", 0, "id", to="call_2"),
        "tool call id",
        "$.messages[2].tool_calls[0].id",
        "call_1",
        "call_2",
        id="call id",
    ),
    pytest.param(
        put("messages", 3, "tool_call_id", to="call_l"),
        "tool call id",
        "$.messages[3].tool_call_id",
        "call_1",
        "call_l",
        id="result id",
    ),
    pytest.param(
        put("messages", 3, "content", to='{"ok":false}'),
        "tool result",
        "$.messages[3].content.ok",
        "true",
        "false",
        id="tool result",
    ),
    pytest.param(
        put("messages", 4, "name", to="Ann"),
        "user message's name",
        "$.messages[4].name",
        "(absent)",
        "Ann",
        id="message name",
    ),
    pytest.param(
        one_message_more, "message roles", "$.messages[5]", "(absent)", "user", id="message"
    ),
]


@pytest.mark.parametrize(("change", "kind", "path", "old", "new"), CHANGES)
def test_a_change_is_caught_and_named(
    change: Callable[[Request], None], kind: str, path: str, old: str, new: str
) -> None:
    sent = booking()
    change(sent)
    divergence = diverge(booking(), sent)
    assert divergence.kind == kind
    assert divergence.path == path
    assert (divergence.request, divergence.turn) == (1, 1)
    assert f"in its {kind}, at {path}" in divergence.message
    recorded, replayed = divergence.excerpt
    assert (recorded.mark, replayed.mark) == ("-", "+")
    assert old in recorded.text
    assert new in replayed.text
    assert recorded.text != replayed.text


def test_what_did_not_change_is_no_divergence() -> None:
    cassette = Cassette([turn(booking())], BY_NAME)
    assert isinstance(cassette.take(CHAT, pinned(booking())), Taken)


def test_the_envelope_is_told_before_any_message() -> None:
    sent = booking()
    put("messages", 0, "content", to="Other")(sent)
    put("seed", to=8)(sent)
    assert diverge(booking(), sent).kind == "seed"
    put(*TOOL, "description", to="Other")(sent)
    assert diverge(booking(), sent).kind == "tool description"
    swap_tools(sent)
    assert diverge(booking(), sent).kind == "tool names or their order"
    put("model", to="o9")(sent)
    assert diverge(booking(), sent).kind == "model"


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        pytest.param("a b", "a  b", "only white space differs", id="two blanks"),
        pytest.param("a b", "a\tb", "only white space differs", id="tab"),
        pytest.param("a b", "a\u00a0b", "only white space differs", id="no-break space"),
        pytest.param("a\nb", "a\r\nb", "only white space differs", id="line ends"),
        pytest.param("caf\u00e9", "cafe\u0301", "U+00E9 LATIN SMALL LETTER E WITH ACUTE", id="NFD"),
        pytest.param("pay", "p\u0430y", "U+0430 CYRILLIC SMALL LETTER A", id="homoglyph"),
        pytest.param("ab", "a\u200bb", "U+200B ZERO WIDTH SPACE", id="zero width"),
        pytest.param("ab", "ab\u200b", "end of text, sent U+200B", id="zero width at the end"),
        pytest.param("ab", "\ufeffab", "U+FEFF ZERO WIDTH NO-BREAK SPACE", id="byte order mark"),
        pytest.param("ab", "\u202eab", "U+202E RIGHT-TO-LEFT OVERRIDE", id="direction"),
        pytest.param("ab", "a\ud83db", "U+D83D", id="lone surrogate"),
        pytest.param("ab", "a\u3164b", "U+3164 HANGUL FILLER", id="filler"),
        pytest.param('{"a":1}', '{"a": 1}', "the same JSON value", id="JSON spacing"),
    ],
)
def test_what_a_reader_cannot_see_is_told(old: str, new: str, note: str) -> None:
    divergence = diverge(chat_request(old), chat_request(new))
    assert note in divergence.message
    left, right = (line.text for line in divergence.excerpt)
    assert left != right
    assert left.isprintable()
    assert right.isprintable()


def test_what_cannot_be_seen_inside_arguments_is_told_too() -> None:
    sent = booking()
    call_arguments('{"flight": {"id": "\u041aQ311"}, "seats": 1}')(sent)
    divergence = diverge(booking(), sent)
    assert divergence.path == f"{ARGUMENTS}.flight.id"
    assert "U+041A CYRILLIC CAPITAL LETTER KA" in divergence.message


@pytest.mark.parametrize("at", [0, 50, 10_000, 19_999], ids=str)
def test_the_excerpt_of_a_long_text_is_centred_on_the_change(at: int) -> None:
    old = "".join(f"{n:05d} " for n in range(4000))[:20_000]
    new = f"{old[:at]}X{old[at + 1 :]}"
    left, right = (line.text for line in diverge(chat_request(old), chat_request(new)).excerpt)
    assert len(left) < 130
    assert "X" in right
    assert left.replace(old[at], "?", -1) != right
    place = right.index("X")
    assert left[:place] == right[:place]
    assert left[place + 1 :] == right[place + 1 :]


def test_both_lines_of_a_long_text_with_a_longer_tail_are_aligned() -> None:
    old = "word " * 4000
    left, right = (
        line.text for line in diverge(chat_request(old), chat_request(old + " ")).excerpt
    )
    assert left.removesuffix('"') == right.removesuffix(' "')


def test_long_values_that_differ_late_are_shown_where_they_differ() -> None:
    recorded = booking() | {"x_custom": "9" * 300 + "1"}
    sent = booking() | {"x_custom": "9" * 300 + "2"}
    left, right = (line.text for line in diverge(recorded, sent).excerpt)
    assert left.endswith('1"')
    assert right.endswith('2"')


def test_long_numbers_that_differ_late_are_shown_where_they_differ() -> None:
    old, new = (NumberText("9" * 1_500_000 + digit) for digit in "12")
    cassette = Cassette([Turn(CHAT, {"seed": old}, Response(200, None))], BY_NAME)
    taken = cassette.take(CHAT, {"seed": new})
    assert isinstance(taken, Divergence)
    left, right = (line.text for line in taken.excerpt)
    assert left.endswith('1"')
    assert right.endswith('2"')


def test_the_nearest_turn_is_the_one_compared_with() -> None:
    turns = [turn(chat_request("one")), turn(booking()), turn(chat_request("three", seed=1))]
    sent = booking()
    put("messages", 4, "content", to="Thanks. Is it paid?")(sent)
    cassette = Cassette(turns, BY_NAME)
    taken = cassette.take(CHAT, pinned(sent))
    assert isinstance(taken, Divergence)
    assert taken.turn == 2
    assert taken.kind == "user text"


def test_odd_member_names_stand_quoted_in_the_path() -> None:
    recorded = booking() | {"metadata": {"a.b c": {"d": 1}}}
    sent = booking() | {"metadata": {"a.b c": {"d": 2}}}
    assert diverge(recorded, sent).path == '$.metadata["a.b c"].d'


TRICKY = ["a", "b", "1", "true", "null", "(absent)", '"', "\\", "\\u200b", "\u200b", " ", "\t", "…"]
TRICKY += ["\u00e9", "e\u0301", "\u0435", "\ud800", "\u00ad", "\u3164", "\r\n", "\n", "x" * 300]
TEXTS = st.lists(st.sampled_from(TRICKY), max_size=6).map("".join)
NUMBERS = st.sampled_from(["0", "1", "1.0", "1.00", "-0", "-0.0", "1e0", "1E0", "9" * 1001])
LEAVES: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), TEXTS, NUMBERS.map(parse), TEXTS.map(lambda text: json.dumps([text]))
)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    LEAVES, lambda some: st.lists(some, max_size=3) | st.dictionaries(TEXTS, some, max_size=3)
)


def changed(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """The value with one thing in it replaced, added or left out: often a single character."""
    places: list[Any] = []
    if isinstance(value, dict):
        places = list(value)
    elif isinstance(value, list):
        places = list(range(len(value)))
    action = draw(st.sampled_from(["inside", "inside", "inside", "add", "remove", "replace"]))
    if isinstance(value, str) and action != "replace":
        at = draw(st.integers(0, len(value)))
        return value[:at] + draw(st.sampled_from(TRICKY)) + value[at:]
    if action == "add" and isinstance(value, list):
        return [*value, draw(LEAVES)]
    if action == "add" and isinstance(value, dict):
        return value | {draw(TEXTS): draw(LEAVES)}
    if not places or action == "replace":
        return draw(VALUES)
    copied: Any = copy.deepcopy(value)
    place = draw(st.sampled_from(places))
    if action == "remove":
        del copied[place]
    else:
        copied[place] = changed(copied[place], draw)
    return copied


@settings(max_examples=400, deadline=None)
@given(st.data(), st.integers(1, 3))
def test_two_different_requests_never_give_two_equal_lines(data: st.DataObject, steps: int) -> None:
    recorded: JsonValue = pinned(booking() | {"é": "e"})
    sent = recorded
    for _ in range(steps):
        sent = changed(sent, data.draw)
    if isinstance(sent, dict):
        check_lines(recorded, sent)
        check_lines(sent, pinned(booking()))


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
@example("x" * 300, "x" * 301)
@example(["x" * 300, 1], ["x" * 300, True])
def test_two_different_values_never_give_two_equal_lines(old: JsonValue, new: JsonValue) -> None:
    for key in ("model", "messages", "tools", "other"):
        check_lines({key: old}, {key: new})
        check_lines({key: old}, {})


def check_lines(recorded: JsonValue, sent: JsonObject) -> None:
    cassette = Cassette([Turn(CHAT, recorded, Response(200, None))], BY_NAME)
    taken = cassette.take(CHAT, sent)
    if same(recorded, sent):
        assert isinstance(taken, Taken)
        return
    assert isinstance(taken, Divergence)
    assert canonical(recorded) != canonical(sent)
    left, right = taken.excerpt
    assert left.text != right.text
    assert left.text.isprintable()
    assert right.text.isprintable()
    assert taken.message.isprintable()


def growing(turns: int, message: int) -> list[Request]:
    """The requests of one conversation; each holds all messages before it."""
    messages = [
        {"role": "user" if n % 2 else "assistant", "content": f"{n} " + "x" * message}
        for n in range(turns)
    ]
    return [{"model": "m", "messages": messages[: n + 1]} for n in range(turns)]


def test_a_long_recording_is_diagnosed_at_once() -> None:
    requests = growing(400, 1000)
    cassette = Cassette([Turn(CHAT, request, Response(200, None)) for request in requests], BY_NAME)
    for request in requests[:350]:
        assert isinstance(cassette.take(CHAT, pinned(request)), Taken)
    sent = pinned(copy.deepcopy(requests[390]))
    put("messages", 380, "content", to="other")(sent)
    begun = time.perf_counter()
    taken = cassette.take(CHAT, sent)
    assert time.perf_counter() - begun < 1.0
    assert isinstance(taken, Divergence)


def test_many_large_requests_that_differ_at_the_end_are_compared_at_once() -> None:
    text = "x" * 400_000
    turns = [
        Turn(CHAT, pinned(chat_request(f"{text}{n:03d}")), Response(200, None)) for n in range(400)
    ]
    cassette = Cassette(turns, BY_NAME)
    sent = pinned(chat_request(f"{text}xyz"))
    begun = time.perf_counter()
    taken = cassette.take(CHAT, sent)
    assert time.perf_counter() - begun < 1.0
    assert isinstance(taken, Divergence)
    assert "xyz" in taken.excerpt[1].text


@pytest.mark.parametrize(
    ("changed", "says"), [(2, "; also different: 1 more message"), (3, "2 more messages")]
)
def test_other_changed_messages_are_counted(changed: int, says: str) -> None:
    recorded = chat_request() | {"messages": [{"role": "user", "content": "a"}] * 4}
    sent = chat_request() | {
        "messages": [{"role": "user", "content": "b" if at < changed else "a"} for at in range(4)]
    }
    assert diverge(recorded, sent).message.endswith(says)


def test_a_conversation_of_another_length_says_how_many_messages_it_has() -> None:
    one: dict[str, Any] = {"role": "user", "content": "a"}
    recorded, sent = chat_request() | {"messages": [one]}, chat_request() | {"messages": [one] * 3}
    assert "at $.messages[1] (1 message recorded, 3 sent)" in diverge(recorded, sent).message
    assert "(3 messages recorded, 1 sent)" in diverge(sent, recorded).message
    other = chat_request() | {"messages": [one | {"role": "system"}]}
    assert "recorded, " not in diverge(recorded, other).message
