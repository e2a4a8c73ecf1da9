"""The npm clients that the agents in node/ use, and a Node that is new enough for them.

`make test` installs both where npm is there; elsewhere `missing` says what is not.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "node"
OLDEST = 22
"""The oldest major version of Node that the clients take."""


def pinned(folder: Path = FOLDER) -> Mapping[str, str]:
    """The version of each client that is to be tested, by package."""
    versions = _read(folder / "package.json")["dependencies"]
    assert isinstance(versions, dict)
    return versions


def missing(folder: Path = FOLDER) -> str | None:
    """Why the agents in a folder cannot be run here; None if they can."""
    for package, version in pinned(folder).items():
        about = folder / "node_modules" / package / "package.json"
        found = _read(about)["version"] if about.exists() else "none"
        if found != version:
            return f"{package} {version} is not installed, but {found}: `make test` gets it by npm"
    if node(folder) is None:
        return f"there is no Node {OLDEST} or newer"
    return None


@cache
def node(folder: Path = FOLDER) -> str | None:
    """The Node that runs the agents: the one installed beside the clients, else that of PATH."""
    return next((path for path in _candidates(folder) if _major(path) >= OLDEST), None)


def _candidates(folder: Path) -> Iterator[str]:
    yield str(folder / "node_modules" / ".bin" / "node")
    if found := shutil.which("node"):
        yield found


def _major(path: str) -> int:
    """0 where there is none, or none that runs."""
    asked = [path, "-p", "process.versions.node"]
    try:
        told = subprocess.run(asked, capture_output=True, check=True, text=True, timeout=30)
        return int(told.stdout.partition(".")[0])
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0


def _read(path: Path) -> dict[str, object]:
    value = json.loads(path.read_text("utf-8"))
    assert isinstance(value, dict)
    return value
