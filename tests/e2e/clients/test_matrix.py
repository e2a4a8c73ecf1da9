"""The page of clients changes where its rows do, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.clients.matrix import PAGE, Row, compare, with_table

PAGE_TEXT = "# Clients\n\nWhat was run.\n\n## Python\n\nBy pip.\n\n## Node\n\nBy npm.\n\n| old |\n"
ROW = Row("openai", "3.57.0", "chat completions", "plain → plain, stream", "tool result `$.x`")


def test_a_table_stands_below_its_heading() -> None:
    page = with_table(PAGE_TEXT, "Python", [ROW])
    before, _, after = page.partition("## Node")
    assert before.endswith(
        "By pip.\n\n"
        "| client | version | API | recorded → replayed | a change that it was caught at |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| openai | 3.57.0 | chat completions | plain → plain, stream | tool result `$.x` |\n\n"
    )
    assert after == "\n\nBy npm.\n\n| old |\n"


def test_the_last_table_is_replaced_too() -> None:
    page = with_table(PAGE_TEXT, "Node", [ROW])
    assert page.startswith(PAGE_TEXT.partition("\n| old |")[0])
    assert "| old |" not in page
    assert page.endswith("tool result `$.x` |\n")


@pytest.mark.parametrize("heading", ["Python", "Node"])
def test_the_same_rows_change_nothing(heading: str) -> None:
    page = with_table(PAGE_TEXT, heading, [ROW])
    assert with_table(page, heading, [ROW]) == page


def test_an_unknown_heading_is_an_error() -> None:
    with pytest.raises(LookupError, match="Rust"):
        with_table(PAGE_TEXT, "Rust", [ROW])


def test_a_page_that_says_something_else_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLOWPROOF_UPDATE_GOLDEN", raising=False)
    page = tmp_path / "clients.md"
    page.write_text(with_table(PAGE_TEXT, "Python", [ROW]), "utf-8")
    compare("Python", [ROW], page)
    older = Row("openai", "3.56.0", ROW.api, ROW.runs, ROW.caught)
    with pytest.raises(AssertionError):
        compare("Python", [older], page)
    monkeypatch.setenv("FLOWPROOF_UPDATE_GOLDEN", "1")
    compare("Python", [older], page)
    assert "3.56.0" in page.read_text("utf-8")


def test_the_page_has_a_heading_for_each_kind_of_client() -> None:
    page = PAGE.read_text("utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## What is served", "## Python", "## Node"]
