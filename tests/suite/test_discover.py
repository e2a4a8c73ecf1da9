"""Which flows stand below the paths that a user names."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from flowproof.errors import ExitCode, UsageError
from flowproof.suite.discover import discover, nearest_suite


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "b.flow.yaml",
        "a.flow.yaml",
        "deep/er/c.flow.yaml",
        "deep/d.flow.yaml",
        ".hidden/x.flow.yaml",
        ".flowproof/runs/x.flow.yaml",
        ".x.flow.yaml",
        "suite.yaml",
        "node_modules/x/e.flow.yaml",
        "a.trace.json",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def names(found: tuple[Path, ...], below: Path) -> list[str]:
    return [str(path.relative_to(below)) for path in found]


ALL = ["a.flow.yaml", "b.flow.yaml", "deep/d.flow.yaml", "deep/er/c.flow.yaml"]


def test_a_folder_sorted_and_without_what_is_hidden(tree: Path) -> None:
    found = discover([tree])
    assert names(found, tree) == ALL
    assert all(path.is_absolute() for path in found)


def test_paths_come_in_the_order_given(tree: Path) -> None:
    found = discover([tree / "deep/d.flow.yaml", tree])
    assert names(found, tree) == ["deep/d.flow.yaml", *(n for n in ALL if n != "deep/d.flow.yaml")]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param("a.flow.yaml", id="itself"),
        pytest.param("deep/../a.flow.yaml", id="through another folder"),
        pytest.param("link/a.flow.yaml", id="through a link to its folder"),
        pytest.param(".", id="within its folder"),
    ],
)
def test_each_flow_once(tree: Path, again: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "link").symlink_to(tree)
    monkeypatch.chdir(tree)
    found = discover([Path("a.flow.yaml"), Path(again)])
    assert found[0] == tree / "a.flow.yaml"
    assert [path.name for path in found].count("a.flow.yaml") == 1


def test_a_link_with_its_own_name_has_its_own_trace_and_is_its_own_flow(tree: Path) -> None:
    (tree / "deep/z.flow.yaml").symlink_to(tree / "a.flow.yaml")
    assert names(discover([tree / "deep"]), tree)[-1] == "deep/z.flow.yaml"


def test_links_that_lead_back_are_entered_once(tree: Path) -> None:
    (tree / "deep/up").symlink_to(tree)
    (tree / "itself").symlink_to(tree / "itself")
    (tree / "nowhere").symlink_to(tree / "gone")
    assert names(discover([tree]), tree) == ALL


def test_a_linked_folder_is_entered_and_spelt_as_where_it_leads(tree: Path) -> None:
    other = tree / ".hidden"
    (tree / "zoo").symlink_to(other)
    assert names(discover([tree]), tree) == [".hidden/x.flow.yaml", *ALL]


@pytest.mark.parametrize("first", ["real", "alink"])
def test_the_order_of_creation_decides_no_spelling(tmp_path: Path, first: str) -> None:
    def real() -> None:
        (tmp_path / "real").mkdir()

    def link() -> None:
        (tmp_path / "alink").symlink_to("real")

    for make in (real, link) if first == "real" else (link, real):
        make()
    (tmp_path / "real/a.flow.yaml").touch()
    for given in ("", "alink", "real/../alink", "alink/a.flow.yaml"):
        assert names(discover([tmp_path / given]), tmp_path) == ["real/a.flow.yaml"]


def test_a_folder_with_a_flows_name_is_a_folder(tree: Path) -> None:
    (tree / "f.flow.yaml").mkdir()
    assert names(discover([tree]), tree) == ALL


def test_a_hidden_folder_that_is_named_is_searched(tree: Path) -> None:
    assert names(discover([tree / ".hidden"]), tree) == [".hidden/x.flow.yaml"]


def test_nothing_found_is_no_error(tmp_path: Path) -> None:
    assert discover([tmp_path]) == ()
    assert discover([]) == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a.flow.yml", "no such file or folder; did you mean", id="misspelt"),
        pytest.param("qqqqq", "no such file or folder", id="missing"),
        pytest.param("gone/a.flow.yaml", "no such file or folder", id="in a missing folder"),
        pytest.param("a.trace.json", "a flow's file name ends in .flow.yaml", id="another kind"),
        pytest.param("suite.yaml", "a flow's file name ends in .flow.yaml", id="a suite"),
    ],
)
def test_paths_that_are_none(tree: Path, name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        discover([tree / name])
    assert text in str(caught.value)
    assert name in str(caught.value)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_folder_that_cannot_be_read(tree: Path) -> None:
    (tree / "deep").chmod(0)
    try:
        with pytest.raises(UsageError, match="cannot be read"):
            discover([tree])
    finally:
        (tree / "deep").chmod(0o700)


def test_a_flow_with_the_other_ending_is_not_left_out_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "a.flow.yml").touch()
    with pytest.raises(UsageError, match=r"ends in \.flow\.yaml; rename it"):
        discover([tmp_path])


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "gone")


def loop(path: Path) -> None:
    path.symlink_to(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        # A path in a socket's address is short: the name alone is.
        folder = Path.cwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(folder)


IRREGULAR = [
    pytest.param(dangling, "a symbolic link that leads nowhere", id="dangling link"),
    pytest.param(loop, "a symbolic link that leads to itself", id="link to itself"),
    pytest.param(os.mkfifo, "a named pipe", id="named pipe"),
    pytest.param(listening, "a socket", id="socket"),
]


@pytest.mark.parametrize(("make", "kind"), IRREGULAR)
def test_a_flow_that_is_no_regular_file_is_not_left_out_without_a_word(
    tree: Path, make: Callable[[Path], None], kind: str
) -> None:
    path = tree / "deep/z.flow.yaml"
    make(path)
    for given in (tree, path):
        with pytest.raises(UsageError) as caught:
            discover([given])
        assert str(caught.value) == f"{path}: it is {kind}, and a flow is a regular file"
        assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


@pytest.mark.parametrize(("make", "kind"), IRREGULAR)
def test_what_no_flow_can_be_may_be_anything(
    tree: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tree / "deep/z.yaml")
    assert names(discover([tree]), tree) == ALL


@pytest.mark.parametrize("name", ["X.Flow.YAML", "x.flow.YML", "x.FLOW.yaml"])
def test_a_flows_name_in_other_letters_is_told(tree: Path, name: str) -> None:
    (tree / "deep" / name).touch()
    with pytest.raises(UsageError, match=rf"{name}: a flow's file name ends in \.flow\.yaml"):
        discover([tree])
    with pytest.raises(UsageError, match=rf"{name}: a flow's file name ends in \.flow\.yaml"):
        discover([tree / "deep" / name])


@pytest.mark.parametrize("name", ["suite.yml", "Suite.yaml", "SUITE.YML"])
@pytest.mark.parametrize("given", ["deep", "deep/er/c.flow.yaml"], ids=["folder", "spec"])
def test_a_suite_that_would_govern_nothing_is_told(tree: Path, name: str, given: str) -> None:
    (tree / "deep/er" / name).touch()
    with pytest.raises(
        UsageError, match=rf"er/{name}: a suite's file is named suite\.yaml; rename"
    ):
        discover([tree / given])


def test_a_suites_other_name_does_no_harm_elsewhere(tree: Path) -> None:
    (tree / "suite.yml").touch()  # beside a suite.yaml
    (tree / "docs").mkdir()
    (tree / "docs/suite.yml").touch()  # with no flow below
    (tree / "deep/suite.yml").touch()  # above what is searched
    assert names(discover([tree / "deep/er", tree / "a.flow.yaml"]), tree) == [
        "deep/er/c.flow.yaml",
        "a.flow.yaml",
    ]
    (tree / "deep/suite.yml").unlink()
    assert names(discover([tree]), tree) == ALL


@pytest.mark.parametrize(
    ("make", "kind"), [*IRREGULAR, pytest.param(Path.mkdir, "a folder", id="folder")]
)
def test_a_suite_that_is_no_regular_file_is_not_taken_for_none(
    tree: Path, make: Callable[[Path], None], kind: str
) -> None:
    assert nearest_suite(tree / "deep/er") == tree / "suite.yaml"
    make(tree / "deep/suite.yaml")
    with pytest.raises(UsageError) as caught:
        nearest_suite(tree / "deep/er")
    path = tree / "deep/suite.yaml"
    assert str(caught.value) == f"{path}: it is {kind}, and a suite is a regular file"
    (tree / "real.yaml").touch()
    path.rmdir() if kind == "a folder" else path.unlink()
    path.symlink_to(tree / "real.yaml")
    assert nearest_suite(tree / "deep/er") == path
