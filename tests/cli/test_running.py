"""record, run and suite run, as far as they get without an agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import SPEC, Shell


def test_a_folder_is_a_suite(shell: Shell) -> None:
    shell.write("flows/a.flow.yaml")
    told = shell("run", "flows", "--json")
    assert (told.code, told.json["command"], told.json["suite"]) == (5, "suite run", "flows")
    assert sorted(path.name for path in (shell.folder / "reports").iterdir()) == [
        "SHA256SUMS",
        "TEST-flowproof.xml",
        "evidence.json",
        "flows",
        "index.html",
        "run.json",
        "statement.intoto.json",
    ]


def test_one_flow_is_a_partial_run_that_writes_no_reports(shell: Shell) -> None:
    shell.write("flows/a.flow.yaml")
    told = shell("run", "flows/a.flow.yaml", "--json")
    assert (told.code, told.json["command"], told.json["partial"]) == (2, "run", True)
    assert told.json["flows"][0]["path"] == "flows/a.flow.yaml"
    assert not (shell.folder / "reports").exists()
    [kept] = (shell.folder / "flows/.flowproof/runs").iterdir()
    assert json.loads((kept / "report.json").read_text("utf-8")) == told.json


def test_the_record_is_kept_with_the_suite(shell: Shell) -> None:
    shell.write("suite.yaml", "name: the suite\n")
    shell.write("flows/a.flow.yaml")
    assert shell("run", "flows/a.flow.yaml", "--json").json["suite"] == "the suite"
    assert shell("suite", "run", "flows", "--no-reports", "--json").json["suite"] == "the suite"
    assert len(list((shell.folder / ".flowproof/runs").iterdir())) == 2
    assert not (shell.folder / "flows/.flowproof").exists()


@pytest.mark.parametrize(
    ("options", "shown", "silent"),
    [
        pytest.param([], ["no trace at a.trace.json", "exit 2"], [".flowproof"], id="usual"),
        pytest.param(["-v"], ["no trace at a.trace.json", ".flowproof"], [], id="verbose"),
        pytest.param(["-q"], ["no trace at a.trace.json"], [".flowproof"], id="quiet"),
    ],
)
def test_how_much_is_said(
    shell: Shell, options: list[str], shown: list[str], silent: list[str]
) -> None:
    shell.write("a.flow.yaml")
    told = shell("run", "a.flow.yaml", *options)
    assert (told.code, told.out) == (2, "")
    assert all(text in told.err for text in shown)
    assert not [text for text in silent if text in told.err]


def test_quiet_says_nothing_of_what_is_green(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    told = shell("suite", "run", "-q", "--allow-empty", "--no-reports")
    assert (told.code, told.out, told.err) == (0, "", "")


@pytest.mark.parametrize(
    ("options", "colored"),
    [pytest.param([], True, id="forced"), pytest.param(["--no-color"], False, id="refused")],
)
def test_color(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, options: list[str], colored: bool
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shell.write("a.flow.yaml")
    assert ("\x1b[" in shell("run", "a.flow.yaml", *options).err) is colored


@pytest.mark.parametrize(
    ("options", "written"),
    [
        pytest.param(
            [],
            [
                "reports/SHA256SUMS",
                "reports/TEST-flowproof.xml",
                "reports/evidence.json",
                "reports/index.html",
                "reports/run.json",
                "reports/statement.intoto.json",
            ],
            id="all by default",
        ),
        pytest.param(["--report", "json"], ["reports/SHA256SUMS", "reports/run.json"], id="one"),
        pytest.param(
            ["--report", "json=a", "--report", "junit=b/c"],
            ["a/SHA256SUMS", "a/run.json", "b/c/SHA256SUMS", "b/c/TEST-flowproof.xml"],
            id="each in its folder",
        ),
        pytest.param(
            ["--report", "html", "--report", "json=a", "--reports-dir", "d"],
            ["a/SHA256SUMS", "a/run.json", "d/SHA256SUMS", "d/index.html"],
            id="one in the common folder",
        ),
        pytest.param(["--no-reports"], [], id="none"),
    ],
)
def test_reports(shell: Shell, options: list[str], written: list[str]) -> None:
    assert shell("suite", "run", "--allow-empty", "-q", *options).code == 0
    files = [path.relative_to(shell.folder) for path in shell.folder.rglob("*") if path.is_file()]
    assert sorted(str(file) for file in files if file.parts[0] != ".flowproof") == written


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(
            ["suite", "run", "--report", "pdf"], "no such kind; there are html", id="kind"
        ),
        pytest.param(
            ["suite", "run", "--no-reports", "--report", "html"], "exclude each other", id="both"
        ),
        pytest.param(["run", ".", "--trace", "t.json"], "a folder may hold many", id="a folder"),
        pytest.param(
            ["run", "a.flow.yaml", "b.flow.yaml", "--trace", "t"], "there are 2", id="two traces"
        ),
        pytest.param(
            ["record", "a.flow.yaml", "b.flow.yaml", "--out", "t"], "--out names one", id="two outs"
        ),
        pytest.param(["record", "."], "FLOWPROOF_AGENT_UPSTREAM", id="no upstream"),
    ],
)
def test_what_cannot_be_asked_for(shell: Shell, arguments: list[str], text: str) -> None:
    shell.write("a.flow.yaml")
    shell.write("b.flow.yaml", SPEC.replace("Greeter", "Other"))
    told = shell(*arguments)
    assert told.code == 2
    assert text in told.err
    assert told.out == ""


@pytest.mark.parametrize(
    ("suite", "code"),
    [
        pytest.param("nam: s\n", 2, id="that does not parse"),
        pytest.param("before_all: x\n", 4, id="that cannot be run"),
        pytest.param('min_version: "99"\n', 2, id="that is newer"),
        pytest.param("order: [gone.flow.yaml]\n", 2, id="that names what is not there"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_suite_that_is_of_no_use(shell: Shell, suite: str, code: int, as_json: bool) -> None:
    shell.write("suite.yaml", suite)
    shell.write("a.flow.yaml")
    told = shell("suite", "run", *(["--json"] if as_json else []))
    assert told.code == code
    if as_json:
        assert told.json["exit_code"] == code
    else:
        assert "suite" in told.err


def test_a_place_for_reports_that_is_a_file(shell: Shell) -> None:
    shell.write("reports", "")
    told = shell("suite", "run", "--allow-empty", "--json", "--report", "json=reports")
    assert told.code == 2
    assert "--reports-dir" in told.json["error"]


def test_a_run_record_that_cannot_be_kept(shell: Shell) -> None:
    shell.write(".flowproof", "a file")
    told = shell("suite", "run", "--allow-empty", "--no-reports", "--json")
    assert (told.code, told.json["exit_code"]) == (0, 0)
    assert "warning: cannot keep the run record in" in told.err
    assert "Not a directory" in told.err


def test_record_without_an_upstream(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    told = shell("record", "a.flow.yaml", "--json")
    assert told.code == 2
    [flow] = told.json["flows"]
    assert (flow["phase"], flow["verdict"]) == ("record", "error")
    assert "FLOWPROOF_AGENT_UPSTREAM" in flow["reason"]
    assert not list(Path(shell.folder).glob("*.trace.json"))


def test_another_trace(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    told = shell("run", "a.flow.yaml", "--trace", "t/other.json", "--json")
    assert "no trace at t/other.json" in told.json["flows"][0]["reason"]
