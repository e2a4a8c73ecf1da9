"""Output is kept from both ends, never more than the limit, and says what is missing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.drivers.capture import Collector
from flowproof.model.agent_exit import Captured


def collected(chunks: list[bytes], limit: int) -> Captured:
    collector = Collector(limit)
    for chunk in chunks:
        collector.feed(chunk)
    return collector.captured()


def test_all_of_a_short_stream() -> None:
    assert collected([b"a\n", "ä".encode()[:1], "ä".encode()[1:]], 10) == Captured("a\nä", 4)


def test_nothing() -> None:
    assert collected([], 10) == Captured("", 0)


def test_exactly_the_limit() -> None:
    assert collected([b"0123456789"], 10) == Captured("0123456789", 10)


def test_head_tail_and_a_line_that_says_how_much_is_missing() -> None:
    captured = collected([b"head."] + [b"x" * 1000] * 3 + [b".tail"], 10)
    assert captured == Captured("head.\n[… 3,000 bytes left out …]\n.tail", 3010)


def test_no_empty_line_before_the_note() -> None:
    assert collected([b"1234\n", b"x" * 10, b"67890"], 10).text.startswith("1234\n[… 10 bytes")


def test_invalid_bytes_are_replaced() -> None:
    assert collected([b"a\xff\xfeb"], 10) == Captured("a\ufffd\ufffdb", 4)


@pytest.mark.parametrize("shift", range(4), ids=str)
def test_a_character_is_never_split_by_the_cut(shift: int) -> None:
    stream = b"a" * shift + "😀".encode() * 100
    captured = collected([stream], 20)
    assert "\ufffd" not in captured.text
    assert captured.total == len(stream)


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(2, 60))
def test_what_is_kept_and_what_is_left_out_add_up(chunks: list[bytes], limit: int) -> None:
    stream = b"".join(chunks).replace(b"[", b"(").translate(None, b"\x80\xff")
    ascii_only = bytes(byte & 0x7F for byte in stream)
    captured = collected([ascii_only[at : at + 7] for at in range(0, len(ascii_only), 7)], limit)
    assert captured.total == len(ascii_only)
    if len(ascii_only) <= limit:
        assert captured.text == ascii_only.decode()
        return
    head, note, tail = re.split(r"(\[… [\d,]+ bytes left out …\]\n)", captured.text)
    left_out = int(re.sub(r"\D", "", note))
    kept = ascii_only.decode()
    assert head.removesuffix("\n") == kept[: limit - limit // 2].removesuffix("\n")
    assert tail == kept[len(kept) - limit // 2 :]
    assert left_out == len(kept) - limit
