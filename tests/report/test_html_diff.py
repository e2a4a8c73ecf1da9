"""A divergence side by side: what changed is marked, nothing hides, and no text makes it slow."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.outcome import Divergence, Excerpt, Sides
from flowproof.report.html_diff import LONGEST_SIDE, MOST_LINES, DiffShown, Row, diff_shown
from tests.report.fixtures import diverged, run_of
from tests.report.pages import pages

MARKS = {"same": "{}", "changed": "[{}]", "blank": "<{}>"}


def shown(old: str | None, new: str | None) -> DiffShown:
    return diff_shown(Divergence("message text", "it differs", 2, 3, "$.x", sides=Sides(old, new)))


def told(row: Row) -> tuple[str, str, str]:
    """A row with its changed parts in square brackets, and marked white space in angle ones."""
    left, right = (
        "".join(MARKS[piece.kind].format(piece.text) for piece in side)
        for side in (row.left, row.right)
    )
    return row.kind, left, right


def rows(old: str | None, new: str | None) -> list[tuple[str, str, str]]:
    return [told(row) for row in shown(old, new).rows]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "Refund 40 now", "Refund 50 now", ("Refund [40] now", "Refund [50] now"), id="a-word"
        ),
        pytest.param("Pay.", "Pay. ", ("Pay.", "Pay.<·>"), id="a-blank-at-the-end"),
        pytest.param("a b", "a\tb", ("a<·>b", "a<→>b"), id="a-tab"),
        pytest.param("a b", "a\u00a0b", ("a<·>b", "a<\\u00a0>b"), id="a-no-break-space"),
        pytest.param("a b\r", "a b", ("a b<\\r>", "a b"), id="a-carriage-return"),
        pytest.param("ab", "a\u200bb", ("[ab]", "[a][\\u200b][b]"), id="zero-width"),
        pytest.param("ab", "ab\u202e", ("ab", "ab[\\u202e]"), id="direction"),
        pytest.param("\ud800!", "\ud801!", ("[\\ud800]!", "[\\ud801]!"), id="lone-surrogates"),
        pytest.param(
            "sk0123456789abcdefXYZ",
            "sk0123456789abcdefXYz",
            ("sk0123456789abcdefXY[Z]", "sk0123456789abcdefXY[z]"),
            id="a-long-word-by-characters",
        ),
        pytest.param("one two", "drei vier", ("[one]<·>[two]", "[drei]<·>[vier]"), id="nothing"),
    ],
)
def test_what_changed_in_a_line_is_marked(old: str, new: str, expected: tuple[str, str]) -> None:
    [(kind, left, right)] = rows(old, new)
    assert kind == "changed"
    assert (left.replace("][", ""), right.replace("][", "")) == tuple(
        text.replace("][", "") for text in expected
    )


def test_lines_that_are_alike_stand_beside_each_other() -> None:
    old = "Be polite.\nAsk before you pay."
    new = "Be polite.\nToday is Monday.\nAsk before you pay!"
    assert rows(old, new) == [
        ("same", "Be polite.", "Be polite."),
        ("sent", "", "Today is Monday."),
        ("changed", "Ask before you pay[.]", "Ask before you pay[!]"),
    ]
    assert [kind for kind, _, _ in rows(new, old)] == ["same", "recorded", "changed"]


def test_a_line_that_cannot_be_seen_is_shown_with_its_end() -> None:
    assert rows("a", "a\n") == [("same", "a", "a"), ("sent", "", "<¶>")]
    assert shown("a", "a\n").blanks
    assert not shown("a", "b").blanks


def test_what_is_the_same_far_from_a_change_is_left_out() -> None:
    middle = "\n".join(f"line {n}" for n in range(30))
    found = shown(f"a\n{middle}\nz", f"A\n{middle}\nZ").rows
    assert [row.kind for row in found] == [
        "changed",
        *["same"] * 4,
        "gap",
        *["same"] * 4,
        "changed",
    ]
    assert found[5].skipped == 22


def test_a_side_that_has_nothing_is_named() -> None:
    assert shown(None, '{\n  "a": 1\n}').absent == "left"
    assert shown("x", None).absent == "right"
    assert rows(None, "x\ny") == [("sent", "", "x"), ("sent", "", "y")]
    assert shown("x", "y").absent == ""


def test_the_excerpt_stands_in_where_a_record_has_no_sides() -> None:
    excerpt = (Excerpt(" ", "kept"), Excerpt("-", '"old"'), Excerpt("+", '"new"'))
    found = diff_shown(Divergence("model", "it differs", 1, None, excerpt=excerpt))
    assert [told(row) for row in found.rows] == [
        ("same", "kept", "kept"),
        ("changed", '"[old]"', '"[new]"'),
    ]
    assert (found.left, found.right) == ("Recorded", "This run, request 1")
    assert diff_shown(Divergence("extra call", "one more", 3)).rows == ()


def test_what_is_left_out_is_told() -> None:
    sides = Sides("x" * (LONGEST_SIDE + 5), "y", 1, (10, 0))
    found = diff_shown(Divergence("a", "b", 1, sides=sides))
    assert found.above == "1 character"
    assert found.below == ("15 characters", "")
    [*_, last] = shown("\n".join("ab"), "\n".join(map(str, range(MOST_LINES + 7)))).rows
    assert (last.kind, last.skipped) == ("cut", 7)


@given(st.text("ab \t\n\r\u00a0\u200b."), st.text("ab \t\n\r\u00a0\u200b."))
def test_two_texts_that_differ_never_look_the_same(old: str, new: str) -> None:
    found = shown(old, new).rows
    if old == new:
        assert {row.kind for row in found} <= {"same", "gap"}
        return
    assert any(row.kind != "same" for row in found)
    for row in found:
        assert row.kind in ("same", "gap") or row.left != row.right


SLOW = [
    pytest.param("a\nb\n" * 3_000, "b\na\na\n" * 2_000, id="lines"),
    pytest.param("a b " * 1_500, "b a a " * 1_000, id="words"),
    pytest.param(("a b " * 8 + "\n") * 190, ("b a a " * 5 + "\n") * 200, id="words-of-many-lines"),
    pytest.param("\n" * 6_000, "x\n" * 3_000, id="empty-lines"),
    pytest.param("x" * 1_000_000, "y" * 1_000_000, id="one-word"),
    pytest.param("".join(map(chr, range(1, 6_000))), "z", id="everything"),
]


@pytest.mark.parametrize(("old", "new"), SLOW)
def test_no_text_makes_it_slow(old: str, new: str) -> None:
    before = time.process_time()
    found = shown(old, new)
    assert time.process_time() - before < 1
    assert len(found.rows) < 1_000
    assert sum(len(row.left) + len(row.right) for row in found.rows) < 10_000


def test_both_pages_show_it() -> None:
    sides = Sides("Ask before\nyou pay.", "Ask before\nyou  pay.", 1_240, (0, 0))
    flow = diverged()
    assert flow.divergence is not None
    made = pages(run_of(replace(flow, divergence=replace(flow.divergence, sides=sides))))
    for name in ("index.html", "flows/refunds.approval.html"):
        page = made[name]
        words = page.words()
        assert "Recorded, turn 2" in words
        assert "This run, request 2" in words
        assert "1,240 characters before are the same" in words
        assert "$.messages[1].content" in words
        assert "· is a blank" in words
        assert page.text["mark"] == ["·", "··"]
        assert {"del", "ins"} <= {tag for tag, _ in page.elements}


def test_a_side_without_a_value_says_so() -> None:
    flow = diverged()
    assert flow.divergence is not None
    found = replace(flow.divergence, sides=Sides(None, '{\n  "role": "user"\n}'))
    made = pages(run_of(replace(flow, divergence=found)))
    assert "nothing here" in made["flows/refunds.approval.html"].words()
