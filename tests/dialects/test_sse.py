"""Frames are cut the same wherever the transport cut the bytes, and read as the standard says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects import sse
from flowproof.dialects.sse import FrameError, FrameSplitter
from tests.dialects.tools import cut, split

ENDS = [b"\n", b"\r\n", b"\r"]
MIXED = (
    b"\xef\xbb\xbfdata: one\n\n: note\r\ndata: \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\r\n\r\n"
    b"event: x\rdata: three\r\rdata: four\n\r\ndata: five\r\n\n\n\r\ndata: six\n\rdata: seven\n\n"
)
FRAMES = [
    b"\xef\xbb\xbfdata: one\n\n",
    b": note\r\ndata: \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\r\n\r\n",
    b"event: x\rdata: three\r\r",
    b"data: four\n\r\n",
    b"data: five\r\n\n",
    b"\n",
    b"\r\n",
    b"data: six\n\r",
    b"data: seven\n\n",
]


@pytest.mark.parametrize("place", range(len(MIXED) + 1))
def test_a_cut_at_any_byte_gives_the_same_frames(place: int) -> None:
    assert split([MIXED[:place], MIXED[place:]]) == (FRAMES, b"")


def test_single_bytes_give_the_same_frames() -> None:
    assert split([MIXED[i : i + 1] for i in range(len(MIXED))]) == (FRAMES, b"")


@given(
    st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"data: x", b":"]), max_size=30),
    st.lists(st.integers(0, 200), max_size=6),
)
def test_frames_do_not_depend_on_cuts_and_lose_no_byte(
    pieces: list[bytes], places: list[int]
) -> None:
    data = b"".join(pieces)
    frames, rest = split([data])
    assert split(cut(data, places)) == (frames, rest)
    assert b"".join(frames) + rest == data


@pytest.mark.parametrize("end", ENDS, ids=["lf", "crlf", "cr"])
def test_a_frame_is_given_as_soon_as_its_last_byte_came(end: bytes) -> None:
    splitter = FrameSplitter()
    assert splitter.feed(b"data: x" + end) == []
    assert splitter.feed(end) == [b"data: x" + end + end]
    assert splitter.rest() == b""


def test_an_unfinished_frame_stays_in_the_rest() -> None:
    assert split([b"data: 1\n\ndata: 2\n"]) == ([b"data: 1\n\n"], b"data: 2\n")


def test_frames_up_to_the_limit_pass_and_larger_ones_are_refused() -> None:
    whole = b"data: " + b"x" * 10 + b"\n\n"
    assert FrameSplitter(limit=len(whole)).feed(whole * 3) == [whole] * 3
    with pytest.raises(FrameError, match=r"at least 18 bytes, of which at most 17"):
        FrameSplitter(limit=len(whole) - 1).feed(whole)
    unfinished = FrameSplitter(limit=8)
    unfinished.feed(b"x" * 8)
    with pytest.raises(FrameError):
        unfinished.feed(b"x")


def test_many_small_chunks_of_a_large_frame_are_searched_once() -> None:
    splitter = FrameSplitter()
    for _ in range(20_000):
        splitter.feed(b"x" * 100)
    assert len(splitter.feed(b"\n\n")[0]) == 2_000_002


@pytest.mark.parametrize(
    ("frame", "data", "event"),
    [
        pytest.param(b"data: a\ndata:b\ndata:  c\n\n", "a\nb\n c", None, id="joined"),
        pytest.param(b": note\ndata: a\n\n", "a", None, id="comment"),
        pytest.param(b": note\n\n", None, None, id="only a comment"),
        pytest.param(b"\n", None, None, id="blank"),
        pytest.param(b"data\n\n", "", None, id="no colon"),
        pytest.param(b"event: error\r\ndata: a\r\n\r\n", "a", "error", id="crlf"),
        pytest.param(b"event: a\revent: b\rdata: 1\r\r", "1", "b", id="last event counts"),
        pytest.param(b"event:\ndata: 1\n\n", "1", None, id="empty event"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", "a", None, id="byte order mark"),
        pytest.param(
            "data: a\u2028\x0b\x85b\n\n".encode(), "a\u2028\x0b\x85b", None, id="odd ends"
        ),
        pytest.param(b"data: \xff\n\n", "\ufffd", None, id="not UTF-8"),
        pytest.param(b"database: a\n\n", None, None, id="other field"),
    ],
)
def test_reading_a_frame(frame: bytes, data: str | None, event: str | None) -> None:
    assert sse.data_of(frame) == data
    assert sse.event_of(frame) == event


def test_a_frame_tells_its_other_lines_and_bytes_that_are_no_text() -> None:
    event = sse.read(b": ping\nid: 7\nevent: a\nevent: b\n:\ndata: \xff\n\n")
    assert tuple(event) == ("\ufffd", ["a", "b"], [("", "ping"), ("id", "7"), ("", "")], False)
    assert event.name == "b"
    assert sse.read("data: \u00e9\n\n".encode()).is_utf8


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r")))
def test_a_written_frame_is_one_frame_and_reads_back(text: str) -> None:
    written = sse.frame(text)
    assert split([written]) == ([written], b"")
    assert sse.data_of(written) == text


def test_a_written_frame_can_be_named_and_a_name_is_one_line() -> None:
    assert sse.frame("a\r\nb\rc", "ping") == b"event: ping\ndata: a\ndata: b\ndata: c\n\n"
    with pytest.raises(ValueError, match="one line"):
        sse.frame("a", "b\nc")
