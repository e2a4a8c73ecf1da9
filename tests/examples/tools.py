"""Runs the real command line on copies of the examples, and the scripted model beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTED_MODEL = EXAMPLES / "scripted_model" / "scripted_model.py"
ANSWERS = EXAMPLES / "quickstart" / "scripted_answers.json"
FLOWPROOF = (sys.executable, "-m", "flowproof")
MADE_BY_RUNS = shutil.ignore_patterns(".flowproof", "reports", "__pycache__")

# Raises the loopback interface of a fresh network namespace, where nothing else exists.
RAISE_LOOPBACK = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
os.execv(sys.argv[1], sys.argv[1:])
"""
NO_NETWORK = ("unshare", "-rn", sys.executable, "-c", RAISE_LOOPBACK)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: its exit code, its JSON object and what it said to people."""

    code: int
    record: dict[str, Any]
    said: str

    def verdicts(self) -> dict[str, str]:
        return {Path(flow["path"]).name: flow["verdict"] for flow in self.record["flows"]}

    def only(self) -> dict[str, Any]:
        (flow,) = self.record["flows"]
        assert isinstance(flow, dict)
        return flow


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment with no key and no upstream, in which `python` is this interpreter."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {"PATH": path, "HOME": os.environ.get("HOME", "/"), **(extra or {})}


def flowproof(
    folder: Path, *arguments: str, upstream: str | None = None, before: Sequence[str] = ()
) -> Ran:
    """Run the command line in a folder with `--json`; `before` goes in front of the command."""
    done = subprocess.run(
        [*before, *FLOWPROOF, *arguments, "--json"],
        cwd=folder,
        env=environment({"FLOWPROOF_AGENT_UPSTREAM": upstream} if upstream else None),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.stdout, f"exit {done.returncode} with no JSON; stderr: {done.stderr}"
    return Ran(done.returncode, json.loads(done.stdout), done.stderr)


def can_cut_off_network() -> bool:
    """Whether this machine lets us run a command that has nothing but a loopback interface."""
    if shutil.which("unshare") is None:
        return False
    trial = [*NO_NETWORK, sys.executable, "-c", ""]
    return subprocess.run(trial, capture_output=True, timeout=30, check=False).returncode == 0


def copy_examples(folder: Path) -> Path:
    """A copy to run in and to change, without what earlier runs left in the original."""
    return Path(shutil.copytree(EXAMPLES, folder / "examples", ignore=MADE_BY_RUNS))


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that occurs exactly once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path.name} holds {old!r} {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


@contextmanager
def scripted_model(script: Path = ANSWERS) -> Iterator[tuple[str, int]]:
    """The scripted model on a free port: its base URL as it prints it, and its process id."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPTED_MODEL), "--script", str(script), "--port", "0"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            name, _, url = process.stdout.readline().strip().partition("=")
            assert name == "FLOWPROOF_AGENT_UPSTREAM"
            yield url, process.pid
        finally:
            process.terminate()
