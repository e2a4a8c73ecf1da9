"""The wheel holds the package and its data and nothing else; the sdist makes the same wheel."""

from __future__ import annotations

import sys
import tarfile
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

from flowproof.version import __version__

from .tools import ROOT, run_tool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

INFO = f"flowproof_py-{__version__}.dist-info"
TOP = f"flowproof_py-{__version__}"


def contents(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files(folder: str) -> dict[str, bytes]:
    """What a folder of the checkout holds, without what runs leave in it."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in found
        if "__pycache__" not in path.parts
    }


def metadata(wheel: Path) -> Message:
    return message_from_string(contents(wheel)[f"{INFO}/METADATA"].decode())


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    held = contents(wheel)
    shipped = files("graphs") | files("templates")
    data = {f"flowproof/{name}": file for name, file in shipped.items()}
    about = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    expected = files("flowproof") | data
    assert {"flowproof/py.typed", "flowproof/graphs/replay.yaml"} <= expected.keys()
    assert "flowproof/templates/report/base.html.j2" in expected
    assert held.keys() == expected.keys() | {f"{INFO}/{name}" for name in about}
    assert {name: held[name] for name in expected} == expected
    assert held[f"{INFO}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    said = metadata(wheel)
    assert wheel.name == f"{TOP}-py3-none-any.whl"
    assert (said["Name"], said["Version"]) == ("flowproof-py", __version__)
    assert (said["Requires-Python"], said["License-Expression"]) == (">=3.11", "Apache-2.0")
    assert str(said.get_payload()).strip() == (ROOT / "README.md").read_text("utf-8").strip()
    scripts = contents(wheel)[f"{INFO}/entry_points.txt"].decode()
    assert scripts.split() == ["[console_scripts]", "flowproof", "=", "flowproof.__main__:main"]


def test_what_only_developers_need_is_not_installed_with_it(wheel: Path) -> None:
    needed = metadata(wheel).get_all("Requires-Dist", [])
    needed = [line for line in needed if "extra ==" not in line]
    assert any(line.startswith("anyio") for line in needed)
    assert not [line for line in needed if line.startswith(("pytest", "mypy", "openai", "psutil"))]


def test_the_sdist_makes_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "."]
    made = tmp_path / "made"
    made.mkdir()
    run_tool([*pip, str(sdist)], made, seconds=180)
    [again] = made.iterdir()
    assert again.name == wheel.name
    assert contents(again) == contents(wheel)


def test_the_sdist_holds_what_it_takes_to_work_on_it_and_nothing_that_runs_leave(
    sdist: Path,
) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.removeprefix(f"{TOP}/") for name in archive.getnames()}
    expected = {"Makefile", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"}
    expected |= {"docs/spec.md", "examples/suite.yaml", "tests/packaging/test_distributions.py"}
    assert expected <= held
    left = {".venv", "__pycache__", ".flowproof", ".hypothesis", "reports", "dist", ".git"}
    sample = ("reports/README.md", "reports/sample/")
    assert any(name.startswith(sample[1]) for name in held)
    rest = (name for name in held if not name.startswith(sample))
    assert not [name for name in rest if left & set(Path(name).parts)]
