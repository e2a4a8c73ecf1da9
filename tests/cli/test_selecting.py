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
    assert told.json["population"]["left_out"] == ["a.flow.yaml"]
    whole = suite("suite", "run", "--no-reports", "--json")
    assert whole.json["partial"] is False
    assert whole.json["population"]["left_out"] == []


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


@pytest.fixture
def deep(suite: Shell) -> Shell:
    """The same suite with two flows in folders below it, and known durations of all."""
    for name in ("ops/d", "ops/in/e"):
        suite.write(f"{name}.flow.yaml", SPEC.replace("Greeter", f"flow {name[-1]}"))
    suite.write(".flowproof/durations.json", KNOWN)
    return suite


KNOWN = '{"a.flow.yaml": 9, "ops/d.flow.yaml": 3}'


@pytest.mark.parametrize(
    ("paths", "partial"),
    [
        pytest.param(["."], False, id="the suite"),
        pytest.param([], False, id="no path"),
        pytest.param(["a.flow.yaml", "b.flow.yaml", "c.flow.yaml", "ops"], False, id="all of it"),
        pytest.param(["ops"], True, id="folder"),
        pytest.param(["ops/d.flow.yaml"], True, id="file"),
        pytest.param(["ops/d.flow.yaml:2"], True, id="line"),
        pytest.param(["a.flow.yaml", "ops"], True, id="two of many"),
    ],
)
def test_only_a_run_of_every_flow_is_whole_and_replaces_the_durations(
    deep: Shell, paths: list[str], partial: bool
) -> None:
    told = deep("suite", "run", *paths, "--strict", "--no-reports", "--json")
    assert (told.code, told.json["partial"]) == (2, partial)
    assert ("does not vouch for the whole suite" in told.err) is partial
    file = deep.folder / ".flowproof/durations.json"
    assert (file.read_text("utf-8") == KNOWN) is partial
    assert deep("suite", "list", *paths, "--json").json["partial"] is partial


@pytest.mark.parametrize(("path", "partial"), [("ops", True), (".", False)], ids=["part", "all"])
def test_a_folder_for_run_is_no_more_whole(deep: Shell, path: str, partial: bool) -> None:
    assert deep("run", path, "--json").json["partial"] is partial


def test_shards_of_a_part_are_partial_when_merged(deep: Shell) -> None:
    for paths, partial in ((["ops"], True), (["."], False)):
        for shard in ("1/2", "2/2"):
            deep("suite", "run", *paths, "--shard", shard, "--report", "blob=blobs")
        merged = deep("report", "merge", "blobs", "--json").json
        assert merged["partial"] is partial


def test_without_a_suite_a_folder_is_whole_and_a_file_is_not(shell: Shell) -> None:
    for name in ("flows/a", "flows/in/b"):
        shell.write(f"{name}.flow.yaml", SPEC.replace("Greeter", name))
    for path, partial in (("flows", False), ("flows/in", False), ("flows/a.flow.yaml", True)):
        told = shell("suite", "run", path, "--no-reports", "--allow-empty", "--json")
        assert told.json["partial"] is partial


def test_a_suite_that_cannot_be_used_has_its_state_beside_it(deep: Shell) -> None:
    deep.write("suite.yaml", "nam: shop\n")
    told = deep("suite", "run", "ops", "--no-reports", "--json")
    assert (told.code, told.json["partial"]) == (2, True)
    assert not (deep.folder / "ops/.flowproof").exists()
    assert (deep.folder / ".flowproof/durations.json").read_text("utf-8") == KNOWN


def test_last_failed_when_nothing_failed(suite: Shell) -> None:
    suite("suite", "run", "--no-reports", "--tag", "nobody")
    told = suite("suite", "run", "--no-reports", "--last-failed")
    assert (told.code, "no earlier run is known here" in told.err) == (2, True)
    suite.write(".flowproof/last-failed.json", "[]")
    told = suite("suite", "run", "--no-reports", "--last-failed")
    assert told.code == 5
    assert "no flow failed when they last ran" in told.err
    suite.write(".flowproof/last-failed.json", '["gone.flow.yaml"]')
    told = suite("suite", "run", "--no-reports", "--last-failed")
    assert (told.code, "none of 3 flows is selected" in told.err) == (5, True)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param(
            ["--tag", "smok"],
            "none of 3 flows is selected: the tags are slow, smoke",
            id="misspelt",
        ),
        pytest.param(["--tag", "slow", "-k", "'flow a'"], "none of 3 flows is selected\n", id="-k"),
        pytest.param(
            ["--tag", "x", "a.flow.yaml"], "the one flow is not selected: the tags are", id="one"
        ),
    ],
)
def test_what_there_is_to_select_by(suite: Shell, options: list[str], text: str) -> None:
    told = suite("suite", "list", *options)
    assert told.code == 5
    assert text in told.err


