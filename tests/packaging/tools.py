"""Runs build tools, which may reach for the package index, and says so when they cannot."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = {"PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "30"}


class ToolFailed(Exception):
    """A tool ended badly or not at all; the text holds what it printed last."""


def environment() -> dict[str, str]:
    """Ours, with pip's configuration, but with nothing that leads Python into the checkout."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | PATIENCE


def run_tool(
    argv: Sequence[str], folder: Path, *, seconds: float, env: Mapping[str, str] | None = None
) -> None:
    """Run a tool to its end in a folder; its output is kept beside that folder.

    :raises ToolFailed: if it fails or takes too long. Nothing that it started is left then.
    """
    log = folder.with_name(f"{folder.name}.log")
    # A file and not a pipe: what the tool started could keep a pipe open for ever.
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=environment() if env is None else env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = None
    if status != 0:
        how = f"ended with {status}" if status is not None else f"was not done after {seconds:g} s"
        said = log.read_text("utf-8", "replace")[-4000:]
        raise ToolFailed(
            f"{shlex.join(argv)}\n{how}. It needs the package index: is it reachable?\n{said}"
        )


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, filled by whichever test process comes first while the others wait."""
    done = folder.with_name(f"{folder.name}.done")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
