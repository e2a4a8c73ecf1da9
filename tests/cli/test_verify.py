"""`flowproof report verify` and `open`, and what `suite run` leaves for them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.cli.open_report import show
from flowproof.cli.reporting import EVERY
from flowproof.report.run_json import dump, load
from flowproof.version import __version__
from tests.cli.support import SPEC, Shell


@pytest.fixture
def run(shell: Shell) -> Shell:
    """Two flows, one without a trace, and the reports of a run of them."""
    for name in "ab":
        shell.write(f"flows/{name}.flow.yaml", SPEC.replace("Greeter", f"flow {name}"))
    shell.trace("flows/a.trace.json")
    assert shell("suite", "run", "flows", "--strict", "-q").code == 2
    return shell


def test_what_a_run_left_agrees(run: Shell) -> None:
    told = run("report", "verify", "reports", "--inputs", ".")
    assert (told.code, told.out) == (0, "")
    assert "reports: all agree. 7 files compared" in told.err
    assert "made again: html, json, evidence, junit" in told.err
    assert "inputs that are the same: 2" in told.err


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum here")
def test_sha256sum_says_the_same(run: Shell) -> None:
    def code() -> int:
        check = ["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"]
        cwd = run.folder / "reports"
        return subprocess.run(check, cwd=cwd, capture_output=True, check=False).returncode

    assert code() == run("report", "verify", "reports").code == 0
    (run.folder / "reports/index.html").write_bytes(b"")
    assert code() == run("report", "verify", "reports").code == 1


def test_what_differs_is_named(run: Shell) -> None:
    run.write("flows/a.flow.yaml", SPEC)
    (run.folder / "reports/evidence.json").write_bytes(b"{}")
    told = run("report", "verify", "reports", "--inputs", ".", "--json", "-q")
    assert told.code == told.json["exit_code"] == 1
    assert told.json["agrees"] is False
    files = {one["file"] for one in told.json["differences"]}
    assert files == {"evidence.json", "statement.intoto.json", "flows/a.flow.yaml"}
    assert "flows/a.flow.yaml input changed since" in told.err


def test_json_tells_that_all_agrees(run: Shell) -> None:
    told = run("report", "verify", "reports", "--json")
    assert (told.code, told.json["agrees"], told.json["differences"]) == (0, True, [])
    assert told.json["files"] == 7


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["gone"], "gone: no such folder", id="no folder"),
        pytest.param(["flows"], "flows/SHA256SUMS: no such file", id="no list"),
        pytest.param(["reports", "--inputs", "gone"], "gone: no such folder", id="no inputs"),
        pytest.param([], "Missing argument", id="no argument"),
    ],
)
def test_what_cannot_be_verified(run: Shell, arguments: list[str], text: str) -> None:
    told = run("report", "verify", *arguments)
    assert (told.code, told.out) == (2, "")
    assert text in told.err
    assert run("report", "verify", *arguments, "--json").json["exit_code"] == 2


def test_hostile_names_are_made_visible(run: Shell) -> None:
    (run.folder / "reports/\x1b[2J\n::error::x").write_bytes(b"x")
    told = run("report", "verify", "reports")
    assert told.code == 1
    assert "\x1b" not in told.err and "\n::error" not in told.err


def test_many_differences_are_counted(run: Shell) -> None:
    for number in range(120):
        (run.folder / f"reports/{number}").write_bytes(b"")
    told = run("report", "verify", "reports", "--json")
    assert "… and 20 more" in told.err and "120 things differ" in told.err
    assert len(told.json["differences"]) == 120


def test_a_report_made_again_is_listed_again(run: Shell) -> None:
    for kind in ("ctrf", "html", "evidence"):
        told = run("report", kind, "reports/run.json").err
        assert told.splitlines()[1:] == [f"report: reports/{main_file(kind)}"]
        assert run("report", "verify", "reports").code == 0
    assert (run.folder / "reports/ctrf-report.json").exists()


def main_file(kind: str) -> str:
    names = {"ctrf": "ctrf-report.json", "html": "index.html", "evidence": "evidence.json"}
    return names[kind]


@pytest.mark.parametrize("place", [".", "flows"])
def test_a_folder_with_more_than_reports(run: Shell, place: str) -> None:
    assert run("suite", "run", "flows", "-q", "--reports-dir", place).code == 2
    sums = (run.folder / place / "SHA256SUMS").read_text("utf-8")
    assert sums.startswith("# flowproof:") and "flow.yaml" not in sums
    assert run("report", "verify", place).code == 0


def test_a_list_of_somebody_else_is_not_replaced(run: Shell) -> None:
    release = run.write("SHA256SUMS", "a release\n")
    told = run("suite", "run", "flows", "-q", "--allow-empty", "--reports-dir", ".")
    assert told.code == 2
    assert "is not flowproof's" in told.err
    assert release.read_text("utf-8") == "a release\n"


def test_blobs_alone_have_no_list(run: Shell) -> None:
    run("suite", "run", "flows", "-q", "--report", "blob=blobs")
    assert [path.name for path in (run.folder / "blobs").iterdir()] == [
        "shard-1-of-1.flowproof-blob"
    ]


def test_inner_folders_have_lists_of_their_own(run: Shell) -> None:
    kinds = ("--report", "html=out", "--report", "json=out/data", "--report", "junit=out")
    run("suite", "run", "flows", "-q", *kinds)
    assert "data/" not in (run.folder / "out/SHA256SUMS").read_text("utf-8")
    told = run("report", "verify", "out")
    assert (told.code, "note: data/ has a SHA256SUMS of its own" in told.err) == (4, True)
    assert run("report", "verify", "out/data").code == 0


@pytest.mark.parametrize("version", ["0.0.9", __version__], ids=["another", "this one"])
def test_what_another_flowproof_wrote_does_not_all_agree(run: Shell, version: str) -> None:
    record = load((run.folder / "reports/run.json").read_text("utf-8"))
    text = dump(replace(record, flowproof=version))
    run.write("old/run.json", text)
    for kind in EVERY:
        run("report", kind, "old/run.json", "--reports-dir", "old")
    told = run("report", "verify", "old", "-q", "--json")
    if version == __version__:
        assert (told.code, told.err, told.json["agrees"]) == (0, "", True)
        assert told.json["complete"] is True
        return
    assert (told.code, told.json["exit_code"], told.json["agrees"]) == (4, 4, False)
    assert "index.html" in told.json["not_checked"][0]["files"]
    assert "all agree" not in told.err
    assert "NOT checked: TEST-flowproof.xml, ctrf-report.json, evidence.json" in told.err
    assert "flowproof 0.0.9 wrote them" in told.err
    *_, last = told.err.splitlines()
    assert last.startswith("old: nothing differs, but 7 files could not be checked: flowproof")
    assert "can be checked with flowproof 0.0.9. 8 files compared" in last
    assert told.json["complete"] is False


def test_evidence_brings_the_record_that_it_is_about(run: Shell) -> None:
    told = run("report", "evidence", "--reports-dir", "audit")
    assert told.err.endswith("report: audit/evidence.json\n")
    assert run("report", "verify", "audit").code == 0
    names = sorted(path.name for path in (run.folder / "audit").iterdir())
    assert names == ["SHA256SUMS", "evidence.json", "run.json", "statement.intoto.json"]


def test_a_report_that_cannot_be_written_leaves_no_list(run: Shell) -> None:
    pages = run.folder / "reports/flows"
    pages.rename(run.folder / "elsewhere")
    pages.symlink_to(run.folder / "elsewhere")
    assert run("suite", "run", "flows", "-q", "--allow-empty").code != 0
    assert not (run.folder / "reports/SHA256SUMS").exists()


@pytest.mark.parametrize(
    ("arguments", "page"),
    [
        pytest.param(["--reports-dir", "reports"], "reports/index.html", id="the usual folder"),
        pytest.param(["--reports-dir", "all"], "all/index.html", id="another folder"),
        pytest.param(["all"], "all/index.html", id="a folder"),
        pytest.param(["all/run.json"], "all/index.html", id="a record"),
        pytest.param(["all/index.html"], "all/index.html", id="a page"),
    ],
)
def test_the_page_is_named(run: Shell, arguments: list[str], page: str) -> None:
    run("suite", "run", "flows", "-q", "--reports-dir", "all")
    told = run("report", "open", *arguments)
    assert (told.code, told.out) == (0, f"{page}\n")
    ends = "2 flows: 1 error, 1 skipped\n" if page.startswith("all") else "2 flows: 2 error\n"
    assert told.err.startswith("report of run ") and told.err.endswith(ends)
    assert run("report", "open", "--print", *arguments).out == f"{page}\n"


def test_the_page_of_a_kept_run_is_made(run: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    id = run("suite", "run", "flows", "--json", "--no-reports").json["id"]
    monkeypatch.chdir(run.folder / "flows")
    told = run("report", "open", id)
    assert told.code == 0
    page = Path(told.out.strip())
    assert page.is_file() and id in page.parts
    made = page.stat().st_mtime_ns
    assert run("report", "open", id).out == told.out
    assert page.stat().st_mtime_ns == made


@pytest.mark.parametrize("arguments", [[], ["flows"], ["no-such-run"]], ids=str)
def test_no_page(shell: Shell, arguments: list[str]) -> None:
    shell.write("flows/a.flow.yaml")
    told = shell("report", "open", *arguments)
    assert (told.code, told.out) == (2, "")
    assert "flowproof suite run" in told.err or "no run is kept" in told.err


@pytest.mark.parametrize(
    ("environ", "terminal", "system", "opens"),
    [
        pytest.param({"DISPLAY": ":0"}, True, "linux", True, id="X11"),
        pytest.param({"WAYLAND_DISPLAY": "w"}, True, "linux", True, id="Wayland"),
        pytest.param({}, True, "darwin", True, id="macOS"),
        pytest.param({}, True, "linux", False, id="no desktop"),
        pytest.param({"DISPLAY": ":0"}, False, "linux", False, id="no terminal"),
    ],
)
def test_where_a_browser_is_opened(
    tmp_path: Path, environ: dict[str, str], terminal: bool, system: str, opens: bool
) -> None:
    opened: list[str] = []
    page = tmp_path / "a b.html"
    done = show(page, environ, terminal=terminal, opened=opened.append, system=system)
    assert done is opens
    assert opened == ([page.as_uri()] if opens else [])


def test_verifying_loads_no_engine(run: Shell) -> None:
    code = (
        "import sys; from flowproof.cli.main import run; run(['report', 'verify', 'reports']); "
        "sys.exit(any(name in sys.modules for name in ('aiohttp', 'networkx', 'h11', 'pydantic')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=run.folder, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
