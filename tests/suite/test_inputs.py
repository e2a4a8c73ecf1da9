"""The lock files that a run is said to have had."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from flowproof.files import Digests
from flowproof.model.run_record import FileDigest
from flowproof.suite.inputs import LARGEST, MOST_FILES, lock_files


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def names(folders: Iterable[Path], here: Path) -> list[str]:
    return [file.path for file in lock_files(folders, here, Digests())]


def test_the_nearest_first_up_to_the_top_of_the_repository(tmp_path: Path) -> None:
    top = tmp_path / "top"
    write(top / ".git/HEAD")
    for name in ("requirements-dev.txt", "requirements.txt", "uv.lock", "package.json"):
        write(top / name)
    write(top / "apps/bot/poetry.lock")
    write(top / "apps/other/yarn.lock")
    write(tmp_path / "uv.lock")
    bot = top / "apps/bot"
    above = ["../../requirements-dev.txt", "../../requirements.txt", "../../uv.lock"]
    assert names([bot], bot) == ["poetry.lock", *above]
    both = names([bot, top / "apps/other", bot], top)
    assert both == [
        "apps/bot/poetry.lock",
        "requirements-dev.txt",
        "requirements.txt",
        "uv.lock",
        "apps/other/yarn.lock",
    ]


def test_outside_a_repository_its_own_folder_alone(tmp_path: Path) -> None:
    write(tmp_path / "uv.lock")
    write(tmp_path / "in/Pipfile.lock", "lock")
    found = lock_files([tmp_path / "in"], tmp_path, Digests())
    assert found == (FileDigest("in/Pipfile.lock", sha256(b"lock").hexdigest()),)


def test_what_cannot_be_one_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/uv.lock")
    folder = tmp_path / "in"
    (folder / "requirements.txt").mkdir(parents=True)
    (folder / "uv.lock").symlink_to(tmp_path / "elsewhere/uv.lock")
    (folder / "yarn.lock").symlink_to("nowhere")
    with (folder / "poetry.lock").open("wb") as file:
        file.truncate(LARGEST + 1)
    write(folder / "real.lock")
    write(folder / "pnpm-lock.yaml")
    assert names([folder, tmp_path / "nothing"], folder) == ["pnpm-lock.yaml"]


def test_no_more_than_so_many(tmp_path: Path) -> None:
    for at in range(MOST_FILES + 5):
        write(tmp_path / f"requirements{at}.txt")
    assert len(names([tmp_path], tmp_path)) == MOST_FILES
