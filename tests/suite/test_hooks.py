"""`env_from` and the hooks of a suite, with real commands: what they see, and what fails."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from flowproof.drivers.command import CommandDriver
from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.clock import SystemClock
from flowproof.model.run_record import RunRecord
from flowproof.suite.hooks import HookFailed, assignments
from flowproof.suite.plan import PlanOptions, plan
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.run import Interrupt, RunOptions, run_flows
from tests.flow.support import asks
from tests.flow.support import world as make_world
from tests.suite.test_run import HELLO, Heard, add, verdicts

ENVIRON = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": "sk-real-key-123456", "OUTER": "o"}


class Mixed:
    """Hooks run for real; an agent asks what was recorded, and notes its environment."""

    def __init__(self, folder: Path) -> None:
        self._hooks = CommandDriver(clock=SystemClock())
        self._agent = asks(HELLO)
        self._log = folder / "log"
        self.seen: list[dict[str, str]] = []

    async def run(self, launch: Launch) -> AgentExit:
        if launch.argv[0] == "sh":
            return await self._hooks.run(launch)
        self.seen.append(dict(launch.env))
        with self._log.open("a") as file:
            file.write("agent\n")
        return await self._agent.run(launch)


def run(folder: Path, suite: str, *names: str, jobs: int = 1) -> tuple[RunRecord, Mixed, list[str]]:
    (folder / "suite.yaml").write_text(f"name: shop\n{suite}", "utf-8")
    specs = [folder / f"{name}.flow.yaml" for name in names]
    project = Project(folder, JobOptions("replay"))
    driver = Mixed(folder)
    options = RunOptions("suite run", "s", b"\1\2\3", jobs=jobs)

    async def main() -> RunRecord:
        planned = plan(specs, project, PlanOptions())
        world = make_world(driver, ENVIRON)
        return await run_flows(planned, project, world, options, Heard(), Interrupt())

    record = anyio.run(main)
    log = folder / "log"
    return record, driver, log.read_text("utf-8").splitlines() if log.exists() else []


def hooks(**commands: str) -> str:
    return "".join(f"{name}: {command}\n" for name, command in commands.items())


ALL = hooks(
    before_all="echo before >> log",
    after_all="echo after >> log",
    before_each='echo "+ $(basename $FLOWPROOF_SPEC)" >> log',
    after_each='echo "- $(basename ${FLOWPROOF_SPEC})" >> log',
)


def test_hooks_surround_all_flows_and_each(tmp_path: Path) -> None:
    add(tmp_path, "a"), add(tmp_path, "b")
    record, _, log = run(tmp_path, ALL, "a", "b")
    assert verdicts(record) == ["pass", "pass"]
    each = [["+ " + name, "agent", "- " + name] for name in ("a.flow.yaml", "b.flow.yaml")]
    assert log == ["before", *each[0], *each[1], "after"]


def test_what_env_from_prints_reaches_the_flows_as_it_is(tmp_path: Path) -> None:
    add(tmp_path, "a", more="description: uses ${TOKEN}\n")
    text = "env: {BASE: http://b}\nenv_from: echo TOKEN=a\\${b} && echo FROM=$BASE && echo x >> n\n"
    record, driver, _ = run(tmp_path, text, "a")
    assert verdicts(record) == ["pass"]
    assert driver.seen[0]["TOKEN"] == "a${b}"
    assert driver.seen[0]["FROM"] == "http://b"
    assert (tmp_path / "n").read_text("utf-8") == "x\n"


def test_a_reference_in_a_hook_is_what_the_shell_makes_of_it(tmp_path: Path) -> None:
    add(tmp_path, "a")
    file = '"$(basename "${FLOWPROOF_SPEC%.flow.yaml}") ${NONE:-none} $${A}"'
    record, _, log = run(tmp_path, f"env: {{A: is A}}\nbefore_each: 'echo {file} >> log'\n", "a")
    assert (verdicts(record), log) == (["pass"], ["a none is A", "agent"])


def test_commands_see_the_environment_without_real_keys(tmp_path: Path) -> None:
    add(tmp_path, "a")
    run(tmp_path, hooks(before_all='echo "$OUTER $OPENAI_API_KEY" > seen'), "a")
    assert (tmp_path / "seen").read_text("utf-8") == "o flowproof-placeholder-key\n"


@pytest.mark.parametrize(
    ("suite", "reason"),
    [
        pytest.param(
            hooks(before_all="echo no seed >&2; exit 3"),
            "before_all exited with status 3: no seed",
            id="before_all",
        ),
        pytest.param(
            hooks(env_from="echo TOKEN"), "env_from: line 1 of what it printed", id="line"
        ),
        pytest.param(
            hooks(env_from="echo A=b; exit 1"), "env_from exited with status 1", id="env_from"
        ),
        pytest.param(
            hooks(before_all="kill -9 $$"), "before_all was ended by signal 9", id="signal"
        ),
    ],
)
def test_where_preparing_fails_no_flow_runs(tmp_path: Path, suite: str, reason: str) -> None:
    add(tmp_path, "a"), add(tmp_path, "b")
    record, driver, log = run(tmp_path, suite + "after_all: echo after >> log\n", "a", "b")
    assert verdicts(record) == ["error", "error"]
    assert all(f"suite shop: {reason}" in flow.reason for flow in record.flows)
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert (driver.seen, log) == ([], ["after"])


def test_a_failing_after_all_makes_the_run_red_and_no_flow(tmp_path: Path) -> None:
    add(tmp_path, "a")
    record, _, _ = run(tmp_path, hooks(after_all="exit 1"), "a")
    assert verdicts(record) == ["pass"]
    assert record.errors == ("suite shop: after_all exited with status 1",)
    assert record.exit_code is ExitCode.WORLD_ERROR


def test_a_failing_before_each_is_an_error_of_that_flow(tmp_path: Path) -> None:
    add(tmp_path, "a"), add(tmp_path, "b")
    suite = hooks(
        before_each="case $FLOWPROOF_SPEC in *a.flow.yaml) exit 1;; esac",
        after_each='echo "- $(basename $FLOWPROOF_SPEC)" >> log',
    )
    record, driver, log = run(tmp_path, suite, "a", "b")
    assert verdicts(record) == ["error", "pass"]
    assert record.flows[0].reason == "before_each exited with status 1"
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert len(driver.seen) == 1
    assert log == ["- a.flow.yaml", "agent", "- b.flow.yaml"]


def test_a_failing_after_each_is_an_error_of_that_flow(tmp_path: Path) -> None:
    add(tmp_path, "a"), add(tmp_path, "b", reply="Bye")
    record, _, _ = run(tmp_path, hooks(after_each="exit 1"), "a", "b")
    assert verdicts(record) == ["error", "fail"]
    assert record.flows[0].reason == "after_each exited with status 1"
    assert record.flows[1].reason.endswith("after_each exited with status 1")
    assert record.exit_code is ExitCode.FLOW_FAILED


def test_nested_suites_have_their_own(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    add(tmp_path, "a"), add(tmp_path / "in", "b")
    (tmp_path / "in/suite.yaml").write_text("name: inner\nbefore_all: exit 1\n", "utf-8")
    record, _, log = run(tmp_path, hooks(before_all="echo outer >> log"), "a", "in/b")
    assert verdicts(record) == ["pass", "error"]
    assert record.flows[1].reason == "suite inner: before_all exited with status 1"
    assert log == ["outer", "agent"]


def test_lines_of_env_from() -> None:
    text = "# made\nA=1\n\nexport B=two words \nC='q = r'\nD=\"\"\nE=\n"
    assert assignments(text) == {"A": "1", "B": "two words", "C": "q = r", "D": "", "E": ""}


@pytest.mark.parametrize("line", ["A", "1A=b", "A B=c", "=x", "{}"])
def test_other_lines_are_refused_without_showing_them(line: str) -> None:
    with pytest.raises(HookFailed) as caught:
        assignments(f"OK=1\n{line}\n")
    assert str(caught.value) == "env_from: line 2 of what it printed is not KEY=VALUE"


def limited(folder: Path, suite: str, seconds: float, *names: str) -> RunRecord:
    """The same under a time limit for the whole run."""
    (folder / "suite.yaml").write_text(f"name: shop\n{suite}", "utf-8")
    project = Project(folder, JobOptions("replay"))
    options = RunOptions("suite run", "s", b"\1\2\3", allow_empty=True, global_timeout=seconds)

    async def main() -> RunRecord:
        specs = [folder / f"{name}.flow.yaml" for name in names]
        planned = plan(specs, project, PlanOptions())
        world = make_world(Mixed(folder), ENVIRON)
        return await run_flows(planned, project, world, options, Heard(), Interrupt())

    return anyio.run(main)


def test_a_time_limit_that_passes_while_preparing_is_never_green(tmp_path: Path) -> None:
    add(tmp_path, "a")
    record = limited(tmp_path, hooks(before_all="sleep 30"), 0.5, "a")
    assert (verdicts(record), record.exit_code) == (["skipped"], ExitCode.WORLD_ERROR)
    assert record.partial
    assert record.errors[-1] == "the time limit of the whole run passed (0.5 s)"
    assert limited(tmp_path, hooks(before_all="true"), 30, "a").exit_code is ExitCode.PASSED


def test_a_flow_whose_need_could_not_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    add(tmp_path, "a"), add(tmp_path / "in", "b")
    (tmp_path / "in/suite.yaml").write_text("name: inner\nbefore_all: exit 1\n", "utf-8")
    text = "flows: {a.flow.yaml: {needs: [in/b.flow.yaml]}}\n"
    record, _, _ = run(tmp_path, text, "a", "in/b")
    assert verdicts(record) == ["skipped", "error"]
    assert "before_all exited with status 1" in record.flows[0].reason
    assert record.exit_code is ExitCode.WORLD_ERROR


def test_a_line_of_env_from_ends_at_a_line_feed_only() -> None:
    assert assignments("A=one\fEVIL=two\r\nB=x\x85C=y\n") == {
        "A": "one\fEVIL=two",
        "B": "x\x85C=y",
    }
    with pytest.raises(HookFailed, match="line 2 of what it printed is not UTF-8"):
        assignments("A=1\nB=\ufffd\n")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param("echo DB_PASSWORD=hunter2; exit 1", "status 1", id="stdout"),
        pytest.param(
            "echo DB_PASSWORD=hunter2; echo no vault >&2; exit 1", "no vault", id="stderr"
        ),
    ],
)
@pytest.mark.parametrize("hook", ["env_from", "before_all"])
def test_what_a_failing_command_printed_is_not_shown(
    tmp_path: Path, hook: str, command: str, said: str
) -> None:
    add(tmp_path, "a")
    record, _, _ = run(tmp_path, f"{hook}: {command!r}\n", "a")
    [flow] = record.flows
    assert said in flow.reason and "hunter2" not in flow.reason
    assert record.exit_code is ExitCode.WORLD_ERROR
