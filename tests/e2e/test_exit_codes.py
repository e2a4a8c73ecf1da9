"""What the command line returns and says for specs, traces and suites that are not right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.project import PLAIN_AGENT, Project, flow

ASK = {"do": "ask", "say": "hello"}
LAUNCHED = [{"do": "touch", "file": "launched"}, ASK]
REPLY = {"assert": "reply contains Hello"}


@pytest.fixture
def suite(project: Project, traced: Path) -> Project:
    """A suite of one flow that passes."""
    project.add(traced, "flows/good.flow.yaml")
    return project


@pytest.mark.parametrize(
    ("step", "accepted"),
    [
        pytest.param({"assert_no_tool_cal": "x"}, "assert_no_tool_call", id="a misspelt step"),
        pytest.param("assert_no_egres", "assert_no_egress", id="a misspelt bare step"),
        pytest.param("The reply says hello", "assert", id="prose"),
        pytest.param({"assert": "the reply is friendly"}, "reply", id="prose in an assertion"),
        pytest.param({"assert_tool_call": "a with b is c"}, "where", id="unknown grammar"),
    ],
)
def test_a_step_that_is_none_is_never_green(
    project: Project, traced: Path, step: object, accepted: str
) -> None:
    project.add(traced, "a.flow.yaml", REPLY, step)
    for command in (["run", "a.flow.yaml"], ["suite", "run", "--no-reports"], ["check", "."]):
        told = project.flowproof(*command, plan=LAUNCHED)
        assert told.code == 2
        assert "a.flow.yaml:" in told.stderr
        assert accepted in told.stderr
    assert not (project.folder / "launched").exists()


def test_a_missing_trace(project: Project) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY))
    ran = project.replay("a.flow.yaml", plan=LAUNCHED)
    assert (ran.code, ran.flow["verdict"]) == (2, "error")
    assert "flowproof record a.flow.yaml" in ran.flow["reason"]
    suite_run = ("suite", "run", "--no-reports", "--json")
    skipped = project.flowproof(*suite_run, plan=LAUNCHED)
    assert (skipped.code, skipped.flow["verdict"]) == (5, "skipped"), "nothing executed"
    assert "no trace" in skipped.flow["reason"]
    allowed = project.flowproof(*suite_run, "--allow-empty", plan=LAUNCHED)
    assert (allowed.code, allowed.flow["verdict"]) == (0, "skipped")
    strict = project.flowproof(*suite_run, "--strict", plan=LAUNCHED)
    assert (strict.code, strict.flow["verdict"]) == (2, "error")
    assert not (project.folder / "launched").exists()


def test_an_empty_folder_runs_nothing(project: Project) -> None:
    assert project.flowproof("suite", "run", "--no-reports").code == 5
    assert project.flowproof("suite", "run", "--no-reports", "--allow-empty").code == 0


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(lambda data: data[: len(data) // 2], id="cut"),
        pytest.param(lambda data: b"[]", id="of another kind"),
        pytest.param(lambda data: b"\xff\xfe", id="no text"),
    ],
)
def test_a_damaged_trace_is_the_authors_error_and_left_alone(
    project: Project, traced: Path, damaged: Callable[[bytes], bytes]
) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY))
    data = damaged(traced.read_bytes())
    project.trace("a.flow.yaml").write_bytes(data)
    ran = project.replay("a.flow.yaml", plan=LAUNCHED)
    assert (ran.code, ran.flow["verdict"]) == (2, "error")
    assert "a.trace.json: not a usable trace" in ran.flow["reason"]
    assert not (project.folder / "launched").exists()
    assert project.trace("a.flow.yaml").read_bytes() == data


def test_an_edited_answer_is_served_and_the_assertions_judge(
    project: Project, traced: Path
) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY))
    data = traced.read_bytes().replace(b'"Hello."', b'"Hell."')
    project.trace("a.flow.yaml").write_bytes(data)
    ran = project.replay("a.flow.yaml", plan=[ASK])
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert ran.said()[0]["answer"]["choices"][0]["message"]["content"] == "Hell."


def test_a_spec_that_does_not_parse_stops_no_other(suite: Project) -> None:
    suite.write("flows/broken.flow.yaml", "name: [")
    ran = suite.flowproof("suite", "run", "flows", "--no-reports", "--json", plan=[ASK])
    assert ran.code == 2
    verdicts = {one["path"]: one["verdict"] for one in ran.record["flows"]}
    assert verdicts == {"flows/broken.flow.yaml": "error", "flows/good.flow.yaml": "pass"}


def test_kinds_mix_as_2_before_1_before_4(suite: Project, traced: Path) -> None:
    def code() -> int:
        run = ("suite", "run", "flows", "--no-reports", "-q")
        return suite.flowproof(*run, plan=[ASK]).code

    assert code() == 0
    suite.add(traced, "flows/world.flow.yaml", REPLY, "assert_no_egress")
    assert code() == 4
    suite.add(traced, "flows/bad.flow.yaml", {"assert": "reply contains Good bye"})
    assert code() == 1
    suite.write("flows/broken.flow.yaml", "name: [")
    assert code() == 2


def test_nothing_asserted_is_told_and_an_error_if_strict(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml", {"prompt": "That is all."})
    ran = project.replay("a.flow.yaml", plan=[ASK])
    assert (ran.code, ran.flow["verdict"]) == (0, "pass*")
    strict = project.flowproof("run", "a.flow.yaml", "--strict", "--json", plan=[ASK])
    assert (strict.code, strict.flow["verdict"]) == (2, "error")


def test_a_folder_given_to_run_is_a_suite_run(suite: Project) -> None:
    ran = suite.flowproof("run", "flows", "--json", plan=[ASK])
    assert (ran.code, ran.record["command"]) == (0, "suite run")


def test_a_flow_that_needs_a_variable_is_skipped_without_it(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml", skip_unless_env=["NIGHTLY"])
    ran = project.replay("a.flow.yaml", plan=LAUNCHED)
    assert (ran.flow["verdict"], "NIGHTLY" in ran.flow["reason"]) == ("skipped", True)
    assert not (project.folder / "launched").exists()
    assert project.replay("a.flow.yaml", plan=[ASK], NIGHTLY="1").flow["verdict"] == "pass"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["rnu", "a.flow.yaml"], "did you mean `run`", id="a misspelt command"),
        pytest.param(["run"], "SPECS", id="no spec"),
        pytest.param(["run", "--nope", "a.flow.yaml"], "--nope", id="an unknown option"),
        pytest.param(["run", "missing.flow.yaml"], "missing.flow.yaml", id="no such file"),
        pytest.param(["run", "home"], "", id="an empty folder"),
    ],
)
def test_usage_errors(project: Project, arguments: list[str], text: str) -> None:
    told = project.flowproof(*arguments)
    assert told.code == (5 if arguments == ["run", "home"] else 2)
    assert text in told.stderr
    assert "Traceback" not in told.stderr
