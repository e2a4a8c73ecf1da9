"""Paths as reports print them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.flow.job import relative


@pytest.mark.parametrize(
    ("path", "folder", "shown"),
    [
        pytest.param("/p/a.flow.yaml", "/p", "a.flow.yaml", id="in it"),
        pytest.param("/p/x/a.flow.yaml", "/p", "x/a.flow.yaml", id="below it"),
        pytest.param("/p/a.flow.yaml", "/p/q/r", "../../a.flow.yaml", id="above it"),
        pytest.param("/p/x/a.flow.yaml", "/p/y", "../x/a.flow.yaml", id="beside it"),
        pytest.param("/q/a.flow.yaml", "/p", "../q/a.flow.yaml", id="nothing shared"),
        pytest.param("/p", "/p", ".", id="itself"),
    ],
)
def test_relative(path: str, folder: str, shown: str) -> None:
    assert relative(Path(path), Path(folder)) == shown
