"""`flowproof report` on a record that somebody made up: told in a line, never as our own fault."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.model.origin import Origin, Population
from flowproof.report.run_json import dump
from tests.cli.support import Shell
from tests.report.fixtures import flow_record, run_of

LIMITED = """
import resource, sys
from flowproof.cli.main import run
import flowproof.suite.kept, flowproof.report.html
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (160 << 20), resource.RLIM_INFINITY))
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        pytest.param(["a.flow.yaml"] * 3, 2, id="three flows with one path"),
        pytest.param(["a.flow.yaml", "b.flow.yaml", "c.flow.yaml"], 0, id="three flows"),
    ],
)
def test_counts_of_a_file_that_do_not_add_up(paths: list[str], code: int, shell: Shell) -> None:
    flows = [replace(flow_record(), path=path) for path in paths]
    record = replace(run_of(*flows), population=Population(3, 3))
    shell.write("run.json", dump(record))
    told = shell("report", "evidence", "run.json", "--reports-dir", "again")
    assert told.code == code, told.err
    assert not code or "was the record edited?" in told.err
    assert (shell.folder / "again/evidence.json").exists() == (not code)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize(
    ("nest", "code"),
    [
        pytest.param(4_000_000, 2, id="more than there is memory for"),
        pytest.param(10, 2, id="no text"),
        pytest.param(0, 0, id="innocent"),
    ],
)
def test_a_record_that_memory_does_not_hold(nest: int, code: int, tmp_path: Path) -> None:
    text = dump(run_of(flow_record()))
    errors = ",".join(["[]"] * nest)
    hostile = text.replace('"errors": []', f'"errors": [{errors}]')
    assert (hostile != text) == bool(nest)
    (tmp_path / "run.json").write_text(hostile, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "report", "json", "run.json", "--reports-dir", "again"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    assert ("too large to read here" in done.stderr) == (nest > 10)
    assert "Traceback" not in done.stderr
    assert not code or not (tmp_path / "again/run.json").exists()


def test_the_page_of_the_ci_run_is_an_address_or_nothing(shell: Shell) -> None:
    record = run_of(flow_record())
    hostile = replace(record, origin=Origin(url="javascript:alert(document.domain)"))
    shell.write("run.json", dump(hostile))
    for kind in ("ctrf", "evidence", "junit"):
        assert shell("report", kind, "run.json", "--reports-dir", "again").code == 0
    for path in (shell.folder / "again").rglob("*"):
        if path.is_file() and path.name != "run.json":
            assert "javascript:" not in path.read_text("utf-8"), path.name
    innocent = replace(record, origin=Origin(url="https://ci.example/run/7"))
    shell.write("run.json", dump(innocent))
    for kind in ("ctrf", "evidence"):
        assert shell("report", kind, "run.json", "--reports-dir", "again").code == 0
    for name in ("ctrf-report.json", "evidence.json", "statement.intoto.json"):
        assert "https://ci.example/run/7" in json.dumps(
            json.loads((shell.folder / "again" / name).read_text("utf-8"))
        )
