"""The JSON Schema of `run.json`, and both schemas of what a run leaves on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from flowproof.cli.main import run
from flowproof.model.run_record import RunRecord
from flowproof.report.evidence_schema import evidence_schema
from flowproof.report.record_schema import run_record_schema
from flowproof.report.run_json import dump, load
from tests.report.evidence_runs import known_run
from tests.report.fixtures import sample_run
from tests.report.hostile import hostile_run
from tests.report.test_run_json import RUNS

VALIDATOR = jsonschema.Draft202012Validator(run_record_schema())


@pytest.mark.parametrize(
    "made", [known_run, sample_run, hostile_run], ids=lambda made: str(made.__name__)
)
def test_every_record_is_by_its_schema(made: Callable[[], RunRecord]) -> None:
    jsonschema.Draft202012Validator.check_schema(run_record_schema())
    VALIDATOR.validate(json.loads(dump(made())))


@settings(max_examples=30, deadline=None)
@given(RUNS)
def test_any_record_is_by_its_schema(record: RunRecord) -> None:
    VALIDATOR.validate(json.loads(dump(record)))


def without(*path: str | int) -> Callable[[Any], None]:
    def spoil(value: Any) -> None:
        *where, last = path
        for part in where:
            value = value[part]
        del value[last]

    return spoil


def put(new: object, *path: str | int) -> Callable[[Any], None]:
    def spoil(value: Any) -> None:
        *where, last = path
        for part in where:
            value = value[part]
        value[last] = new

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(without("schema"), id="no schema"),
        pytest.param(without("counts", "pass"), id="a count is missing"),
        pytest.param(without("flows", 0, "verdict"), id="no verdict"),
        pytest.param(put("great", "flows", 0, "verdict"), id="no such verdict"),
        pytest.param(put(6, "exit_code"), id="no such exit code"),
        pytest.param(put(1, "flows", 0, "mood"), id="a key that is not known"),
        pytest.param(put("1", "flows", 0, "line"), id="a text for a number"),
        pytest.param(put("maybe", "flows", 0, "assertions", 0, "outcome", "kind"), id="outcome"),
        pytest.param(put([1], "flows", 0, "trajectory", "turns", 0, "tokens"), id="half a pair"),
        pytest.param(put("dream", "flows", 0, "phase"), id="no such phase"),
    ],
)
def test_what_is_no_record_is_not_by_the_schema(spoil: Callable[[Any], None]) -> None:
    value = json.loads(dump(known_run()))
    spoil(value)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(value)


def test_a_record_of_before_is_by_the_schema_too() -> None:
    value = json.loads(dump(sample_run()))
    for later in ("slots", "tasks", "inputs", "origin", "source", "population"):
        del value[later]
    VALIDATOR.validate(value)
    assert load(json.dumps(value)).slots == 1


@pytest.mark.parametrize(
    ("kind", "schema"),
    [("run-record", run_record_schema()), ("evidence", evidence_schema())],
    ids=["run-record", "evidence"],
)
def test_the_command_prints_it(
    capsys: pytest.CaptureFixture[str], kind: str, schema: object
) -> None:
    assert run(["schema", "--of", kind]) == 0
    assert json.loads(capsys.readouterr().out) == schema
