"""The evidence of a run: complete, chained, and the same for every reader."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flowproof.errors import CountsDiffer, ExitCode
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.origin import Population
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, LazyFlows, RunRecord
from flowproof.report import run_json
from flowproof.report.evidence import FIRST, render
from flowproof.report.evidence_schema import evidence_schema
from flowproof.report.verify_evidence import evidence_problems
from tests.report.evidence_runs import flaky, known_run, never_ran, passing_run, written
from tests.report.fixtures import flow_record, run_of, sample_run
from tests.report.hostile import EVIL, hostile_run

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evidence.md"
RUNS: dict[str, Callable[[], RunRecord]] = {
    "everything known": known_run,
    "nothing known": sample_run,
    "all well": passing_run,
    "hostile": hostile_run,
    "empty": run_of,
}


def evidence(record: RunRecord) -> Any:
    return json.loads(written(render, record)["evidence.json"])


def compact(value: object) -> str:
    """Canonical JSON as any other program would make it."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def problems(data: bytes, sha256: str | None = None) -> list[str]:
    return list(evidence_problems(data, sha256))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_evidence_is_by_its_schema(run: Callable[[], RunRecord]) -> None:
    schema = evidence_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(evidence(run()))


def spoil(where: str, new: object) -> Callable[[Any], None]:
    def spoiled(value: Any) -> None:
        *path, last = (int(part) if part.isdigit() else part for part in where.split("."))
        for part in path:
            value = value[part]
        value[last] = new

    return spoiled


@pytest.mark.parametrize(
    "guilty",
    [
        pytest.param(spoil("schema", "flowproof.evidence/2"), id="schema"),
        pytest.param(spoil("more", 1), id="a block that is not known"),
        pytest.param(lambda value: value.pop("who"), id="a block is missing"),
        pytest.param(lambda value: value["flows"][0].pop("spec"), id="a field is missing"),
        pytest.param(spoil("flows.0.verdict", "passed"), id="no such verdict"),
        pytest.param(spoil("flows.0.duration_ms", 0.5), id="not whole"),
        pytest.param(spoil("flows.0.chain", "x"), id="no digest"),
        pytest.param(spoil("population.entries", -1), id="less than none"),
        pytest.param(spoil("flows.0.assertions.0.outcome", "ok"), id="no such outcome"),
    ],
)
def test_what_is_no_evidence_is_not_by_the_schema(guilty: Callable[[Any], object]) -> None:
    value = evidence(known_run())
    guilty(value)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(evidence_schema()).validate(value)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_file_has_one_form(run: Callable[[], RunRecord]) -> None:
    text = written(render, run())["evidence.json"].decode()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert not re.search("[\ud800-\udfff]", text)


def test_all_that_an_auditor_asks_is_there() -> None:
    value = evidence(known_run())
    assert value["absent"] == {}
    assert value["who"]["actor"] == "casey" and value["who"]["url"].endswith("/runs/7")
    assert value["when"] == {
        "duration_ms": 62400,
        "end": "2026-11-30T09:01:02Z",
        "start": "2026-11-30T09:00:00Z",
        "timezone": "UTC",
    }
    assert value["what"]["commit"].startswith("0123") and value["what"]["changed"] is False
    assert value["what"]["inputs"] == [{"path": "uv.lock", "sha256": "1c" * 32}]
    assert value["tasks"] == [{"cause": "", "id": "before_all", "state": "done"}]
    [control] = value["run"]["controls"]
    assert (control["id"], control["references"]) == ("ac.bookings.create", ["SOC2:CC7.1"])
    assert control["flows"] == sum(control["verdicts"].values())
    flow = value["flows"][0]
    assert flow["trace"] == {"path": "smoke/booking.trace.json", "sha256": "a1" * 32}
    assert flow["host"] == "builder-7" and value["flows"][6]["host"] == "worker-3"
    assert "PATH" in flow["environment"]
    assert flow["recording"] == {
        "flowproof": "0.1.0",
        "models": ["gpt-5.4-mini-2026-03-17"],
        "recorded": "2026-11-02T10:15:00Z",
    }
    assert value["exceptions"] == []


