"""Warnings name what a green result does not show, and stay away where it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from flowproof.checks.warnings import guard_warnings as warnings_of
from flowproof.checks.warnings import (
    interception_warnings,
    mock_warnings,
    vacuous_guards,
)
from flowproof.model.flow_spec import Assertion, AssertNoToolCall, Matcher, Mock, Times
from flowproof.model.trajectory import ToolCall, ToolParameters, Trajectory
from tests.checks.builders import AT, call, called, clause, equals, never, trajectory


def guard_warnings(
    assertions: Sequence[Assertion], trajectory: Trajectory, declared: Sequence[str] = ()
) -> tuple[str, ...]:
    return warnings_of(vacuous_guards(assertions, trajectory, declared))


def mock(tool: str, *results: str) -> Mock:
    return Mock(tool, results, repeat_last=True, position=AT)


def test_one_warning_names_every_tool_that_still_runs() -> None:
    (warning,) = interception_warnings(
        [mock("search", "x"), mock("refund", "x"), mock("declared")],
        [called("book"), never("refund"), never("wipe"), never("wipe")],
        {"delete_file"},
        trajectory(call("refund"), tools=("search", "wipe", "declared")),
    )
    assert warning.startswith(
        "nothing intercepts `search` (mocked), `refund` (mocked and forbidden), `wipe` (forbidden):"
    )
    assert "at every replay too" in warning
    assert warning.count("wipe") == 1 and "declared" not in warning.partition(":")[0]


def test_no_warning_where_all_is_intercepted_or_nothing_is_controlled() -> None:
    mocks, guards = [mock("search", "x")], [never("wipe")]
    seen = trajectory(text="hi", tools=("search", "wipe", "declared", "book"))
    assert interception_warnings(mocks, guards, {"search", "wipe"}, seen) == ()
    assert interception_warnings([mock("declared")], [called("book")], (), seen) == ()
    assert interception_warnings(mocks, guards, (), Trajectory(())) == ()


def test_a_guard_on_a_tool_that_was_never_offered_is_named_with_the_nearest() -> None:
    seen = trajectory(call("search"), tools=("search", "issue_refund"))
    (warning,) = guard_warnings([never("isue_refund"), never("search")], seen)
    assert warning == (
        "book.flow.yaml:7:5: no request offered a tool named `isue_refund` (did you mean "
        "`issue_refund`?), so this guard could not fail"
    )


def test_a_guard_far_from_any_tool_gets_the_list() -> None:
    (warning,) = guard_warnings([never("zzz")], trajectory(text="hi", tools=("search", "book")))
    assert "(offered were `book`, `search`)" in warning
    (warning,) = guard_warnings([never("zzz")], trajectory(text="hi"))
    assert "(offered were none)" in warning


def test_no_warning_for_a_guard_on_an_offered_or_called_tool_or_without_turns() -> None:
    seen = trajectory(call("invented"), tools=("issue_refund",))
    assert guard_warnings([never("issue_refund"), never("invented"), called("x")], seen) == ()
    assert guard_warnings([never("zzz")], Trajectory(())) == ()


def test_a_declared_tool_may_be_absent_on_purpose() -> None:
    seen = trajectory(text="hi", tools=("search",))
    assert guard_warnings([never("wipe")], seen, ["wipe"]) == ()
    assert vacuous_guards([never("wipe")], seen, ["wipe"]) == ()
    assert [one.guard for one in vacuous_guards([never("wipe")], seen, [])] == [never("wipe")]


def test_a_mock_of_a_tool_that_was_never_offered_is_named_with_the_nearest() -> None:
    seen = trajectory(call("lookup_order"), tools=("lookup_order",))
    (warning,) = mock_warnings([mock("lookup_orders", "x"), mock("lookup_order", "x")], seen)
    assert "`lookup_orders` (did you mean `lookup_order`?)" in warning
    assert mock_warnings([mock("lookup_orders")], seen) == ()


DELETE = ToolParameters("delete", ("email", "force", "a.b"))


def offered(*calls: ToolCall) -> Trajectory:
    return replace(trajectory(*calls, text="hi", tools=("delete", "open")), parameters=(DELETE,))


def test_a_guard_on_an_argument_that_the_tool_does_not_take_names_the_nearest() -> None:
    guard = never("delete", equals("force", "true"), equals("emial", "x"))
    assert guard_warnings([guard], offered()) == (
        "book.flow.yaml:7:5: `delete` takes no `emial` (did you mean `email`?), so this guard "
        "could not fail",
    )
    [far] = guard_warnings([never("delete", equals("zzzz.x", "1"))], offered(), ["delete"])
    assert "`delete` takes no `zzzz` (it takes `email`, `force`, `a.b`)" in far


@pytest.mark.parametrize(
    "guard",
    [
        pytest.param(never("delete"), id="without arguments"),
        pytest.param(never("delete", equals("email", "x")), id="on an argument"),
        pytest.param(never("delete", equals("email.domain", "x")), id="inside an argument"),
        pytest.param(never("delete", equals("a.b.c", "x")), id="a name with a dot"),
        pytest.param(never("delete", clause("emial", Matcher.ABSENT)), id="what must be there"),
        pytest.param(never("open", equals("emial", "x")), id="a tool that takes anything"),
        pytest.param(never("delete", equals("made_up", "x")), id="an argument that was given"),
    ],
)
def test_no_warning_where_a_call_could_have_the_argument(guard: AssertNoToolCall) -> None:
    assert guard_warnings([guard], offered(call("delete", '{"made_up": 1}'))) == ()


@pytest.mark.parametrize(("least", "most", "guards"), [(0, 0, 1), (0, 2, 1), (1, 2, 0)])
def test_a_count_that_none_satisfies_is_a_guard(least: int, most: int, guards: int) -> None:
    seen = trajectory(text="hi", tools=("lookup",))
    step = replace(called("lokup"), times=Times(least, most))
    assert len(vacuous_guards([step], seen, [])) == guards
    assert vacuous_guards([replace(step, tool="lookup")], seen, []) == ()
