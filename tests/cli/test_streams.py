"""Standard streams that are closed, full, or read by nobody; interrupts before there is a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.cli.support import Shell

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")

NOTHING = ["suite", "run", "--allow-empty", "--no-reports"]


def sh(
    shell: Shell, arguments: list[str], redirected: str, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line with its streams redirected by a shell."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" -m flowproof "$@" {redirected}', sys.executable, *arguments],
        cwd=shell.folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    ("arguments", "redirected", "code", "said"),
    [
        pytest.param(["--version"], ">&-", 0, "", id="version, closed"),
        pytest.param(["--version"], ">/dev/full", 2, "", id="version, full"),
        pytest.param(["--help"], ">/dev/full", 2, "No space left", id="help, full"),
        pytest.param(["--help"], ">&- 2>&- <&-", 0, "", id="help, all closed"),
        pytest.param([*NOTHING, "--json"], ">&-", 0, "no *.flow.yaml", id="green, closed"),
        pytest.param([*NOTHING, "--json"], ">/dev/full", 2, "No space left", id="green, full"),
        pytest.param(NOTHING, "2>&-", 0, "", id="green, nobody told"),
        pytest.param(NOTHING, "2>/dev/full", 0, "", id="green, nobody can be told"),
        pytest.param(["run", "a.flow.yaml", "--json"], ">/dev/full", 2, "no trace", id="red, full"),
        pytest.param(["suite", "run", "--json"], ">/dev/full", 5, "No space left", id="5, full"),
        pytest.param(["run", "gone", "--json"], ">/dev/full", 2, "No space left", id="error, full"),
        pytest.param(["run", "gone", "--json"], ">&- 2>&-", 2, "", id="error, closed"),
        pytest.param(["run", "--nope"], "2>/dev/full", 2, "", id="usage, full"),
        pytest.param(["schema"], ">/dev/full", 2, "No space left", id="a result, full"),
    ],
)
def test_output_that_is_lost(
    shell: Shell, arguments: list[str], redirected: str, code: int, said: str, unbuffered: str
) -> None:
    if arguments[0] == "run":
        shell.write("a.flow.yaml")
    done = sh(shell, arguments, redirected, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_reader_that_left_the_version(shell: Shell) -> None:
    for arguments in (["--version"], ["run", "gone", "--json"]):
        process = shell.process(*arguments)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        with process:
            said = process.stderr.read()
        assert (process.returncode, said) == (0 if arguments == ["--version"] else 2, b"")


INTERRUPTED = """\
import sys
class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from flowproof.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["flowproof.cli.main", "click", "flowproof.cli.suite", "anyio"])
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_an_interrupt_while_modules_are_loaded(shell: Shell, module: str, as_json: bool) -> None:
    arguments = [*NOTHING, *(["--json"] if as_json else [])]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module), *arguments],
        cwd=shell.folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr.strip()) == (130, "")
    if as_json:
        assert json.loads(done.stdout) == {"error": "interrupted", "exit_code": 130}
    else:
        assert done.stdout == ""