def test_no_tags_at_all(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    shell.write("b.flow.yaml", SPEC.replace("Greeter", "Other"))
    assert (
        "none of 2 flows is selected: no flow has a tag" in shell("suite", "list", "--tag", "x").err
    )


@pytest.mark.parametrize("seed", ["ops", "ops/", "a.flow.yaml", "gone.flow.yaml", "gone/x", "."])
def test_a_shuffle_does_not_swallow_a_path(deep: Shell, seed: str) -> None:
    told = deep("suite", "list", "--shuffle", seed)
    assert told.code == 2
    assert f"--shuffle {seed}: this is a path and no seed; write --shuffle=SEED" in told.err


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["ops", "--shuffle"], id="behind the path"),
        pytest.param(["--shuffle=7", "ops"], id="with a seed"),
        pytest.param(["--shuffle", "7", "ops"], id="with a seed behind a blank"),
        pytest.param(["--shuffle", "s" * 300, "ops"], id="longer than a file's name"),
    ],
)
def test_a_shuffle_with_a_path_beside_it(deep: Shell, options: list[str]) -> None:
    assert sorted(listed(deep, *options)) == ["o", "o"]


def test_a_list_tells_what_is_there_for_another(suite: Shell) -> None:
    suite.write("suite.yaml", "flows: {a.flow.yaml: {needs: [b.flow.yaml]}}\n")
    lines = suite("suite", "list", "-k", "'flow a'").out.splitlines()
    assert lines[0].endswith("  needed by a.flow.yaml")
    assert "needed by" not in lines[1]
    flows = suite("suite", "list", "-k", "'flow a'", "--json").json["flows"]
    assert [flow.get("needed_by") for flow in flows] == ["a.flow.yaml", None]
    assert "needed by" not in suite("suite", "list").out
    suite.write("b.flow.yaml", "tags: [")
    assert suite("suite", "list", "a.flow.yaml").out.splitlines()[0].endswith("by a.flow.yaml")


def test_a_list_has_the_first_line_of_what_is_wrong(suite: Shell) -> None:
    suite.write("b.flow.yaml", "nmae: b\nagent: {command: x}\nsteps: [{prompt: go}]\n")
    lines = suite("suite", "list").out.splitlines()
    assert len(lines) == 3
    assert lines[2] == "b.flow.yaml  error: b.flow.yaml:1:1: the flow has no key `nmae`"


def test_a_durations_file_that_is_not_there_says_how_to_make_one(suite: Shell) -> None:
    told = suite("suite", "list", "--shard", "1/2", "--durations-file", "d.json")
    assert told.code == 2
    assert "d.json: there is no such file" in told.err
    assert "cp .flowproof/durations.json durations.json" in told.err


@pytest.mark.parametrize(
    ("options", "counts", "selection"),
    [
        pytest.param([], (3, 3), [], id="all"),
        pytest.param(["--tag", "smoke"], (3, 2), [["--tag", "smoke"]], id="tag"),
        pytest.param(
            ["-k", "flow", "--shard", "1/2"], (3, 2), [["-k", "flow"], ["--shard", "1/2"]], id="two"
        ),
        pytest.param(["b.flow.yaml:3"], (1, 1), [["paths", "b.flow.yaml"]], id="a path"),
        pytest.param(["."], (3, 3), [], id="a path that leaves nothing out"),
        pytest.param(["--shuffle=1", "--repeat", "2"], (3, 3), [], id="neither do these"),
    ],
)
def test_the_record_says_how_many_there_were(
    suite: Shell, options: list[str], counts: tuple[int, int], selection: list[list[str]]
) -> None:
    told = suite("suite", "run", "--no-reports", "--json", *options).json
    found = told["population"]
    assert (found["discovered"], found["selected"]) == counts
    assert found["selection"] == selection
    assert told["origin"]["distribution"] and told["origin"]["system"]


def test_the_record_says_that_what_failed_last_was_selected(suite: Shell) -> None:
    suite("suite", "run", "--no-reports", "--strict")
    told = suite("suite", "run", "--no-reports", "--json", "--strict", "--last-failed")
    assert told.json["population"]["selection"] == [["--last-failed", ""]]


def test_specs_that_are_named_are_all_there_were(suite: Shell) -> None:
    told = suite("run", "a.flow.yaml", "b.flow.yaml", "--json").json
    assert told["population"] == {
        "discovered": 2,
        "selected": 2,
        "selection": [],
        "left_out": [],
    }
