"""Merging: the parts of one run make that run, and parts that do not belong together are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.errors import ExitCode, UsageError
from flowproof.model.origin import Population
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, RunRecord, combined_exit_code
from flowproof.report.blob import Blob, BlobHead, find_blobs, planned_digest, render
from flowproof.report.merge import Merged, merge
from flowproof.report.write import write_files
from tests.report.fixtures import diverged, flow_record, run_of, sample_run

WHOLE = sample_run()
PATHS = [flow.path for flow in WHOLE.flows]


def head(shard: int, shards: int, paths: Sequence[str] = PATHS) -> BlobHead:
    return BlobHead(
        flowproof="0.1.0",
        shard=shard,
        shards=shards,
        suite="5f" * 32,
        flows=len(set(paths)),
        planned=planned_digest(paths),
        selection=(),
        partial=False,
        folder=".",
    )


def part(flows: Sequence[FlowRecord], **facts: object) -> RunRecord:
    """A shard's record, as partial as that of every shard."""
    return replace(run_of(*flows), **({"partial": True} | facts))  # type: ignore[arg-type]


def divided(shards: int = 3) -> list[tuple[RunRecord, BlobHead]]:
    """The sample as so many shards ran it, on hosts of their own."""
    return [
        (
            part(WHOLE.flows[at::shards], host=f"h{at}", duration=float(at), id=str(at)),
            head(at + 1, shards),
        )
        for at in range(shards)
    ]


def merged(folder: Path, parts: Sequence[tuple[RunRecord, BlobHead]]) -> Merged:
    return merge(written(folder, parts), "the-id")


def written(folder: Path, parts: Sequence[tuple[RunRecord, BlobHead]]) -> list[Blob]:
    for at, (record, first) in enumerate(parts):
        write_files(folder / str(at), render(record, first))
    return find_blobs([folder])


def refusal(folder: Path, parts: Sequence[tuple[RunRecord, BlobHead]]) -> str:
    with pytest.raises(UsageError) as caught:
        merged(folder, parts)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR
    return str(caught.value).replace(f"{folder}/", "").replace(".flowproof-blob", "")


@pytest.mark.parametrize("shards", [1, 2, 3, 9])
def test_the_parts_make_the_whole(tmp_path: Path, shards: int) -> None:
    found = merged(tmp_path, divided(shards))
    record = found.record
    assert record.counts() == WHOLE.counts()
    assert {flow.path: flow.verdict for flow in record.flows} == {
        flow.path: flow.verdict for flow in WHOLE.flows
    }
    assert [flow.path for flow in record.flows] == sorted(PATHS)
    assert (record.exit_code, record.partial) == (WHOLE.exit_code, False)
    assert (record.id, record.suite, record.started) == ("the-id", WHOLE.suite, WHOLE.started)
    assert record.duration == shards - 1
    assert (found.parts, found.folder, found.work) == (shards, ".", sum(range(shards)))


def test_the_order_of_parts_does_not_matter(tmp_path: Path) -> None:
    one = merged(tmp_path / "a", divided())
    assert merged(tmp_path / "b", divided()[::-1]) == one


def test_each_flow_says_which_host_ran_it(tmp_path: Path) -> None:
    parts = divided(2)
    [first, *rest] = parts[0][0].flows
    parts[0] = (replace(parts[0][0], flows=(replace(first, host="worker-9"), *rest)), parts[0][1])
    record = merged(tmp_path, parts).record
    hosts = {flow.path: flow.host for flow in record.flows}
    assert hosts == {path: f"h{at % 2}" for at, path in enumerate(PATHS)} | {PATHS[0]: "worker-9"}
    assert record.host == "h0, h1"


def test_one_host_is_said_once(tmp_path: Path) -> None:
    parts = [(replace(record, host="h"), first) for record, first in divided()]
    record = merged(tmp_path, parts).record
    assert record.host == "h" and {flow.host for flow in record.flows} == {""}


def test_of_many_hosts_a_few_are_named(tmp_path: Path) -> None:
    assert merged(tmp_path, divided(7)).record.host == "h0, h1, h2, h3, h4 and 2 more"


def test_repetitions_of_a_flow_stay_in_order(tmp_path: Path) -> None:
    flows = [replace(flow_record(f"f [{at}/12]"), path="f.flow.yaml") for at in range(1, 13)]
    record = merged(tmp_path, [(part(flows), head(1, 1, ["f.flow.yaml"]))]).record
    assert [flow.name for flow in record.flows] == [flow.name for flow in flows]


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        pytest.param([ExitCode.PASSED, ExitCode.FLOW_FAILED], ExitCode.FLOW_FAILED, id="a failure"),
        pytest.param(
            [ExitCode.FLOW_FAILED, ExitCode.AUTHOR_ERROR], ExitCode.AUTHOR_ERROR, id="the worse"
        ),
        pytest.param([ExitCode.NOTHING_RAN, ExitCode.PASSED], ExitCode.PASSED, id="an idle shard"),
        pytest.param([ExitCode.NOTHING_RAN] * 2, ExitCode.NOTHING_RAN, id="nothing ran"),
        pytest.param(
            [ExitCode.PASSED, ExitCode.INTERRUPTED], ExitCode.INTERRUPTED, id="interrupted"
        ),
    ],
)
def test_exit_codes(tmp_path: Path, codes: list[ExitCode], code: ExitCode) -> None:
    flows = [replace(flow_record(), path=str(at)) for at in range(len(codes))]
    paths = [flow.path for flow in flows]
    parts = [
        (part([flows[at]], exit_code=own), head(at + 1, len(codes), paths))
        for at, own in enumerate(codes)
    ]
    assert merged(tmp_path, parts).record.exit_code is code


