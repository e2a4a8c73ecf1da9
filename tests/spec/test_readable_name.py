"""Which name a spec has that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flowproof.spec.readable_name import readable_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("name: Books a flight\nagent: [", "Books a flight", id="plain"),
        pytest.param("agent: {\nname: 'Books it'\r\n", "Books it", id="quoted"),
        pytest.param("agent:\n  name: inner\n", None, id="of something else"),
        pytest.param("name: a\nname: b\n", None, id="two"),
        pytest.param("name: [a]\n", None, id="no text"),
        pytest.param('name: "a\\n"\n', None, id="an escape"),
        pytest.param("", None, id="empty"),
    ],
)
def test_the_name_of_a_broken_spec(tmp_path: Path, text: str, expected: str | None) -> None:
    path = tmp_path / "a.flow.yaml"
    path.write_text(text, "utf-8")
    assert readable_name(path) == expected


def test_what_is_no_file_has_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert readable_name(tmp_path / "pipe") is None
    assert readable_name(tmp_path / "gone") is None
