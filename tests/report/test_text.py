"""Hostile text made safe to show."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.report.text import bounded, clean, one_line, readable, without_colours

ANYTHING = st.text(st.characters())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain é 漢字 👩‍👧\tx\n", "plain é 漢字 👩‍👧\tx\n", id="innocent"),
        pytest.param("\x1b[2J", "␛[2J", id="ansi"),
        pytest.param("\x00\x7f", "␀␡", id="controls"),
        pytest.param("a\r\nb\rc", "a\nb␍c", id="carriage-returns"),
        pytest.param("\x9b2J", "⟨U+009B⟩2J", id="c1"),
        pytest.param("a\u202eb", "a⟨U+202E⟩b", id="bidi"),
        pytest.param("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩", id="zero-width"),
        pytest.param("\U000e0041", "⟨U+E0041⟩", id="tag-character"),
        pytest.param("\ud800\uffff", "\ufffd\ufffd", id="not-encodable"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text: str, shown: str) -> None:
    assert readable(text) == shown


@given(ANYTHING)
def test_visible_text_can_be_encoded_and_commands_no_terminal(text: str) -> None:
    shown = readable(text)
    shown.encode()
    assert not any(ord(char) < 32 and char not in "\t\n" for char in shown)
    assert readable(shown) == shown


def test_only_colours_are_dropped() -> None:
    assert without_colours("\x1b[31;1mred\x1b[0m \x1b[2J") == "red \x1b[2J"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        pytest.param("a\x1b[31mred\x1b[0m", "ared", id="csi"),
        pytest.param("\x1b]8;;https://x\x1b\\link\x1b]8;;\x07", "link", id="osc-link"),
        pytest.param("\x9b31mred", "red", id="c1-csi"),
        pytest.param("\x00\x0b\ud800\ufffe\uffff", "\ufffd" * 5, id="not-xml"),
        pytest.param("a\r\nb\rc", "a\nb\nc", id="line-ends"),
        pytest.param("]]> <b> &amp; \t é 👍", "]]> <b> &amp; \t é 👍", id="innocent"),
    ],
)
def test_clean_text_is_what_xml_can_hold(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(ANYTHING)
def test_any_clean_text_comes_through_xml(text: str) -> None:
    element = ET.Element("x", {"name": clean(text)})
    element.text = clean(text)
    read = ET.fromstring(ET.tostring(element, encoding="utf-8"))
    assert (read.text or "", read.get("name")) == (clean(text), clean(text))


@pytest.mark.parametrize("start", ["\x1b]", "\x1b[", "\x9d", "\x9b", "\x1b[0;"], ids=ascii)
def test_unfinished_sequences_are_read_in_linear_time(start: str) -> None:
    # A quadratic pattern would need minutes, and the test's timeout would end it.
    assert len(clean(start * 200_000)) > 0


def test_a_long_text_keeps_head_and_tail() -> None:
    text = bounded("a" * 100 + "é" * 1000 + "z" * 100, 400, "; see there")
    assert text.startswith("a" * 100)
    assert text.endswith("z" * 100)
    assert "[… 1,800 bytes left out; see there …]" in text
    assert "\ufffd" not in text
    assert bounded("é" * 200, 400) == "é" * 200


def test_one_line_is_one_line() -> None:
    assert one_line(" a\n\tb\x1b ") == "a ⏎  b␛"
    assert one_line("x" * 1000, 10) == "xxxxxxxxx…"
