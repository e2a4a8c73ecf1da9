"""The project on its way to a worker: what is packed, and that unpacking stays in its folder."""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from flowproof.errors import UsageError, WorldError
from flowproof.suite.engines.links import leads_inside
from flowproof.suite.engines.ship import Archive, inside, pack, project_root
from flowproof.suite.engines.store import KEPT, Store, cache_folder
from flowproof.suite.engines.unpack import BadArchive, unpack

RUN = "0123456789abcdef"


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, timeout=30)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, "utf-8")


def unpacked(archive: Archive, folder: Path) -> list[str]:
    """The names of all that was in an archive."""
    folder.mkdir()
    unpack(archive.data, folder)
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )


def test_git_says_what_is_packed(tmp_path: Path) -> None:
    project = tmp_path / "p"
    fill(project, "a.py", "sub/b.py", "gone.py", ".env", "new.py", ".hidden/c", "ü.txt")
    (project / ".gitignore").write_text(".env\n", "utf-8")
    git(project, "init", "-q")
    git(project, "add", "a.py", "sub", "gone.py", ".gitignore")
    (project / "gone.py").unlink()
    inner = project / "inner"
    fill(inner, "d.py", "out.log")
    (inner / ".gitignore").write_text("*.log\n", "utf-8")
    git(inner, "init", "-q")
    assert project_root(project / "sub", [project]) == project
    archive = pack(project)
    there = unpacked(archive, tmp_path / "t")
    named = {".gitignore", ".hidden/c", "a.py", "inner/.gitignore", "inner/d.py", "new.py"}
    assert set(there) == {*named, "sub/b.py", "ü.txt"}
    assert ".env" in unpacked(pack(project, [".env", "a.py"]), tmp_path / "with")


def test_nothing_of_the_repository_is_run(tmp_path: Path) -> None:
    project = tmp_path / "p"
    fill(project, "a.py")
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "config", "core.fsmonitor", f"touch {tmp_path}/told;")
    assert unpacked(pack(project), tmp_path / "t") == ["a.py"]
    assert not (tmp_path / "told").exists()


def test_without_git_all_but_what_is_hidden_or_installed(tmp_path: Path) -> None:
    project = tmp_path / "p"
    fill(
        project, "a.py", "sub/b.py", ".env", ".git2/c", "node_modules/d", "venv/e", "__pycache__/f"
    )
    assert project_root(project / "sub", [project]) == project
    assert unpacked(pack(project), tmp_path / "t") == ["a.py", "sub/b.py"]


def test_a_work_tree_that_git_refuses_is_an_error(tmp_path: Path) -> None:
    fill(tmp_path, "a.py", ".git/HEAD")
    with pytest.raises(UsageError, match="which files to send to a worker cannot be told"):
        project_root(tmp_path, [])


def test_what_lies_outside_the_work_tree_is_an_error(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    git(project, "init", "-q")
    with pytest.raises(UsageError, match="lies outside"):
        project_root(project, [tmp_path])
    assert inside(project / "a", project) == "a"


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    fill(tmp_path, "a/x", "a/y")
    first = pack(tmp_path)
    os.utime(tmp_path / "a/x", (1, 1))
    fill(tmp_path / "b", "x")
    (tmp_path / "b/x").rename(tmp_path / "a/z")
    assert pack(tmp_path) != first
    (tmp_path / "a/z").unlink()
    assert pack(tmp_path) == first
    (tmp_path / "a/x").chmod(0o755)
    assert pack(tmp_path).digest != first.digest


def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    project = tmp_path / "p"
    fill(project, "run.sh", "d/x")
    (project / "run.sh").chmod(0o750)
    (project / "d/in").symlink_to("../run.sh")
    (project / "folder").symlink_to("d")
    (project / "out").symlink_to("../secret")
    (project / "absolute").symlink_to("/etc")
    os.mkfifo(project / "pipe")
    names = unpacked(pack(project), tmp_path / "t")
    assert names == ["d/in", "d/x", "folder", "run.sh"]
    assert stat.S_IMODE((tmp_path / "t/run.sh").stat().st_mode) == 0o750
    assert (tmp_path / "t/d/in").read_text("utf-8") == "run.sh"


def test_too_much_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "big").touch()
    os.truncate(tmp_path / "big", 257 * 1024 * 1024)
    with pytest.raises(UsageError, match="more than 256 MiB"):
        pack(tmp_path)