def test_the_population_adds_up_and_tells_every_try() -> None:
    value = evidence(known_run())
    population = value["population"]
    assert population["discovered"] == population["selected"] + population["deselected"]
    assert sum(population["verdicts"].values()) == population["entries"] == len(value["flows"]) == 8
    assert (population["began"], population["not_begun"]) == (7, 1)
    assert (population["attempts"], population["retried"]) == (8, 1)
    assert population["selection"] == [["--tag", "smoke and not slow"], ["-k", "x"]]
    tries = value["flows"][6]["attempts"]
    assert [(one["attempt"], one["verdict"]) for one in tries] == [(1, "fail"), (2, "pass")]
    assert tries[0]["reason"] == "it said no\nand left"
    assert value["flows"][7]["attempts"] == []


def test_what_is_not_known_is_null_with_the_reason() -> None:
    value = evidence(sample_run())
    assert set(value["absent"]) == {"population", "what", "who"}
    assert value["who"]["actor"] is value["what"]["commit"] is None
    assert value["population"]["discovered"] is value["population"]["deselected"] is None


def lying(record: RunRecord) -> RunRecord:
    """The same run, whose flows are read anew and are not what their verdicts say."""
    flows = record.flows
    verdicts = [Verdict.PASS, *[flow.verdict for flow in flows][1:]]
    return replace(record, flows=LazyFlows(verdicts, lambda at: flows[at]))


def counted(discovered: int, selected: int) -> RunRecord:
    return replace(passing_run(), population=Population(discovered, selected))


@pytest.mark.parametrize(
    ("record", "says"),
    [
        pytest.param(lying(run_of(flaky())), "its flows ended in", id="verdicts"),
        pytest.param(counted(5, 3), "3 flows were selected, .* 2", id="a flow is missing"),
        pytest.param(counted(5, 1), "1 flows were selected, .* 2", id="a flow too many"),
        pytest.param(counted(1, 2), "2 flows were selected of 1", id="more than there are"),
        pytest.param(
            replace(passing_run(), population=Population(2, 2, left_out=("x",))),
            "0 flows were left out, and 1 are named",
            id="more names than were left out",
        ),
    ],
)
def test_counts_that_do_not_add_up_are_refused(record: RunRecord, says: str) -> None:
    with pytest.raises(CountsDiffer, match=says):
        written(render, record)


def test_a_flow_that_runs_several_times_is_selected_once() -> None:
    one, other = (replace(flow_record(), name=f"Booking [{at}/2]") for at in (1, 2))
    population = evidence(known_run(one, other))["population"]
    assert (population["selected"], population["flows"], population["entries"]) == (1, 1, 2)


def test_the_chain_can_be_computed_by_anybody() -> None:
    value = evidence(known_run())
    chain = FIRST
    for flow in value["flows"]:
        link = flow.pop("chain")
        chain = hashlib.sha256((chain + compact(flow)).encode()).hexdigest()
        assert link == chain
    integrity = value.pop("integrity")
    del value["flows"]
    assert integrity["last"] == chain
    assert integrity["head"] == hashlib.sha256((chain + compact(value)).encode()).hexdigest()


def test_it_names_the_run_record_by_its_digest() -> None:
    record = known_run()
    digest = hashlib.sha256(run_json.dump(record).encode()).hexdigest()
    assert evidence(record)["integrity"]["run_json_sha256"] == digest
    data = written(render, record)["evidence.json"]
    assert problems(data, digest) == []
    assert problems(data, "0" * 64) == ["is of another run.json than the one beside it"]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_what_was_not_changed_has_no_problem(run: Callable[[], RunRecord]) -> None:
    assert problems(written(render, run())["evidence.json"]) == []


