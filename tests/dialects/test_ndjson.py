"""Lines of JSON, cut anywhere, bounded, and written so that every client finds their ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects import ndjson
from flowproof.dialects.ndjson import LineError, LineSplitter
from flowproof.dialects.sse import FrameError
from flowproof.model.jsonvalue import JsonValue, parse
from tests.dialects.ollama_tools import split
from tests.dialects.tools import cut


@pytest.mark.parametrize(
    ("data", "lines", "rest"),
    [
        pytest.param(b"", [], b"", id="nothing"),
        pytest.param(b"{}", [], b"{}", id="no end"),
        pytest.param(b"{}\n", [b"{}\n"], b"", id="lf"),
        pytest.param(b"{}\r\n[]\r\n", [b"{}\r\n", b"[]\r\n"], b"", id="crlf"),
        pytest.param(b"\n\n{}\n", [b"\n", b"\n", b"{}\n"], b"", id="blank lines"),
        pytest.param(b"a\rb\nc", [b"a\rb\n"], b"c", id="a bare cr ends nothing"),
    ],
)
def test_a_line_ends_with_its_newline(data: bytes, lines: list[bytes], rest: bytes) -> None:
    assert split([data]) == (lines, rest)
    assert all(split(cut(data, [place])) == (lines, rest) for place in range(len(data)))


@given(st.lists(st.sampled_from([b"\n", b"\r", b"x", b"\xc3", b"\xa9"])), st.lists(st.integers(0)))
def test_cutting_loses_and_adds_nothing(data: list[bytes], places: list[int]) -> None:
    whole = b"".join(data)
    lines, rest = split(cut(whole, places))
    assert b"".join(lines) + rest == whole
    assert (lines, rest) == split([whole])
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)


@pytest.mark.parametrize(
    "chunks",
    [[b"123456789"], [b"12345", b"6789"], [b"12345678\n"], [b"1\n", b"123456789"]],
    ids=["unfinished", "in two chunks", "finished", "the second"],
)
def test_a_line_that_is_too_long_is_refused(chunks: list[bytes]) -> None:
    splitter = LineSplitter(limit=8)
    with pytest.raises(LineError, match=r"9 bytes, of which at most 8.*each on a line") as caught:
        for chunk in chunks:
            splitter.feed(chunk)
    assert isinstance(caught.value, FrameError)


def test_a_line_of_the_most_bytes_is_taken() -> None:
    splitter = LineSplitter(limit=8)
    assert splitter.feed(b"1234567\n12345678") == [b"1234567\n"]
    assert splitter.rest() == b"12345678"


@pytest.mark.parametrize(
    "value",
    ["\u2028 \u2029 \x85", {"\u2028": "\x0b\x0c\x1c\x1d\x1e\r\n"}, ["é 👋", "\ud83d"]],
    ids=["separators", "controls", "other text"],
)
def test_a_written_line_is_one_line_to_every_reader(value: JsonValue) -> None:
    line = ndjson.line(value)
    assert len(line.decode().splitlines()) == 1
    assert parse(line) == value


def test_text_stays_readable() -> None:
    assert ndjson.line({"a": "Grüße 👋"}) == '{"a":"Grüße 👋"}\n'.encode()


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert ndjson.read(b' "\xff" \r\n') == ('"\ufffd"', False)
