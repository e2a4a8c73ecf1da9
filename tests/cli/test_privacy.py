from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")

DUMPABLE = "import ctypes; print(ctypes.CDLL(None).prctl(3))"


def dumpable(before: str) -> str:
    command = [sys.executable, "-c", f"{before}\n{DUMPABLE}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_other_processes_may_not_look_into_a_recording_one() -> None:
    assert dumpable("") == "1"
    assert (
        dumpable("from flowproof.cli.privacy import forbid_inspection; forbid_inspection()") == "0"
    )
