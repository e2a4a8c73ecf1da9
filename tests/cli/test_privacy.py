"""Who may look into a process that holds a real key."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")

DUMPABLE = "import ctypes; print(ctypes.CDLL(None).prctl(3))"


def dumpable(before: str) -> str:
    command = [sys.executable, "-c", f"{before}\n{DUMPABLE}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"OPENAI_API_KEY": "sk-1"}, "0", id="a provider's key"),
        pytest.param({"FLOWPROOF_AGENT_KEY": "sk-1"}, "0", id="our own"),
        pytest.param({"OPENAI_API_KEY": " ", "PATH": "/bin"}, "1", id="no key"),
    ],
)
def test_a_process_is_closed_where_it_holds_a_key(environ: dict[str, str], expected: str) -> None:
    before = f"from flowproof.cli.privacy import protect_keys; protect_keys({environ!r})"
    assert dumpable(before) == expected


@pytest.mark.parametrize(
    ("arguments", "key", "expected"),
    [
        pytest.param(["run", "gone"], "sk-1", "0", id="run"),
        pytest.param(["run", "gone"], "", "1", id="run without a key"),
        pytest.param(["suite", "run", "gone"], "sk-1", "0", id="suite run"),
        pytest.param(["record", "gone"], "sk-1", "0", id="record"),
        pytest.param(["check", "gone"], "sk-1", "1", id="no agent runs"),
    ],
)
def test_every_command_that_runs_an_agent_keeps_the_key(
    arguments: list[str], key: str, expected: str
) -> None:
    environ = f"import os; os.environ['OPENAI_API_KEY'] = {key!r}"
    before = f"{environ}; from flowproof.cli.main import run; run({arguments!r})"
    assert dumpable(before) == expected


def test_other_processes_may_not_look_into_a_recording_one() -> None:
    assert dumpable("") == "1"
    assert (
        dumpable("from flowproof.cli.privacy import forbid_inspection; forbid_inspection()") == "0"
    )
