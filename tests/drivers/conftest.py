"""Fixtures for tests that start real processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from flowproof.drivers.guards import Guards
from flowproof.drivers.portable import SessionTrees

from .processes import MARK, Kit, descriptors, marked

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No test may leave a descriptor, a process or a zombie behind."""
    before = descriptors()
    yield
    assert descriptors() == before
    assert psutil.Process().children(recursive=True) == []


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    """Launches on Linux's guard, all marked; what the marks find at the end is killed."""
    made = Kit(Guards, tmp_path)
    yield made
    left = marked(made.mark)
    for process in left:
        process.kill()
    assert left == [], f"left behind, found by {MARK}"


@pytest.fixture(
    params=[pytest.param(Guards, id="guard", marks=linux_only), SessionTrees],
    ids=["guard", "session"],
)
def any_kit(request: pytest.FixtureRequest, tmp_path: Path) -> Kit:
    """The same on every implementation of a process tree."""
    return Kit(request.param, tmp_path)