def test_a_part_cannot_be_greener_than_its_flows(tmp_path: Path) -> None:
    green = part([diverged()], exit_code=ExitCode.PASSED)
    record = merged(tmp_path, [(green, head(1, 1, [diverged().path]))]).record
    assert record.exit_code is combined_exit_code((ExitCode.FLOW_FAILED,))


def test_a_run_in_which_a_part_left_flows_out_vouches_for_nothing(tmp_path: Path) -> None:
    parts = divided()
    parts[1] = (parts[1][0], replace(parts[1][1], partial=True))
    assert merged(tmp_path, parts).record.partial is True


def test_what_no_shard_ran_is_named(tmp_path: Path) -> None:
    parts = [
        (
            replace(record, population=Population(9, 3, left_out=("greet.flow.yaml",))),
            replace(first, discovered=9, left_out=("x.flow.yaml", "y.flow.yaml")),
        )
        for record, first in divided()
    ]
    whole = merged(tmp_path, parts).record.population
    assert whole == Population(9, 7, left_out=("x.flow.yaml", "y.flow.yaml"))


def test_what_parts_say_beside_their_flows(tmp_path: Path) -> None:
    parts = [
        (replace(record, warnings=("all", f"own {at}"), errors=("after_all",) * (at == 2)), first)
        for at, (record, first) in enumerate(divided())
    ]
    record = merged(tmp_path, parts).record
    assert record.warnings == ("all", "shard 1/3: own 0", "shard 2/3: own 1", "shard 3/3: own 2")
    assert record.errors == ("shard 3/3: after_all",)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param({"flowproof": "0.2.0"}, "different versions of flowproof", id="version"),
        pytest.param({"suite": "00"}, "different suites; a spec, a trace or", id="suite"),
        pytest.param(
            {"selection": (("-k", "a"),)},
            "different selections: none and -k a",
            id="selection",
        ),
        pytest.param({"shards": 4}, "different numbers of shards: 3 and 4", id="number"),
        pytest.param({"folder": "flows"}, "different folders: . and flows", id="folder"),
        pytest.param({"flows": 8}, "different plans; they do not divide the same", id="plan"),
    ],
)
def test_parts_of_different_runs(tmp_path: Path, change: dict[str, object], text: str) -> None:
    parts = divided()
    record, first = parts[1]
    version = change.get("flowproof", record.flowproof)
    parts[1] = (
        replace(record, flowproof=version),  # type: ignore[arg-type]
        replace(first, **change),  # type: ignore[arg-type]
    )
    found = refusal(tmp_path, parts)
    assert found.startswith("shard 1/3 (0/shard-1-of-3) and shard 2/")
    assert text in found


@pytest.mark.parametrize(
    ("present", "text"),
    [
        pytest.param([1, 2], "shard 3/3 is missing", id="one missing"),
        pytest.param([2], "shards 1/3 and 3/3 are missing", id="two missing"),
        pytest.param([1, 2, 3, 2], "shard 2/3 (3/shard-2-of-3) is there twice", id="doubled"),
    ],
)
def test_shards_that_are_missing_or_doubled(tmp_path: Path, present: list[int], text: str) -> None:
    parts = divided()
    found = refusal(tmp_path, [parts[shard - 1] for shard in present])
    assert text in found
    if len(present) > 3:
        assert "also as 1/shard-2-of-3" in found


def test_of_many_missing_shards_a_few_are_named(tmp_path: Path) -> None:
    one = (part(WHOLE.flows), head(1, 99_999))
    assert "2/99999, 3/99999, 4/99999, 5/99999, 6/99999 and 99993 more" in refusal(tmp_path, [one])


def test_a_flow_that_two_shards_ran(tmp_path: Path) -> None:
    parts = divided()
    parts[2] = (part([*parts[2][0].flows, WHOLE.flows[0]]), parts[2][1])
    found = refusal(tmp_path, parts)
    assert f"flow {PATHS[0]} ran in shard 1/3" in found and "--durations-file" in found


def test_a_flow_that_no_shard_ran(tmp_path: Path) -> None:
    parts = divided()
    parts[2] = (part(parts[2][0].flows[1:]), parts[2][1])
    assert "the shards ran 6 flows, and not the 7 that they divided" in refusal(tmp_path, parts)


def test_skipped_flows_count(tmp_path: Path) -> None:
    skipped = replace(flow_record(), verdict=Verdict.SKIPPED, path="s")
    record = merged(tmp_path, [(part([skipped]), head(1, 1, ["s"]))]).record
    assert record.counts()[Verdict.SKIPPED] == 1


def test_a_flow_that_one_shard_ran_twice(tmp_path: Path) -> None:
    twice = part([flow_record(), flow_record()])
    assert "a second time" in refusal(tmp_path, [(twice, head(1, 1, [flow_record().path]))])


@pytest.mark.parametrize("seconds", [-1.0, 1e308, 1e300], ids=str)
@pytest.mark.parametrize("whose", ["run", "flow"])
def test_times_that_no_run_takes(tmp_path: Path, seconds: float, whose: str) -> None:
    flow = flow_record()
    record = part([flow], duration=seconds)
    if whose == "flow":
        record = part([replace(flow, duration=seconds)])
    said = refusal(tmp_path, [(record, head(1, 1, [flow.path]))])
    assert "shard-1-of-1: not a usable blob: it took" in said
