"""A suite that three processes share, merged: the same run as that of one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.project import PLAIN_AGENT, Project, Ran, flow
from tests.suite.test_source import git

ASK = {"do": "ask", "say": "hello"}
SUITE = "name: shop\nflows: {deep/b.flow.yaml: {needs: [a.flow.yaml]}}\n"


@pytest.fixture
def shop(project: Project, traced: Path) -> Project:
    """Seven flows that end in four ways; `b` needs `a`, and two have one name."""
    project.write("suite.yaml", SUITE)
    for spec in ("a", "deep/b", "deep/c", "e"):
        project.add(traced, f"{spec}.flow.yaml", name="twice" if spec in "ae" else spec)
    project.add(traced, "bad.flow.yaml", {"assert": "reply contains no such thing"}, name="bad")
    project.write("broken.flow.yaml", "name: [")
    project.write("new.flow.yaml", flow(PLAIN_AGENT, name="new"))
    return project


def run_shards(project: Project, *options: str, shards: int = 3) -> list[int]:
    """The exit codes of all shards, which run at once."""
    started = [
        project.start(
            *("suite", "run", "--shard", f"{at}/{shards}", "--report", f"blob=blobs/{at}"),
            *options,
            plan=[ASK],
        )
        for at in range(1, shards + 1)
    ]
    for process in started:
        process.communicate(timeout=60)
    return [process.returncode for process in started]


def merge(project: Project, *options: str) -> Ran:
    return project.flowproof("report", "merge", "blobs", "--json", *options)


def outcomes(record: dict[str, Any]) -> dict[str, tuple[object, ...]]:
    """What a run found of each flow, by path; times and hosts aside."""
    keys = ("name", "verdict", "exit_code", "reason", "line", "tags", "spec", "trace")
    more = ("assertions", "divergence", "trajectory", "control", "host")
    return {one["path"]: tuple(one[key] for key in (*keys, *more)) for one in record["flows"]}


def cases(project: Project, folder: str) -> list[tuple[str, ...]]:
    root = ET.parse(project.folder / folder / "TEST-flowproof.xml").getroot()
    found = []
    for case in root.iter("testcase"):
        ended = next((one.tag for one in case if one.tag in ("failure", "error", "skipped")), "")
        found.append((case.attrib["classname"], case.attrib["name"], ended))
    return sorted(found)


@pytest.mark.parametrize("detail", ["flow", "steps"])
def test_three_shards_are_one_run(shop: Project, detail: str) -> None:
    junit = ["--junit-detail", detail]
    whole = shop.flowproof(
        *("suite", "run", "--json", "--reports-dir", "whole", *junit), plan=[ASK]
    )
    assert whole.code == 2
    # One has the spec that is broken, one the flow that fails; `a` and `b` stay together.
    assert sorted(run_shards(shop)) == [0, 1, 2]
    merged = merge(shop, *junit)
    assert (merged.code, merged.record["exit_code"]) == (0, 2)
    assert merged.record["counts"] == whole.record["counts"]
    assert merged.record["counts"]["flows"] == 7
    assert outcomes(merged.record) == outcomes(whole.record)
    assert (merged.record["suite"], merged.record["partial"]) == ("shop", False)
    assert cases(shop, "reports") == cases(shop, "whole")
    assert sum(len(one["assertions"]) for one in merged.record["flows"]) == 5
    assert len(cases(shop, "whole")) == (7 if detail == "flow" else 12)


def test_a_green_suite_stays_green(shop: Project) -> None:
    for name in ("bad", "broken", "new"):
        (shop.folder / f"{name}.flow.yaml").unlink()
    assert run_shards(shop) == [0, 0, 0]
    merged = merge(shop)
    assert (merged.code, merged.record["exit_code"]) == (0, 0)
    assert "All 4 flows passed." in merged.stderr


def test_a_merge_names_what_no_shard_ran(shop: Project) -> None:
    run_shards(shop, "-k", "not twice and not new")  # `a` is one, and `b` needs it
    population = merge(shop).record["population"]
    assert (population["discovered"], population["selected"]) == (7, 5)
    assert population["left_out"] == ["e.flow.yaml", "new.flow.yaml"]
    run_shards(shop)
    assert merge(shop).record["population"]["left_out"] == []


def test_a_lost_shard_is_named(shop: Project) -> None:
    run_shards(shop)
    assert merge(shop).code == 0
    [lost] = (shop.folder / "blobs/2").iterdir()
    lost.unlink()
    ran = merge(shop)
    assert ran.code == 2
    assert "shard 2/3 is missing" in json.loads(ran.stdout)["error"]
    assert "Traceback" not in ran.stderr


def test_a_flow_that_changed_between_two_shards(shop: Project) -> None:
    run_shards(shop)
    shop.write("e.flow.yaml", flow(PLAIN_AGENT, name="another"))
    again = ("suite", "run", "--shard", "1/3", "--report", "blob=blobs/1")
    shop.flowproof(*again, plan=[ASK])
    ran = merge(shop)
    assert ran.code == 2
    assert "different suites" in json.loads(ran.stdout)["error"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00" * 100_000, id="zeros"),
        pytest.param(b"[" * 60_000 + b"\n", id="deep"),
        pytest.param(b'{"schema":"flowproof.blob/1","shard":[]}\n{}', id="types"),
    ],
)
def test_a_hostile_blob_is_an_error(shop: Project, data: bytes) -> None:
    run_shards(shop)
    (shop.folder / "blobs/evil.flowproof-blob").write_bytes(data)
    ran = merge(shop)
    assert (ran.code, json.loads(ran.stdout)["exit_code"]) == (2, 2)
    assert "evil.flowproof-blob: not a usable blob" in json.loads(ran.stdout)["error"]
    assert not (shop.folder / "reports").exists()


@pytest.mark.parametrize("changed", [False, True], ids=["clean", "changed"])
def test_the_recipe_in_one_checkout_changes_no_commit(shop: Project, changed: bool) -> None:
    """The shards one after another, each beside what those before it left, then all again."""
    for name in ("bad", "broken", "new"):
        (shop.folder / f"{name}.flow.yaml").unlink()
    git(shop.folder, "init", "-q", "-b", "main")
    git(shop.folder, "add", ".")
    git(shop.folder, "commit", "-q", "-m", "all")
    if changed:
        shop.write("helper.py", "")
    for _ in range(2):
        for at in (1, 2, 3):
            options = ("suite", "run", "--shard", f"{at}/3", "--report", "blob=blobs")
            assert shop.flowproof(*options, plan=[ASK]).code == 0
        merged = merge(shop)
        assert merged.code == 0
        source = merged.record["source"]
        assert (source["commit"], source["changed"], bool(source["changes"])) == (
            git(shop.folder, "rev-parse", "HEAD"),
            changed,
            changed,
        )
        assert merged.record["warnings"] == []
        assert shop.flowproof("suite", "run", "--report", "html=site", plan=[ASK]).code == 0
    assert "blobs/" in git(shop.folder, "status", "--porcelain")
