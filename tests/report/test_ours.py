"""Whose a file is that a report would replace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flowproof.errors import UsageError
from flowproof.report import ctrf, evidence, html_names, junit, ours, run_json, statement, sums
from flowproof.report.interface import REPORTS
from flowproof.report.ours import OF_KIND, may_replace, require_ours
from flowproof.report.write import write_files
from tests.report.fixtures import sample_run

FOREIGN = {
    "index.html": "<!doctype html><title>my site</title>",
    "run.json": '{"schema": "tool.run/1"}',
    "evidence.json": '{"absent": {}}',
    "statement.intoto.json": '{"_type": "https://in-toto.io/Statement/v1"}',
    "ctrf-report.json": '{"reportFormat": "CTRF", "generatedBy": "another"}',
    "SHA256SUMS": f"{'ab' * 32}  index.html\n{'cd' * 32}  app.tar.gz\n",
}
KINDS = {kind: kind for kind in REPORTS}


def folders(folder: Path) -> dict[str, Path]:
    return dict.fromkeys(KINDS, folder)


def reports(folder: Path) -> Path:
    record = sample_run()
    for render in REPORTS.values():
        write_files(folder, render(record))
    sums.write_sums(folder, {}, only_written=False)
    return folder


def test_the_names_are_those_that_are_written() -> None:
    named = {name for names in OF_KIND.values() for name in names}
    assert named == {
        html_names.INDEX,
        run_json.FILE_NAME,
        evidence.FILE_NAME,
        statement.FILE_NAME,
        ctrf.FILE_NAME,
    }
    assert ours.SUMS == sums.FILE_NAME
    assert sums.ONLY_WRITTEN.startswith(b"# flowproof: ")
    assert OF_KIND.keys() | {"junit"} == REPORTS.keys()
    assert junit.FILE_NAME == "TEST-flowproof.xml"


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_somebody_else_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FOREIGN[name], "utf-8")
    with pytest.raises(UsageError, match=f"{name} is not flowproof's"):
        require_ours(folders(tmp_path))


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_somebody_else_beside_ours_is_refused(name: str, tmp_path: Path) -> None:
    reports(tmp_path)
    (tmp_path / name).write_text(FOREIGN[name].replace("index.html", "a.html"), "utf-8")
    with pytest.raises(UsageError, match=f"{name} is not flowproof's"):
        require_ours(folders(tmp_path))


def test_earlier_reports_are_replaced(tmp_path: Path) -> None:
    require_ours(folders(reports(tmp_path)))
    for kind in KINDS:
        require_ours({kind: tmp_path})


def test_the_list_of_a_folder_that_holds_more_is_ours(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_bytes(sums.sums({}, only_written=True))
    assert may_replace(tmp_path / "SHA256SUMS")


def test_other_files_of_a_folder_do_not_count(tmp_path: Path) -> None:
    require_ours(folders(tmp_path / "none"))
    require_ours(folders(tmp_path))
    (tmp_path / "README.md").write_text("mine", "utf-8")
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample/index.html").write_text("mine", "utf-8")
    (tmp_path / "evidence.json").touch()
    require_ours(folders(tmp_path))
    (tmp_path / "index.html").write_text("mine", "utf-8")
    require_ours({"json": tmp_path, "junit": tmp_path, "blob": tmp_path})


def test_what_is_no_file_is_not_ours(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    (tmp_path / "index.html").mkdir()
    assert not may_replace(tmp_path / "run.json")
    assert not may_replace(tmp_path / "index.html")
    (tmp_path / "evidence.json").symlink_to("/etc/passwd")
    assert may_replace(tmp_path / "evidence.json"), "a link is replaced, and not followed"


def test_a_page_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    [(name, _)] = [one for one in REPORTS["html"](sample_run()) if one[0].startswith("flows/")][:1]
    page = tmp_path / name
    page.parent.mkdir()
    page.write_text("mine", "utf-8")
    with pytest.raises(UsageError, match="is not flowproof's"):
        write_files(tmp_path, REPORTS["html"](sample_run()))
    assert page.read_text("utf-8") == "mine"
    page.unlink()
    write_files(tmp_path, REPORTS["html"](sample_run()))
    write_files(tmp_path, REPORTS["html"](sample_run()))


def test_a_mark_deep_in_a_large_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    head = '{"absent": {}, "errors": ["' + "x" * ((1 << 20) - 40)
    path.write_text(head + '"], "schema": "flowproof.evidence/1"}', "utf-8")
    assert may_replace(path)
    path.write_text(head + '"], "schema": "another.evidence/1"}', "utf-8")
    assert not may_replace(path)
