"""What a request loses on its way out, byte for byte."""

from __future__ import annotations

import pytest

from flowproof.boundary.forwarding import forwarded


@pytest.mark.parametrize(
    "name", ["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"]
)
def test_a_key_does_not_travel_in_a_header(name: str) -> None:
    assert list(forwarded([(name, "k"), ("x-other", "v")])) == [("x-other", "v")]
