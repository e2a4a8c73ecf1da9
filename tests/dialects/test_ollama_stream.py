"""Ollama's streams: what they amount to, and what keeps their raw lines."""

from __future__ import annotations

import pytest

from flowproof.dialects.ollama import Ollama
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, same, write
from tests.dialects.ollama_tools import (
    CHAT,
    END,
    GENERATE,
    LAST,
    STREAMING,
    TEXT,
    TEXT_BODY,
    assemble,
    call,
    head,
    message_line,
    raw_line,
    split,
    text_line,
)
from tests.dialects.tools import WITH_USAGE

CALLS = [
    message_line(1, tool_calls=[call("f", {"a": 1}, id="c1")]),
    message_line(2, tool_calls=[call("f", {"a": 2}, id="c2"), call("g", {})]),
    raw_line(LAST),
]


def message_of(body: JsonValue) -> JsonObject:
    assert isinstance(body, dict) and isinstance(body["message"], dict)
    return body["message"]


def test_a_stream_becomes_the_plain_body_in_the_order_of_the_api() -> None:
    assembled = assemble(TEXT)
    assert (assembled.complete, assembled.lossless, assembled.failed) == (True, True, False)
    assert write(assembled.body) == write(TEXT_BODY)


def test_a_stream_that_ends_early_is_never_complete() -> None:
    data = b"".join(TEXT)
    # Without its line end the last line is whole, as it is to clients.
    for end in range(len(data) - 1):
        lines, rest = split([data[:end]])
        assert not assemble([*lines, rest]).complete
    lines, rest = split([data[:-1]])
    assert same(assemble([*lines, rest]).body, TEXT_BODY)


@pytest.mark.parametrize("kept", range(len(TEXT)))
def test_without_the_last_line_a_stream_is_not_complete(kept: int) -> None:
    assembled = assemble(TEXT[:kept])
    assert not assembled.complete and not assembled.lossless
    assert (assembled.body is None) is (kept == 0)


def test_every_line_is_passed_on() -> None:
    assembler = CHAT.assembler(STREAMING)
    assert all(assembler.feed(line) for line in [*TEXT, b"\n", b"oops\n"])


def test_tool_calls_are_appended() -> None:
    assembled = assemble(CALLS)
    assert assembled.lossless
    assert message_of(assembled.body)["tool_calls"] == [
        call("f", {"a": 1}, id="c1"),
        call("f", {"a": 2}, id="c2"),
        call("g", {}),
    ]


def test_log_probabilities_go_with_their_text() -> None:
    def logged(text: str) -> bytes:
        said: JsonObject = {"role": "assistant", "content": text}
        tokens: JsonValue = [{"token": text, "logprob": -0.5}]
        return raw_line({**head(), "message": said, "done": False, "logprobs": tokens})

    assembled = assemble([logged("a"), logged("b"), raw_line(LAST)])
    assert assembled.lossless
    assert isinstance(assembled.body, dict)
    assert assembled.body["logprobs"] == [
        {"token": "a", "logprob": -0.5},
        {"token": "b", "logprob": -0.5},
    ]


GENERATED = [
    text_line("", 1, thinking="H"),
    text_line("", 2, thinking="m"),
    text_line("Grü", 3),
    text_line("ße", 4),
    raw_line({**head(9), "response": "", **END, "context": [1, 2, 3]}),
]
GENERATED_BODY: JsonObject = {
    **head(9),
    "response": "Grüße",
    "thinking": "Hm",
    **END,
    "context": [1, 2, 3],
}


def test_generated_text_becomes_the_plain_body() -> None:
    assembled = assemble(GENERATED, GENERATE)
    assert (assembled.complete, assembled.lossless) == (True, True)
    assert write(assembled.body) == write(GENERATED_BODY)


def test_an_answer_in_one_line_is_that_line() -> None:
    for dialect, body in ((CHAT, LAST), (GENERATE, {**head(), "response": "", **END})):
        assembled = assemble([raw_line(body)], dialect)
        assert (assembled.complete, assembled.lossless) == (True, True)
        assert assembled.body == body


@pytest.mark.parametrize(
    "error",
    [
        raw_line({"error": "an error was encountered while running the model"}),
        raw_line({"error": {"message": "overloaded"}, "done": True}),
        message_line(content="x").replace(b"}\n", b', "error": "no"}\n'),
    ],
    ids=["message", "object", "beside a message"],
)
@pytest.mark.parametrize("before", [0, 3], ids=["at once", "in the middle"])
def test_a_line_with_an_error_fails_the_stream(error: bytes, before: int) -> None:
    assembled = assemble([*TEXT[:before], error])
    assert assembled.failed
    assert not assembled.complete and not assembled.lossless
    assert assembled.body == parse(error)
    assert CHAT.answer({"error": assembled.body}).messages == ()


