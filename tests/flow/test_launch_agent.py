"""The command and environment that a driver is handed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from flowproof.drivers.interface import Launch
from flowproof.flow.agent_environment import PLACEHOLDER_KEY, Handles, key_remover
from flowproof.flow.launch_agent import MOST_NAMES, launch_agent, variable_names, without_keys
from flowproof.flow.resolve_env import resolve_env
from flowproof.model.agent_exit import AgentExit, Captured
from tests.flow.support import SPEC, Agent, ended, job

PLACES = Handles("http://127.0.0.1:4646/v1", {})


def launched(folder: Path, agent: str, environ: dict[str, str] | None = None) -> Launch:
    """What the driver is given for an `agent:` of a spec."""
    made = job(folder, SPEC.replace("{command: greet}", agent))

    def act(launch: Launch) -> AgentExit:
        return ended()

    driver = Agent(act)
    prepared = resolve_env(made, environ or {})
    assert anyio.run(launch_agent, made.spec.agent, prepared, PLACES, driver) == ended()
    [launch] = driver.launches
    return launch


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        pytest.param("greet 'a b' c", ("greet", "a b", "c"), id="words"),
        pytest.param("greet ${WHO}", ("greet", "Casey $(rm) 'x'"), id="a value is one word"),
        pytest.param("greet $${WHO}", ("greet", "${WHO}"), id="escaped"),
        pytest.param(
            "greet ${flowproof.proxy_url}", ("greet", "http://127.0.0.1:4646/v1"), id="a handle"
        ),
        pytest.param(
            "greet $${flowproof.proxy_url}", ("greet", "${flowproof.proxy_url}"), id="no handle"
        ),
        pytest.param("greet ${flowproof.nope}", ("greet", "${flowproof.nope}"), id="unknown"),
    ],
)
def test_words(tmp_path: Path, command: str, argv: tuple[str, ...]) -> None:
    agent = f'{{command: "{command}"}}'
    assert launched(tmp_path, agent, {"WHO": "Casey $(rm) 'x'"}).argv == argv


@pytest.mark.parametrize(
    ("command", "told"),
    [
        pytest.param("greet ${WHO} | cat", "greet ${WHO} | cat", id="the shell's own variable"),
        pytest.param(
            "greet ${flowproof.proxy_url}", "greet http://127.0.0.1:4646/v1", id="a handle"
        ),
        pytest.param(
            "for f in a; do echo $${f:-b}; done", "for f in a; do echo ${f:-b}; done", id="escaped"
        ),
    ],
)
def test_a_shell(tmp_path: Path, command: str, told: str) -> None:
    launch = launched(tmp_path, f'{{shell: true, command: "{command}"}}', {"WHO": "Casey; rm"})
    assert launch.argv == ("/bin/sh", "-c", told)
    assert launch.env["WHO"] == "Casey; rm"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("${flowproof.proxy_url_no_v1}/x", "http://127.0.0.1:4646/x", id="a handle"),
        pytest.param("$${flowproof.proxy_url}", "${flowproof.proxy_url}", id="escaped handle"),
        pytest.param("${flowproof.nope}", "${flowproof.nope}", id="unknown handle"),
        pytest.param("${TRICKY}", "${flowproof.proxy_url}", id="a value is not filled again"),
        pytest.param("$${TRICKY}", "${TRICKY}", id="escaped variable"),
    ],
)
def test_agent_env(tmp_path: Path, value: str, expected: str) -> None:
    launch = launched(
        tmp_path, f'{{command: greet, env: {{X: "{value}"}}}}', {"TRICKY": "${flowproof.proxy_url}"}
    )
    assert launch.env["X"] == expected


def test_the_rest(tmp_path: Path) -> None:
    launch = launched(tmp_path, "{command: greet, timeout: 5m}")
    assert (launch.cwd, launch.timeout) == (str(tmp_path), 300.0)
    assert launch.env["FLOWPROOF_PROMPT"] == "Say hello"
    assert launch.env["OPENAI_BASE_URL"] == PLACES.proxy_url


def test_what_an_agent_printed_holds_no_key() -> None:
    printed = replace(ended(), stdout=Captured("it said sk-4711-real", 20))
    remove = key_remover({"FLOWPROOF_AGENT_KEY": "sk-4711-real"})
    assert without_keys(printed, remove).stdout.text == f"it said {PLACEHOLDER_KEY}"
    assert without_keys(printed, key_remover({})) == printed


def test_names_of_variables_are_bounded_and_texts() -> None:
    assert variable_names(["B", "a", "A"]) == ("A", "B", "a")
    assert variable_names(["x\udcff"]) == ("x\ufffd",)
    assert variable_names(["x" * 201, "y" * 200]) == ("x" * 200 + "…", "y" * 200)
    many = variable_names(f"V{at:05}" for at in range(MOST_NAMES + 7))
    assert (len(many), many[-2:]) == (MOST_NAMES + 1, ("V00999", "… and 7 more"))
