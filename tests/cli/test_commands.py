"""check, graph, schema and show: what they print, and what they return."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest

from flowproof.model.jsonvalue import JsonValue
from flowproof.model.turn import Operation, Response, SideCall
from flowproof.trace.file import read_trace, write_trace
from tests.cli.support import SPEC, Shell


def test_check_of_what_is_right(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    shell.write("suite.yaml", "name: s\n")
    told = shell("check", ".")
    assert (told.code, told.out, told.err) == (0, "", "2 files checked, no problems\n")
    assert shell("check", ".", "-q").err == ""
    assert shell("check", "a.flow.yaml", "--json").json == {
        "checked": ["suite.yaml", "a.flow.yaml"],
        "problems": [],
    }


def test_check_names_every_problem_of_every_file(shell: Shell) -> None:
    shell.write("a.flow.yaml", SPEC.replace("prompt", "promt"))
    shell.write("b/b.flow.yaml", SPEC.replace("name", "nmae"))
    shell.write("b/suite.yaml", "nam: s\n")
    told = shell("check", ".", "-q")
    assert told.code == 2
    for place in ("a.flow.yaml:4:5:", "b/b.flow.yaml:1:1:", "b/suite.yaml:1:1:"):
        assert place in told.err
    found = shell("check", ".", "--json")
    assert found.code == 2
    assert {problem["file"] for problem in found.json["problems"]} == {
        "a.flow.yaml",
        "b/b.flow.yaml",
        "b/suite.yaml",
    }


def test_check_counts_one_problem(shell: Shell) -> None:
    shell.write("a.flow.yaml", SPEC.replace("prompt", "promt"))
    assert shell("check", ".").err.endswith("1 file checked, 1 problem\n")


def test_check_of_nothing(shell: Shell) -> None:
    assert shell("check", ".").code == 5


@pytest.mark.parametrize(
    ("kind", "beginning"),
    [
        pytest.param("text", "replay:\n", id="text"),
        pytest.param("mermaid", "flowchart", id="mermaid"),
        pytest.param("dot", "digraph", id="dot"),
    ],
)
def test_graph(shell: Shell, kind: str, beginning: str) -> None:
    shell.write("a.flow.yaml")
    one = shell("graph", "a.flow.yaml", "--format", kind, "--phase", "replay")
    assert one.code == 0
    assert one.out.startswith(beginning)
    for task in ("resolve_env", "read_trace", "launch_agent", "report"):
        assert task in one.out
    both = shell("graph", "a.flow.yaml", "--format", kind)
    assert one.out in both.out
    assert "write_trace" in both.out


def test_graph_draws_one_picture_per_file(shell: Shell) -> None:
    shell.write("a.flow.yaml")
    told = shell("graph", "a.flow.yaml", "--format", "svg")
    assert (told.code, told.out) == (2, "")
    assert "--phase" in told.err


def test_graph_of_what_does_not_parse(shell: Shell) -> None:
    shell.write("a.flow.yaml", "nmae: x\n")
    told = shell("graph", "a.flow.yaml")
    assert (told.code, told.out) == (2, "")
    assert "a.flow.yaml:1:1" in told.err


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        pytest.param(
            "flow",
            {"name": "a", "agent": {"command": "x"}, "steps": [{"prompt": "y"}]},
            {"name": "a", "agent": {"command": "x"}, "steps": [{"promt": "y"}]},
            id="flow",
        ),
        pytest.param("suite", {"name": "s"}, {"nam": "s"}, id="suite"),
    ],
)
def test_schema_prints_a_schema(shell: Shell, kind: str, good: object, bad: object) -> None:
    told = shell("schema", "--of", kind)
    assert told.code == 0
    schema = told.json
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(good)
    assert not validator.is_valid(bad)


def test_show(shell: Shell) -> None:
    shell.trace("a.trace.json", calls=2)
    told = shell("show", "a.trace.json")
    assert told.code == 0
    heading = told.out.splitlines()[0]
    assert heading == "Greeter  2026-11-30T09:00:00Z  flowproof 0.1.0"
    for text in ("go 0", "go 1", "look", "Hello"):
        assert text in told.out
    turns = shell("show", "a.trace.json", "--json").json["turns"]
    assert [one["number"] for one in turns] == [1, 2, 3]


def test_show_lists_what_was_asked_beside_the_conversation(shell: Shell) -> None:
    asks: JsonValue = {"model": "small", "input": "Where is Oslo?"}
    beside = SideCall(
        Operation("openai.embeddings", "/embeddings"), "POST", asks, Response(200, {})
    )
    path = shell.trace("a.trace.json")
    write_trace(path, replace(read_trace(path, "a", "b"), side_calls=(beside,)))
    told = shell("show", "a.trace.json").out.splitlines()
    assert told[-2:] == [
        "1 side call: openai.embeddings (1)",
        "  side call 1  (openai.embeddings; status 200)  small Where is Oslo?",
    ]
    (listed,) = shell("show", "a.trace.json", "--json").json["side_calls"]
    assert (listed["endpoint"], listed["request"], listed["status"]) == (
        "openai.embeddings",
        asks,
        200,
    )
    shell.trace("b.trace.json")
    assert "side call" not in shell("show", "b.trace.json").out
    assert shell("show", "b.trace.json", "--json").json["side_calls"] == []


def test_show_of_a_name_that_would_move_the_cursor(shell: Shell) -> None:
    path = shell.trace("a.trace.json")
    path.write_text(path.read_text("utf-8").replace("Greeter", "\\u001b[2J\\ud800"), "utf-8")
    told = shell("show", "a.trace.json")
    assert (told.code, told.out.partition("  ")[0]) == (0, "\\u001b[2J\\ud800")


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(None, "no trace at a.trace.json", id="missing"),
        pytest.param(b"[]", "not a usable trace", id="of another kind"),
        pytest.param(b"\xff\xfe", "not a usable trace", id="no text"),
        pytest.param(b"", "not a usable trace", id="empty"),
    ],
)
def test_show_of_what_is_no_trace(
    shell: Shell, data: bytes | None, text: str, as_json: bool
) -> None:
    if data is not None:
        (shell.folder / "a.trace.json").write_bytes(data)
    told = shell("show", "a.trace.json", *(["--json"] if as_json else []))
    assert told.code == 2
    assert text in (told.json["error"] if as_json else told.err)


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_reader_that_leaves_is_no_error(shell: Shell, unbuffered: str) -> None:
    shell.trace("long.trace.json", calls=600)
    process = shell.process("show", "long.trace.json", "--json", PYTHONUNBUFFERED=unbuffered)
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["show", "a.trace.json"], 0, id="show"),
        pytest.param(["check", ".", "--json"], 0, id="check"),
        pytest.param(["run", "a.flow.yaml", "--trace", "none", "--json"], 2, id="run"),
    ],
)
def test_a_reader_that_was_never_there_changes_no_exit_code(
    shell: Shell, arguments: list[str], code: int, unbuffered: str
) -> None:
    shell.trace("a.trace.json")
    shell.write("a.flow.yaml")
    process = shell.process(*arguments, PYTHONUNBUFFERED=unbuffered)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process:
        said = process.stderr.read()
    assert process.returncode == code
    assert b"Traceback" not in said
    assert b"Broken" not in said


@pytest.mark.parametrize(
    ("suite", "code", "said"),
    [
        pytest.param("min_version: '99'\n", 2, "needs flowproof 99", id="too old"),
        pytest.param("order: [agent.py]\n", 2, "no flow: agent.py", id="no flow"),
        pytest.param("secrets: [A]\n", 0, "cannot run it", id="not built"),
        pytest.param("strict: true\n", 0, "no problems", id="fine"),
    ],
)
def test_check_reads_the_suite_as_a_run_does(
    shell: Shell, suite: str, code: int, said: str
) -> None:
    shell.write("a.flow.yaml")
    shell.write("agent.py", "")
    shell.write("suite.yaml", suite)
    told = shell("check", ".")
    assert told.code == code
    assert said in told.err
