"""`flowproof report` and `--report blob`, at the verdict and at the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from flowproof.cli.reporting import attachments
from flowproof.model.run_record import FileDigest
from tests.cli.support import SPEC, Shell
from tests.report.fixtures import diverged

NAMES = "abcdefg"


@pytest.fixture
def suite(shell: Shell) -> Shell:
    """Seven flows without a trace, so that each is an error under --strict."""
    for name in NAMES:
        shell.write(f"{name}.flow.yaml", SPEC.replace("Greeter", f"flow {name}"))
    return shell


def run_shards(shell: Shell, *options: str, shards: int = 3) -> list[int]:
    return [
        shell(
            *("suite", "run", "-q", "--strict", "--shard", f"{at}/{shards}"),
            *("--report", "blob=blobs", *options),
        ).code
        for at in range(1, shards + 1)
    ]


def test_the_shards_of_a_run_are_merged(suite: Shell) -> None:
    whole = suite("suite", "run", "--strict", "--no-reports", "--json").json
    assert run_shards(suite) == [2, 2, 2]
    assert not (suite.folder / "reports").exists()
    told = suite("report", "merge", "blobs", "--json")
    # The verdict is told; that they were merged is what the exit code says.
    assert (told.code, told.json["exit_code"], told.json["partial"]) == (0, 2, False)
    assert told.json["counts"] == whole["counts"]
    assert [flow["name"] for flow in told.json["flows"]] == [f"flow {name}" for name in NAMES]
    assert "merged 3 shards" in told.err and "All 7 flows could not be judged." in told.err
    assert sorted(path.name for path in (suite.folder / "reports").iterdir()) == [
        "SHA256SUMS",
        "TEST-flowproof.xml",
        "evidence.json",
        "flows",
        "index.html",
        "run.json",
        "statement.intoto.json",
    ]
    written = (suite.folder / "reports/run.json").read_text("utf-8")
    assert json.loads(written) == told.json


@pytest.mark.parametrize("on_github", [True, False], ids=["on GitHub", "elsewhere"])
def test_a_merge_on_github_is_summed_up(
    suite: Shell, on_github: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_shards(suite)
    summary = suite.folder / "summary.md"
    if on_github:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    told = suite("report", "merge", "blobs")
    # The step itself is green: marks in the files are for the shards to make.
    assert (told.code, "::error" in told.err) == (0, False)
    assert summary.exists() is on_github
    if on_github:
        text = summary.read_text("utf-8")
        assert text.startswith("## ✗ ") and "All 7 flows could not be judged" in text


def test_a_merge_in_the_folder_of_the_suite_is_a_run_of_it(suite: Shell) -> None:
    run_shards(suite)
    state = suite.folder / ".flowproof"
    assert not (state / "durations.json").exists()
    (state / "last-failed.json").unlink()
    merged = suite("report", "merge", "blobs", "--json").json
    assert sorted(json.loads((state / "durations.json").read_text("utf-8"))) == [
        f"{name}.flow.yaml" for name in NAMES
    ]
    assert len(json.loads((state / "last-failed.json").read_text("utf-8"))) == 7
    kept = state / "runs" / merged["id"] / "report.json"
    assert json.loads(kept.read_text("utf-8")) == merged
    assert suite("report", "merge", "blobs").code == 0


def test_a_merge_elsewhere_leaves_only_reports(
    suite: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_shards(suite)
    elsewhere = suite.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert suite("report", "merge", "../blobs", "--report", "json=out").code == 0
    assert [path.name for path in elsewhere.iterdir()] == ["out"]


def test_a_merge_of_a_selection_is_partial(suite: Shell) -> None:
    run_shards(suite, "-k", "'flow a' or 'flow b'", shards=2)
    told = suite("report", "merge", "blobs", "--json")
    assert (told.code, told.json["partial"], told.json["counts"]["flows"]) == (0, True, 2)
    assert "covers a selection" in told.err
    assert not (suite.folder / ".flowproof/durations.json").exists()


def test_a_shard_that_stopped_early_makes_a_merge_partial(suite: Shell) -> None:
    run_shards(suite, "-x", "-j", "1")
    assert suite("report", "merge", "blobs", "--json").json["partial"] is True


def test_shards_without_a_flow_count(suite: Shell) -> None:
    assert run_shards(suite, shards=9)[-2:] == [5, 5]
    assert suite("report", "merge", "blobs", "--json").json["counts"]["flows"] == 7


def test_a_run_without_shards_is_one_part(suite: Shell) -> None:
    assert suite("suite", "run", "--strict", "--report", "blob=b").code == 2
    assert [path.name for path in (suite.folder / "b").iterdir()] == ["shard-1-of-1.flowproof-blob"]
    assert suite("report", "merge", "b", "--json").json["partial"] is False


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param(["-k", "'flow c'"], "different selections", id="-k"),
        pytest.param(["--tag", "x"], "different selections", id="--tag"),
        pytest.param(["--last-failed"], "different selections", id="--last-failed"),
        pytest.param(["--durations-file", "d.json"], "different selections", id="--durations-file"),
        pytest.param(["--repeat", "2"], "different selections", id="--repeat"),
        pytest.param(["."], "different selections", id="paths"),
    ],
)
def test_a_shard_that_was_run_in_another_way(suite: Shell, options: list[str], text: str) -> None:
    suite.write("d.json", '{"a.flow.yaml": 100}')
    run_shards(suite)
    shard = ["--shard", "3/3", "--report", "blob=blobs"]
    suite("suite", "run", "-q", "--strict", *shard, *options)
    told = suite("report", "merge", "blobs", "--json")
    assert (told.code, told.json["exit_code"]) == (2, 2)
    assert text in told.json["error"] and "shard 3/3" in told.json["error"]


@pytest.mark.parametrize("options", [["--shuffle"], ["--retries", "1"], ["-j", "2"]], ids=" ".join)
def test_what_may_differ_between_shards(suite: Shell, options: list[str]) -> None:
    run_shards(suite)
    shard = ["--shard", "3/3", "--report", "blob=blobs"]
    suite("suite", "run", "-q", "--strict", *shard, *options)
    assert suite("report", "merge", "blobs").code == 0


@pytest.mark.parametrize(
    "name", ["a.flow.yaml", "a.trace.json", "suite.yaml"], ids=["spec", "trace", "suite"]
)
def test_a_suite_that_changed_between_shards(suite: Shell, name: str) -> None:
    run_shards(suite)
    suite.write("suite.yaml", "name: x\n") if name == "suite.yaml" else suite.trace("a.trace.json")
    if name == "a.flow.yaml":
        (suite.folder / "a.trace.json").unlink()
        suite.write(name, SPEC)
    suite("suite", "run", "-q", "--strict", "--shard", "3/3", "--report", "blob=blobs")
    told = suite("report", "merge", "blobs")
    assert told.code == 2
    assert "different suites" in told.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["merge"], "Missing argument", id="no folder"),
        pytest.param(["merge", "gone"], "gone: no such folder", id="a folder that is not there"),
        pytest.param(["merge", "."], "there is no *.flowproof-blob below .", id="no blob"),
        pytest.param(["merge", "a.flow.yaml"], "not a usable blob", id="no blob, but a file"),
        pytest.param(["merge", ".", "--report", "pdf"], "there are html, junit, json", id="kind"),
        pytest.param(["merge", ".", "--report", "blob"], "no such kind", id="a blob again"),
        pytest.param(["html"], "no run is kept in", id="no run"),
        pytest.param(["html", "a.flow.yaml"], "a.flow.yaml: not a usable run record", id="no run"),
        pytest.param(["pdf"], "pdf", id="no such report"),
    ],
)
def test_refused(suite: Shell, arguments: list[str], text: str) -> None:
    told = suite("report", *arguments)
    assert (told.code, told.out) == (2, "")
    assert text in told.err


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        pytest.param("html", "index.html", id="html"),
        pytest.param("junit", "TEST-flowproof.xml", id="junit"),
        pytest.param("json", "run.json", id="json"),
        pytest.param("evidence", "evidence.json", id="evidence"),
    ],
)
@pytest.mark.parametrize("named", ["newest", "id", "file"])
def test_a_report_is_made_again(suite: Shell, kind: str, file: str, named: str) -> None:
    first = suite("suite", "run", "--strict", "--json", "-k", "'flow a'").json["id"]
    suite("suite", "run", "--strict", "--json", "--reports-dir", "all")
    record = {"newest": [], "id": [first], "file": ["all/run.json"]}[named]
    told = suite("report", kind, *record, "--reports-dir", "again")
    assert (told.code, told.out) == (0, "")
    told_of, _, written = told.err.partition("\n")
    assert written == f"report: again/{file}\n"
    assert told_of.startswith("report of run ")
    assert told_of.endswith(" UTC, 1 flow: 1 error" if named == "id" else " UTC, 7 flows: 7 error")
    again = (suite.folder / "again" / file).read_bytes()
    assert again == (suite.folder / ("reports" if named == "id" else "all") / file).read_bytes()


def test_pages_of_flows_that_are_not_in_the_run_do_not_stay(suite: Shell) -> None:
    pages = suite.folder / "reports/flows"
    suite("suite", "run", "--strict")
    before = {path.name for path in pages.iterdir()}
    (pages / "notes.html").write_text("mine", "utf-8")
    told = suite("suite", "run", "--strict", "-k", "'flow a'")
    after = {path.name for path in pages.iterdir()}
    assert "notes.html" in after
    assert after - {"notes.html"} < before
    assert len(after) == 2
    assert "flows/" not in told.err.partition("report")[2]


def test_an_unknown_run(suite: Shell) -> None:
    id = suite("suite", "run", "--strict", "--json").json["id"]
    told = suite("report", "html", "20200101T000000Z-000000")
    assert told.code == 2
    assert f"there are {id}" in told.err


@pytest.mark.parametrize(
    ("options", "cases"), [([], 7), (["--junit-detail", "steps"], 7)], ids=["flow", "steps"]
)
def test_flows_that_never_ran_have_no_assertions(
    suite: Shell, options: list[str], cases: int
) -> None:
    suite("suite", "run", "--strict", *options)
    root = ET.parse(suite.folder / "reports/TEST-flowproof.xml").getroot()
    assert len(list(root.iter("testcase"))) == cases
    assert suite("report", "junit", *options).code == 0


def test_what_is_attached_where(tmp_path: Path) -> None:
    (tmp_path / "refunds").mkdir()
    trace = tmp_path / "refunds/approval.trace.json"
    trace.write_text("{}", "utf-8")
    flow, html = diverged(), Path("reports")
    flows = (replace(flow, path="refunds.approval.flow.yaml"), flow)

    def path(_html: Path | None = html, /, **environ: str) -> str:
        return attachments(environ, tmp_path, _html, flows)(flow)

    assert path() == path(GITHUB_ACTIONS="true", CI="true") == ""
    assert path(JENKINS_URL="http://ci/") == path(TF_BUILD="True") == str(trace)
    lab = {"GITLAB_CI": "true"}
    page = f"{tmp_path.name}/reports/flows/refunds.approval-2.html"
    assert path(**lab, CI_PROJECT_DIR=str(tmp_path.parent)) == page
    assert path(**lab, CI_PROJECT_DIR=str(tmp_path / "refunds")) == ""
    assert path(None, **lab, CI_PROJECT_DIR=str(tmp_path)) == ""
    trace.unlink()
    assert path(JENKINS_URL="http://ci/") == ""


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a\0b", "link"], ids=repr)
def test_nothing_outside_the_folder_is_attached(tmp_path: Path, name: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "secret").write_text("x", "utf-8")
    (here / "link").symlink_to(tmp_path / "secret")
    flow = replace(diverged(), trace=FileDigest(name, "00"))
    assert attachments({"JENKINS_URL": "x"}, here, None, [flow])(flow) == ""
