"""Selecting flows on the command line, at the verdict and at the exit code."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.support import SPEC, Shell


@pytest.fixture
def suite(shell: Shell) -> Shell:
    """Three flows without a trace, so that each is an error under --strict."""
    shell.write("suite.yaml", "name: shop\norder: [c.flow.yaml]\n")
    for name, tags in (("a", "[smoke]"), ("b", "[slow]"), ("c", "[smoke, slow]")):
        shell.write(
            f"{name}.flow.yaml", f"tags: {tags}\n" + SPEC.replace("Greeter", f"flow {name}")
        )
    return shell


def listed(shell: Shell, *options: str) -> list[str]:
    value = shell("suite", "list", "--json", *options).json
    return [flow["path"][0] for flow in value["flows"]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param([], "cab", id="all, the suite's order first"),
        pytest.param(["--tag", "smoke and not slow"], "a", id="tag"),
        pytest.param(["-k", "'flow b' or c.flow"], "cb", id="name"),
        pytest.param(["--shard", "2/2"], "b", id="shard"),
        pytest.param(["b.flow.yaml:3"], "b", id="line"),
    ],
)
def test_list(suite: Shell, options: list[str], expected: str) -> None:
    assert "".join(listed(suite, *options)) == expected


def test_list_says_why_a_flow_would_be_skipped_or_is_an_error(suite: Shell) -> None:
    suite.write("a.flow.yaml", "tags: [")
    suite.trace("b.trace.json")
    told = suite("suite", "list")
    assert told.code == 2
    lines = told.out.splitlines()
    assert lines[0] == "c.flow.yaml  flow c  [smoke, slow]  skipped: it has no trace yet"
    assert lines[1].startswith("a.flow.yaml  error: a.flow.yaml:2:1: not valid YAML")
    assert lines[2] == "b.flow.yaml  flow b  [slow]"


def test_a_run_is_about_what_was_selected_and_is_partial(suite: Shell) -> None:
    told = suite("suite", "run", "--no-reports", "--json", "--strict", "--tag", "slow")
    assert [flow["name"] for flow in told.json["flows"]] == ["flow c", "flow b"]
    assert told.json["partial"] is True and told.code == 2
    whole = suite("suite", "run", "--no-reports", "--json")
    assert whole.json["partial"] is False


@pytest.mark.parametrize("option", [["--tag", "none"], ["-k", "zzz"], ["--shard", "9/9"]], ids=str)
def test_nothing_selected_is_not_green(suite: Shell, option: list[str]) -> None:
    told = suite("suite", "run", "--no-reports", *option)
    assert told.code == 5
    assert "none of 3 flows is selected" in told.err
    assert suite("suite", "run", "--no-reports", "--allow-empty", *option).code == 0


def test_last_failed_follows_what_ran(suite: Shell) -> None:
    assert suite("suite", "run", "--no-reports", "--last-failed").code == 2
    assert suite("suite", "run", "--no-reports", "--strict", "-k", "'flow a'").code == 2
    assert listed(suite, "--last-failed") == ["a"]
    suite("suite", "run", "--no-reports", "--strict")
    assert listed(suite, "--last-failed") == ["c", "a", "b"]


def test_a_complete_run_leaves_durations_for_sharding(suite: Shell) -> None:
    file = suite.folder / ".flowproof/durations.json"
    suite("suite", "run", "--no-reports", "--strict", "-k", "'flow a'")
    assert not file.exists()
    suite("suite", "run", "--no-reports", "--strict")
    assert sorted(json.loads(file.read_text("utf-8"))) == [f"{name}.flow.yaml" for name in "abc"]
    file.write_text('{"a.flow.yaml": 9, "b.flow.yaml": 1, "c.flow.yaml": 1}', "utf-8")
    shard = ["--durations-file", str(file), "--shard"]
    assert [listed(suite, *shard, "1/2"), listed(suite, *shard, "2/2")] == [["a"], ["c", "b"]]


def test_a_shuffle_prints_its_seed_and_keeps_the_suites_order_first(suite: Shell) -> None:
    told = suite("suite", "list", "--shuffle")
    found = re.search(r"--shuffle=(\S+) gives the same again", told.err)
    assert found is not None and told.out.startswith("c.flow.yaml")
    assert suite("suite", "list", f"--shuffle={found[1]}").out == told.out


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--tag", "a and"], id="expression"),
        pytest.param(["--shard", "3/2"], id="shard"),
        pytest.param(["--durations-file", "d.json"], id="durations without a shard"),
        pytest.param(["--shard", "1/2", "--durations-file", "none.json"], id="no such file"),
        pytest.param(["a.flow.yaml:99"], id="no such line"),
    ],
)
def test_refused(suite: Shell, options: list[str]) -> None:
    assert suite("suite", "run", "--no-reports", *options).code == 2
