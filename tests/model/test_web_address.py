"""What a reader may be led to."""

from __future__ import annotations

import pytest

from flowproof.model.web_address import web_address


@pytest.mark.parametrize(
    "text",
    ["https://ci.example/run/7?a=b#c", "http://10.0.0.1:8080/job/x/3/", "https://h/a%20b"],
)
def test_pages_of_the_web(text: str) -> None:
    assert web_address(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "javascript:alert(1)",
        "JAVASCRIPT://h/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://user:secret@h/x",
        "https:///x",
        "https://[h/x",
        "https://h/a b",
        "https://h/\n",
        "https://h/\u202e",
        f"https://h/{'x' * 1000}",
    ],
)
def test_nothing_else(text: str) -> None:
    assert web_address(text) == ""
