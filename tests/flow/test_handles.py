"""`${flowproof.NAME}` in what a spec declares."""

from __future__ import annotations

import pytest

from flowproof.flow.handles import fill, unknown

KNOWN = {"proxy_url": "http://p/v1", "mcp_url.my-files": "http://m"}


@pytest.mark.parametrize(
    ("text", "filled", "strange"),
    [
        pytest.param("plain $ {} text", "plain $ {} text", (), id="none"),
        pytest.param("<${flowproof.proxy_url}>", "<http://p/v1>", (), id="one"),
        pytest.param(
            "${flowproof.proxy_url}${flowproof.mcp_url.my-files}",
            "http://p/v1http://m",
            (),
            id="two",
        ),
        pytest.param("$${flowproof.proxy_url}", "$${flowproof.proxy_url}", (), id="escaped"),
        pytest.param("${flowproof.nope}", "${flowproof.nope}", ("nope",), id="unknown"),
        pytest.param("$${flowproof.nope}", "$${flowproof.nope}", (), id="unknown and escaped"),
        pytest.param("${HOME}", "${HOME}", (), id="a variable"),
        pytest.param("${flowproof.", "${flowproof.", (), id="cut"),
    ],
)
def test_handles(text: str, filled: str, strange: tuple[str, ...]) -> None:
    assert fill(text, KNOWN) == filled
    assert unknown(text, KNOWN) == strange


def test_a_long_text_without_an_end_takes_no_time() -> None:
    text = "${flowproof." * 20_000
    assert fill(text, KNOWN) == text
