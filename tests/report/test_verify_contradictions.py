"""What whoever changes reports on purpose, lists and chains them anew, and says that another
flowproof wrote them cannot make agree."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FileDigest, RunRecord
from flowproof.report import html_seal
from flowproof.report.evidence import FIRST, link, sealed
from flowproof.report.sums import ONLY_WRITTEN
from flowproof.report.verify import verify
from flowproof.report.verify_files import Finding
from tests.report.evidence_runs import known_run
from tests.report.fixtures import diverged, flow_record, run_of, sample_run
from tests.report.hostile import hostile_run
from tests.report.test_verify import problems, relist, swap, write

RUNS: dict[str, Callable[[], RunRecord]] = {
    "everything known": known_run,
    "nothing known": sample_run,
    "hostile": hostile_run,
    "empty": run_of,
}


def by_another(run: RunRecord) -> RunRecord:
    return replace(run, flowproof="0.0.9")


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """All kinds of reports of a run, as another flowproof wrote them."""
    return write(tmp_path, by_another(known_run()))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def forge(reports: Path, change: Callable[[Any], object], file: str = "evidence.json") -> None:
    """Change what a file holds, and all digests with it: whoever can write all, can do that."""
    value = json.loads((reports / file).read_text("utf-8"))
    change(value)
    (reports / file).write_text(json.dumps(value, indent=2), "utf-8")
    reseal(reports)


def reseal(reports: Path) -> None:
    path = reports / "evidence.json"
    value = json.loads(path.read_text("utf-8"))
    chain = FIRST
    for flow in value["flows"]:
        flow["chain"] = chain = link(chain, flow)
    around = {key: item for key, item in value.items() if key not in ("flows", "integrity")}
    value["integrity"] |= {"last": chain, "head": sealed(chain, around)}
    if (reports / "run.json").exists():
        value["integrity"]["run_json_sha256"] = sha256(reports / "run.json")
    path.write_text(json.dumps(value, indent=2), "utf-8")
    statement = json.loads((reports / "statement.intoto.json").read_text("utf-8"))
    statement["subject"][-1]["digest"]["sha256"] = sha256(path)
    (reports / "statement.intoto.json").write_text(json.dumps(statement), "utf-8")
    relist(reports)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("detail", ["flow", "steps"])
def test_what_another_flowproof_wrote_contradicts_nothing(
    tmp_path: Path, run: Callable[[], RunRecord], detail: str
) -> None:
    from flowproof.cli.reporting import Reporting, write_reports

    reports = tmp_path / "reports"
    kinds = ("html", "junit", "json", "ctrf", "evidence")
    reporting = Reporting(dict.fromkeys(kinds, reports), detail)  # type: ignore[arg-type]
    write_reports(reporting, by_another(run()), tmp_path, {})
    found = verify(reports)
    assert (found.findings, found.reports) == ((), ())
    [unchecked] = found.unchecked
    assert "flowproof 0.0.9 wrote them" in unchecked.why


def test_other_words_and_what_is_not_known_yet_are_no_contradiction(reports: Path) -> None:
    def older(value: Any) -> None:
        value["proves"] = ["Another sentence."]
        value["run"]["exit_means"] = "another"
        value["later"] = {"something": 1}
        for flow in value["flows"]:
            if flow["recording"] is None:
                del flow["recording"]

    forge(reports, older)
    assert problems(verify(reports)) == {}


def set_in(*places: str | int, to: object) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for place in places[:-1]:
            value = value[place]
        assert repr(value[places[-1]]) != repr(to)
        value[places[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(set_in("who", "actor", to="ceo"), 'says "ceo" at who.actor', id="actor"),
        pytest.param(set_in("run", "exit_code", to=0), "at run.exit_code", id="exit code"),
        pytest.param(set_in("run", "exit_code", to=True), "says true at", id="a type"),
        pytest.param(set_in("run", "id", to="x"), "at run.id", id="run"),
        pytest.param(set_in("flows", 0, "reason", to="x"), "at flows[0].reason", id="reason"),
        pytest.param(set_in("flows", 0, "path", to="x"), "at flows[0].path", id="path"),
        pytest.param(set_in("flows", 0, "spec", "sha256", to="0" * 64), "spec.sha256", id="spec"),
        pytest.param(set_in("flows", 0, "trace", to=None), "makes an object", id="trace"),
        pytest.param(set_in("flows", 0, "assertions", to=[]), "a list of 0", id="assertions"),
        pytest.param(set_in("population", "discovered", to=999), "discovered", id="population"),
        pytest.param(set_in("what", "commit", to="0" * 40), "at what.commit", id="commit"),
        pytest.param(lambda value: value["flows"].pop(), "tells of", id="a flow less"),
        pytest.param(lambda value: value.update(flows=5), "no flows", id="nonsense"),
    ],
)
def test_evidence_chained_anew(reports: Path, change: Callable[[Any], object], says: str) -> None:
    if says == "no flows":
        (reports / "evidence.json").write_text('{"flows": 5}', "utf-8")
        relist(reports)
    else:
        forge(reports, change)
    found = [one.problem for one in verify(reports).findings if one.file == "evidence.json"]
    assert any(says in problem or "schema" in problem for problem in found), found


def test_a_verdict_that_only_the_record_has(reports: Path) -> None:
    """The record is changed in a way that agrees with itself; evidence and pages say the old."""

    def change(value: Any) -> None:
        for flow in value["flows"]:
            if flow["verdict"] == "pass":
                flow |= {"verdict": "fail", "exit_code": 1}
                value["counts"]["pass"] -= 1
                value["counts"]["fail"] += 1
                return

    forge(reports, change, "run.json")
    told = problems(verify(reports))
    assert {"evidence.json", "statement.intoto.json", "index.html", "TEST-flowproof.xml"} <= {*told}
    assert "ctrf-report.json" in told and any(name.startswith("flows/") for name in told)


@pytest.mark.parametrize(
    "change",
    [
        set_in("predicate", "result", to="PASSED"),
        set_in("predicate", "failedTests", to=[]),
        set_in("subject", 0, "digest", "gitCommit", to="f" * 40),
    ],
    ids=["result", "tests", "commit"],
)
def test_a_forged_statement(reports: Path, change: Callable[[Any], object]) -> None:
    forge(reports, change, "statement.intoto.json")
    assert list(problems(verify(reports))) == ["statement.intoto.json"]


@pytest.mark.parametrize("gone", ["evidence.json", "statement.intoto.json"])
def test_evidence_and_statement_come_together(reports: Path, gone: str) -> None:
    (reports / gone).unlink()
    relist(reports)
    assert problems(verify(reports))[gone].startswith("is missing, or not listed")


def test_evidence_chained_anew_without_its_record(reports: Path) -> None:
    (reports / "run.json").unlink()
    forge(reports, set_in("who", "actor", to="ceo"))
    assert problems(verify(reports))["run.json"].endswith("evidence.json is about it")


@pytest.mark.parametrize(
    "text", ["<h1>All 900 flows passed.</h1>", "", '<meta name="flowproof-run" content="x">']
)
@pytest.mark.parametrize("page", ["index.html", "flows/smoke.booking.html"])
def test_a_forged_page(reports: Path, page: str, text: str) -> None:
    assert (reports / page).is_file()
    (reports / page).write_text(text, "utf-8")
    relist(reports)
    assert list(problems(verify(reports))) == [page]


def test_a_page_of_another_flow(reports: Path) -> None:
    pages = sorted((reports / "flows").iterdir())
    pages[0].write_bytes(pages[1].read_bytes())
    relist(reports)
    assert list(problems(verify(reports))) == [f"flows/{pages[0].name}"]


def test_another_sentence_on_top_is_told(reports: Path) -> None:
    swap(reports / "index.html", " could not be judged.</h1>", " were excellent.</h1>")
    relist(reports)
    found = verify(reports)
    assert found.findings == ()
    assert any("were excellent" in one.why for one in found.unchecked)


def test_another_result_in_the_evidence_is_told(reports: Path) -> None:
    forge(reports, set_in("run", "result", to="All 900 flows passed"))
    found = verify(reports)
    assert found.findings == ()
    assert any("All 900 flows passed" in one.why for one in found.unchecked)


@pytest.mark.parametrize("gone", ["index.html", "flows/smoke.booking.html"])
def test_a_page_that_is_gone(reports: Path, gone: str) -> None:
    (reports / gone).unlink()
    relist(reports)
    assert problems(verify(reports)) == {gone: "is missing, or not listed"}


@pytest.mark.parametrize(
    ("version", "text"), [("0.0.9", "x"), ("", "x")], ids=["another", "this one"]
)
def test_a_page_that_the_record_does_not_make(tmp_path: Path, version: str, text: str) -> None:
    run = known_run() if not version else by_another(known_run())
    reports = write(tmp_path, run)
    (reports / "notes.html").write_text("<h1>Notes</h1>", "utf-8")
    relist(reports)
    assert problems(verify(reports)) == {}
    (reports / "summary.html").write_bytes((reports / "index.html").read_bytes())
    (reports / "flows/zz.html").write_text(text, "utf-8")
    relist(reports)
    assert {*problems(verify(reports))} == {"summary.html", "flows/zz.html"}


FORGED_JUNIT = '<testsuites tests="900" failures="0"><testsuite tests="900"/></testsuites>'


@pytest.mark.parametrize(
    "text",
    [
        FORGED_JUNIT,
        "",
        "no XML",
        '<!DOCTYPE a [<!ENTITY a "a">]><testsuites>&a;</testsuites>',
    ],
    ids=["other counts", "empty", "no XML", "entities"],
)
def test_a_forged_junit_file(reports: Path, text: str) -> None:
    (reports / "TEST-flowproof.xml").write_text(text, "utf-8")
    relist(reports)
    assert list(problems(verify(reports))) == ["TEST-flowproof.xml"]


def test_a_junit_case_that_did_not_fail(reports: Path) -> None:
    path = reports / "TEST-flowproof.xml"
    path.write_text(path.read_text("utf-8").replace("failure>", "properties>"), "utf-8")
    path.write_text(path.read_text("utf-8").replace("<failure ", "<properties "), "utf-8")
    relist(reports)
    assert "TEST-flowproof.xml" in problems(verify(reports))


def test_attachments_excuse_nothing_else(tmp_path: Path) -> None:
    """A trace behind a link is attached under a name that the record does not tell."""
    (tmp_path / "real.json").write_bytes(b"{}")
    (tmp_path / "a.trace.json").symlink_to("real.json")
    flow = replace(diverged(), trace=FileDigest("a.trace.json", "00" * 32))
    silent = replace(flow, path="silent.flow.yaml", agent=None)
    run = run_of(flow, silent)
    reports = write(tmp_path, run, "json", "junit", JENKINS_URL="http://ci/")
    file = reports / "TEST-flowproof.xml"
    assert file.read_text("utf-8").count("real.json]]") == 2
    found = verify(reports)
    assert (found.findings, found.reports) == ((), ("json",))
    assert found.unchecked[0].files == ("TEST-flowproof.xml",)
    swap(file, "<failure", '<failure x=""')
    relist(reports)
    assert problems(verify(reports)) == {"TEST-flowproof.xml": "is not what run.json makes"}
    file.write_text(f"{FORGED_JUNIT}<!-- [[ATTACHMENT|x]] -->", "utf-8")
    relist(reports)
    assert problems(verify(reports)) == {"TEST-flowproof.xml": "is not what run.json makes"}


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "run.json",
        "evidence.json",
        "statement.intoto.json",
        "TEST-flowproof.xml",
        "ctrf-report.json",
        "flows/evil.html",
    ],
)
def test_a_list_that_says_it_is_not_whole_hides_no_report(tmp_path: Path, name: str) -> None:
    reports = write(tmp_path, known_run())
    (reports / "notes.txt").write_bytes(b"x")
    (reports / "flows/notes.txt").write_bytes(b"x")
    sums = (reports / "SHA256SUMS").read_bytes().splitlines(keepends=True)
    kept = [line for line in sums if not line.endswith(f"  {name}\n".encode())]
    (reports / "SHA256SUMS").write_bytes(ONLY_WRITTEN + b"".join(kept))
    (reports / name).write_bytes(b"All is well.")
    found = verify(reports)
    assert Finding(name, "is not in SHA256SUMS") in found.findings
    assert not {"notes.txt", "flows/notes.txt"} & {*problems(found)}
    assert found.notes[0].startswith("SHA256SUMS says that it lists the reports alone")


def test_links_and_pipes_are_told(tmp_path: Path) -> None:
    reports = write(tmp_path, known_run())
    (reports / "etc").symlink_to("/etc")
    os.mkfifo(reports / "pipe")
    found = verify(reports)
    assert found.findings == ()
    assert [note.split()[0] for note in found.notes] == ["etc", "pipe"]
    (reports / "flows/more.html").symlink_to("/etc/hostname")
    assert problems(verify(reports)) == {"flows/more.html": "is not in SHA256SUMS"}


def test_the_seals_of_pages() -> None:
    run = replace(known_run(), id='a"><b>')
    assert html_seal.run_seal(run).startswith('a"><b> exit=')
    head = '<meta name="flowproof-run" content="a&#34;&gt; exit=0 pass=1"><style>x</style>'
    assert html_seal.sealed_as(head, html_seal.RUN) == 'a"> exit=0 pass=1'
    assert html_seal.sealed_as(f"<style>{head}", html_seal.RUN) is None
    assert html_seal.sealed_as(head, html_seal.FLOW) is None
    assert html_seal.flow_seal("a", flow_record()) == f"a exit=0 {Verdict.PASS.value}"
