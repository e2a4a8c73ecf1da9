"""Calls that an answer tells in an odd way: never read as no call, nor as another one."""

from __future__ import annotations

import pytest

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled, Dialect
from flowproof.dialects.registry import by_name
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects import anthropic_messages_tools as anthropic
from tests.dialects import google_generate_tools as gemini
from tests.dialects import openai_chat_tools as chat
from tests.dialects import openai_responses_tools as responses
from tests.dialects.openai_chat_tools import CHAT, DONE, chunk, piece
from tests.dialects.openai_responses_tools import RESPONSES, event, response, said, text_part
from tests.dialects.tools import WITH_USAGE


def entry(
    name: str | None, arguments: JsonValue, kind: str = "function", **more: JsonValue
) -> JsonObject:
    """One piece of a call, all of which have the number 0."""
    named: JsonObject = {} if name is None else {"name": name}
    member = "input" if kind == "custom" else "arguments"
    return {"index": 0, **more, kind: {**named, member: arguments}}


def called(dialect: Dialect, told: Assembled) -> list[tuple[str, str]] | None:
    """The calls of an answer with their arguments; None where it cannot be read."""
    messages = dialect.answer(told.body).messages
    calls = [(one.name, one.text) for message in messages for one in message.tool_calls]
    return calls if messages else None


def streamed(*chunks: list[JsonObject]) -> Assembled:
    frames = [chunk(piece({"tool_calls": [*calls]})) for calls in chunks]
    return chat.assemble([*frames, chunk(piece({}, "tool_calls")), DONE])


W, D = "get_weather", "delete_all"


@pytest.mark.parametrize("id", [None, "", "absent"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((W, '{"c":1}'), (D, "{}"), id="two tools"),
        pytest.param((W, '{"c":1}'), (W, "{}"), id="one tool twice"),
        pytest.param((W, "{}"), (W, "{}"), id="the same call twice"),
        pytest.param((W, '{"c":"}{\\\\"}'), (W, '{"c":2}'), id="marks in a text"),
        pytest.param((W, "oops"), (D, "{}"), id="arguments that are no JSON"),
    ],
)
@pytest.mark.parametrize("together", [True, False], ids=["one chunk", "two chunks"])
def test_parallel_calls_without_ids_stay_apart(
    id: str | None, first: tuple[str, str], second: tuple[str, str], together: bool
) -> None:
    more: JsonObject = {} if id == "absent" else {"id": id}
    calls = [entry(*first) | more, entry(*second) | more]
    told = streamed(calls) if together else streamed(*([call] for call in calls))
    assert called(CHAT, told) == [first, second]
    assert (told.complete, told.lossless) == (True, False)


def test_what_goes_on_belongs_to_the_latest_of_them() -> None:
    told = streamed([entry(W, "{}", id="a")], [entry(D, "{", id=None)], [entry(None, "}")])
    assert called(CHAT, told) == [(W, "{}"), (D, "{}")]


def test_calls_of_two_kinds_and_two_calls_of_a_custom_tool_stay_apart() -> None:
    told = streamed([entry(W, "{}")], [entry(D, "all", "custom")], [entry(D, "more", "custom")])
    assert called(CHAT, told) == [(W, "{}"), (D, "all"), (D, "more")]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([entry("get_", ""), entry("weather", ""), entry(None, "{}")], id="a name"),
        pytest.param([entry("get_", None), entry("weather", "{}")], id="a name, then arguments"),
        pytest.param([entry(W, "{"), entry(W, "}")], id="a name that is repeated"),
        pytest.param([entry(W, "{}"), entry(W, "")], id="a name that is repeated at the end"),
        pytest.param([entry(W, "{}", id="a"), entry(W, "", id="a")], id="a name and an id"),
    ],
)
def test_pieces_of_one_call_are_one_call(pieces: list[JsonObject]) -> None:
    told = streamed(*([one] for one in pieces))
    assert called(CHAT, told) == [(W, "{}")]
    assert told.lossless


@pytest.mark.parametrize("offered", [[W, D], ["get_weatherdelete_all"], []], ids=str)
def test_two_offered_names_in_a_row_are_two_calls(offered: list[str]) -> None:
    tools: list[JsonValue] = [{"type": "function", "function": {"name": one}} for one in offered]
    asked = Asked({"tools": tools}, stream=True, stream_usage=True)
    assembler = CHAT.assembler(asked)
    for calls in ([entry(W, "")], [entry(D, "")]):
        assembler.feed(chunk(piece({"tool_calls": [*calls]})))
    expected = [(W, ""), (D, "")] if D in offered else [(W + D, "")]
    assert called(CHAT, assembler.result()) == expected


