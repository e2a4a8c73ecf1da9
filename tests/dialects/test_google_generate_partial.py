"""Function calls whose arguments are streamed in pieces: put together, or marked as unread."""

from __future__ import annotations

import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from flowproof.model.trajectory import ToolCall
from tests.dialects.google_generate_tools import (
    EVENTS,
    GEMINI,
    assemble,
    body,
    call,
    candidate,
    events,
    text,
)


def opened(name: str | None = "f", *pieces: JsonValue, more: bool = True) -> JsonObject:
    named: JsonObject = {} if name is None else {"name": name}
    said: JsonObject = {"partialArgs": [*pieces]} if pieces else {}
    going: JsonObject = {"willContinue": True} if more else {}
    return {"functionCall": named | said | going}


def piece(path: str, **value: JsonValue) -> JsonObject:
    return {"jsonPath": path, **value}


def assembled(*parts: JsonObject) -> JsonValue:
    chunks = [body(candidate(part)) for part in parts]
    chunks.append(body(candidate(text(""), finish="STOP")))
    result = assemble(events(*chunks))
    assert result.complete and not result.lossless
    return result.body


def calls(value: JsonValue) -> tuple[ToolCall, ...]:
    (message,) = GEMINI.answer(value).messages
    return message.tool_calls


def test_arguments_in_pieces_become_one_call() -> None:
    found = assembled(
        {**opened(), "thoughtSignature": "c2ln"},
        opened(None, piece("$.city", stringValue="Os", willContinue=True)),
        opened(None, piece("$.city", stringValue="lo"), piece("$.days", numberValue=3)),
        opened(None, piece("$.where.zone['a b'][0]", boolValue=True)),
        opened(None, piece("$.where.zone['a b'][1].c", nullValue="NULL_VALUE")),
        opened(None, piece('$["q.r"]', stringValue=""), piece("$.city")),
        {"functionCall": {}},
    )
    arguments: JsonObject = {
        "city": "Oslo",
        "days": 3,
        "where": {"zone": {"a b": [True, {"c": None}]}},
        "q.r": "",
    }
    assert found == {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {
                            "functionCall": {"name": "f", "args": arguments},
                            "thoughtSignature": "c2ln",
                        }
                    ],
                    "role": "model",
                },
                "index": 0,
                "finishReason": "STOP",
            }
        ],
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r-1",
    }
    (made,) = calls(found)
    assert parse(made.text) == arguments


def test_calls_in_pieces_and_whole_ones_follow_each_other() -> None:
    found = assembled(
        opened("f", piece("$.a", numberValue=1)),
        opened(None, more=False),
        call("g", b=2),
        opened("h", piece("$.c", numberValue=3), more=False),
        opened("k"),
        {"functionCall": {"args": {"d": 4}}},
    )
    assert [(made.name, made.text) for made in calls(found)] == [
        ("f", '{"a":1}'),
        ("g", '{"b":2}'),
        ("h", '{"c":3}'),
        ("k", '{"d":4}'),
    ]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([opened("f", piece("$.a", numberValue=1))], id="never ended"),
        pytest.param([opened("f"), call("g")], id="ended by another call only"),
        pytest.param([opened("f", piece("a", numberValue=1), more=False)], id="no root"),
        pytest.param([opened("f", piece("$..a", numberValue=1), more=False)], id="descendants"),
        pytest.param([opened("f", piece("$.a[*]", numberValue=1), more=False)], id="wildcard"),
        pytest.param([opened("f", piece("$", numberValue=1), more=False)], id="the root itself"),
        pytest.param([opened("f", piece("$[0]", numberValue=1), more=False)], id="no object"),
        pytest.param([opened("f", piece("$.a[7]", numberValue=1), more=False)], id="gap in a list"),
        pytest.param([opened("f", piece(r"$['a\'b']", numberValue=1), more=False)], id="escape"),
        pytest.param(
            [opened("f", piece("$" + ".a" * 65, numberValue=1), more=False)], id="too deep"
        ),
        pytest.param(
            [opened("f", piece("$." + "a" * 1000, numberValue=1), more=False)], id="too long"
        ),
        pytest.param(
            [opened("f", piece("$.a", numberValue=1), piece("$.a", numberValue=2), more=False)],
            id="one place twice",
        ),
        pytest.param(
            [opened("f", piece("$.a", numberValue=1), piece("$.a.b", numberValue=2), more=False)],
            id="inside a number",
        ),
        pytest.param(
            [opened("f", piece("$.a", stringValue="x", numberValue=2), more=False)], id="two values"
        ),
        pytest.param([opened("f", {"numberValue": 1}, more=False)], id="no path"),
        pytest.param([opened("f", 7, more=False)], id="no object as piece"),
        pytest.param([{"functionCall": {"name": "f", "partialArgs": {"a": 1}}}], id="no list"),
        pytest.param(
            [{"functionCall": {"name": "f", "args": [], "partialArgs": []}}], id="odd arguments"
        ),
        pytest.param([{"functionCall": {"partialArgs": []}}], id="no name"),
    ],
)
def test_a_call_that_cannot_be_put_together_is_no_readable_answer(parts: list[JsonObject]) -> None:
    assert GEMINI.answer(assembled(*parts)).messages == ()


def test_a_piece_does_not_change_the_chunk_that_brought_it() -> None:
    first: JsonObject = {"name": "f", "args": {"a": {}}, "willContinue": True}
    chunks = [
        body(candidate({"functionCall": first})),
        body(candidate(opened(None, piece("$.a.b", boolValue=False), more=False), finish="STOP")),
    ]
    assembler = GEMINI.assembler(EVENTS)
    for frame in events(*chunks):
        assembler.feed(frame)
    assert assembler.result() == assembler.result()
    assert calls(assembler.result().body)[0].text == '{"a":{"b":false}}'
