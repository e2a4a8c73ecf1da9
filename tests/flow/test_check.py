"""A run is judged as a whole; one that broke off is judged only as far as it went."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.flow.boundary import Lanes
from flowproof.flow.check import Checked, NotGreen, check
from flowproof.flow.resolve_env import resolve_env
from flowproof.model.agent_exit import AgentExit, Captured
from flowproof.model.outcome import Divergence, Failed, Passed, Unjudged, Verdict
from flowproof.model.phase import Phase
from flowproof.model.traffic import ModelTraffic
from flowproof.model.turn import Turn
from tests.flow.support import asking, calling, ended, job, saying, turn

CALLED = turn(asking("go"), calling("look", "book"))
REPLIED = turn(asking("go", "b", "c"), saying("Hello"))
DIVERGED = Divergence("model", "the model changed", request=3)


def checked(
    folder: Path,
    steps: str,
    turns: tuple[Turn, ...],
    *,
    phase: Phase = "replay",
    strict: bool = False,
    demanding: bool = False,
    divergence: Divergence | None = None,
    problems: tuple[str, ...] = (),
) -> Checked:
    listed = "".join(f"  - {step}\n" for step in steps.splitlines())
    head = "name: A\nstrict: true\n" if strict else "name: A\n"
    made = job(
        folder, f"{head}agent: {{command: x}}\nsteps:\n  - prompt: go\n{listed}", phase=phase
    )
    made = replace(made, strict=demanding)
    traffic = ModelTraffic(requests=len(turns), served=len(turns), recorded=len(turns))
    crossed = Lanes(turns, traffic, divergence=divergence, problems=problems)
    try:
        return check(made, resolve_env(made, {}), ended(), crossed)
    except NotGreen as error:
        assert not error.checked.judgement.verdict.green
        return error.checked


def test_a_run_that_holds_is_returned(tmp_path: Path) -> None:
    found = checked(tmp_path, "assert_tool_call: look", (CALLED, REPLIED))
    assert found.judgement.verdict is Verdict.PASS
    assert found.trajectory.reply() == "Hello"


def test_a_run_that_does_not_hold_is_raised_with_all_that_was_found(tmp_path: Path) -> None:
    steps = "assert_tool_call: fly\nassert_no_tool_call: look\nassert: reply contains Hello"
    found = checked(tmp_path, steps, (CALLED, REPLIED))
    assert found.judgement.verdict is Verdict.FAIL
    kinds = [type(result.outcome) for result in found.results]
    assert kinds == [Failed, Failed, Passed]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param("assert_tool_call: look", Passed, id="a call that was made"),
        pytest.param("assert_tool_call: fly", Unjudged, id="a call not made so far"),
        pytest.param("assert_tool_call: {tool: look, times: {min: 1}}", Passed, id="often enough"),
        pytest.param("assert_tool_call: {tool: look, times: 1}", Unjudged, id="so often so far"),
        pytest.param(
            "assert_tool_call: {tool: look, times: {max: 1}}", Unjudged, id="not too often so far"
        ),
        pytest.param("assert_no_tool_call: look", Failed, id="a forbidden call that was made"),
        pytest.param("assert_no_tool_call: fly", Unjudged, id="a forbidden call not made so far"),
        pytest.param("assert_tool_calls: [look, book]", Unjudged, id="these calls so far"),
        pytest.param("assert_tool_calls: [look]", Unjudged, id="other calls so far"),
        pytest.param("assert: reply contains Hello", Unjudged, id="the reply so far"),
        pytest.param("assert: reply contains Bye", Unjudged, id="another reply so far"),
    ],
)
def test_a_run_that_broke_off_shows_only_what_nothing_more_could_change(
    tmp_path: Path, step: str, expected: type
) -> None:
    found = checked(tmp_path, step, (CALLED, REPLIED), divergence=DIVERGED)
    assert [type(result.outcome) for result in found.results] == [expected]
    assert found.judgement.reason == "the model changed"
    unfinished = checked(tmp_path, step, (CALLED, REPLIED), problems=("cut",))
    assert [type(result.outcome) for result in unfinished.results] == [expected]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param("assert_tool_call: look\nassert_tool_call: book", Unjudged, id="all listed"),
        pytest.param("assert_tool_call: look", Failed, id="one not listed"),
    ],
)
def test_strict_in_a_run_that_broke_off(tmp_path: Path, steps: str, expected: type) -> None:
    found = checked(tmp_path, steps, (CALLED,), strict=True, divergence=DIVERGED)
    assert found.results[-1].source == "strict: true"
    assert isinstance(found.results[-1].outcome, expected)


def test_a_refusal_that_was_recorded_is_told(tmp_path: Path) -> None:
    refused = turn(asking("go"), {"error": {"message": "no\u202e"}}, status=400)
    step = "assert: reply contains Hello"
    [told] = checked(tmp_path, step, (refused, REPLIED), phase="record").warnings
    assert told.startswith("turn 1 holds no answer of a model: status 400:")
    assert "\u202e" not in told
    assert checked(tmp_path, step, (refused, REPLIED)).warnings == ()


def test_a_guard_on_a_tool_that_nobody_offered_is_told(tmp_path: Path) -> None:
    [told] = checked(tmp_path, "assert_no_tool_call: bok", (CALLED,)).warnings
    assert "did you mean `book`" in told


def test_a_guard_that_could_not_fail_proves_nothing(tmp_path: Path) -> None:
    guard = "assert_no_tool_call: wipe"
    found = checked(tmp_path, guard, (REPLIED,))
    assert found.judgement.verdict is Verdict.PASS_NOTHING_ASSERTED
    assert "could not fail" in found.warnings[0]
    found = checked(tmp_path, f"{guard}\nassert: reply contains Hello", (REPLIED,))
    assert found.judgement.verdict is Verdict.PASS


def test_a_strict_run_refuses_a_guard_that_could_not_fail(tmp_path: Path) -> None:
    steps = "assert_no_tool_call: wipe\nassert: reply contains Hello"
    found = checked(tmp_path, steps, (REPLIED,), demanding=True)
    assert (found.judgement.verdict, found.judgement.exit_code) == (Verdict.ERROR, 2)
    assert [type(result.outcome) for result in found.results] == [Unjudged, Passed]
    found = checked(tmp_path, "assert_no_tool_call: look where at is x", (CALLED,), demanding=True)
    assert found.judgement.verdict is Verdict.PASS


def test_a_task_that_no_request_holds_is_told(tmp_path: Path) -> None:
    step = "assert: reply contains Hello"
    [told] = checked(tmp_path, step, (turn(asking("stay"), saying("Hello")),)).warnings
    assert "FLOWPROOF_PROMPT" in told
    assert checked(tmp_path, step, (turn(asking("now go"), saying("Hello")),)).warnings == ()


UNREADABLE = turn(asking("go"), {"choices": []})


def test_a_guard_proves_nothing_beside_an_answer_that_cannot_be_read(tmp_path: Path) -> None:
    steps = "assert_tool_call: look\nassert_no_tool_call: wipe\nassert: reply contains Hello"
    offer = turn(asking("go", tools=[{"type": "custom", "name": "wipe"}]), calling("look"))
    found = checked(tmp_path, steps, (offer, UNREADABLE, REPLIED), phase="record")
    assert (found.judgement.verdict, found.judgement.exit_code) == (Verdict.ERROR, 2)
    assert [type(result.outcome) for result in found.results] == [Passed, Unjudged, Passed]
    told = 'turn 2 holds an answer that flowproof cannot read: status 200: {"choices":[]}'
    assert told in found.warnings
    found = checked(tmp_path, steps, (offer, REPLIED), phase="record")
    assert found.judgement.verdict is Verdict.PASS
    assert not any("cannot read" in warning for warning in found.warnings)


def test_a_guard_on_an_argument_that_a_tool_does_not_take(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"email": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "wipe", "parameters": schema}}
    said = turn(asking("go", tools=[tool]), saying("Hello"))
    wrong = "assert_no_tool_call: wipe where emial equals x\nassert: reply contains Hello"
    [runs, told] = checked(tmp_path, wrong, (said,)).warnings
    assert "nothing intercepts `wipe` (forbidden)" in runs
    assert "`wipe` takes no `emial` (did you mean `email`?), so this guard could not fail" in told
    found = checked(tmp_path, wrong, (said,), demanding=True)
    assert [type(result.outcome) for result in found.results] == [Unjudged, Passed]
    assert "name an argument that the tool has" in str(found.results[0].outcome)
    right = wrong.replace("emial", "email")
    assert checked(tmp_path, right, (said,), demanding=True).warnings == (runs,)


def place_told(folder: Path, how: AgentExit, cwd: str = "") -> list[str]:
    """What is said of where an agent ran, that sent no request and ended like this."""
    (folder / "flows").mkdir()
    spec = f"name: A\nagent: {{command: x{cwd}}}\nsteps: [{{prompt: go}}]\n"
    made = replace(job(folder / "flows", spec), working_folder=folder)
    with pytest.raises(NotGreen) as caught:
        check(made, resolve_env(made, {}), how, Lanes((), ModelTraffic()))
    return [text for text in caught.value.checked.warnings if "the agent ran in" in text]


def printing(text: str) -> Captured:
    return Captured(text, len(text))


PYTHON = "python: can't open file '/w/a.py': [Errno 2] No such file or directory"
NODE = "Error: Cannot find module '/w/a.js'"


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(ended(2, stderr=printing(PYTHON)), id="python"),
        pytest.param(ended(1, stderr=printing(NODE)), id="node"),
        pytest.param(ended(1, stderr=printing("No module named 'agents'")), id="module"),
        pytest.param(ended(127), id="the shell's own status"),
        pytest.param(ended(None, error="`./x` was not found from /w; check"), id="not started"),
    ],
)
def test_an_agent_that_missed_a_file_is_told_where_it_ran(tmp_path: Path, how: AgentExit) -> None:
    [told] = place_told(tmp_path, how)
    assert told.startswith("the agent ran in .. as seen from its spec")


@pytest.mark.parametrize(
    ("how", "cwd"),
    [
        pytest.param(ended(-15, timed_out=True), "", id="a hang"),
        pytest.param(ended(1, stderr=printing("KeyError: 'x'")), "", id="a crash"),
        pytest.param(ended(0, stderr=printing(PYTHON)), "", id="it went on"),
        pytest.param(ended(None, error="`x` was not found; install it"), "", id="not installed"),
        pytest.param(
            ended(2, stderr=printing(PYTHON)), ", cwd: ..", id="its author has said where"
        ),
    ],
)
def test_where_an_agent_ran_is_not_told_otherwise(tmp_path: Path, how: AgentExit, cwd: str) -> None:
    assert place_told(tmp_path, how, cwd) == []