@pytest.mark.parametrize(
    ("name", "target", "expected"),
    [
        ("a", "b", True),
        ("a", "..", False),
        ("d/a", "..", True),
        ("d/a", "../../b", False),
        ("d/a", "../b/../../c", False),
        ("a", "/b", False),
        ("a", "b/../c", True),
    ],
)
def test_where_a_link_leads(name: str, target: str, expected: bool) -> None:
    assert leads_inside(name, target, {}) is expected


@pytest.mark.parametrize(
    ("target", "links", "expected"),
    [
        pytest.param("m/../s", {"x/y/m": "../.."}, False, id="through a link"),
        pytest.param("m/../s", {"x/y/m": "../z"}, True, id="through one inside"),
        pytest.param("m/x", {"x/y/m": "n", "x/y/n": "/etc"}, False, id="through two"),
        pytest.param("m/x", {"x/y/m": "n", "x/y/n": "../.."}, True, id="to the top"),
        pytest.param("m", {"x/y/m": "m"}, False, id="a circle"),
        pytest.param("m", {"x/y/m": "m/m/m/m"}, False, id="a growing circle"),
        pytest.param("../../..", {}, False, id="up"),
        pytest.param("//etc", {}, False, id="two slashes"),
        pytest.param("x/.." * 9000, {}, False, id="endless"),
    ],
)
def test_where_a_link_leads_through_others(
    target: str, links: dict[str, str], expected: bool
) -> None:
    assert leads_inside("x/y/l", target, links) is expected


def test_a_link_that_leaves_through_another_stays_behind(tmp_path: Path) -> None:
    project = tmp_path / "p"
    fill(tmp_path, "secret.txt", "outside/b.py")
    fill(project, "x/y/z/a.py", "real/c.flow.yaml")
    (project / "x/y/z/m").symlink_to("../../..")
    (project / "x/y/z/l").symlink_to("m/../secret.txt")
    (project / "x/y/z/k").symlink_to("m/real/c.flow.yaml")
    (project / "out").symlink_to("../outside")
    (project / "in").symlink_to("real")
    archive = pack(project, ["out/b.py", "in/c.flow.yaml"])
    names = unpacked(archive, tmp_path / "t")
    assert names == ["in", "real/c.flow.yaml", "x/y/z/a.py", "x/y/z/k", "x/y/z/m"]
    for name in ("in/c.flow.yaml", "x/y/z/k"):
        assert (tmp_path / "t" / name).read_text("utf-8") == "real/c.flow.yaml"


def packed(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(stream.getvalue())


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("members", "why"),
    [
        pytest.param([member("../x")], "leads out", id="up"),
        pytest.param([member("a/../../x")], "leads out", id="up later"),
        pytest.param([member("/x")], "leads out", id="absolute"),
        pytest.param([member("a", tarfile.SYMTYPE, "../..")], "outside", id="link up"),
        pytest.param([member("a", tarfile.SYMTYPE, "/etc")], "outside", id="link absolute"),
        pytest.param(
            [member("d/a", tarfile.SYMTYPE, ".."), member("d/a/x")], "behind", id="through a link"
        ),
        pytest.param(
            [member("d/l", tarfile.SYMTYPE, "m/../s"), member("d/m", tarfile.SYMTYPE, "..")],
            "outside",
            id="link through a later one",
        ),
        pytest.param([member("a", tarfile.SYMTYPE, "")], "no path", id="link nowhere"),
        pytest.param([member("a", tarfile.SYMTYPE, "a")], "outside", id="link in a circle"),
        pytest.param([member("a", tarfile.SYMTYPE, "b"), member("a")], "place", id="over a link"),
        pytest.param([member("a"), member("a")], "place", id="twice"),
        pytest.param([member("a"), member("a/b")], "place", id="below a file"),
        pytest.param([member("a", tarfile.LNKTYPE, "b")], "neither", id="hard link"),
        pytest.param([member("a", tarfile.FIFOTYPE)], "neither", id="pipe"),
        pytest.param([member("a", tarfile.CHRTYPE)], "neither", id="device"),
    ],
)
def test_nothing_is_written_outside(
    tmp_path: Path, members: list[tarfile.TarInfo], why: str
) -> None:
    folder = tmp_path / "deep" / "t"
    folder.mkdir(parents=True)
    with pytest.raises(BadArchive, match=why):
        unpack(packed(*((one, b"") for one in members)), folder)
    assert not list(tmp_path.rglob("x"))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no archive", id="other"),
        pytest.param(gzip.compress(b"no archive" * 100), id="no tar"),
        pytest.param(packed((member("a"), b"x" * 9000))[:40], id="cut"),
    ],
)
def test_a_damaged_archive(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadArchive):
        unpack(data, tmp_path)


