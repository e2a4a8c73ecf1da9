"""How the agent is started, and what its own end means for the verdict."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest

from tests.e2e.model import model, saying
from tests.e2e.project import AGENTS, PLAIN_AGENT, PLAIN_PLAN, Project, flow

ASK: dict[str, object] = {"do": "ask", "say": "hello"}
REPLY = {"assert": "reply contains Hello"}


def recorded_flow(project: Project, plan: object = None, **agent: object) -> None:
    """Record a.flow.yaml of the standard-library agent with these keys of `agent`."""
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, agent=agent))
    with model(saying("Hello.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=[ASK] if plan is None else plan)
    assert ran.code == 0, ran.stdout


def test_a_crash_after_the_last_call_fails_the_flow(plainly_recorded: Project) -> None:
    plan = [*PLAIN_PLAN, {"do": "crash"}]
    ran = plainly_recorded.replay("plain.flow.yaml", plan=plan)
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert ran.flow["traffic"]["served"] == 2, "every turn matched"
    assert all(one["outcome"]["kind"] == "passed" for one in ran.flow["assertions"])
    assert ran.flow["reason"] == "the agent exited with status 1"
    assert "the agent broke after its work" in ran.flow["agent"]["stderr"]["text"]
    told = plainly_recorded.flowproof("run", "plain.flow.yaml", plan=plan)
    assert "RuntimeError: the agent broke after its work" in told.stderr


@pytest.mark.parametrize(
    ("status", "verdict", "code"),
    [pytest.param(3, "pass", 0, id="as expected"), pytest.param(0, "fail", 1, id="zero")],
)
def test_another_exit_status_may_be_expected(
    project: Project, status: int, verdict: str, code: int
) -> None:
    recorded_flow(project, [ASK, {"do": "exit", "status": 3}], expect_exit=3)
    ran = project.replay("a.flow.yaml", plan=[ASK, {"do": "exit", "status": status}])
    assert (ran.flow["verdict"], ran.code) == (verdict, code)
    if code:
        assert ran.flow["reason"] == "the agent exited with status 0, expected 3"


def test_a_timeout_ends_the_agent_and_fails_the_flow(project: Project) -> None:
    recorded_flow(project)
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, agent={"timeout": 1.5}))
    plan = [ASK, {"do": "grandchild"}, {"do": "sleep", "seconds": 60}]
    ran = project.replay("a.flow.yaml", plan=plan)
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "still running after 1.5 s" in ran.flow["reason"]
    assert ran.flow["agent"]["timed_out"] is True
    assert ran.flow["duration"] < 15
    assert project.left_running() == []


def test_an_unknown_command_is_the_authors_error(project: Project) -> None:
    project.write("a.flow.yaml", flow("pyton agent.py", REPLY))
    with model(saying("Hello.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url)
    assert (ran.code, ran.flow["verdict"]) == (2, "error")
    assert "`pyton`" in ran.flow["reason"]
    assert "PATH" in ran.flow["reason"]


def test_shell_syntax_without_a_shell_is_a_spec_error_with_a_hint(project: Project) -> None:
    project.write("a.flow.yaml", flow("cd agent && python main.py", REPLY))
    told = project.flowproof("run", "a.flow.yaml")
    assert told.code == 2
    assert "shell: true" in told.stderr
    assert "&&" in told.stderr


def test_a_shell_is_used_where_it_is_asked_for(project: Project) -> None:
    command = f'test "$GREETING" = "good day" && {PLAIN_AGENT} | cat'
    agent = {"shell": True, "env": {"AGENT_PLAN": "${PLAN}", "GREETING": "good day"}}
    project.write("a.flow.yaml", flow(command, REPLY, agent=agent))
    with model(saying("Hello.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=[ASK]).code == 0
    assert project.replay("a.flow.yaml", plan=[ASK]).code == 0


def test_words_are_split_as_a_shell_does_and_variables_stay_one_word(project: Project) -> None:
    command = f"{PLAIN_AGENT} 'a b' \"c d\" ${{ARGUMENT}} '*'"
    project.write("a.flow.yaml", flow(command, REPLY))
    plan = [ASK, {"do": "where"}]
    with model(saying("Hello.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=plan, ARGUMENT="e f; g")
    assert ran.code == 0
    assert ran.said()[1]["argv"] == ["a b", "c d", "e f; g", "*"]


WORKING_FOLDERS = {
    "the current directory": ({}, {}, "."),
    "the suite's folder": ({"flows/suite.yaml": "name: s\n"}, {}, "flows"),
    "relative to the spec": ({}, {"cwd": "../other"}, "flows/other"),
    "relative to the spec in a suite": (
        {"flows/suite.yaml": "name: s\n"},
        {"cwd": "."},
        "flows/deep",
    ),
}


@pytest.mark.parametrize(
    ("files", "agent", "folder"), WORKING_FOLDERS.values(), ids=list(WORKING_FOLDERS)
)
def test_where_the_agent_runs(
    project: Project, files: dict[str, str], agent: dict[str, Any], folder: str
) -> None:
    for name, text in files.items():
        project.write(name, text)
    (project.folder / "flows/other").mkdir(parents=True)
    project.write("flows/deep/a.flow.yaml", flow(PLAIN_AGENT, REPLY, agent=agent))
    with model(saying("Hello.")) as upstream:
        ran = project.record("flows/deep/a.flow.yaml", upstream.url, plan=[ASK, {"do": "where"}])
    assert ran.code == 0
    assert ran.said()[1]["cwd"] == str((project.folder / folder).resolve())


def test_a_missing_working_folder_is_the_authors_error(project: Project) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, agent={"cwd": "nowhere"}))
    with model(saying("Hello.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=[ASK])
    assert (ran.code, "agent.cwd" in ran.flow["reason"]) == (2, True)


def test_what_the_agent_is_given_and_agent_env_last(project: Project) -> None:
    injected = ["OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_BASE", "FLOWPROOF_LLM_PROXY"]
    names = [
        *injected,
        "ANTHROPIC_BASE_URL",
        "FLOWPROOF_PROMPT",
        "GATEWAY",
        "BARE",
        "ANTHROPIC_API_KEY",
        "FLOWPROOF_AGENT_UPSTREAM",
        "KEPT",
    ]
    env = {
        "AGENT_PLAN": "${PLAN}",
        "GATEWAY": "${flowproof.proxy_url}",
        "BARE": "${flowproof.proxy_url_no_v1}/x",
        "OPENAI_API_BASE": "mine",
        "ANTHROPIC_API_KEY": "mine too",
    }
    recorded_flow(project, env=env)
    ran = project.replay("a.flow.yaml", plan=[ASK, {"do": "print", "names": names}], KEPT="yes")
    assert ran.code == 0
    seen = ran.said()[1]
    url = seen["OPENAI_BASE_URL"]
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/v1")
    assert seen == {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_BASE": "mine",
        "OPENAI_BASE": url,
        "FLOWPROOF_LLM_PROXY": url,
        "ANTHROPIC_BASE_URL": url.removesuffix("/v1"),
        "FLOWPROOF_PROMPT": "How warm is it in Oslo?",
        "GATEWAY": url,
        "BARE": f"{url.removesuffix('/v1')}/x",
        "ANTHROPIC_API_KEY": "mine too",
        "FLOWPROOF_AGENT_UPSTREAM": None,
        "KEPT": "yes",
    }


def test_an_unknown_handle_passes_through_with_a_warning(project: Project) -> None:
    env = {"AGENT_PLAN": "${PLAN}", "ODD": "${flowproof.proxy_ur}"}
    recorded_flow(project, env=env)
    ran = project.replay("a.flow.yaml", plan=[ASK, {"do": "print", "names": ["ODD"]}])
    assert ran.code == 0
    assert ran.said()[1] == {"ODD": "${flowproof.proxy_ur}"}
    [warning] = [told for told in ran.flow["warnings"] if "handle" in told]
    assert "proxy_ur}" in warning
    assert "proxy_url_no_v1" in warning


def test_an_unset_variable_ends_before_the_launch(project: Project) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, {"assert": "reply contains ${WORD}"}))
    with model(saying("Hello.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=[{"do": "touch", "file": "ran"}])
    assert ran.code == 2
    assert "${WORD} is not set" in ran.flow["reason"]
    assert "a.flow.yaml:" in ran.flow["reason"]
    assert upstream.received == []
    assert not (project.folder / "ran").exists()


def test_an_agent_in_a_folder_with_a_blank_in_its_name(project: Project) -> None:
    source = (AGENTS / "plain_agent.py").read_text("utf-8")
    script = project.write("my agents/plain agent.py", source)
    project.write("a.flow.yaml", flow(shlex.join([sys.executable, str(script)]), REPLY))
    with model(saying("Hello.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=[ASK]).code == 0
