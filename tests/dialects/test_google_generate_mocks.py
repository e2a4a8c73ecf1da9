"""Mocked tool results in requests of the Gemini API: paired with their calls, and shaped."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects.interface import Substitution
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import ToolCall
from tests.dialects.google_generate_tools import GEMINI, call, content, result, text


def said_of(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return f"{tool} {call_id} {occurrence} {arguments}"


def never(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return None


def results_of(body: JsonValue) -> list[JsonValue]:
    contents = body["contents"] if isinstance(body, dict) else None
    found: list[JsonValue] = []
    for one in contents if isinstance(contents, list) else [contents]:
        parts = one.get("parts") if isinstance(one, dict) else None
        for part in parts if isinstance(parts, list) else [parts]:
            for key in ("functionResponse", "function_response"):
                response = part.get(key) if isinstance(part, dict) else None
                if isinstance(response, dict):
                    found.append(response["response"])
    return found


def test_results_without_ids_belong_to_the_calls_of_their_name_in_order() -> None:
    body: JsonObject = {
        "contents": [
            content(text("go"), role="user"),
            content(call("search", n=1), call("book", n=2), call("search", n=3)),
            content(
                result("search", {"result": "r1"}),
                result("search", {"result": "r3"}),
                result("book", {"result": "r2"}),
                text("and?"),
                role="user",
            ),
            content(call("search", n=4)),
            content(result("search", {"result": "r4"}), role="function"),
        ],
        "other": 1,
    }
    before = copy.deepcopy(body)
    changed, tools = GEMINI.substitute(body, said_of, {})
    assert tools == ("search", "search", "book", "search")
    assert results_of(changed) == [
        {"result": 'search None 0 {"n":1}'},
        {"result": 'search None 1 {"n":3}'},
        {"result": 'book None 0 {"n":2}'},
        {"result": 'search None 2 {"n":4}'},
    ]
    assert body == before
    assert changed["other"] == 1


def test_ids_pair_results_and_a_reused_id_counts_up_and_means_the_latest_call() -> None:
    body: JsonObject = {
        "contents": [
            content(call("search", "a", n=1), call("search", "b", n=2)),
            content(result("search", {}, "b"), result("search", {}, "a"), role="user"),
            content(call("book", "a", n=3)),
            content(result("book", {}, "a"), role="user"),
        ]
    }
    changed, tools = GEMINI.substitute(body, said_of, {})
    assert tools == ("search", "search", "book")
    assert results_of(changed) == [
        {"result": 'search b 0 {"n":2}'},
        {"result": 'search a 0 {"n":1}'},
        {"result": 'book a 1 {"n":3}'},
    ]


def test_a_call_of_an_earlier_answer_is_known_by_its_id() -> None:
    body: JsonObject = {"contents": [content(result("f", {}, "x"), role="user")]}
    earlier = {"x": ToolCall("x", "search", '{"n":1}', {"n": 1})}
    changed, tools = GEMINI.substitute(body, said_of, earlier)
    assert (tools, results_of(changed)) == (("search",), [{"result": 'search x 0 {"n":1}'}])


def test_a_result_without_a_call_names_its_tool_itself() -> None:
    body: JsonObject = {"contents": [content(result("f", {}), result("f", {}, "x"), role="user")]}
    changed, _ = GEMINI.substitute(body, said_of, {})
    assert results_of(changed) == [{"result": "f None 0 "}, {"result": "f x 0 "}]


@pytest.mark.parametrize(
    ("said", "response"),
    [
        pytest.param("rain", {"result": "rain"}, id="text"),
        pytest.param('{"a": 1}', {"a": 1}, id="object"),
        pytest.param("[1]", {"result": "[1]"}, id="list"),
        pytest.param("7", {"result": "7"}, id="number"),
        pytest.param("null", {"result": "null"}, id="null"),
        pytest.param("{oops", {"result": "{oops"}, id="not quite JSON"),
        pytest.param("", {"result": ""}, id="nothing"),
    ],
)
def test_what_a_tool_is_said_to_return_is_an_object(said: str, response: JsonObject) -> None:
    body: JsonObject = {"contents": [content(result("f", {"result": "real"}), role="user")]}
    changed, _ = GEMINI.substitute(body, lambda *_: said, {})
    assert results_of(changed) == [response]


def test_all_else_of_a_result_stays_but_for_the_pictures_returned() -> None:
    told: JsonObject = {"name": "f", "id": "x", "response": {}, "parts": [{"inlineData": {}}]}
    part: JsonObject = {"function_response": {**told, "scheduling": "SILENT"}, "partMetadata": {}}
    one: JsonObject = {"parts": part, "role": "user"}
    changed, _ = GEMINI.substitute({"contents": one}, lambda *_: "mock", {})
    expected: JsonObject = {
        "name": "f",
        "id": "x",
        "response": {"result": "mock"},
        "scheduling": "SILENT",
    }
    assert changed == {
        "contents": {
            "parts": {"function_response": expected, "partMetadata": {}},
            "role": "user",
        }
    }


@pytest.mark.parametrize(
    ("contents", "substitution"),
    [
        pytest.param([content(call("f")), content(result("f", {}))], never, id="not mocked"),
        pytest.param([content(call("f")), content(text("x"))], said_of, id="no result"),
        pytest.param([content({"functionResponse": "f"}), None, 1, "x"], said_of, id="malformed"),
        pytest.param([content({"functionResponse": {"name": 1}})], said_of, id="no name"),
        pytest.param("nothing", said_of, id="a string"),
        pytest.param(7, said_of, id="a number"),
    ],
)
def test_where_nothing_is_replaced_the_same_body_comes_back(
    contents: JsonValue, substitution: Substitution
) -> None:
    body: JsonObject = {"contents": contents}
    changed, tools = GEMINI.substitute(body, substitution, {})
    assert changed is body
    assert tools == ()
