"""What programs read: one JSON object whatever happens, and reports that agree with it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from flowproof.report.run_json import load
from flowproof.report.words import counts_line
from tests.e2e.project import PLAIN_AGENT, Project, flow

ASK = {"do": "ask", "say": "hello"}


@pytest.fixture
def mixed(project: Project, traced: Path) -> Project:
    """Flows that end in every way: two pass, one fails, one is an error, one of each other."""
    project.add(traced, "flows/good.flow.yaml")
    project.add(traced, "flows/deep/good.flow.yaml", name='A <good> & "quoted" ✓ name')
    project.add(traced, "flows/bad.flow.yaml", {"assert": "reply contains ]]> </script>"})
    project.add(traced, "flows/none.flow.yaml", {"prompt": "And that is all."})
    project.add(traced, "flows/unable.flow.yaml", "assert_no_egress")
    project.write("flows/broken.flow.yaml", "name: [")
    project.write("flows/new.flow.yaml", flow(PLAIN_AGENT, name="new"))
    return project


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["run", "flows/good.flow.yaml"], 0, id="a pass"),
        pytest.param(["run", "flows/bad.flow.yaml"], 1, id="a failure"),
        pytest.param(["run", "flows/broken.flow.yaml"], 2, id="a spec error"),
        pytest.param(["check", "flows/broken.flow.yaml"], 2, id="a spec error in check"),
        pytest.param(["run", "flows/new.flow.yaml"], 2, id="a missing trace"),
        pytest.param(["run", "flows/nowhere.flow.yaml"], 2, id="no such file"),
        pytest.param(["run", "flows/unable.flow.yaml"], 4, id="a capability"),
        pytest.param(["record", "flows/good.flow.yaml"], 2, id="no upstream"),
        pytest.param(["run", "--nope"], 2, id="an unknown option"),
        pytest.param(["nope"], 2, id="an unknown command"),
        pytest.param(["suite", "nope"], 2, id="an unknown command of suite"),
        pytest.param(["suite", "run", "home"], 5, id="nothing to run"),
        pytest.param(["suite", "run", "--no-reports", "--report", "html"], 2, id="a contradiction"),
    ],
)
def test_stdout_holds_one_json_object(mixed: Project, arguments: list[str], code: int) -> None:
    ran = mixed.flowproof(*arguments, "--json", plan=[ASK])
    assert ran.code == code
    value = json.loads(ran.stdout)
    assert isinstance(value, dict)
    assert "Traceback" not in ran.stderr
    if "flows" in value:
        assert value["exit_code"] == code
        assert load(ran.stdout).exit_code == code


def test_text_goes_to_stderr_and_nothing_to_stdout(mixed: Project) -> None:
    ran = mixed.flowproof("suite", "run", "flows", plan=[ASK])
    assert ran.code == 2
    assert ran.stdout == ""
    assert "\x1b" not in ran.stderr
    quiet = mixed.flowproof("run", "flows/good.flow.yaml", "-q", plan=[ASK])
    assert (quiet.code, quiet.stdout, quiet.stderr) == (0, "", "")


def test_the_reports_of_a_suite_agree(mixed: Project) -> None:
    ran = mixed.flowproof("suite", "run", "flows", "--json", "--reports-dir", "out", plan=[ASK])
    out = mixed.folder / "out"
    counts = ran.record["counts"]
    assert counts == {
        "flows": 7,
        "pass": 2,
        "pass*": 1,
        "flaky": 0,
        "fail": 1,
        "error": 1,
        "capability-error": 1,
        "skipped": 1,
    }
    assert (out / "run.json").read_text("utf-8") == ran.stdout
    [kept] = mixed.folder.glob("flows/.flowproof/runs/*/report.json")
    assert kept.read_text("utf-8") == ran.stdout
    root = ElementTree.parse(out / "TEST-flowproof.xml").getroot()
    cases = root.findall(".//testcase")
    assert len(cases) == 7
    found = {kind: len(root.findall(f".//testcase/{kind}")) for kind in ("failure", "error")}
    assert found == {"failure": 1, "error": 2}
    assert len(root.findall(".//testcase/skipped")) == 1
    for told in (root, *root.findall("testsuite")):
        if "tests" in told.attrib:
            numbers = [int(told.attrib[key]) for key in ("tests", "failures", "errors")]
            assert numbers == [7, 1, 2]
    names = {case.attrib["name"] for case in cases}
    assert 'A <good> & "quoted" ✓ name' in names
    page = (out / "index.html").read_text("utf-8")
    for one in ran.record["flows"]:
        assert one["path"] in page
    assert "A &lt;good&gt; &amp; &#34;quoted&#34; ✓ name" in page
    assert counts_line(load(ran.stdout)) in page
    # The page asks nobody for anything.
    assert 'src="http' not in page
    assert "<link" not in page


def test_chosen_reports_are_exactly_those(mixed: Project) -> None:
    run = ("suite", "run", "flows", "-q")
    mixed.flowproof(*run, "--report", "junit=xml", "--report", "json=data", plan=[ASK])
    written = [
        path for name in ("xml", "data", "reports") for path in mixed.folder.glob(f"{name}/*")
    ]
    names = {path.name for path in written}
    assert names == {"TEST-flowproof.xml", "run.json", "SHA256SUMS"}
    mixed.flowproof(*run, "--no-reports", plan=[ASK])
    assert not (mixed.folder / "reports").exists()


def test_only_the_newest_ten_runs_are_kept(project: Project) -> None:
    runs = project.folder / ".flowproof/runs"
    for number in range(12):
        (runs / f"20250101T0000{number:02}Z-00000a").mkdir(parents=True)
    project.flowproof("suite", "run", "--no-reports")
    kept = sorted(path.name for path in runs.iterdir())
    assert len(kept) == 10
    assert kept[0] == "20250101T000003Z-00000a"
    assert (runs / kept[-1] / "report.json").exists()
