"""How long flows may take, as it is typed."""

from __future__ import annotations

import pytest

from tests.cli.support import Shell


@pytest.fixture
def suite(shell: Shell) -> Shell:
    shell.write("a.flow.yaml")
    return shell


@pytest.mark.parametrize("option", ["--timeout", "--global-timeout"])
@pytest.mark.parametrize("text", ["60", "60s", "1.5m", "1h", "250ms", "0.5", ".5", "1e2"])
def test_a_time(suite: Shell, option: str, text: str) -> None:
    told = suite("suite", "run", "--no-reports", "--allow-empty", option, text)
    assert told.code == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("5 m", "`90s`, `5m`", id="blank"),
        pytest.param("5min", "`90s`, `5m`", id="unit"),
        pytest.param("soon", "`90s`, `5m`", id="word"),
        pytest.param("-5", "`90s`, `5m`", id="negative"),
        pytest.param("nan", "`90s`, `5m`", id="no number"),
        pytest.param("1" * 5000, "`90s`, `5m`", id="long"),
        pytest.param("0", "from 1ms to 168h", id="none"),
        pytest.param("1e-9", "from 1ms to 168h", id="too short"),
        pytest.param("169h", "from 1ms to 168h", id="too long"),
    ],
)
def test_what_is_no_time(suite: Shell, text: str, reason: str) -> None:
    told = suite("suite", "run", "--no-reports", f"--timeout={text}")
    assert told.code == 2
    assert reason in told.err


@pytest.mark.parametrize(
    ("limit", "ended"), [("300ms", True), ("20s", False)], ids=["short", "long"]
)
def test_the_unit_counts(shell: Shell, limit: str, ended: bool) -> None:
    shell.write(
        "a.flow.yaml",
        "name: Slow\nagent: {command: sleep 1}\nsteps: [{prompt: go}]\n",
    )
    shell.trace("a.trace.json")
    told = shell("suite", "run", "--no-reports", "--json", "--timeout", limit)
    [flow] = told.json["flows"]
    assert told.code == 1
    assert ("still running after 0.3 s" in flow["reason"]) is ended
