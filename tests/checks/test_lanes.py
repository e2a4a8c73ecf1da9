"""Steps about tools of MCP servers: each fails on a guilty lane and holds on an innocent one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from flowproof.checks.interface import Evidence
from flowproof.checks.lane_warnings import Offers
from flowproof.checks.registry import check_all
from flowproof.checks.warnings import guard_warnings, interception_warnings, vacuous_guards
from flowproof.model.flow_spec import Assertion, AssertNoToolCall, AssertToolCall, AssertToolCalls
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp import Lane, McpCall, Result, RpcError
from flowproof.model.outcome import Failed, Outcome, Passed
from flowproof.model.trajectory import Trajectory
from tests.checks.builders import call, called, equals, exactly, never, trajectory

NOTHING = trajectory(text="hi")
SCHEMA: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}


def sent(method: str, params: JsonValue, result: JsonValue, number: int) -> McpCall:
    return McpCall(1, number, method, params, Result(result), number - 1, number)


def lane(*calls: tuple[str, JsonObject], server: str = "files", tools: Sequence[str] = ()) -> Lane:
    """The lane of a server that listed tools, and whose tools were called with arguments."""
    listed: JsonValue = {"tools": [{"name": name, "inputSchema": SCHEMA} for name in tools]}
    made = [sent("tools/list", None, listed, 1)] if tools else []
    for name, arguments in calls:
        params: JsonObject = {"name": name, "arguments": arguments}
        made.append(sent("tools/call", params, {"content": []}, len(made) + 1))
    return Lane(server, tuple(made))


def of(step: Assertion, server: str = "files") -> Assertion:
    """The step as the spec addresses it."""
    match step:
        case AssertToolCall() | AssertNoToolCall() | AssertToolCalls():
            return replace(step, server=server)
        case _:
            return step


def outcomes(seen: Trajectory, lanes: Sequence[Lane], *steps: Assertion) -> list[Outcome]:
    results = check_all(steps, Evidence(seen, lanes=tuple(lanes)))
    return [result.outcome for result in results]


def held(seen: Trajectory, lanes: Sequence[Lane], *steps: Assertion) -> list[bool]:
    return [isinstance(outcome, Passed) for outcome in outcomes(seen, lanes, *steps)]


READ: tuple[str, JsonObject] = ("read", {"path": "a.txt"})
WRITE: tuple[str, JsonObject] = ("write", {"path": "b.txt"})


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([called("files/read")], [True], id="called"),
        pytest.param([called("files/read", equals("path", "a.txt"))], [True], id="clause"),
        pytest.param([called("files/read", equals("path", "z"))], [False], id="other-argument"),
        pytest.param([called("files/read"), called("files/write")], [True, True], id="order"),
        pytest.param([called("files/write"), called("files/read")], [True, False], id="disorder"),
        pytest.param([called("files/read", times=(1, 1))], [True], id="once"),
        pytest.param([called("files/read", times=(2, 2))], [False], id="not-twice"),
        pytest.param([exactly("files/read", "files/write")], [True], id="exactly"),
        pytest.param([exactly("files/read")], [False], id="one-too-many"),
        pytest.param([never("files/wipe")], [True], id="guard"),
        pytest.param([never("files/write")], [False], id="guilty"),
        pytest.param([never("files/write", equals("path", "z"))], [True], id="guard-clause"),
    ],
)
def test_steps_read_the_lane(steps: Sequence[Assertion], expected: Sequence[bool]) -> None:
    assert held(NOTHING, [lane(READ, WRITE)], *map(of, steps)) == expected


def test_a_plain_name_reads_the_model_and_a_server_its_own_lane() -> None:
    model = trajectory(call("read"))
    assert held(model, [lane()], called("read"), of(never("files/read"))) == [True, True]
    assert held(NOTHING, [lane(READ)], never("read"), called("read")) == [True, False]
    lanes = [lane(READ), lane(server="web")]
    assert held(NOTHING, lanes, of(never("web/read"), "web"), exactly()) == [True, True]
    named = trajectory(call("files/read"))
    assert held(named, [lane()], of(called("files/read")), called("files/read")) == [False, True]


def test_the_order_of_the_model_says_nothing_of_a_lane() -> None:
    model = trajectory(call("plan"), call("report"))
    steps = [called("report"), of(called("files/read")), of(called("files/write"))]
    assert held(model, [lane(READ, WRITE)], *steps) == [True, True, True]


def test_failures_name_the_call_of_the_lane() -> None:
    (outcome,) = outcomes(NOTHING, [lane(READ, WRITE, tools=["read"])], of(never("files/write")))
    assert outcome == Failed(
        '`files/write` was called in call 3 to files with {"path":"b.txt"}',
        expected="no call of files/write",
        closest='files/write({"path":"b.txt"}) in call 3 to files',
    )
    (outcome,) = outcomes(NOTHING, [lane(READ, tools=["read"])], of(called("files/reed")))
    assert isinstance(outcome, Failed)
    assert "the server lists no tool of this name" in outcome.message
    assert "did you mean `files/read`?" in outcome.message
    (outcome,) = outcomes(NOTHING, [lane(tools=["read"])], of(called("files/read")))
    assert isinstance(outcome, Failed)
    assert outcome.message == (
        "`files/read` was never called; the agent called no tool of `files` at all"
    )


def test_a_call_that_goes_on_after_input_is_one_call() -> None:
    asked: JsonObject = {"name": "wipe", "arguments": {}}
    waiting: JsonObject = {"resultType": "input_required", "requestState": "s"}
    first = sent("tools/call", asked, waiting, 1)
    again = sent("tools/call", {**asked, "requestState": "s"}, {"content": []}, 2)
    once, twice = of(called("files/wipe", times=(1, 1))), of(called("files/wipe", times=(2, 2)))
    assert held(NOTHING, [Lane("files", (first, again))], once) == [True]
    # Nobody waits for it: it is a call of its own, however it is dressed.
    assert held(NOTHING, [Lane("files", (again, again))], twice) == [True]
    other = sent("tools/call", {**asked, "name": "x", "requestState": "s"}, {}, 2)
    assert held(NOTHING, [Lane("files", (first, other))], of(never("files/x"))) == [False]


def test_a_call_that_failed_was_made() -> None:
    failed = McpCall(1, 1, "tools/call", {"name": "wipe"}, RpcError({"code": -1}), 0, 1)
    assert held(NOTHING, [Lane("files", (failed,))], of(never("files/wipe"))) == [False]


@pytest.mark.parametrize(
    ("model", "steps", "unlisted"),
    [
        pytest.param("read", [called("read")], "", id="led-to-by-a-listed-call"),
        pytest.param("mcp__files__read", [of(called("files/read"))], "", id="led-to-a-listed-one"),
        pytest.param("read", [], 'read({"path":"a.txt"}) in turn 1', id="neither-is-told-once"),
        pytest.param("plan", [called("plan")], "in call 1 to files", id="by-itself"),
        pytest.param("spread", [called("spread")], "in call 1 to files", id="another-name"),
    ],
)
def test_a_strict_flow_lists_what_a_lane_holds(
    model: str, steps: Sequence[Assertion], unlisted: str
) -> None:
    seen = trajectory(call(model, '{"path": "a.txt"}'))
    evidence = Evidence(seen, strict=True, lanes=(lane(READ),))
    last = check_all(steps, evidence)[-1].outcome
    if unlisted:
        assert isinstance(last, Failed) and unlisted in last.message
        assert last.message.startswith("1 call is listed by no step")
    else:
        assert last == Passed()


def warned(
    guard: Assertion,
    *lanes: Lane,
    seen: Trajectory = NOTHING,
    declared: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    return guard_warnings(vacuous_guards([guard], seen, [], Offers(lanes, declared or {})))


def test_a_guard_on_a_tool_that_the_server_does_not_list() -> None:
    listed = lane(tools=["delete_all", "read"])
    (warning,) = warned(of(never("files/delete_al")), listed)
    assert "`files` lists no tool named `files/delete_al` (did you mean `files/delete_all`?)" in (
        warning
    )
    assert warned(of(never("files/delete_all")), listed) == ()
    assert warned(of(never("files/wipe")), listed, declared={"files": ["wipe"]}) == ()
    assert warned(of(never("files/read")), lane(READ)) == ()
    (warning,) = warned(of(never("files/wipe")), lane(READ))
    assert "was told of no tools of `files`" in warning
    assert warned(of(never("files/wipe")), Lane("files")) == ()


def test_a_guard_on_an_argument_that_the_tool_does_not_take() -> None:
    guard = of(never("files/read", equals("pth", "x")))
    (warning,) = warned(guard, lane(tools=["read"]))
    assert "`files/read` takes no `pth` (did you mean `path`?)" in warning
    assert warned(of(never("files/read", equals("path", "x"))), lane(tools=["read"])) == ()


def test_a_guard_on_a_plain_name_that_only_a_server_has() -> None:
    (warning,) = warned(never("delete_all"), lane(tools=["delete_all"]))
    assert "only the MCP server `files` has it (`files/delete_all`)" in warning
    offered = trajectory(text="hi", tools=("delete_all",))
    assert warned(never("delete_all"), lane(tools=["delete_all"]), seen=offered) == ()


def test_tools_that_a_server_runs_are_intercepted() -> None:
    seen = trajectory(text="hi", tools=("mcp__files__wipe", "wipe", "unwipe", "refund"))
    kept = Offers([lane(tools=["wipe"])], {}).kept(["mcp__files__wipe", "wipe", "unwipe", "refund"])
    assert kept == {"mcp__files__wipe", "wipe"}
    guards = [never("mcp__files__wipe"), never("wipe"), of(never("files/wipe"))]
    assert interception_warnings([], guards, kept, seen) == ()
    (warning,) = interception_warnings([], [*guards, never("refund")], kept, seen)
    assert "`refund` (forbidden)" in warning and "wipe" not in warning
