"""A folder in which command lines run in this process, or as one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flowproof.cli.main import run
from flowproof.trace.file import write_trace
from tests.flow.support import asking, calling, saying, trace, turn

SPEC = """\
name: Greeter
agent: {command: greet}
steps:
  - prompt: Say hello
  - assert: reply contains Hello
"""


@dataclass(frozen=True, slots=True)
class Told:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


@dataclass(frozen=True, slots=True)
class Shell:
    """The current folder with what was printed."""

    folder: Path
    captured: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Told:
        self.captured.readouterr()
        code = run(arguments)
        out, err = self.captured.readouterr()
        return Told(code, out, err)

    def write(self, name: str, text: str = SPEC) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def trace(self, name: str, *, calls: int = 1) -> Path:
        """A recording of an agent that calls a tool some times and then says hello."""
        turns = [turn(asking(f"go {at}"), calling("look")) for at in range(calls)]
        write_trace(self.folder / name, trace(*turns, turn(asking("bye"), saying("Hello"))))
        return self.folder / name

    def process(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """The same as a process, whose stdout is a pipe."""
        return subprocess.Popen(
            [sys.executable, "-m", "flowproof", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
