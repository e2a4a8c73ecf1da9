"""What shards have beside each other once they are one run: slots, times, commands, origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flowproof.model.origin import Origin, Population, Source
from flowproof.model.run_record import FileDigest, FlowRecord, RunRecord, TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.report.blob import BlobHead
from flowproof.report.run_json import dump, load
from tests.report.fixtures import flow_record
from tests.report.test_merge import head, merged, part, refusal

SOURCE = Source("https://git.example/bot.git", "c0" * 20, "main", changed=False)
ORIGIN = Origin(
    "casey", "push", "GitHub Actions", "https://ci.example/1", "Debian", "6.1", "d1" * 32
)
PATHS = ["a.flow.yaml", "b.flow.yaml"]


def flow(path: str, **more: Any) -> FlowRecord:
    return replace(flow_record(path), path=path, **more)


def two(
    first: dict[str, Any], second: dict[str, Any], **heads: Any
) -> list[tuple[RunRecord, BlobHead]]:
    """Two shards with a flow each; what differs between their records."""
    return [
        (
            part([flow(path, slot=1, offset=0.5)], **more),
            replace(head(at, 2, PATHS), **heads),
        )
        for at, path, more in ((1, PATHS[0], first), (2, PATHS[1], second))
    ]


def one(folder: Path, first: dict[str, Any], second: dict[str, Any], **heads: Any) -> RunRecord:
    record = merged(folder, two(first, second, **heads)).record
    assert load(dump(record)) == record
    return record


def test_slots_are_added_up_and_no_two_are_one(tmp_path: Path) -> None:
    parts = two({"slots": 2}, {"slots": 3})
    skipped = flow("c.flow.yaml", slot=0)
    parts[1] = (
        replace(parts[1][0], flows=(flow(PATHS[1], slot=3, offset=0.5), skipped)),
        head(2, 2, [*PATHS, "c.flow.yaml"]),
    )
    parts[0] = (parts[0][0], head(1, 2, [*PATHS, "c.flow.yaml"]))
    record = merged(tmp_path, parts).record
    assert record.slots == 5
    assert [flow.slot for flow in record.flows] == [1, 5, 0]


def test_times_are_from_the_start_of_the_first(tmp_path: Path) -> None:
    task = TaskRecord("after_all", TaskState.DONE, 2.0, 0.1, needs=("before_all", PATHS[1]))
    before = TaskRecord("before_all", TaskState.NOT_RUN, cause="cut")
    record = one(
        tmp_path,
        {"started": "2026-11-30T09:01:00Z", "tasks": (before,)},
        {"started": "2026-11-30T09:00:00Z", "tasks": (before, task)},
    )
    assert record.started == "2026-11-30T09:00:00Z"
    assert [flow.offset for flow in record.flows] == [60.5, 0.5]
    assert [(one.id, one.started, one.needs) for one in record.tasks] == [
        ("before_all (shard 1/2)", None, ()),
        ("before_all (shard 2/2)", None, ()),
        ("after_all (shard 2/2)", 2.0, ("before_all (shard 2/2)", PATHS[1])),
    ]


def test_a_single_part_stays_as_it_is(tmp_path: Path) -> None:
    task = TaskRecord("before_all", TaskState.DONE, 0.0, 0.1)
    flows = [flow("a.flow.yaml", slot=2, offset=0.5)]
    record = merged(
        tmp_path, [(part(flows, tasks=(task,), slots=2), head(1, 1, ["a.flow.yaml"]))]
    ).record
    assert (record.tasks, record.slots) == ((task,), 2)
    assert (record.flows[0].slot, record.flows[0].offset) == (2, 0.5)


@pytest.mark.parametrize("started", ["yesterday", "", "2026-11-30T09:00:00"])
def test_a_part_that_does_not_tell_its_start_is_not_moved(tmp_path: Path, started: str) -> None:
    record = one(tmp_path, {"started": started}, {"started": "2026-11-30T09:00:00Z"})
    assert [flow.offset for flow in record.flows] == [0.5, 0.5]


def test_parts_that_began_years_apart_are_of_no_run(tmp_path: Path) -> None:
    parts = two({"started": "2026-11-30T09:00:00Z"}, {"started": "2029-11-30T09:00:00Z"})
    assert "began 1,096 days after another" in refusal(tmp_path, parts)


@pytest.mark.parametrize(
    "change",
    [{"offset": 1e9}, {"offset": -1.0}, {"usual": 1e300}],
    ids=["late", "before the run", "longer than any run"],
)
def test_times_that_no_flow_has(tmp_path: Path, change: dict[str, float]) -> None:
    parts = two({}, {})
    parts[0] = (replace(parts[0][0], flows=(flow(PATHS[0], **change),)), parts[0][1])
    assert "which no run does" in refusal(tmp_path, parts)


def test_one_commit(tmp_path: Path) -> None:
    record = one(tmp_path, {"source": SOURCE}, {"source": replace(SOURCE, branch="")})
    assert record.source == replace(SOURCE, branch="")
    assert record.warnings == ()


@pytest.mark.parametrize(
    ("other", "told"),
    [
        pytest.param(
            replace(SOURCE, commit="ff" * 20), f"{'c0' * 20} and {'ff' * 20}", id="commit"
        ),
        pytest.param(
            replace(SOURCE, changed=True, changes="ab" * 32),
            f"{'c0' * 20} and {'c0' * 20} with changes",
            id="changed",
        ),
    ],
)
def test_different_commits_are_refused(tmp_path: Path, other: Source, told: str) -> None:
    message = refusal(tmp_path, two({"source": SOURCE}, {"source": other}))
    assert "are of different commits" in message and told in message


def test_changes_that_differ_are_told_and_not_kept(tmp_path: Path) -> None:
    unknown = replace(SOURCE, changed=None)
    for other, amount in ((SOURCE, None), (unknown, None), (replace(SOURCE, changed=True), True)):
        for at, (first, second) in enumerate(((other, unknown), (unknown, other))):
            place = tmp_path / f"{other.changed}-{at}"
            found = one(place, {"source": first}, {"source": second}).source
            assert found is not None and found.changed is amount
    changed = replace(SOURCE, changed=True, changes="ab" * 32)
    same = one(tmp_path / "same", {"source": changed}, {"source": changed})
    assert (same.source, same.warnings) == (changed, ())
    record = one(tmp_path / "other", {"source": changed}, {"source": replace(changed, changes="")})
    assert record.source == replace(changed, changes="")
    assert record.warnings == ("the changes to the commit differ between shards",)


def test_a_part_that_does_not_tell_its_commit(tmp_path: Path) -> None:
    record = one(tmp_path, {"source": SOURCE}, {})
    assert record.source is None
    [warning] = record.warnings
    assert "shard 2/2" in warning and "does not say which commit it ran" in warning


def test_who_ran_it_is_told_where_all_agree(tmp_path: Path) -> None:
    other = replace(ORIGIN, url="https://ci.example/2", kernel="6.5")
    record = one(tmp_path, {"origin": ORIGIN}, {"origin": other})
    assert record.origin == replace(ORIGIN, url="", kernel="6.1, 6.5")
    assert one(tmp_path / "none", {"origin": ORIGIN}, {}).origin is None


def test_the_population_is_that_of_the_run_and_not_of_a_shard(tmp_path: Path) -> None:
    populations = [
        {"population": Population(5, 1, (("-k", "book"), ("--shard", f"{at}/2")))} for at in (1, 2)
    ]
    record = one(tmp_path, populations[0], populations[1], discovered=5)
    assert record.population == Population(5, 2, (("-k", "book"),))
    assert one(tmp_path / "none", populations[0], {}, discovered=5).population is None


def test_shards_that_found_different_flows_are_refused(tmp_path: Path) -> None:
    parts = two({}, {}, discovered=5)
    parts[1] = (parts[1][0], replace(parts[1][1], discovered=6))
    assert "are of different plans" in refusal(tmp_path, parts)


def test_inputs_that_differ_are_all_there(tmp_path: Path) -> None:
    def locks(digest: str) -> dict[str, Sequence[FileDigest]]:
        return {"inputs": (FileDigest("uv.lock", digest), FileDigest("yarn.lock", "ff" * 32))}

    record = one(tmp_path, locks("aa" * 32), locks("bb" * 32))
    assert [(file.path, file.sha256[:2]) for file in record.inputs] == [
        ("uv.lock", "aa"),
        ("yarn.lock", "ff"),
        ("uv.lock", "bb"),
    ]
