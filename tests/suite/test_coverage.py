"""Whether a run is about its whole suite: whatever the paths, by the flows that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.suite.coverage import covers
from flowproof.suite.discover import discover


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A suite of three flows, with another suite, what is hidden and a link inside."""
    folder = tmp_path / "shop"
    for name in (
        "flows/a.flow.yaml",
        "flows/sub/b.flow.yaml",
        "more/c.flow.yaml",
        "inner/d.flow.yaml",
        ".hidden/e.flow.yaml",
        "node_modules/f.flow.yaml",
        "suite.yaml",
        "inner/suite.yaml",
        "../outside/g.flow.yaml",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "link").symlink_to(folder / "flows")
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "flows/loop").symlink_to(folder)
    return folder


def covered(folder: Path, *names: str) -> bool:
    given = [folder / name for name in names]
    return covers(given, discover(given), folder)


@pytest.mark.parametrize(
    ("names", "whole"),
    [
        pytest.param(["."], True, id="the folder of the suite"),
        pytest.param([".."], True, id="a folder above it"),
        pytest.param(["flows", "more"], True, id="all folders that have flows"),
        pytest.param(["link", "more"], True, id="one of them by a link"),
        pytest.param(
            ["flows/a.flow.yaml", "flows/sub/b.flow.yaml", "more/c.flow.yaml"], True, id="all files"
        ),
        pytest.param(["flows"], True, id="a folder with a link to all"),
        pytest.param(["flows/sub", "more"], False, id="without a flow above"),
        pytest.param(["flows/sub"], False, id="a folder below"),
        pytest.param(["flows/a.flow.yaml"], False, id="one file"),
        pytest.param(["inner"], False, id="the flows of another suite"),
    ],
)
def test_what_is_whole(shop: Path, names: list[str], whole: bool) -> None:
    assert covered(shop, *names) is whole


@pytest.mark.parametrize("name", ["x.flow.yaml", "new/x.flow.yaml", "x.flow.yml", "X.FLOW.YAML"])
def test_one_more_flow_is_one_left_out(shop: Path, name: str) -> None:
    (shop / "flows/loop").unlink()
    assert covered(shop, "flows", "more")
    (shop / name).parent.mkdir(exist_ok=True)
    (shop / name).touch()
    assert not covered(shop, "flows", "more")


def test_a_suite_in_a_suite_is_a_whole_of_its_own(shop: Path) -> None:
    given = [shop / "inner"]
    assert covers(given, discover(given), shop / "inner")


def test_without_a_suite_the_whole_is_the_folder_that_was_given(tmp_path: Path) -> None:
    for name in ("a.flow.yaml", "sub/b.flow.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert covered(tmp_path, ".")
    assert not covered(tmp_path, "a.flow.yaml", "sub")
