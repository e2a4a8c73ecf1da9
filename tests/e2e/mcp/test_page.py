"""The tables of docs/mcp.md name what the tests beside this run, in the versions that they run."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.e2e.clients import npm

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "mcp.md"
PYTHON = ("mcp", "fastmcp", "openai-agents", "pydantic-ai-slim")


def told() -> dict[str, str]:
    """The version of each client and server that the page names."""
    _, _, section = PAGE.read_text("utf-8").partition("\n## What was tried\n")
    section, _, _ = section.partition("\n## ")
    rows = re.findall(r"^\| (\S+) \| (\d[\d.]*) \|", section, re.MULTILINE)
    assert len({name for name, _ in rows}) == len(set(rows)), "one version of each"
    return dict(rows)


def test_it_names_each_package_and_no_other() -> None:
    assert told().keys() == {*PYTHON, *npm.pinned(HERE / "node")}


def test_the_npm_packages_have_the_versions_that_are_tested() -> None:
    assert npm.pinned(HERE / "node").items() <= told().items()


@pytest.mark.parametrize("name", PYTHON)
def test_the_python_packages_have_the_versions_that_are_tested(name: str) -> None:
    try:
        installed = version(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed: pip install -e '.[clients]'")
    assert told()[name] == installed
