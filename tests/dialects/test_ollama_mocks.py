"""Tool results of Ollama's dialects, replaced whatever it is that names the call they answer."""

from __future__ import annotations

import copy

import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue
from tests.dialects.ollama_tools import CHAT, GENERATE, call


def calling(*calls: JsonValue) -> JsonObject:
    return {"role": "assistant", "content": "", "tool_calls": [*calls]}


def result(content: JsonValue, **others: JsonValue) -> JsonObject:
    return {"role": "tool", "content": content, **others}


def mocked(messages: list[JsonValue]) -> tuple[list[JsonValue], tuple[str, ...]]:
    """What each tool result holds once all are mocked by what the mock is told of them."""
    body: JsonObject = {"model": "m", "messages": messages}
    before = copy.deepcopy(body)
    changed, tools = CHAT.substitute(
        body, lambda tool, call_id, nth, said: f"{tool} {call_id} {nth} {said}", {}
    )
    assert body == before
    listed = changed["messages"]
    assert isinstance(listed, list)
    raws = [raw for raw in listed if isinstance(raw, dict) and raw.get("role") == "tool"]
    return [raw["content"] for raw in raws], tools


@pytest.mark.parametrize(
    ("messages", "contents"),
    [
        pytest.param(
            [
                calling(call("search", {"q": 1}, id="a"), call("search", {"q": 2}, id="b")),
                result("r", tool_call_id="b", tool_name="search"),
                result("r", tool_call_id="a"),
            ],
            ['search b 0 {"q":2}', 'search a 0 {"q":1}'],
            id="by id, in any order",
        ),
        pytest.param(
            [
                calling(call("search", {"q": 1}), call("book", {}), call("search", {"q": 2})),
                result("r", tool_name="book"),
                result("r", tool_name="search"),
                result("r", name="search"),
            ],
            ["book None 0 {}", 'search None 0 {"q":1}', 'search None 1 {"q":2}'],
            id="by tool, in the order of its calls",
        ),
        pytest.param(
            [calling(call("search", {"q": 1}), call("book", {"n": 2})), result("r"), result("r")],
            ['search None 0 {"q":1}', 'book None 0 {"n":2}'],
            id="by place",
        ),
        pytest.param(
            [
                calling(call("search", {}, id="a"), call("book", {}), call("search", {})),
                result("r", tool_name="search"),
                result("r"),
                result("r", tool_name="search"),
            ],
            ["search a 0 {}", "book None 0 {}", "search None 0 {}"],
            id="mixed",
        ),
        pytest.param(
            [
                calling(call("search", {"q": 1})),
                calling(call("search", {"q": 2})),
                result("r", tool_name="search"),
                result("r", tool_name="search"),
            ],
            ['search None 0 {"q":1}', 'search None 1 {"q":2}'],
            id="a call in a message of its own",
        ),
        pytest.param(
            [
                calling(call("search", {"q": 1}), call("search", {"q": 2})),
                result("r", tool_name="search"),
                {"role": "user", "content": "stop"},
                calling(call("search", {"q": 3})),
                result("r", tool_name="search"),
            ],
            ['search None 0 {"q":1}', 'search None 1 {"q":3}'],
            id="what was never answered is over",
        ),
        pytest.param(
            [calling(call("book", {})), result("r", tool_name="search")],
            ["search None 0 "],
            id="a tool that was not called",
        ),
        pytest.param(
            [calling(call("search", {"q": 1})), result("r", tool_name="search", tool_call_id="x")],
            ['search None 0 {"q":1}'],
            id="an id that clients have dropped from the call",
        ),
    ],
)
def test_results_are_replaced_whatever_names_their_call(
    messages: list[JsonValue], contents: list[JsonValue]
) -> None:
    found, tools = mocked(messages)
    assert found == contents
    assert tools == tuple(str(content).split()[0] for content in contents)


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([result("r")], id="no call at all"),
        pytest.param([result("r", tool_call_id="a")], id="unknown id"),
        pytest.param([calling(call("a", {}, id="a"), 1, None), {"role": "user"}], id="no result"),
        pytest.param([calling({"id": "a"}), None, 3], id="malformed"),
    ],
)
def test_where_nothing_is_replaced_the_same_body_comes_back(messages: list[JsonValue]) -> None:
    body: JsonObject = {"messages": messages}
    changed, tools = CHAT.substitute(body, lambda *_told: "mock", {})
    assert changed is body
    assert tools == ()


def test_a_result_of_another_tool_is_left_as_it_is() -> None:
    body: JsonObject = {
        "messages": [
            calling(call("search", {}), call("book", {})),
            result("kept", tool_name="search"),
            result("real", tool_name="book"),
        ]
    }
    changed, tools = CHAT.substitute(
        body, lambda tool, *_told: "mock" if tool == "book" else None, {}
    )
    assert isinstance(changed["messages"], list) and isinstance(body["messages"], list)
    assert changed["messages"][1] is body["messages"][1]
    assert changed["messages"][2] == result("mock", tool_name="book")
    assert tools == ("book",)


def test_a_prompt_has_no_results_to_replace() -> None:
    body: JsonObject = {"prompt": "p"}
    changed, tools = GENERATE.substitute(body, lambda *_told: "mock", {})
    assert changed is body
    assert tools == ()


def test_many_calls_are_paired_in_one_pass() -> None:
    number = 20_000
    messages: list[JsonValue] = [
        calling(*(call(f"t{n % 7}", {"n": n}) for n in range(number))),
        *(result("r", tool_name=f"t{n % 7}") for n in range(0, number, 2)),
        *(result("r") for _ in range(0, number, 2)),
    ]
    contents, _ = mocked(messages)
    assert len(contents) == number
    assert len(set(contents)) == number
