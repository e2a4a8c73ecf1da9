"""Steps about tool calls: each fails on a guilty trajectory and holds on an innocent one."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.checks.matching import Fit, fit
from flowproof.model.flow_spec import Assertion, AssertToolCall, Matcher
from flowproof.model.trajectory import ToolCall, Trajectory
from tests.checks.builders import (
    bare,
    call,
    called,
    clause,
    equals,
    exactly,
    failure,
    never,
    outcomes,
    passed,
    trajectory,
    turn,
)

SEARCH = call("search", '{"to": "NBO"}')
BOOK = call("book", '{"flight": {"id": "KQ311"}, "seats": 2}')
OFFERED = ("search", "book", "refund")


@pytest.mark.parametrize(
    ("made", "steps", "expected"),
    [
        pytest.param([SEARCH, BOOK], [called("search"), called("book")], [True, True], id="all"),
        pytest.param([SEARCH, BOOK], [called("book")], [True], id="unlisted-between"),
        pytest.param([SEARCH, BOOK], [called("book"), called("search")], [True, False], id="order"),
        pytest.param([SEARCH], [called("search"), called("search")], [True, False], id="once"),
        pytest.param([SEARCH, SEARCH], [called("search"), called("search")], [True] * 2, id="both"),
        pytest.param(
            [SEARCH, BOOK],
            [called("missing"), called("search"), called("book")],
            [False, True, True],
            id="a-failed-step-does-not-move-on",
        ),
        pytest.param(
            [BOOK, SEARCH],
            [called("search"), called("book"), called("search")],
            [True, False, False],
            id="later-steps-are-judged-from-the-last-match",
        ),
        pytest.param([BOOK], [called("book", equals("flight.id", "KQ311"))], [True], id="clause"),
        pytest.param([BOOK], [called("book", equals("flight.id", "KQ9"))], [False], id="other"),
        pytest.param([call("book", "oops")], [called("book")], [True], id="malformed-by-name"),
        pytest.param(
            [call("book", "oops")],
            [called("book", clause("x", Matcher.ABSENT))],
            [False],
            id="malformed-with-a-clause",
        ),
        pytest.param(
            [BOOK],
            [called("book", exact={"flight": {"id": bare("KQ311")}, "seats": bare("2")})],
            [True],
            id="exact",
        ),
        pytest.param(
            [BOOK], [called("book", exact={"seats": bare("2")})], [False], id="exact-with-more"
        ),
        pytest.param([BOOK], [called("book", exact={})], [False], id="exactly-none"),
        pytest.param([call("book", "{}")], [called("book", exact={})], [True], id="none"),
    ],
)
def test_ordered_steps_form_a_subsequence(
    made: list[ToolCall], steps: list[Assertion], expected: list[bool]
) -> None:
    assert passed(trajectory(*made), *steps) == expected


@pytest.mark.parametrize(
    ("times", "count", "holds"),
    [
        pytest.param((2, 2), 2, True, id="exactly"),
        pytest.param((2, 2), 1, False, id="too-few"),
        pytest.param((2, 2), 3, False, id="too-many"),
        pytest.param((1, None), 5, True, id="at-least"),
        pytest.param((1, None), 0, False, id="at-least-one"),
        pytest.param((0, 1), 0, True, id="at-most"),
        pytest.param((0, 1), 2, False, id="at-most-one"),
        pytest.param((0, 0), 0, True, id="never"),
        pytest.param((0, 0), 1, False, id="never-but-once"),
    ],
)
def test_times_counts_over_the_whole_trajectory(
    times: tuple[int, int | None], count: int, holds: bool
) -> None:
    seen = trajectory(BOOK, *[SEARCH] * count, BOOK)
    assert passed(seen, called("book"), called("book"), called("search", times=times)) == [
        True,
        True,
        holds,
    ]


def test_times_takes_no_part_in_the_order() -> None:
    steps = [called("book"), called("search", times=(1, 1)), called("pay")]
    assert passed(trajectory(SEARCH, BOOK, call("pay")), *steps) == [True, True, True]


def test_a_call_that_cannot_be_judged_decides_no_count() -> None:
    seen = trajectory(BOOK, call("book", "oops"))
    kq311 = equals("flight.id", "KQ311")
    assert passed(seen, called("book", kq311, times=(1, None))) == [True]
    assert passed(seen, called("book", kq311, times=(1, 1))) == [False]
    assert passed(seen, called("book", kq311, times=(2, 2))) == [False]
    assert "not JSON" in failure(seen, called("book", kq311, times=(2, 2))).message
    only = failure(trajectory(call("book", "oops")), called("book", kq311, times=(1, 1))).message
    assert only == (
        "`book` was never called with these arguments; wanted: once; 1 more cannot be judged: "
        "its arguments are not JSON"
    )


@pytest.mark.parametrize(
    ("made", "tools", "holds", "message"),
    [
        pytest.param([SEARCH, BOOK], ["search", "book"], True, "", id="same"),
        pytest.param([], [], True, "", id="none"),
        pytest.param(
            [BOOK, SEARCH],
            ["search", "book"],
            False,
            "call 1 should be `search`: book(",
            id="order",
        ),
        pytest.param(
            [SEARCH, BOOK], ["search"], False, "call 2 should not be there: book(", id="more"
        ),
        pytest.param(
            [SEARCH], ["search", "book"], False, "call 2 is missing: it should be `book`", id="less"
        ),
    ],
)
def test_an_exact_list_names_the_first_difference(
    made: list[ToolCall], tools: list[str], holds: bool, message: str
) -> None:
    seen = trajectory(*made)
    assert passed(seen, exactly(*tools)) == [holds]
    if not holds:
        assert failure(seen, exactly(*tools)).message.startswith(message)


@pytest.mark.parametrize(
    ("made", "guard", "holds", "message"),
    [
        pytest.param([SEARCH], never("refund"), True, "", id="innocent"),
        pytest.param(
            [SEARCH, call("refund", '{"amount": 9}')],
            never("refund"),
            False,
            '`refund` was called in turn 2 with {"amount":9}',
            id="guilty",
        ),
        pytest.param(
            [call("refund", '{"amount": 9}')],
            never("refund", clause("amount", Matcher.MATCHES, bare("^[0-9]{4,}"))),
            True,
            "",
            id="innocent-by-its-arguments",
        ),
        pytest.param(
            [call("refund", '{"amount": 9}'), call("refund", '{"amount": 9999}')],
            never("refund", clause("amount", Matcher.MATCHES, bare("^[0-9]{4,}"))),
            False,
            '`refund` was called in turn 2 with {"amount":9999}',
            id="guilty-by-its-arguments",
        ),
        pytest.param(
            [call("refund", '{"amount": 9')],
            never("refund", equals("amount", "7")),
            False,
            "`refund` was called in turn 1; its arguments are not JSON, so it cannot be shown "
            'that they differ: {"amount": 9',
            id="malformed",
        ),
        pytest.param(
            [call("refund")] * 3,
            never("refund"),
            False,
            "`refund` was called in turn 1 with {} (and 2 more)",
            id="several",
        ),
    ],
)
def test_a_guard_reads_the_whole_trajectory(
    made: list[ToolCall], guard: Assertion, holds: bool, message: str
) -> None:
    seen = trajectory(*made)
    assert passed(seen, guard) == [holds]
    assert passed(seen, *[called(item.name) for item in made], guard)[-1] is holds
    if not holds:
        assert failure(seen, guard).message == message


@pytest.mark.parametrize(
    ("made", "steps", "holds"),
    [
        pytest.param([SEARCH, BOOK], [called("search"), called("book")], True, id="all-listed"),
        pytest.param([SEARCH, BOOK], [called("book")], False, id="one-unlisted"),
        pytest.param([SEARCH, SEARCH], [called("search")], False, id="listed-once-called-twice"),
        pytest.param([SEARCH] * 3, [called("search", times=(1, None))], True, id="times"),
        pytest.param(
            [SEARCH] * 3, [called("search", times=(1, 1))], True, id="too-often-is-said-once"
        ),
        pytest.param([SEARCH, BOOK], [exactly("search", "book")], True, id="exact-list"),
        pytest.param([SEARCH, BOOK], [exactly("search")], False, id="exact-list-too-short"),
        pytest.param([SEARCH], [never("search")], False, id="a-guard-lists-nothing"),
        pytest.param([], [], True, id="no-calls"),
        pytest.param([SEARCH], [], False, id="no-steps"),
    ],
)
def test_strict_wants_every_call_listed(
    made: list[ToolCall], steps: list[Assertion], holds: bool
) -> None:
    seen = trajectory(*made)
    assert passed(seen, *steps, strict=True)[-1] is holds
    assert len(passed(seen, *steps)) == len(steps)


def test_strict_names_the_unlisted_calls() -> None:
    *_, strict = outcomes(trajectory(SEARCH, BOOK, BOOK), called("search"), strict=True)
    assert "2 calls are listed by no step: book({" in str(strict)
    assert "in turn 2, book({" in str(strict)


@pytest.mark.parametrize(
    ("made", "step", "message"),
    [
        pytest.param(
            [SEARCH],
            called("book"),
            "`book` was never called; called were `search`",
            id="never-called",
        ),
        pytest.param(
            [],
            called("book"),
            "`book` was never called; the model asked for no tool at all",
            id="no-calls",
        ),
        pytest.param(
            [SEARCH],
            called("bok"),
            "`bok` was never called; called were `search`; no request offered a tool of this "
            "name; did you mean `book`?",
            id="never-offered",
        ),
        pytest.param(
            [BOOK],
            called("book", equals("flight.id", "KQ9"), equals("seats", "2")),
            "`book` was called with other arguments: the closest call's `flight.id` is KQ311, "
            "not KQ9",
            id="other-arguments",
        ),
        pytest.param(
            [BOOK],
            called("book", exact={"flight": {"id": bare("KQ311")}}),
            "`book` was called with other arguments: the closest call also has `seats`, which is 2",
            id="more-arguments",
        ),
        pytest.param(
            [SEARCH] * 3,
            called("search", times=(1, 2)),
            "`search` was called 3 times; wanted: 1 to 2 times",
            id="too-often",
        ),
        pytest.param(
            [SEARCH],
            called("search", equals("to", "CDG"), times=(1, None)),
            "`search` was called with other arguments, never with these; wanted: at least once; "
            "the closest call's `to` is NBO, not CDG",
            id="never-with-these",
        ),
    ],
)
def test_a_failure_says_what_happened_instead(
    made: list[ToolCall], step: Assertion, message: str
) -> None:
    assert failure(trajectory(*made, tools=OFFERED), step).message == message


def test_out_of_order_is_told_from_never_and_names_both_calls() -> None:
    _, late = outcomes(trajectory(SEARCH, BOOK), called("book"), called("search"))
    assert (
        "`search` was called, but out of order: in turn 1, before `book` in turn 2, "
        "which an earlier step matched" in str(late)
    )


def test_a_call_that_an_earlier_step_took_is_told_from_one_out_of_order() -> None:
    _, second = outcomes(trajectory(SEARCH), called("search"), called("search"))
    assert "`search` was called once, and earlier steps already account for that" in str(second)


def test_calls_of_one_message_are_in_the_order_of_the_message() -> None:
    seen = Trajectory((turn(1, SEARCH, BOOK),))
    assert passed(seen, called("search"), called("book")) == [True, True]
    assert passed(seen, called("book"), called("search")) == [True, False]


def test_messages_stay_short_and_printable_whatever_the_agent_sends() -> None:
    hostile = call("book\x1b[2J" * 100, '{"' + "k\u202e" * 9000 + '": "' + "x" * 9000 + '"}')
    seen = trajectory(*[hostile] * 500)
    for step in (called("book"), called(hostile.name, equals("k", "v")), never(hostile.name)):
        failed = failure(seen, step)
        for text in (failed.message, failed.expected, failed.closest):
            assert len(text) < 4000 and text.isprintable()


TOOLS = st.sampled_from(["a", "b", "c"])
CALLS = st.builds(lambda tool, n: call(tool, f'{{"n": {n}}}'), TOOLS, st.integers(0, 2))
STEPS = st.builds(
    lambda tool, n: called(tool, *([] if n is None else [equals("n", str(n))])),
    TOOLS,
    st.none() | st.integers(0, 2),
)


def is_subsequence(steps: list[AssertToolCall], made: list[ToolCall]) -> bool:
    """Whether some choice of calls, in order, fits the steps: tries them all."""
    return any(
        all(
            fit(step.tool, step.clauses, item) is Fit.MATCHES
            for step, item in zip(steps, chosen, strict=True)
        )
        for chosen in combinations(made, len(steps))
    )


@given(st.lists(CALLS, max_size=7), st.lists(STEPS, max_size=4))
def test_the_subsequence_agrees_with_trying_every_choice(
    made: list[ToolCall], steps: list[AssertToolCall]
) -> None:
    assert all(passed(trajectory(*made), *steps)) is is_subsequence(steps, made)


@given(st.lists(CALLS, max_size=7), st.lists(STEPS, max_size=4))
def test_a_failed_step_is_as_if_it_were_not_there(
    made: list[ToolCall], steps: list[AssertToolCall]
) -> None:
    seen = trajectory(*made)
    verdicts = passed(seen, *steps)
    kept = [step for step, held in zip(steps, verdicts, strict=True) if held]
    assert all(passed(seen, *kept))
    unlisted = passed(seen, *steps, strict=True)[-1]
    assert unlisted is (len(made) == len(kept))