def test_a_second_call_in_the_old_form_has_no_place() -> None:
    def legacy(name: str, arguments: str) -> bytes:
        return chunk(piece({"function_call": {"name": name, "arguments": arguments}}))

    end = [chunk(piece({}, "function_call")), DONE]
    told = chat.assemble([legacy(W, "{}"), legacy(D, "{}"), *end])
    assert called(CHAT, told) is None
    assert not told.lossless
    told = chat.assemble([legacy("get_", ""), legacy("weather", ""), legacy("", "{}"), *end])
    assert (called(CHAT, told), told.lossless) == ([(W, "{}")], True)


@pytest.mark.parametrize(
    ("choice", "unread"),
    [
        pytest.param(
            {"index": 0, "message": {"tool_calls": [entry(D, "{}")]}}, True, id="a message"
        ),
        pytest.param(
            piece({}) | {"message": {"function_call": {"name": D}}}, True, id="a message beside"
        ),
        pytest.param(piece({"tool_calls": "f"}), True, id="calls that are text"),
        pytest.param(piece({"tool_calls": [{"function": "f"}]}), True, id="a call that is text"),
        pytest.param(piece({"tool_calls": [entry(D, "{}")]}), False, id="a call"),
        pytest.param({"index": 0, "delta": "x"}, True, id="text"),
        pytest.param("x", True, id="no object"),
        pytest.param(piece({}, "stop"), False, id="a piece"),
        pytest.param({"index": 0, "finish_reason": "stop"}, False, id="only an end"),
    ],
)
def test_a_chunk_that_is_none_is_told(choice: JsonValue, unread: bool) -> None:
    assembler = CHAT.assembler(WITH_USAGE)
    for choices in (None, [choice]):
        assembler.feed(sse.frame(write({"choices": choices})))
    assert (assembler.unread is not None) is unread


def test_choices_that_are_no_list_are_told() -> None:
    assembler = CHAT.assembler(WITH_USAGE)
    assembler.feed(sse.frame(write({"choices": {"0": piece({}, "stop")}})))
    assert assembler.unread is not None


@pytest.mark.parametrize("name", ["openai.chat", "openai.completions"])
def test_an_end_alone_is_no_answer(name: str) -> None:
    assembler = by_name(name).assembler(WITH_USAGE)
    assembler.feed(DONE)
    assert assembler.result() == Assembled(None, complete=False, lossless=False)


@pytest.mark.parametrize(
    ("after", "complete"),
    [
        pytest.param({"content": "more"}, False, id="text"),
        pytest.param({"tool_calls": [entry(D, "{")]}, False, id="a call"),
        pytest.param({"role": "assistant", "content": ""}, True, id="nothing"),
        pytest.param({}, True, id="empty"),
    ],
)
def test_who_says_more_after_the_end_has_not_ended(after: JsonObject, complete: bool) -> None:
    frames = [chunk(piece({"content": "Hi"})), chunk(piece({}, "stop")), chunk(piece(after))]
    assert chat.assemble(frames).complete is complete
    assert chat.assemble([*frames, chunk(piece({}, "stop"))]).complete


# Of an answer whose reason to end says that a tool was called, and of one with an odd part.
ODD: list[JsonObject] = [
    {"type": "tool_call", "name": D, "input": {}},
    {"type": "function_call.v2", "name": D, "arguments": "{}"},
    {"type": "call", "function": {"name": D, "arguments": "{}"}},
]
KNOWN: JsonObject = {"type": "thing", "name": "a picture", "data": "x"}


def chat_body(message: JsonObject, finish: str = "stop") -> JsonObject:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def readable(dialect: Dialect, body: JsonValue) -> bool:
    return bool(dialect.answer(body).messages)


@pytest.mark.parametrize("finish", ["tool_calls", "function_call"])
def test_a_call_that_is_told_of_and_not_told_is_unreadable(finish: str) -> None:
    call: JsonObject = {"id": "a", "function": {"name": W, "arguments": "{}"}}
    assert not readable(CHAT, chat_body({"content": "Hi"}, finish))
    assert readable(CHAT, chat_body({"content": "Hi", "tool_calls": [call]}, finish))
    assert readable(CHAT, chat_body({"content": "Hi"}))
    spoken = anthropic.text("Hi")
    assert not readable(anthropic.MESSAGES, anthropic.body(spoken, stop="tool_use"))
    made = anthropic.body(spoken, anthropic.tool_use(W, {}), stop="tool_use")
    assert readable(anthropic.MESSAGES, made)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd["type"]))
