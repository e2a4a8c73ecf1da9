"""A call too many: what it said last is shown, beside nothing, on a page and in a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flowproof.boundary.cassette import Cassette, Taken
from flowproof.model.outcome import Divergence
from flowproof.report.console import flow_detail
from tests.boundary.tools import BY_NAME, chat_request, pinned, turn
from tests.report.fixtures import diverged, run_of
from tests.report.pages import pages


def talk(*contents: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in contents]
    return chat_request() | {"messages": messages}


def extra(*contents: str, recorded: tuple[str, ...] = ("a",)) -> Divergence:
    """The divergence of one more request after the recorded one."""
    tape = Cassette([turn(talk(*recorded))], BY_NAME)
    operation = turn(talk(*recorded)).operation
    assert isinstance(tape.take(operation, pinned(talk(*recorded))), Taken)
    found = tape.take(operation, pinned(talk(*contents)))
    assert isinstance(found, Divergence)
    assert found.kind == "extra call"
    return found


@pytest.mark.parametrize(
    ("contents", "shown", "never"),
    [
        pytest.param(("a", "go on"), ["go on"], ['"a"'], id="what is new"),
        pytest.param(("a", "one", "two", "three"), ["two", "three"], ["one"], id="the last two"),
        pytest.param(("x", "go on"), ["x", "go on"], [], id="another conversation"),
        pytest.param(("a",), ['"a"'], [], id="the same once more"),
    ],
)
def test_what_it_said_last(contents: tuple[str, ...], shown: list[str], never: list[str]) -> None:
    found = extra(*contents)
    assert found.sides is not None and found.sides.recorded is None
    said = found.sides.replayed or ""
    assert all(text in said for text in shown)
    assert not any(text in said for text in never)
    assert [line.mark for line in found.excerpt] == ["+"] * len(shown)


def test_it_is_bounded() -> None:
    found = extra("a", "x" * 500_000, "y" * 500_000)
    assert found.sides is not None
    said = found.sides.replayed or ""
    assert len(said) <= 3_001 and "xxx" in said and "yyy" in said
    assert found.sides.below[1] > 990_000
    assert all(len(line.text) <= 200 for line in found.excerpt)


def test_a_request_without_messages_has_nothing_to_show() -> None:
    assert extra().sides is None


def test_a_call_that_comes_again_too_early_is_none_too_many() -> None:
    tape = Cassette([turn(talk("a")), turn(talk("b"))], BY_NAME)
    operation = turn(talk("a")).operation
    tape.take(operation, pinned(talk("a")))
    found = tape.take(operation, pinned(talk("a")))
    assert isinstance(found, Divergence)
    assert (found.kind, found.sides, found.excerpt) == ("repeated call", None, ())


def test_people_read_it() -> None:
    found = extra("a", "And cancel it.")
    flow = replace(diverged(), divergence=found, reason=found.message)
    told = flow_detail(flow).splitlines()
    assert sum("And cancel it." in line for line in told) == 1
    made = pages(run_of(flow))
    for name in ("index.html", "flows/refunds.approval.html"):
        words = made[name].words()
        assert "nothing more was recorded" in words, name
        assert "And cancel it." in words, name
        assert "nothing here" not in words, name