@pytest.mark.parametrize(
    ("guilty", "says"),
    [
        pytest.param(spoil("flows.2.reason", ""), r"changed at flow 3 \(refunds/", id="a flow"),
        pytest.param(lambda value: value["flows"].pop(1), "changed at flow 2", id="one is gone"),
        pytest.param(lambda value: value["flows"].pop(), "ends its chain", id="the last is gone"),
        pytest.param(lambda value: value["flows"].reverse(), "at flow 1", id="another order"),
        pytest.param(spoil("flows.4", 7), "no entry where flow 5 is", id="no flow"),
        pytest.param(spoil("who.actor", "mallory"), "outside of its flows", id="who"),
        pytest.param(spoil("integrity.first", "1" * 64), "does not begin", id="first link"),
        pytest.param(spoil("integrity.last", 3), "outside of its flows", id="last link"),
        pytest.param(spoil("population.verdicts.pass", 9), "other counts", id="counts"),
        pytest.param(spoil("population.entries", 9), "counts 9 entries and has 8", id="entries"),
        pytest.param(spoil("population.not_begun", 9), "together they are not all", id="begun"),
        pytest.param(spoil("population.deselected", 0), "not all that were disc", id="deselected"),
        pytest.param(spoil("population", None), "has no population", id="no population"),
        pytest.param(spoil("flows", {}), "has no flows", id="no flows"),
        pytest.param(spoil("schema", 1), "does not say that its schema", id="schema"),
    ],
)
def test_what_was_changed_is_named(guilty: Callable[[Any], object], says: str) -> None:
    value = evidence(known_run())
    guilty(value)
    found = problems(json.dumps(value).encode())
    assert any(re.search(says, problem) for problem in found), found


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 10_000, b"[]"], ids=repr)
def test_what_is_no_evidence_at_all(data: bytes) -> None:
    [problem] = problems(data)
    assert "is not JSON" in problem or "schema" in problem


def test_long_and_hostile_texts_are_bounded_and_made_visible() -> None:
    flow = evidence(hostile_run())["flows"][0]
    assert len(flow["assertions"][0]["closest"]) < 5_000
    assert "\x1b" not in flow["reason"] and "\u202e" not in flow["reason"]
    # Names stay what they are, so that files can be found by them.
    assert flow["path"] == f"a/{EVIL}".replace("\ud800", "\ufffd")


def test_both_phases_are_explained_where_both_occurred() -> None:
    recorded = replace(flow_record("New"), path="new.flow.yaml", phase="record")
    value = evidence(run_of(flow_record(), recorded))
    assert len(value["proves"]) == len(value["proves_not"]) == 2
    assert len(evidence(run_of(never_ran()))["proves"]) == 1


def test_a_time_that_is_none_has_no_end() -> None:
    record = replace(run_of(flow_record()), started="yesterday", duration=1e300)
    when = evidence(record)["when"]
    assert (when["end"], when["duration_ms"]) == (None, 10**12)
    assert evidence(replace(record, started="2026-11-30T09:00:00Z"))["when"]["end"] is None


def test_memory_stays_flat() -> None:
    flow = replace(flow_record(), reason="x" * 3_000)

    def peak(count: int) -> int:
        def read(at: int) -> FlowRecord:
            return replace(flow, path=f"{at}.flow.yaml")

        flows = LazyFlows([Verdict.PASS] * count, read)
        record = replace(run_of(), flows=flows, exit_code=ExitCode.PASSED)
        tracemalloc.start()
        for _, content in render(record):
            assert not isinstance(content, bytes | str)
            for _ in content:
                pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(400) - peak(100) < 300 * 1_500


def test_the_recipe_in_the_documentation_works(tmp_path: Path) -> None:
    [recipe] = re.findall("```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    data = written(render, known_run())["evidence.json"]

    def run(data: bytes) -> subprocess.CompletedProcess[str]:
        (tmp_path / "evidence.json").write_bytes(data)
        return subprocess.run(
            [sys.executable, "-I", "-c", recipe],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run(data).returncode == 0
    assert run(data.replace(b"casey", b"carol")).returncode != 0
    assert run(data.replace(b'"booking"', b'"looking"')).returncode != 0


def test_an_entry_is_of_json_values_only() -> None:
    from flowproof.report.evidence_flow import entry

    made: JsonObject = entry(flaky(), "h")
    assert json.loads(json.dumps(made)) == made
