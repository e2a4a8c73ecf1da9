"""Distributions of this checkout and an environment that holds the wheel, made once a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from .tools import ROOT, once, run_tool


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this test run know."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def distributions(shared: Path) -> Path:
    """A folder with the wheel and the sdist, each built from the checkout."""

    def make(folder: Path) -> None:
        build = [sys.executable, "-m", "build", "--sdist", "--wheel", "--outdir", str(folder)]
        run_tool([*build, str(ROOT)], folder, seconds=180)

    return once(shared / "distributions", make)


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    [found] = distributions.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(distributions: Path) -> Path:
    [found] = distributions.glob("*.tar.gz")
    return found


@pytest.fixture(scope="session")
def installed(shared: Path, wheel: Path) -> Path:
    """The bin folder of a fresh environment with the wheel and what it depends on."""

    def make(folder: Path) -> None:
        run_tool([sys.executable, "-m", "venv", "--without-pip", "."], folder, seconds=60)
        pip = [sys.executable, "-m", "pip", "--python", "bin/python", "install", "--no-compile"]
        run_tool([*pip, str(wheel)], folder, seconds=240)

    return once(shared / "installed", make) / "bin"
