"""Bounds that the environment moves."""

from __future__ import annotations

import pytest

from flowproof.boundary.endpoint import Limits
from flowproof.errors import UsageError
from flowproof.flow.settings import limits_from


def test_the_usual_bounds() -> None:
    assert limits_from({}) == Limits(30.0, 120.0, 64 * 1024 * 1024)
    assert limits_from({"FLOWPROOF_IDLE_TIMEOUT": " "}) == Limits()


def test_bounds_from_the_environment() -> None:
    environ = {
        "FLOWPROOF_CONNECT_TIMEOUT": "1.5",
        "FLOWPROOF_IDLE_TIMEOUT": "600",
        "FLOWPROOF_MAX_BODY": "1e3",
    }
    assert limits_from(environ) == Limits(1.5, 600.0, 1000)


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "0.5", "1" * 400])
@pytest.mark.parametrize(
    "name", ["FLOWPROOF_CONNECT_TIMEOUT", "FLOWPROOF_IDLE_TIMEOUT", "FLOWPROOF_MAX_BODY"]
)
def test_what_is_no_bound_is_refused(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=rf"{name} is .*at least 1"):
        limits_from({name: text})
