"""`--engine` and `--scheduler`: what is refused, and how to install what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.support import Shell

WITHOUT_DASK = """\
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
from flowproof.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--engine", "ray"], "local", id="engine"),
        pytest.param(["--scheduler", "tcp://h:1"], "--scheduler is for --engine dask", id="alone"),
        pytest.param(
            ["--engine", "dask", "--scheduler", "host:8786"], "such as tcp://host:8786", id="plain"
        ),
        pytest.param(
            ["--engine", "dask", "--scheduler", "http://h:1"], "such as tcp://", id="scheme"
        ),
    ],
)
def test_what_is_refused(shell: Shell, arguments: list[str], message: str) -> None:
    shell.write("a.flow.yaml")
    told = shell("suite", "run", "--no-reports", *arguments)
    assert told.code == 2
    assert message in told.err


def test_without_the_extra(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DASK, "suite", "run", "--engine", "dask", "--no-reports"],
        cwd=shell.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 4
    assert "needs the extra `dask`" in done.stderr and "pip install '.[dask]'" in done.stderr


def test_the_local_engine_needs_no_extra(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DASK, "suite", "run", "--engine", "local", "--no-reports"],
        cwd=shell.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 5, done.stderr
