"""Verifying a reports folder: what agrees, what differs, and what is not touched."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from flowproof.cli.reporting import Reporting, write_reports
from flowproof.errors import ExitCode, UsageError
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FileDigest, RunRecord
from flowproof.report import run_json
from flowproof.report.sums import write_sums
from flowproof.report.verify import Verified, verify
from flowproof.report.verify_reports import record_problems
from flowproof.version import __version__
from tests.report.evidence_runs import flaky, known_run, never_ran, passing_run
from tests.report.fixtures import diverged, flow_record, run_of, sample_run
from tests.report.hostile import hostile_run
from tests.report.test_run_json import RUNS as RECORDS

ALL = ("html", "junit", "json", "ctrf", "evidence")
RUNS: dict[str, Callable[[], RunRecord]] = {
    "everything known": known_run,
    "nothing known": sample_run,
    "hostile": hostile_run,
    "empty": run_of,
}


def write(folder: Path, record: RunRecord, *kinds: str, **environ: str) -> Path:
    """Reports as commands write them, in a folder of their own."""
    reports = folder / "reports"
    reporting = Reporting(dict.fromkeys(kinds or ALL, reports))
    write_reports(reporting, record, folder, environ)
    return reports


def relist(reports: Path) -> None:
    """Do what whoever changes a file on purpose does: list it anew."""
    write_sums(reports, {}, only_written=False)


def problems(found: Verified) -> dict[str, str]:
    return {one.file: one.problem for one in found.findings}


def swap(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_what_was_written_agrees(tmp_path: Path, run: Callable[[], RunRecord]) -> None:
    found = verify(write(tmp_path, run()))
    assert (found.findings, found.notes) == ((), ())
    assert sorted(found.reports) == sorted(ALL)


@pytest.mark.parametrize("detail", ["flow", "steps"])
def test_both_kinds_of_junit_are_known(tmp_path: Path, detail: str) -> None:
    reports = tmp_path / "reports"
    reporting = Reporting(dict.fromkeys(("junit", "json"), reports), detail)  # type: ignore[arg-type]
    write_reports(reporting, known_run(), tmp_path, {})
    assert verify(reports).reports == ("json", "junit")


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "TEST-flowproof.xml",
        "run.json",
        "evidence.json",
        "statement.intoto.json",
        "ctrf-report.json",
    ],
)
def test_any_changed_file_is_named(tmp_path: Path, name: str) -> None:
    reports = write(tmp_path, known_run())
    with (reports / name).open("ab") as file:
        file.write(b"\n")
    first = next(one for one in verify(reports).findings if one.file == name)
    assert first.problem.startswith("changed: its SHA-256 is")
    relist(reports)
    # Listed anew, it still is not what the record makes.
    assert name in problems(verify(reports))


def test_missing_and_added_files_are_named(tmp_path: Path) -> None:
    reports = write(tmp_path, known_run())
    page = next((reports / "flows").iterdir())
    page.unlink()
    (reports / "notes.txt").write_bytes(b"x")
    found = problems(verify(reports))
    assert found["notes.txt"] == "is not in SHA256SUMS"
    assert f"flows/{page.name}" in found
    relist(reports)
    assert problems(verify(reports)) == {f"flows/{page.name}": "is missing, or not listed"}


@pytest.mark.parametrize(
    ("old", "new", "file", "says"),
    [
        pytest.param('"fail": 1', '"fail": 0', "run.json", "counts do not match", id="counts"),
        pytest.param(
            '"exit_code": 1,\n  "flows"',
            '"exit_code": 0,\n  "flows"',
            "run.json",
            "exit code is 0, and its flows amount to 1",
            id="exit code",
        ),
        pytest.param('"verdict": "fail"', '"verdict": "pass"', "run.json", "contradicts", id="why"),
        pytest.param("politely", "rudely", "index.html", "is not what run.json", id="a text"),
        pytest.param("casey", "carol", "evidence.json", "is of another run.json", id="the actor"),
        pytest.param('"schema"', '"scheme"', "run.json", "not a usable run record", id="schema"),
    ],
)
def test_a_record_changed_on_purpose_is_told(
    tmp_path: Path, old: str, new: str, file: str, says: str
) -> None:
    reports = write(tmp_path, known_run())
    swap(reports / "run.json", old, new)
    relist(reports)
    found = [one.problem for one in verify(reports).findings if one.file == file]
    assert any(says in problem for problem in found), found


def test_evidence_changed_on_purpose_is_told(tmp_path: Path) -> None:
    reports = write(tmp_path, known_run(), "evidence")
    end = ',\n      "warnings"'
    swap(reports / "evidence.json", f'"verdict": "fail"{end}', f'"verdict": "pass"{end}')
    relist(reports)
    found = verify(reports)
    told = " ".join(one.problem for one in found.findings)
    assert "the chain breaks there" in told and "other counts of verdicts" in told


def test_another_flowproof_makes_other_bytes(tmp_path: Path) -> None:
    found = verify(write(tmp_path, replace(known_run(), flowproof="0.0.9")))
    assert (found.findings, found.reports) == ((), ())
    [unchecked] = found.unchecked
    assert "flowproof 0.0.9 wrote them" in unchecked.why
    assert {"index.html", "evidence.json", "TEST-flowproof.xml"} < {*unchecked.files}
    assert any(name.startswith("flows/") for name in unchecked.files)
    other = verify(tmp_path / "reports", distribution="00" * 32)
    assert "can be checked with flowproof 0.0.9" in other.unchecked[0].why


def test_another_build_makes_other_bytes(tmp_path: Path) -> None:
    reports = write(tmp_path, known_run())
    [unchecked] = verify(reports, distribution="00" * 32).unchecked
    assert "another build" in unchecked.why and "d1" * 32 in unchecked.why
    same = verify(reports, distribution="d1" * 32)
    assert (len(same.reports), same.unchecked) == (len(ALL), ())


def test_what_needs_no_other_build_is_checked_all_the_same(tmp_path: Path) -> None:
    reports = write(tmp_path, replace(known_run(), flowproof="0.0.9"))
    swap(reports / "evidence.json", "casey", "carol")
    relist(reports)
    assert {*problems(verify(reports))} == {"evidence.json", "statement.intoto.json"}


def test_without_a_record_nothing_says_what_pages_should_be(tmp_path: Path) -> None:
    found = verify(write(tmp_path, known_run(), "html"))
    assert found.findings == ()
    assert "index.html" in found.unchecked[0].files
    assert found.unchecked[0].why == "there is no run.json"


@pytest.mark.parametrize("kind", ["trace", "page"])
def test_a_junit_file_with_attachments_is_made_again_with_them(tmp_path: Path, kind: str) -> None:
    where = {"JENKINS_URL": "http://ci/"}
    if kind == "page":
        where = {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(tmp_path)}
    place = tmp_path / "a & b"
    place.mkdir()
    (place / "a.trace.json").write_bytes(b"{}")
    flow = replace(diverged(), trace=FileDigest("a & b/a.trace.json", "00" * 32))
    gone = FileDigest("gone.trace.json", "00" * 32)
    other = replace(diverged(), path="gone.flow.yaml", trace=gone)
    reports = write(tmp_path, run_of(other, flow), "html", "json", "junit", **where)
    file = reports / "TEST-flowproof.xml"
    assert "[[ATTACHMENT|" in file.read_text("utf-8")
    found = verify(reports)
    assert (found.findings, found.unchecked) == ((), ())
    assert "junit" in found.reports
    swap(file, "[[ATTACHMENT|", "[[ATTACHMENT|/etc/passwd]]\n[[ATTACHMENT|")
    relist(reports)
    assert problems(verify(reports)) == {"TEST-flowproof.xml": "is not what run.json makes"}


def test_a_list_in_the_folder_of_pages_hides_nothing(tmp_path: Path) -> None:
    reports = write(tmp_path, known_run())
    (reports / "flows/evil.html").write_bytes(b"All is well.")
    (reports / "extra").mkdir()
    for inner in ("flows", "extra"):
        (reports / inner / "SHA256SUMS").write_bytes(b"")
    found = verify(reports)
    assert problems(found) == dict.fromkeys(
        ("flows/SHA256SUMS", "flows/evil.html"), "is not in SHA256SUMS"
    )
    assert [note.split()[0] for note in found.notes] == ["extra/"]


@pytest.mark.parametrize("name", ["evil.html", "evil.HTM", "deep/evil.xhtml"])
def test_a_page_of_no_flow_differs_even_if_it_is_listed(tmp_path: Path, name: str) -> None:
    reports = write(tmp_path, known_run())
    (reports / "flows/notes.txt").write_bytes(b"no page")
    relist(reports)
    assert problems(verify(reports)) == {}
    page = reports / "flows" / name
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(b"All is well.")
    relist(reports)
    assert problems(verify(reports)) == {f"flows/{name}": "is a page that run.json does not make"}


def test_pages_without_an_index_are_told(tmp_path: Path) -> None:
    reports = write(tmp_path, known_run())
    (reports / "index.html").unlink()
    relist(reports)
    assert problems(verify(reports)) == {"index.html": "is missing, or not listed"}


@pytest.mark.parametrize(
    ("gone", "by"),
    [("run.json", "evidence.json"), ("evidence.json", "statement.intoto.json")],
    ids=["run.json", "evidence.json"],
)
def test_a_file_that_another_is_about_has_to_be_there(tmp_path: Path, gone: str, by: str) -> None:
    reports = write(tmp_path, known_run(), "evidence")
    assert problems(verify(reports)) == {}
    (reports / gone).unlink()
    assert problems(verify(reports))[gone] == "is missing"
    relist(reports)
    assert problems(verify(reports))[gone] == f"is missing, or not listed, and {by} is about it"


@pytest.mark.parametrize("data", [b"\xff", b"[]", b'{"subject": [1, {}]}', b'{"subject": 1}'])
def test_a_statement_that_is_none(tmp_path: Path, data: bytes) -> None:
    reports = write(tmp_path, replace(known_run(), flowproof="0.0.9"))
    (reports / "statement.intoto.json").write_bytes(data)
    relist(reports)
    assert list(problems(verify(reports))) == ["statement.intoto.json"]


def folder_with_inputs(tmp_path: Path) -> tuple[Path, Path]:
    """Reports of a run, and the folder with what ran."""
    here = tmp_path / "here"
    here.mkdir()

    def digest(name: str) -> FileDigest:
        (here / name).write_bytes(name.encode())
        return FileDigest(name, hashlib.sha256(name.encode()).hexdigest())

    flow = replace(
        flow_record(),
        spec=digest("a.flow.yaml"),
        trace=digest("a.trace.json"),
        inputs=(digest("suite.yaml"), digest("agent.py")),
    )
    record = replace(run_of(flow), inputs=(digest("uv.lock"),))
    return write(here, record), here


def test_inputs_are_compared(tmp_path: Path) -> None:
    reports, here = folder_with_inputs(tmp_path)
    assert verify(reports).inputs == 0
    found = verify(reports, here)
    assert (found.findings, found.inputs) == ((), 5)
    (here / "agent.py").write_bytes(b"other")
    (here / "uv.lock").unlink()
    found = verify(reports, here)
    assert problems(found)["uv.lock"] == "input is missing"
    assert "input changed since" in problems(found)["agent.py"]
    assert found.inputs == 3


@pytest.mark.parametrize("path", ["../outside", "/etc/hostname", "link"], ids=str)
def test_nothing_outside_of_the_folder_of_inputs_is_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside").write_bytes(b"x")
    here = tmp_path / "here"
    here.mkdir()
    (here / "link").symlink_to(tmp_path / "outside")
    flow = replace(flow_record(), spec=FileDigest(path, "00" * 32), trace=None)
    found = verify(write(here, run_of(flow)), here)
    assert problems(found) == {path: f"input leads out of {here}, and is not read"}
    assert found.inputs == 0


def test_inputs_beside_the_folder_are_read_within_the_repository(tmp_path: Path) -> None:
    here = tmp_path / "repository/suite"
    here.mkdir(parents=True)
    (here.parent / "uv.lock").write_bytes(b"x")
    (tmp_path / "outside").write_bytes(b"x")
    (here / "link").symlink_to(tmp_path / "outside")
    digest = hashlib.sha256(b"x").hexdigest()
    flow = replace(flow_record(), spec=None, trace=None)
    record = replace(run_of(flow), inputs=(FileDigest("../uv.lock", digest),))
    found = verify(write(here, record), here, within=here.parent)
    assert (found.findings, found.inputs) == ((), 1)
    for path in ("../../outside", "link"):
        record = replace(run_of(flow), inputs=(FileDigest(path, digest),))
        assert path in problems(verify(write(here, record), here, within=here.parent))


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "."], ids=["zero", "long", "a folder"])
def test_names_that_no_input_has(tmp_path: Path, path: str) -> None:
    flow = replace(flow_record(), spec=FileDigest(path, "00" * 32), trace=None)
    assert path in problems(verify(write(tmp_path, run_of(flow)), tmp_path))


def test_inputs_need_a_record_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"needs a run\.json"):
        verify(write(tmp_path, run_of(flow_record()), "html"), tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        verify(write(tmp_path, run_of(flow_record())), tmp_path / "gone")


def listed(reports: Path, *names: str) -> None:
    reports.mkdir(exist_ok=True)
    lines = [f"{'0' * 64}  {name}\n" for name in names]
    (reports / "SHA256SUMS").write_text("".join(lines), "utf-8")


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "a/../../secret", "a//b", "./a"])
def test_a_name_that_leads_out_is_not_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    listed(tmp_path / "reports", name)
    [finding] = verify(tmp_path / "reports").findings
    assert "leads out of the folder" in finding.problem


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/page").write_bytes(b"x")
    reports = tmp_path / "reports"
    listed(reports, "link", "folder/page", "pipe", "gone", "file/x")
    (reports / "link").symlink_to(tmp_path / "outside/page")
    (reports / "folder").symlink_to(tmp_path / "outside")
    (reports / "file").write_bytes(b"x")
    os.mkfifo(reports / "pipe")
    assert problems(verify(reports)) == {
        "link": "is a symbolic link, which is not followed",
        "folder/page": "lies behind a symbolic link, which is not followed",
        "pipe": "cannot be read: it is no regular file",
        "gone": "is missing",
        "file/x": "is missing",
        "file": "is not in SHA256SUMS",
    }


def test_a_folder_that_holds_more_is_verified_by_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "source.py").write_bytes(b"x")
    write_reports(Reporting(dict.fromkeys(ALL, tmp_path)), known_run(), tmp_path, {})
    assert verify(tmp_path).findings == ()
    (tmp_path / "index.html").unlink()
    assert problems(verify(tmp_path)) == {"index.html": "is missing"}


def nothing(folder: Path) -> None:
    shutil.rmtree(folder)


def no_list(folder: Path) -> None:
    (folder / "SHA256SUMS").unlink()


def linked(folder: Path) -> None:
    (folder / "SHA256SUMS").rename(folder / "list")
    (folder / "SHA256SUMS").symlink_to("list")


def garbage(folder: Path) -> None:
    (folder / "SHA256SUMS").write_bytes(b"\xff\0garbage")


def a_folder(folder: Path) -> None:
    (folder / "SHA256SUMS").unlink()
    (folder / "SHA256SUMS").mkdir()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        pytest.param(nothing, "no such folder", id="no folder"),
        pytest.param(no_list, "nothing to compare with", id="no list"),
        pytest.param(linked, "a symbolic link", id="a link"),
        pytest.param(garbage, "not a usable list", id="garbage"),
        pytest.param(a_folder, "cannot be read", id="a folder"),
    ],
)
def test_what_cannot_be_verified(tmp_path: Path, spoil: Callable[[Path], None], says: str) -> None:
    reports = write(tmp_path, passing_run())
    spoil(reports)
    with pytest.raises(UsageError, match=says):
        verify(reports)


@pytest.mark.parametrize("data", [b"\xff", b"{", b"[]", b'{"schema": "flowproof.run/9"}'], ids=repr)
def test_a_record_that_is_none(tmp_path: Path, data: bytes) -> None:
    reports = write(tmp_path, passing_run(), "json")
    (reports / "run.json").write_bytes(data)
    relist(reports)
    assert "run.json" in problems(verify(reports))


def ended(record: RunRecord, code: ExitCode, *errors: str) -> RunRecord:
    return replace(record, exit_code=code, errors=errors)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(passing_run(), id="green"),
        pytest.param(sample_run(), id="red"),
        pytest.param(ended(passing_run(), ExitCode.INTERRUPTED), id="interrupted"),
        pytest.param(ended(passing_run(), ExitCode.WORLD_ERROR, "a hook"), id="a hook failed"),
        pytest.param(ended(run_of(diverged()), ExitCode.AUTHOR_ERROR, "a hook"), id="worse"),
        pytest.param(ended(run_of(flaky()), ExitCode.FLOW_FAILED), id="flaky is forbidden"),
        pytest.param(ended(run_of(flaky()), ExitCode.PASSED), id="flaky is allowed"),
        pytest.param(ended(run_of(never_ran()), ExitCode.NOTHING_RAN), id="nothing ran"),
        pytest.param(ended(run_of(never_ran()), ExitCode.PASSED), id="and may"),
    ],
)
def test_exit_codes_that_a_run_has(record: RunRecord) -> None:
    assert list(record_problems(record)) == []


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(ended(run_of(diverged()), ExitCode.PASSED), id="green though one failed"),
        pytest.param(ended(passing_run(), ExitCode.FLOW_FAILED), id="red though none failed"),
        pytest.param(ended(passing_run(), ExitCode.NOTHING_RAN), id="nothing ran though some did"),
        pytest.param(ended(passing_run(), ExitCode.PASSED, "a hook"), id="green though one failed"),
        pytest.param(ended(run_of(diverged()), ExitCode.WORLD_ERROR), id="the world instead"),
    ],
)
def test_exit_codes_that_no_run_has(record: RunRecord) -> None:
    assert len(list(record_problems(record))) == 1


@settings(max_examples=25, deadline=None)
@given(RECORDS)
def test_any_record_can_be_verified(record: RunRecord) -> None:
    names = ("index.html", "TEST-flowproof.xml", "evidence.json", "ctrf-report.json")
    with TemporaryDirectory() as folder:
        reports = Path(folder)
        text = run_json.dump(replace(record, flowproof=__version__))
        (reports / "run.json").write_text(text, "utf-8")
        for name in names:
            (reports / name).write_bytes(b"{}")
        relist(reports)
        assert len(verify(reports).findings) >= len(names)


def test_the_verdicts_of_the_fixtures_are_all_there() -> None:
    assert {flow.verdict for flow in known_run().flows} == {*Verdict}


def test_json_that_is_not_as_flowproof_writes_it(tmp_path: Path) -> None:
    reports = write(tmp_path, passing_run(), "json")
    text = (reports / "run.json").read_text("utf-8")
    assert run_json.dump(run_json.load(text)) == text
    (reports / "run.json").write_text(text.replace("\n", ""), "utf-8")
    relist(reports)
    assert problems(verify(reports)) == {"run.json": "is not what run.json makes"}
