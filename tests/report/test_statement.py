"""The in-toto statement: what external tools sign."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from flowproof.errors import ExitCode
from flowproof.model.origin import Source
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FileDigest, RunRecord
from flowproof.report.evidence import render
from tests.report.evidence_runs import (
    COMMIT,
    flaky,
    known_run,
    never_ran,
    passing_run,
    value,
    written,
)
from tests.report.fixtures import diverged, flow_record, run_of
from tests.report.hostile import hostile_run

NAMES = {"type": "array", "items": {"type": "string"}}
DESCRIPTOR = {
    "type": "object",
    "required": ["digest"],
    "properties": {
        "name": {"type": "string"},
        "digest": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{40,}$"},
        },
    },
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "required": ["_type", "subject", "predicateType", "predicate"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {"type": "array", "minItems": 1, "items": DESCRIPTOR},
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "predicate": {
            "type": "object",
            "required": ["result", "configuration"],
            "properties": {
                "result": {"enum": ["PASSED", "WARNED", "FAILED"]},
                "configuration": {"type": "array", "items": DESCRIPTOR},
                "url": {"type": "string"},
                "passedTests": NAMES,
                "warnedTests": NAMES,
                "failedTests": NAMES,
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


def statement(record: RunRecord) -> Any:
    made = value(written(render, record)["statement.intoto.json"])
    jsonschema.Draft202012Validator(SCHEMA).validate(made)
    names = [one["name"] for one in made["subject"] if "name" in one]
    assert len(set(names)) == len(names)
    return made


def result(record: RunRecord) -> str:
    found = statement(record)["predicate"]["result"]
    assert isinstance(found, str)
    return found


def test_it_is_about_the_commit_and_the_evidence() -> None:
    files = written(render, passing_run())
    digest = hashlib.sha256(files["evidence.json"]).hexdigest()
    assert statement(passing_run())["subject"] == [
        {"name": "https://git.example/shop/agent", "digest": {"gitCommit": COMMIT}},
        {"name": "evidence.json", "digest": {"sha256": digest}},
    ]


def test_the_digest_is_right_for_whoever_only_asks_for_names() -> None:
    made = {name: None for name, _ in render(passing_run())}
    assert [*made] == ["evidence.json", "statement.intoto.json"]
    *_, (_, content) = render(passing_run())
    assert (
        "".join(map(str, content)).encode()
        == written(render, passing_run())["statement.intoto.json"]
    )


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(None, id="no repository"),
        pytest.param(Source("", COMMIT, "", True, "ab" * 32), id="changed"),
        pytest.param(Source("", COMMIT, "", None), id="unknown"),
        pytest.param(Source("x", "HEAD", "", False), id="no commit"),
    ],
)
def test_where_the_commit_does_not_tell_what_ran_the_files_do(source: Source | None) -> None:
    subjects = statement(replace(passing_run(), source=source))["subject"]
    named = [one.get("name") for one in subjects]
    assert {"smoke/booking.flow.yaml", "smoke/booking.trace.json", "evidence.json"} <= {*named}
    commits = [one for one in subjects if "gitCommit" in one["digest"]]
    assert len(commits) == (source is not None and source.commit == COMMIT)


def test_all_inputs_are_its_configuration_each_once() -> None:
    flow = replace(flow_record(), inputs=(FileDigest("assistant.py", "ee" * 32),))
    found = statement(known_run(flow, replace(flow, path="b.flow.yaml")))["predicate"]
    assert [one["name"] for one in found["configuration"]] == [
        "assistant.py",
        "smoke/booking.flow.yaml",
        "smoke/booking.trace.json",
        "uv.lock",
    ]
    assert found["url"] == "https://ci.example/runs/7"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(passing_run(), "PASSED", id="all passed"),
        pytest.param(known_run(flow_record(), never_ran()), "WARNED", id="one skipped"),
        pytest.param(known_run(flaky()), "WARNED", id="flaky"),
        pytest.param(
            known_run(replace(flow_record(), verdict=Verdict.PASS_NOTHING_ASSERTED)),
            "WARNED",
            id="asserts nothing",
        ),
        pytest.param(known_run(replace(flow_record(), warnings=("w",))), "WARNED", id="warning"),
        pytest.param(replace(passing_run(), partial=True), "WARNED", id="a part of the suite"),
        pytest.param(replace(passing_run(), warnings=("w",)), "WARNED", id="warning of the run"),
        pytest.param(replace(run_of(), exit_code=ExitCode.PASSED), "WARNED", id="no flow, allowed"),
        pytest.param(run_of(), "FAILED", id="no flow"),
        pytest.param(known_run(flow_record(), diverged()), "FAILED", id="one failed"),
        pytest.param(
            replace(passing_run(), exit_code=ExitCode.WORLD_ERROR), "FAILED", id="a failed hook"
        ),
    ],
)
def test_the_result(record: RunRecord, expected: str) -> None:
    assert result(record) == expected


def test_each_flow_that_ran_is_in_one_list() -> None:
    found = statement(known_run())["predicate"]
    lists = [found[f"{one}Tests"] for one in ("passed", "warned", "failed")]
    assert [len(one) for one in lists] == [2, 2, 3]
    assert not any("payment.flow.yaml: Payment in staging" in one for one in lists)
    assert "smoke/sometimes.flow.yaml: Sometimes" in found["warnedTests"]


def test_a_hostile_run_makes_a_valid_statement() -> None:
    assert result(hostile_run()) == "FAILED"


def test_a_digest_that_is_none_is_left_out() -> None:
    flow = replace(flow_record(), spec=FileDigest("a", "not a digest"), trace=None)
    assert statement(run_of(flow))["predicate"]["configuration"] == []
