"""What ran when: bars in their lanes, an axis that people can read, and bounds for large runs."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from flowproof.model.run_record import TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.report.diagram.bars import BARS
from flowproof.report.diagram.ticks import ticks
from flowproof.report.diagram.timeline import MAX_LANES, Timeline, task_timeline, timeline
from tests.report.diagram.rows import FAILED, PASSED, Row
from tests.report.diagram.test_dag import TASKS
from tests.report.fixtures import flow_record


def shown(rows: list[Row], duration: float, *tasks: TaskRecord) -> Timeline:
    found = timeline(rows, duration, tasks)
    assert found is not None
    return found


def ran(id: str, offset: float, duration: float, slot: int = 1, host: str = "") -> Row:
    return Row(id, offset=offset, duration=duration, slot=slot, host=host)


def test_bars_lie_in_time() -> None:
    view = shown([ran("a", 0, 5), ran("b", 5, 5), ran("c", 2.5, 5, slot=2)], 10)
    first, second = view.lanes
    assert [lane.label for lane in view.lanes] == ["slot 1", "slot 2"]
    a, b = first.bars
    (c,) = second.bars
    assert a.x == view.left
    assert a.x + a.width == pytest.approx(b.x)
    assert c.x == pytest.approx(a.x + a.width / 2)
    assert b.x + b.width <= view.width
    assert a.width == pytest.approx(b.width)
    assert a.title == "Flow a: passed, 5.00 s, began at 0 s"
    assert a.href == "flows/a.html"


def test_a_bar_has_its_symbol_where_there_is_room() -> None:
    long, short, brief = (
        shown(
            [ran("a", 0, 50), Row("b", FAILED, offset=50, duration=2.5, slot=1), ran("c", 60, 0)],
            100,
        )
        .lanes[0]
        .bars
    )
    assert long.label == "✓ Flow a"
    assert short.label == "✗"
    assert (brief.label, brief.width) == ("", 2.0)
    assert short.x <= short.label_x <= short.x + short.width


def test_slots_of_several_hosts_are_told_apart() -> None:
    rows = [ran("a", 0, 1, 2, "west"), ran("b", 0, 1, 1, "east"), ran("c", 0, 1, 1)]
    labels = [lane.label for lane in shown(rows, 1).lanes]
    assert labels == ["this host, slot 1", "east, slot 1", "west, slot 2"]


def test_commands_have_their_own_lane() -> None:
    first = TaskRecord("before_all .", TaskState.DONE, 0.0, 1.0)
    last = TaskRecord("after_all .", TaskState.FAILED, 3.0, 1.0)
    never = TaskRecord("env_from .", TaskState.NOT_RUN)
    view = shown([ran("a", 1, 2)], 4, first, last, never)
    assert [lane.label for lane in view.lanes] == ["commands", "slot 1"]
    assert [bar.tone for bar in view.lanes[0].bars] == ["good", "bad"]


def test_what_did_not_run_is_counted() -> None:
    view = shown([ran("a", 0, 1), Row("b"), Row("c"), replace(ran("d", 1, 1), attempts=3)], 2)
    assert len(view.lanes[0].bars) == 2
    assert view.notes == (
        "Of a flow that was tried again, only the last try is drawn.",
        "2 flows did not run.",
    )


def test_how_busy_slots_were_is_told() -> None:
    view = shown([ran("a", 0, 4), ran("b", 0, 2, slot=2)], 4)
    assert view.notes == ("2 slots, busy for 75 % of the time.",)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="no-flows"),
        pytest.param([Row("a")], id="none-ran"),
        pytest.param(
            [ran("a", float("nan"), 1), ran("b", 0, float("inf")), ran("c", 1e300, 1)],
            id="no-times",
        ),
        pytest.param([ran("a", -1.0, 1)], id="before-the-run"),
    ],
)
def test_where_nothing_ran_there_is_no_timeline(rows: list[Row]) -> None:
    assert timeline(rows, 1.0) is None


def test_the_table_tells_flows_in_the_order_of_time() -> None:
    table = shown([ran("a", 2, 1), ran("b", 0.5, 1, slot=2)], 3).table
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["Flow b", "passed", "slot 2", "500 ms", "1.00 s"],
        ["Flow a", "passed", "slot 1", "2.00 s", "1.00 s"],
    ]
    assert table.rows[0][0].href == "flows/b.html"


def test_the_table_of_a_large_run_tells_lanes() -> None:
    rows = [ran(str(n), n, 0.5, n % 2 + 1) for n in range(300)]
    table = shown(rows, 300).table
    assert table.heads[0] == "Where"
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["slot 1", "150", "1 min 15 s", "25 %"],
        ["slot 2", "150", "1 min 15 s", "25 %"],
    ]


def large(count: int, lanes: int = 8) -> list[Row]:
    return [
        Row(
            f"folder/of/flows/number-{n}",
            FAILED if n % 100 == 0 else PASSED,
            offset=n // lanes * 0.1,
            duration=0.02 + n % 7 * 0.01,
            slot=n % lanes + 1,
            title=f"Booking assistant books a flight for {n} and asks for approval",
        )
        for n in range(count)
    ]


def test_up_to_the_limit_every_bar_is_single() -> None:
    view = shown(large(BARS), 30)
    assert sum(len(lane.bars) for lane in view.lanes) == BARS
    assert not any(lane.merged for lane in view.lanes)
    assert not any("bars" in note for note in view.notes)


def test_beyond_the_limit_bars_are_merged_and_failures_stay() -> None:
    begun = time.process_time()
    view = shown(large(10_000), 130)
    assert time.process_time() - begun < 2.0
    bars = [bar for lane in view.lanes for bar in lane.bars]
    assert len(bars) == BARS
    assert sum(bar.tone == "bad" for bar in bars) == 100
    merged = [run for lane in view.lanes for run in lane.merged]
    assert sum(int(run.title.split()[0].replace(",", "")) for run in merged) == 10_000 - BARS
    assert sum(len(run.path) for run in merged) < 200_000
    assert "10,000 bars: the 2,000 of flows that failed" in " ".join(view.notes)


def test_merged_bars_stay_in_the_drawing_and_do_not_touch() -> None:
    view = shown(large(6_000), 80)
    for lane in view.lanes:
        for run in lane.merged:
            spans = [
                (int(start), int(start) + int(wide))
                for start, wide in re.findall(r"M(\d+) 0h(\d+)", run.path)
            ]
            assert spans[0][0] >= view.left - 1
            assert spans[-1][1] <= view.width
            assert all(one[1] < other[0] for one, other in pairwise(spans))


def test_too_many_lanes_are_not_drawn_and_it_says_so() -> None:
    view = shown([ran(str(n), 0, 1, n) for n in range(1, 1_001)], 1)
    assert len(view.lanes) == MAX_LANES
    assert "1,000 lanes: the first 100 are drawn." in view.notes
    assert len(view.table.rows) == 200
    assert view.table.more == "800 more are not listed."


@pytest.mark.parametrize(
    ("span", "said"),
    [
        pytest.param(0.0, ["0"], id="nothing"),
        pytest.param(0.004, ["0", "1 ms", "2 ms", "3 ms", "4 ms"], id="milliseconds"),
        pytest.param(0.36, ["0", "50 ms", "100 ms"], id="tenths"),
        pytest.param(1.4, ["0", "200 ms", "400 ms", "600 ms", "800 ms", "1 s", "1.2 s"], id="one"),
        pytest.param(9.7, ["0", "2 s", "4 s", "6 s", "8 s"], id="seconds"),
        pytest.param(140, ["0", "30 s", "1 min", "1 min 30 s", "2 min"], id="minutes"),
        pytest.param(4_000, ["0", "10 min", "20 min"], id="an-hour"),
        pytest.param(20_000, ["0", "1 h", "2 h"], id="hours"),
        pytest.param(1e9, ["0"], id="years"),
    ],
)
def test_the_axis_counts_as_people_do(span: float, said: list[str]) -> None:
    found = ticks(span)
    assert [text for _, text in found][: len(said)] == said
    assert len(found) <= 9
    assert all(place <= span + 1e-9 for place, _ in found[1:])


def test_tasks_of_a_flow_each_have_a_lane_with_state_and_time() -> None:
    view = task_timeline(replace(flow_record(), tasks=TASKS, duration=0.36))
    assert view is not None
    assert [lane.label for lane in view.lanes] == [task.id for task in TASKS]
    bars = [lane.bars[0] for lane in view.lanes]
    assert [bar.label for bar in bars] == [
        "✓ <1 ms",
        "✗ failed · 310 ms",
        "■ cancelled · 2 ms",
        "– did not run",
    ]
    assert bars[3].width == 0
    assert all(view.left <= bar.x and bar.x + bar.width <= view.width for bar in bars)
    assert all(0 <= bar.label_x < view.width for bar in bars)
    assert [cell.text for cell in view.table.rows[3]] == ["check", "did not run", "", ""]


def test_a_task_that_stays_open_for_others_is_explained() -> None:
    tasks = (
        TaskRecord("start_model_proxy", TaskState.DONE, 0.0, 3.0),
        TaskRecord("launch_agent", TaskState.DONE, 0.1, 2.0, needs=("start_model_proxy",)),
        TaskRecord("check", TaskState.DONE, 3.0, 0.1, needs=("launch_agent",)),
    )
    view = task_timeline(replace(flow_record(), tasks=tasks, duration=3.1))
    assert view is not None
    assert view.notes == ("What others need stays open until they have ended: start_model_proxy.",)


@pytest.mark.parametrize(
    "tasks",
    [
        pytest.param((), id="no-tasks"),
        pytest.param((TaskRecord("a", TaskState.NOT_RUN),), id="none-ran"),
    ],
)
def test_a_flow_whose_tasks_did_not_run_has_no_timeline(tasks: tuple[TaskRecord, ...]) -> None:
    assert task_timeline(replace(flow_record(), tasks=tasks)) is None


def test_a_flow_may_have_taken_no_time() -> None:
    tasks = (TaskRecord("a", TaskState.DONE, 0.0, 0.0),)
    view = task_timeline(replace(flow_record(), tasks=tasks, duration=0.0))
    assert view is not None
    assert view.lanes[0].bars[0].width == 2.0
