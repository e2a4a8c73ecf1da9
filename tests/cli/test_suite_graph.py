"""`flowproof graph` of a folder: the suite that lies there."""

from __future__ import annotations

import pytest

from tests.cli.support import Shell

SUITE = """\
name: demo
before_all: "true"
order: [x/a.flow.yaml]
flows:
  b.flow.yaml: {needs: [x/a.flow.yaml], resources: [db]}
"""


@pytest.fixture
def suite(shell: Shell) -> Shell:
    for name in ("x/a", "b", "c"):
        shell.write(f"{name}.flow.yaml")
    shell.write("suite.yaml", SUITE)
    return shell


def test_text(suite: Shell) -> None:
    told = suite("graph", ".")
    assert told.code == 0
    assert told.out == (
        "1  before_all of demo\n"
        "2  x/a.flow.yaml       needs before_all of demo\n"
        "3  b.flow.yaml         needs before_all of demo, x/a.flow.yaml; resource db\n"
        "   c.flow.yaml         needs before_all of demo; after x/a.flow.yaml\n"
        "4  end of demo         always, after before_all of demo, x/a.flow.yaml, b.flow.yaml,"
        " c.flow.yaml\n"
    )


@pytest.mark.parametrize(
    ("kind", "beginning"), [("mermaid", "flowchart"), ("dot", "digraph")], ids=str
)
def test_formats(suite: Shell, kind: str, beginning: str) -> None:
    told = suite("graph", ".", "--format", kind)
    assert (told.code, told.out.startswith(beginning)) == (0, True)
    assert "resource db" in told.out


@pytest.mark.parametrize(
    ("kind", "needs", "after"),
    [
        pytest.param("mermaid", "t1 --> t2", "t1 -.-> t3", id="mermaid"),
        pytest.param("dot", "t1 -> t2;", "t1 -> t3 [style=dashed];", id="dot"),
    ],
)
def test_what_merely_comes_before_is_drawn_otherwise_than_a_need(
    suite: Shell, kind: str, needs: str, after: str
) -> None:
    lines = [line.strip() for line in suite("graph", ".", "--format", kind).out.splitlines()]
    assert needs in lines
    assert after in lines


def test_a_spec_that_does_not_parse_is_drawn_all_the_same(suite: Shell) -> None:
    suite.write("c.flow.yaml", "nmae: c")
    told = suite("graph", ".")
    assert (told.code, "c.flow.yaml" in told.out) == (0, True)


def test_a_suite_without_a_file(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    assert shell("graph", ".").out == "1  a.flow.yaml\n"


def test_flows_that_wait_for_each_other(suite: Shell) -> None:
    needs = "flows:\n  b.flow.yaml: {needs: [c.flow.yaml]}\n  c.flow.yaml: {needs: [b.flow.yaml]}\n"
    suite.write("suite.yaml", f"name: demo\n{needs}")
    told = suite("graph", ".")
    assert told.code == 2
    assert "b.flow.yaml" in told.err and "c.flow.yaml" in told.err


def test_a_folder_has_no_phase(suite: Shell) -> None:
    told = suite("graph", ".", "--phase", "record")
    assert told.code == 2
    assert "--phase is for a single flow" in told.err