def test_what_looks_like_a_call_is_no_remark(odd: JsonObject) -> None:
    for part, expected in ((odd, False), (KNOWN, True)):
        assert readable(CHAT, chat_body({"content": [part]})) is expected
        assert readable(anthropic.MESSAGES, anthropic.body(part)) is expected
        assert readable(RESPONSES, response(said(part))) is expected
        assert readable(RESPONSES, response(part)) is expected
        parts = gemini.candidate(part, finish="STOP")
        assert readable(gemini.GEMINI, gemini.body(parts)) is expected


CALL = responses.call(D)
MESSAGE = said(text_part("Hi"))
BEGUN_CALL = CALL | {"arguments": "", "status": "in_progress"}


def placed(kind: str, item: JsonObject, index: int | None) -> bytes:
    number: JsonObject = {} if index is None else {"output_index": index}
    return event(f"response.output_item.{kind}", item=item, **number)


def ended(*output: JsonValue, end: str = "completed") -> bytes:
    return event(f"response.{end}", response=response(*output, status=end))


@pytest.mark.parametrize("index", [0, None, 7])
@pytest.mark.parametrize("item", [CALL, {**CALL, "id": None, "call_id": None}], ids=["id", "no id"])
@pytest.mark.parametrize("output", [[], [MESSAGE]], ids=["nothing", "a message"])
def test_an_item_that_was_told_is_part_of_the_answer(
    index: int | None, item: JsonObject, output: list[JsonValue]
) -> None:
    told = responses.assemble(
        [placed("added", item, index), placed("done", item, index), ended(*output)]
    )
    assert called(RESPONSES, told) == [(D, "{}")]
    assert (told.complete, told.lossless) == (True, False)


def test_items_that_all_have_one_number_are_all_told() -> None:
    other = responses.call(W, call_id="call_2")
    told = responses.assemble([placed("done", CALL, 0), placed("done", other, 0), ended()])
    assert called(RESPONSES, told) == [(D, "{}"), (W, "{}")]


def test_a_call_that_began_and_is_not_in_the_answer_leaves_it_incomplete() -> None:
    assert not responses.assemble([placed("added", BEGUN_CALL, 0), ended(MESSAGE)]).complete
    other = responses.call(W, call_id="call_2")
    assert not responses.assemble([placed("added", BEGUN_CALL, 0), ended(other)]).complete
    assert responses.assemble([placed("added", BEGUN_CALL, 0), ended(CALL)]).complete


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(CALL, id="the same"),
        pytest.param({**CALL, "status": None}, id="another status"),
        pytest.param({**CALL, "id": "x"}, id="another id"),
        pytest.param({**CALL, "id": "x", "call_id": "y"}, id="other ids"),
    ],
)
def test_an_item_that_the_answer_holds_is_not_told_twice(item: JsonObject) -> None:
    told = responses.assemble([placed("done", item, 0), ended(CALL)])
    assert called(RESPONSES, told) == [(D, "{}")]
    told = responses.assemble([placed("done", item, 0), placed("done", item, 1), ended(CALL)])
    assert called(RESPONSES, told) == [(D, "{}")] * 2


@pytest.mark.parametrize("index", [0, None])
def test_another_call_under_the_id_of_one_is_told_as_well(index: int | None) -> None:
    other = responses.call(W)
    told = responses.assemble([placed("done", CALL, index), ended(other)])
    assert sorted(called(RESPONSES, told) or []) == [(D, "{}"), (W, "{}")]


def test_a_response_that_failed_in_a_stream_is_no_answer() -> None:
    told = responses.assemble([ended(MESSAGE, end="failed")])
    assert (told.failed, told.lossless) == (True, False)
    assert RESPONSES.answer(told.body).messages == ()
    told = responses.assemble([ended(MESSAGE, end="incomplete")])
    assert (told.failed, called(RESPONSES, told)) == (False, [])


@pytest.mark.parametrize("odd", [1, "x", {"jsonPath": "$.a"}, True], ids=str)
def test_partial_arguments_that_are_no_list_are_no_arguments(odd: JsonValue) -> None:
    call: JsonObject = {"name": W, "partialArgs": odd, "willContinue": True}
    last: JsonObject = {"willContinue": False}
    chunks = [
        gemini.body(gemini.candidate({"functionCall": call})),
        gemini.body(gemini.candidate({"functionCall": last}, finish="STOP")),
    ]
    told = gemini.assemble(gemini.events(*chunks))
    assert called(gemini.GEMINI, told) is None