def project_archive(folder: Path, text: str = "x") -> Archive:
    folder.mkdir(exist_ok=True)
    (folder / "a").write_text(text, "utf-8")
    return pack(folder)


def test_a_store_unpacks_once_for_each_run(tmp_path: Path) -> None:
    archive = project_archive(tmp_path / "p")
    store, other = Store(tmp_path / "s"), Store(tmp_path / "s")
    assert not store.has(archive.digest)
    assert store.tree(archive.digest, RUN) is None
    store.keep(archive.digest, archive.data)
    assert other.has(archive.digest)
    tree = store.tree(archive.digest, RUN)
    assert tree is not None and (tree / "a").read_text("utf-8") == "x"
    (tree / "a").write_text("changed by an agent", "utf-8")
    assert other.tree(archive.digest, RUN) == tree
    fresh = store.tree(archive.digest, "f" * 16)
    assert fresh is not None and (fresh / "a").read_text("utf-8") == "x"
    store.forget(RUN)
    assert not tree.exists() and fresh.exists()
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


def test_a_damaged_archive_in_a_store_is_asked_for_again(tmp_path: Path) -> None:
    archive = project_archive(tmp_path / "p")
    store = Store(tmp_path / "s")
    store.keep(archive.digest, archive.data)
    (tmp_path / f"s/{archive.digest}.tar.gz").write_bytes(archive.data[:-1])
    assert store.tree(archive.digest, RUN) is None
    assert not store.has(archive.digest)
    with pytest.raises(BadArchive, match="does not have the hash"):
        store.keep(archive.digest, archive.data[:-1])


def test_a_store_forgets_what_is_old(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    abandoned = tmp_path / "s/runs/0000000000000000"
    abandoned.mkdir(parents=True)
    (tmp_path / "s").chmod(0o700)
    os.utime(abandoned, (1, 1))
    for number in range(KEPT + 2):
        archive = project_archive(tmp_path / "p", str(number))
        store.keep(archive.digest, archive.data)
        os.utime(tmp_path / f"s/{archive.digest}.tar.gz", (10**9 + number, 10**9 + number))
    assert len(list((tmp_path / "s").glob("*.tar.gz"))) == KEPT
    assert store.has(archive.digest) and not abandoned.exists()


def replaced_by_a_link(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    folder.symlink_to(folder.parent / "elsewhere")


def open_to_all(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


@pytest.mark.parametrize("spoil", [replaced_by_a_link, open_to_all])
def test_a_store_that_others_could_write_to_is_not_used(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    archive = project_archive(tmp_path / "p")
    spoil(tmp_path / "s")
    with pytest.raises(WorldError, match="FLOWPROOF_CACHE names another folder"):
        Store(tmp_path / "s").keep(archive.digest, archive.data)


@pytest.mark.parametrize("name", ["../x", "", "a/b", "A" * 16])
def test_a_name_that_is_no_hash_becomes_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadArchive):
        Store(tmp_path).has(name)
    with pytest.raises(BadArchive):
        Store(tmp_path).forget(name)


def test_where_projects_are_kept() -> None:
    assert cache_folder({"FLOWPROOF_CACHE": "/x"}) == Path("/x")
    assert cache_folder({}).name == f"flowproof-{os.getuid()}"