@pytest.mark.parametrize("error", [None, ""], ids=["null", "empty"])
def test_no_error_is_no_error(error: JsonValue) -> None:
    assembled = assemble([*TEXT[:-1], raw_line({**LAST, "error": error})])
    assert (assembled.failed, assembled.complete, assembled.lossless) == (False, True, True)


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(b"\n", id="blank line"),
        pytest.param(message_line(content="").replace(b"qwen3", b"other"), id="another model"),
        pytest.param(message_line(), id="a line that says nothing"),
        pytest.param(message_line(phase="a"), id="an unknown field"),
        pytest.param(message_line(thinking="again"), id="thoughts after text"),
        pytest.param(raw_line({"status": "loading"}), id="another kind"),
        pytest.param(b'{"x": "\xff"}\n', id="not UTF-8"),
    ],
)
def test_what_a_body_cannot_hold_keeps_the_lines(extra: bytes) -> None:
    assembled = assemble([*TEXT[:4], extra, *TEXT[4:]])
    assert assembled.complete
    assert not assembled.lossless
    assert message_of(assembled.body)["content"] == "Grüße 👋"


def test_other_cuts_and_times_need_no_lines() -> None:
    lines = [message_line(n, content=text) for n, text in enumerate("Grüße 👋")]
    assembled = assemble([*TEXT[:2], *lines, raw_line(LAST)])
    assert assembled.lossless
    assert same(assembled.body, TEXT_BODY)


def test_lines_after_the_end_are_ignored_and_kept() -> None:
    assembled = assemble([*TEXT, message_line(content="more")])
    assert same(assembled.body, TEXT_BODY)
    assert assembled.complete and not assembled.lossless


def test_a_call_after_the_end_is_told() -> None:
    for frames, unread in ((CALLS, True), ([message_line(content="more")], False)):
        assembler = CHAT.assembler(WITH_USAGE)
        for frame in [*TEXT, *frames[:1]]:
            assembler.feed(frame)
        assert (assembler.unread is not None) is unread


@pytest.mark.parametrize(
    "odd",
    [
        message_line(tool_calls="f()"),
        message_line(tool_calls=[{"name": "f"}]),
        message_line(content=["Hi"]),
        raw_line({**head(), "message": "f()", "done": False}),
    ],
    ids=["no list of calls", "no call", "no text", "no message"],
)
def test_what_was_said_and_cannot_be_read_is_not_lost(odd: bytes) -> None:
    assembled = assemble([*CALLS[:1], odd, *TEXT])
    assert assembled.complete and not assembled.lossless
    assert CHAT.answer(assembled.body).messages == ()
    assert len(CHAT.answer(assemble(CALLS).body).messages) == 1


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        pytest.param(b"{oops\n", "{oops", id="cut JSON"),
        pytest.param(b'{"a": NaN}\r\n', '{"a": NaN}', id="NaN"),
        pytest.param(b"data: {}\n", "data: {}", id="another format"),
        pytest.param(b'["x"]\n', '["x"]', id="a list"),
        pytest.param(b"\xef\xbb\xbf{}\n", "\ufeff{}", id="a byte order mark"),
        pytest.param(b'{"x": ' + b"[" * 300 + b"]" * 300 + b"}\n", ..., id="too deep"),
        pytest.param(b" \t\r\n", None, id="blanks"),
        pytest.param(b'{"type": "ping"}\n', None, id="an object of another kind"),
    ],
)
def test_a_line_that_is_no_json_object_is_told(line: bytes, unread: object) -> None:
    assembler = CHAT.assembler(STREAMING)
    for one in [*TEXT[:2], line, b"later\n"[: len(line)] if unread else b"\n", *TEXT[2:]]:
        assembler.feed(one)
    assert not assembler.result().lossless
    if unread is ...:
        assert assembler.unread is not None
    else:
        assert assembler.unread == unread


def told(dialect: Ollama, body: JsonValue) -> list[JsonValue]:
    return [parse(line) for line in dialect.stream(body, STREAMING)]


def test_a_body_is_told_as_the_server_streams_it() -> None:
    body: JsonObject = {
        **TEXT_BODY,
        "message": {**message_of(TEXT_BODY), "tool_calls": [call("f", {})]},
    }
    expected: list[JsonValue] = [
        parse(message_line(9, thinking="Hm.")),
        parse(message_line(9, content="Grüße 👋")),
        parse(message_line(9, tool_calls=[call("f", {})])),
        LAST,
    ]
    assert told(CHAT, body) == expected
    assert told(GENERATE, GENERATED_BODY) == [
        parse(text_line("", 9, thinking="Hm")),
        parse(text_line("Grüße", 9)),
        {**head(9), "response": "", **END, "context": [1, 2, 3]},
    ]


@pytest.mark.parametrize(
    "body",
    [{"error": "no"}, {"error": "no", "done": True}, {"done": True, "message": 3}, {}, [], None],
    ids=["error", "error at the end", "no message", "empty", "list", "null"],
)
def test_any_other_body_is_one_line(body: JsonValue) -> None:
    assert told(CHAT, body) == [body]


def test_replayed_lines_are_those_recorded() -> None:
    lines = [*TEXT, b"\n", b"oops \xff\n"]
    events = [line.decode("utf-8", "surrogateescape") for line in lines]
    assert list(CHAT.replayed(events, STREAMING)) == lines
