"""What the graphs of a report show: tasks of a flow, and flows of a suite that wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from flowproof.model.run_record import FlowRecord, TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.report.diagram.dag import Diagram, suite, tasks
from flowproof.report.diagram.layers import TALLEST
from flowproof.report.diagram.layout import Box
from tests.report.diagram.rows import FAILED, SKIPPED, Row
from tests.report.fixtures import flow_record

TASKS = (
    TaskRecord("resolve_env", TaskState.DONE, 0.0, 0.0004),
    TaskRecord("launch_agent", TaskState.FAILED, 0.01, 0.31, "exited with 2", ("resolve_env",)),
    TaskRecord("collect", TaskState.CANCELLED, 0.33, 0.002, "", ("launch_agent",)),
    TaskRecord("check", TaskState.NOT_RUN, cause="launch_agent failed", needs=("collect",)),
)


def flow_of(*tasks: TaskRecord) -> FlowRecord:
    return replace(flow_record(), tasks=tasks)


def boxes(diagram: Diagram | None) -> dict[str, Box]:
    assert diagram is not None and diagram.drawing is not None
    return {box.node.label: box for box in diagram.drawing.boxes}


def texts(diagram: Diagram | None) -> list[list[str]]:
    assert diagram is not None
    return [[cell.text for cell in row] for row in diagram.table.rows]


def right_of(diagram: Diagram | None, first: str, then: str) -> bool:
    found = boxes(diagram)
    return found[first].x + found[first].width < found[then].x


def test_a_task_tells_its_state_by_symbol_words_and_time() -> None:
    diagram = tasks(flow_of(*TASKS))
    shown = boxes(diagram)
    assert {name: (box.node.symbol, box.note) for name, box in shown.items()} == {
        "resolve_env": ("✓", "<1 ms"),
        "launch_agent": ("✗", "failed · 310 ms"),
        "collect": ("■", "cancelled · 2 ms"),
        "check": ("–", "did not run"),
    }
    assert shown["launch_agent"].node.title == "launch_agent: failed after 310 ms: exited with 2"
    assert [name for name, box in shown.items() if box.node.open] == ["check"]
    assert right_of(diagram, "launch_agent", "collect")


def test_the_table_says_what_the_drawing_shows() -> None:
    assert texts(tasks(flow_of(*TASKS))) == [
        ["resolve_env", "done", "<1 ms", "", ""],
        ["launch_agent", "failed", "310 ms", "resolve_env", "exited with 2"],
        ["collect", "cancelled", "2 ms", "launch_agent", ""],
        ["check", "did not run", "", "collect", "launch_agent failed"],
    ]


def test_a_flow_without_tasks_has_no_graph() -> None:
    assert tasks(flow_of()) is None


def test_tasks_of_an_older_record_are_told_in_the_table_alone() -> None:
    diagram = tasks(flow_of(*(replace(task, needs=()) for task in TASKS)))
    assert diagram is not None and diagram.drawing is None
    assert diagram.notes == ("The record does not say which task waited for which.",)
    assert len(diagram.table.rows) == len(TASKS)


def test_too_many_tasks_are_not_drawn_and_it_says_so() -> None:
    many = [TaskRecord(str(n), TaskState.DONE, needs=(str(n - 1),)) for n in range(250)]
    diagram = tasks(flow_of(*many))
    assert diagram is not None and diagram.drawing is None
    assert "250 boxes" in diagram.notes[0]
    assert len(diagram.table.rows) == 200
    assert diagram.table.more == "50 more tasks are not listed."


def test_tasks_in_a_circle_are_drawn_and_it_says_so() -> None:
    diagram = tasks(
        flow_of(
            TaskRecord("a", TaskState.DONE, needs=("b", "a", "nobody")),
            TaskRecord("b", TaskState.DONE, needs=("a",)),
        )
    )
    assert set(boxes(diagram)) == {"a", "b"}
    assert diagram is not None
    assert diagram.notes[0].startswith("1 line is left out")


def test_only_flows_that_wait_are_drawn() -> None:
    diagram = suite([Row("a"), Row("b", needs=("a",)), Row("c", after=("b",)), Row("d"), Row("e")])
    assert set(boxes(diagram)) == {"Flow a", "Flow b", "Flow c"}
    assert diagram is not None and diagram.drawing is not None
    assert [line.kind for line in diagram.drawing.lines] == ["needs", "after"]
    assert diagram.notes == (
        "Along a solid line the first had to pass, along a broken line only to end.",
        "2 flows wait for nothing, and nothing for them: not drawn.",
    )
    assert texts(diagram)[2] == ["Flow c", "passed", "", "Flow b"]
    assert diagram.table.rows[2][0].href == "flows/c.html"


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="no-flows"),
        pytest.param([Row("a"), Row("b", locks=("port 1",))], id="nothing-waits"),
        pytest.param([Row("a", needs=("a", "gone")), Row("", needs=("",))], id="nobody-known"),
    ],
)
def test_a_suite_in_which_nothing_waits_has_no_graph(rows: list[Row]) -> None:
    assert suite(rows) is None


def test_the_result_of_a_flow_is_told_in_words_and_by_its_box() -> None:
    shown = boxes(suite([Row("a", FAILED), Row("b", SKIPPED, needs=("a",))]))
    assert (shown["Flow a"].node.symbol, shown["Flow a"].note) == ("✗", "failed")
    assert shown["Flow a"].node.href == "flows/a.html"
    assert shown["Flow b"].note == "was skipped"
    assert shown["Flow b"].node.open


def test_what_flows_share_is_told_in_words() -> None:
    rows = [Row(str(n), locks=("port 4646",)) for n in range(12)]
    rows += [Row("x", locks=("resource ledger",)), Row("y", locks=("resource ledger", "port 1"))]
    diagram = suite(rows)
    assert diagram is not None and diagram.drawing is None
    first, second = diagram.shared
    assert (first.name, len(first.flows), first.more) == ("port 4646", 10, 2)
    assert [cell.text for cell in second.flows] == ["Flow x", "Flow y"]
    assert second.flows[0].href == "flows/x.html"


def test_flows_of_one_kind_become_one_box() -> None:
    rows = [Row("login"), *(Row(f"f{n}", needs=("login",)) for n in range(TALLEST + 1))]
    rows += [Row("red", FAILED, needs=("login",)), Row("last", needs=("f3",))]
    diagram = suite(rows)
    # f3 has one that waits for it, and so is none of many.
    assert set(boxes(diagram)) == {"Flow login", "12 flows", "Flow f3", "Flow red", "Flow last"} - (
        {"12 flows"}
    ) | {f"Flow f{n}" for n in range(TALLEST + 1)}
    diagram = suite([*rows, Row("one-more", needs=("login",))])
    assert set(boxes(diagram)) == {"Flow login", "13 flows", "Flow f3", "Flow red", "Flow last"}
    assert boxes(diagram)["13 flows"].node.title.startswith("13 flows: passed; among them Flow f0")
    assert right_of(diagram, "Flow login", "13 flows")
    assert diagram is not None
    assert "Flows that wait for the same and ended the same" in " ".join(diagram.notes)


def folders(*ids: str) -> list[Row]:
    return [Row(id) for id in ids]


@pytest.mark.parametrize(
    ("commands", "surrounded"),
    [
        pytest.param(("before_all smoke", "after_all smoke"), {"smoke/a", "smoke/in/b"}, id="one"),
        pytest.param(("before_all .", "after_all ."), {"smoke/a", "smoke/in/b", "c"}, id="top"),
        pytest.param(("env_from smoke/in",), {"smoke/in/b"}, id="below"),
        pytest.param(("before_all",), {"smoke/a", "smoke/in/b", "c"}, id="unnamed"),
    ],
)
def test_commands_surround_the_flows_of_their_folder(
    commands: tuple[str, ...], surrounded: set[str]
) -> None:
    tasks = [TaskRecord(id, TaskState.DONE, 0.0, 1.0) for id in commands]
    diagram = suite(folders("smoke/a", "smoke/in/b", "c"), tasks)
    assert set(boxes(diagram)) == {f"Flow {id}" for id in surrounded} | set(commands)
    for id in surrounded:
        first, *last = commands
        assert right_of(diagram, first, f"Flow {id}")
        assert all(right_of(diagram, f"Flow {id}", then) for then in last)


def test_commands_that_name_their_flows_surround_these() -> None:
    last = TaskRecord("after_all s", TaskState.DONE, 5.0, 1.0, needs=("before_all s", "s/a"))
    first = TaskRecord("before_all s", TaskState.FAILED, 0.0, 1.0, "no database")
    diagram = suite(folders("s/a", "s/b"), [first, last])
    assert set(boxes(diagram)) == {"before_all s", "Flow s/a", "after_all s"}
    assert boxes(diagram)["before_all s"].note == "failed · 1.00 s"


def test_each_shard_that_was_merged_had_its_own_commands() -> None:
    tasks = [
        TaskRecord(id, TaskState.DONE, 0.0, 1.0, needs=needs)
        for id, needs in (
            ("before_all", ()),
            ("after_all", ("before_all", "a")),
            ("before_all", ()),
            ("after_all", ("before_all", "b")),
        )
    ]
    diagram = suite(folders("a", "b"), tasks)
    assert diagram is not None and diagram.drawing is not None
    assert texts(diagram) == [
        ["before_all", "done", "", ""],
        ["before_all (2)", "done", "", ""],
        ["Flow a", "passed", "before_all", ""],
        ["Flow b", "passed", "before_all (2)", ""],
        ["after_all", "done", "", "Flow a"],
        ["after_all (2)", "done", "", "Flow b"],
    ]
    assert len(diagram.drawing.lines) == 4


def test_suites_that_name_their_flows_and_others_may_be_mixed() -> None:
    last = TaskRecord("after_all s", TaskState.DONE, needs=("s/a",))
    first = TaskRecord("before_all t", TaskState.DONE)
    diagram = suite(folders("s/a", "s/sub/b", "t/c", "d"), [first, last])
    assert set(boxes(diagram)) == {"before_all t", "Flow s/a", "Flow t/c", "after_all s"}


def chain(count: int) -> list[Row]:
    return [Row(str(n), after=(str(n - 1),) if n else ()) for n in range(count)]


def star(count: int) -> list[Row]:
    return [Row(str(n), needs=("0",)) for n in range(count)]


def pairs(count: int) -> list[Row]:
    return [
        Row(str(n), needs=(str(n - 1),) if n % 2 else (), locks=(f"l{n}",)) for n in range(count)
    ]


@pytest.mark.parametrize(
    ("rows", "drawn"),
    [
        pytest.param(chain, False, id="chain"),
        pytest.param(star, True, id="star"),
        pytest.param(pairs, False, id="pairs"),
    ],
)
def test_ten_thousand_flows_take_no_time(rows: Callable[[int], list[Row]], drawn: bool) -> None:
    flows = rows(10_000)
    begun = time.process_time()
    diagram = suite(flows)
    assert time.process_time() - begun < 2.0
    assert diagram is not None
    assert (diagram.drawing is not None) == drawn
    assert len(diagram.table.rows) <= 200
    if not drawn:
        assert "10,000 boxes, too many to read" in diagram.notes[0]
