"""The results an author wrote, told to the model in place of what a tool returned."""

from __future__ import annotations

from typing import Any

import pytest

from flowproof.boundary.mocks import MockedTool, MockResults, ResultsExhausted, mock_text
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.model.jsonvalue import JsonValue, parse
from tests.boundary.tools import pinned


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param("as it is", "as it is", id="string"),
        pytest.param('{"a": 1}', '{"a": 1}', id="string that is JSON"),
        pytest.param("", "", id="empty string"),
        pytest.param({"b": 1, "a": [1, 2]}, '{"b":1,"a":[1,2]}', id="object"),
        pytest.param([], "[]", id="list"),
        pytest.param(None, "null", id="null"),
        pytest.param(False, "false", id="false"),
        pytest.param(parse("1.10"), "1.10", id="number text"),
        pytest.param({"a": "é\n"}, '{"a":"é\\n"}', id="readable text"),
    ],
)
def test_a_string_is_sent_as_it_is_and_anything_else_as_compact_json(
    result: JsonValue, text: str
) -> None:
    assert mock_text(result) == text
    assert MockResults({"t": MockedTool((result,), True)})("t", "id", 0, "{}") == text


def test_a_tool_without_results_is_left_alone() -> None:
    mocks = MockResults({"declared": MockedTool((), False)})
    assert mocks("declared", "id", 0, "{}") is None
    assert mocks("unknown", "id", 0, "{}") is None


def test_results_are_given_one_call_after_another_and_stay_with_their_call() -> None:
    mocks = MockResults({"t": MockedTool(("one", "two"), False), "u": MockedTool(("u",), False)})
    assert mocks("t", "a", 0, "{}") == "one"
    assert mocks("u", "c", 0, "{}") == "u"
    assert mocks("t", "b", 0, "{}") == "two"
    assert mocks("t", "a", 0, "{}") == "one"
    assert mocks("t", "b", 0, "{}") == "two"


def test_running_out_says_so_every_time() -> None:
    mocks = MockResults({"t": MockedTool(("one", "two"), False)})
    mocks("t", "a", 0, "{}")
    mocks("t", "b", 0, "{}")
    for _ in range(2):
        with pytest.raises(ResultsExhausted, match=r"`t` was called 3 times.*2 results.*repeat"):
            mocks("t", "c", 0, "{}")
    assert mocks("t", "a", 0, "{}") == "one"


def test_the_last_result_repeats_if_asked_to() -> None:
    mocks = MockResults({"t": MockedTool(("one", "two"), True)})
    assert [mocks("t", f"c{n}", 0, "{}") for n in range(4)] == ["one", "two", "two", "two"]


def test_calls_that_share_an_id_are_told_apart() -> None:
    mocks = MockResults({"t": MockedTool(("one", "two"), False)})
    assert mocks("t", "same", 0, "{}") == "one"
    assert mocks("t", "same", 1, "{}") == "two"


def history(*results: tuple[str, str, str]) -> Any:
    """A conversation with these results: call id, tool, what the agent's tool returned."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for id, name, content in results:
        function = {"name": name, "arguments": "{}"}
        call = {"id": id, "type": "function", "function": function}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": id, "content": content})
    return {"model": "m", "messages": messages}


def test_a_growing_conversation_repeats_what_was_told() -> None:
    dialect = OpenAIChat()
    mocks = MockResults({"search": MockedTool(("first", {"n": 2}), False)})
    told: list[list[str]] = []
    grown = [("c1", "search", "real 1"), ("c2", "other", "real 2"), ("c3", "search", "real 3")]
    for length in (1, 2, 3):
        request, names = dialect.substitute(pinned(history(*grown[:length])), mocks, {})
        messages: Any = request["messages"]
        told.append([one["content"] for one in messages if one["role"] == "tool"])
    assert told == [["first"], ["first", "real 2"], ["first", "real 2", '{"n":2}']]
    assert names == ("search", "search")


def test_the_agents_own_request_is_not_changed() -> None:
    sent = pinned(history(("c1", "search", "real")))
    told, names = OpenAIChat().substitute(
        sent, MockResults({"search": MockedTool(("x",), True)}), {}
    )
    assert sent == pinned(history(("c1", "search", "real")))
    assert told != sent
    same, none = OpenAIChat().substitute(sent, MockResults({}), {})
    assert same is sent
    assert (names, none) == (("search",), ())


def answered(arguments: str, result: str, id: str = "call_0") -> list[Any]:
    """One call of `search` and what the agent's tool returned."""
    function = {"name": "search", "arguments": arguments}
    return [
        {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": result},
    ]


def told(mocks: MockResults, messages: list[Any]) -> list[str]:
    """The results that stand in a request once mocks are in it."""
    request, _ = OpenAIChat().substitute(pinned({"messages": messages}), mocks, {})
    changed: Any = request["messages"]
    return [one["content"] for one in changed if one["role"] == "tool"]


def test_an_id_used_again_in_another_conversation_is_another_call() -> None:
    mocks = MockResults({"search": MockedTool(("one", "two"), False)})
    first, second = answered('{"q":"a"}', "real"), answered('{"q":"b"}', "real")
    assert told(mocks, first) == ["one"]
    assert told(mocks, second) == ["two"]
    with pytest.raises(ResultsExhausted, match="called 3 times"):
        told(mocks, answered('{"q":"c"}', "real"))


def test_a_conversation_that_goes_on_or_is_tried_again_is_told_the_same() -> None:
    mocks = MockResults({"search": MockedTool(("one", "two"), False)})
    first, second = answered('{"q":"a"}', "real"), answered('{"q":"b"}', "real", "call_1")
    assert [told(mocks, first) for _ in range(2)] == [["one"], ["one"]]
    assert [told(mocks, [*first, *second]) for _ in range(2)] == [["one", "two"]] * 2
