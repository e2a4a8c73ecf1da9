"""What an author reads: a dozen typical mistakes, each with its whole message."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.errors import SpecError
from flowproof.spec.flow import load_flow
from flowproof.spec.source import MAX_BYTES, MAX_PROBLEMS
from tests.spec.support import MINIMAL, flow_problems

STEPS = (
    "  accepted: prompt: …, assert_tool_call: …, assert_tool_calls: …, assert_no_tool_call: …, "
    "assert: …; not run by this version: user: …, assert_no_egress, assert_no_secret_leak"
)
CLAUSE = (
    "  accepted: `<path> <matcher> <value>` with one of `equals`, `is`, `contains`, `matches`, "
    "`exists`, `is absent`, `is missing`"
)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        pytest.param(
            "  - assert_no_egres",
            f"""\
a.flow.yaml:5:5: found the plain text `assert_no_egres`, which is no step
      - assert_no_egres
        ^
  did you mean `assert_no_egress`?
{STEPS}""",
            id="misspelt-bare-step",
        ),
        pytest.param(
            "  - The agent books a flight",
            f"""\
a.flow.yaml:5:5: found the plain text `The agent books a flight`, which is no step
      - The agent books a flight
        ^
{STEPS}""",
            id="sentence",
        ),
        pytest.param(
            "  - assert_tool_cal: search",
            f"""\
a.flow.yaml:5:5: unknown step `assert_tool_cal`
      - assert_tool_cal: search
        ^
  did you mean `assert_tool_call`?
{STEPS}""",
            id="misspelt-step",
        ),
        pytest.param(
            "  - assert_tool_call: search where to equal NBO",
            f"""\
a.flow.yaml:5:39: unknown matcher `equal`
      - assert_tool_call: search where to equal NBO
                                          ^
  did you mean `equals`?
{CLAUSE}""",
            id="matcher",
        ),
        pytest.param(
            "  - assert_tool_call: pay where to is Tom and Jerry",
            f"""\
a.flow.yaml:5:52: the matcher is missing after `Jerry`
      - assert_tool_call: pay where to is Tom and Jerry
                                                       ^
{CLAUSE}; quote a value that holds ` and `""",
            id="unquoted-and",
        ),
        pytest.param(
            "  - assert: 'reply matches (?<=a)b'",
            """\
a.flow.yaml:5:28: this pattern cannot be used: look-behind, (?<=…), is not supported; look for \
one thing per clause or step
      - assert: 'reply matches (?<=a)b'
                               ^""",
            id="look-behind",
        ),
        pytest.param(
            "  - assert: reply does not contain sorry and does not contain error",
            """\
a.flow.yaml:5:42: `and does not contain` begins another condition, and a step looks for one text
      - assert: reply does not contain sorry and does not contain error
                                             ^
  accepted: one step for each text; the text in quotes if this is part of it""",
            id="two-texts",
        ),
        pytest.param(
            "  - assert_no_tool_call: refund where id equals 4711 or id equals 4712",
            """\
a.flow.yaml:5:54: `or id equals` begins another clause, and clauses are joined by ` and ` only
      - assert_no_tool_call: refund where id equals 4711 or id equals 4712
                                                         ^
  accepted: ` and ` between clauses, one step for each alternative; the value in quotes if this \
is part of it""",
            id="or",
        ),
        pytest.param(
            "  - assert: the answer includes booked",
            """\
a.flow.yaml:5:13: an assertion on the reply starts with `reply`, found `the`
      - assert: the answer includes booked
                ^
  did you mean `reply contains booked`?
  accepted: `reply` with one of `contains`, `is`, `equals`, `matches`, `does not contain`, `does \
not equal`, `does not match`, and a text""",
            id="free-words",
        ),
        pytest.param(
            "  - assert_tool_call: pay where to matches .*",
            """\
a.flow.yaml:5:44: the pattern `.*` matches every text, so it tells nothing
      - assert_tool_call: pay where to matches .*
                                               ^
  accepted: a pattern that some text does not match; `exists` for any value""",
            id="vacuous-pattern",
        ),
        pytest.param(
            "nme: x",
            """\
a.flow.yaml:5:1: the flow has no key `nme`
    nme: x
    ^
  did you mean `name`?
  accepted: name, description, app, tags, expected_behavior, control, skip_unless_env, strict, \
agent, tools, mcp, steps; not run by this version: volatile, redact, allow_sensitive, freeze""",
            id="misspelt-key",
        ),
        pytest.param(
            "strict: yes",
            """\
a.flow.yaml:5:9: found `yes`
    strict: yes
            ^
  did you mean `true`?
  accepted: `true` or `false`""",
            id="yes",
        ),
        pytest.param(
            "name: again",
            """\
a.flow.yaml:5:1: the key `name` was given already, in line 1
    name: again
    ^""",
            id="duplicate-key",
        ),
        pytest.param(
            "tools:\n\t- name: x",
            """\
a.flow.yaml:6:1: a tab is used for indentation
    \t- name: x
    ^
  accepted: blanks, usually two for each level""",
            id="tab",
        ),
        pytest.param(
            "description: Note: this",
            """\
a.flow.yaml:5:18: not valid YAML: mapping values are not allowed in this context
    description: Note: this
                     ^
  accepted: quote a value that holds a colon followed by a blank""",
            id="colon",
        ),
        pytest.param(
            "  - prompt: Use ${MY-KEY} now",
            """\
a.flow.yaml:5:17: `${MY-KEY}` is not a reference
      - prompt: Use ${MY-KEY} now
                    ^
  accepted: `${NAME}` with letters, digits and `_`; `$${` for the text `${`""",
            id="reference",
        ),
        pytest.param(
            'mcp: [{name: a, url: "http://x", port: "8931"}]',
            """\
a.flow.yaml:5:40: found `8931` in quotes, which is a text
    mcp: [{name: a, url: "http://x", port: "8931"}]
                                           ^
  did you mean `8931`?
  accepted: a whole number from 1 to 65535""",
            id="quoted-number",
        ),
        pytest.param(
            "  - prompt:",
            """\
a.flow.yaml:5:12: the value is missing
      - prompt:
               ^
  accepted: the text of the task""",
            id="missing-value",
        ),
    ],
)
def test_messages(tmp_path: Path, extra: str, expected: str) -> None:
    (problem,) = flow_problems(tmp_path, f"{MINIMAL}{extra}\n")
    assert str(problem) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param(
            "FOO=1 python a.py",
            """\
a.flow.yaml:2:18: `FOO=…` is shell syntax, and no shell runs this command
    agent: {command: FOO=1 python a.py}
                     ^
  accepted: set `FOO` in `agent.env`, or set `shell: true`""",
            id="variable",
        ),
        pytest.param(
            "cd sub && python a.py",
            """\
a.flow.yaml:2:25: `&&` is shell syntax, and no shell runs this command
    agent: {command: cd sub && python a.py}
                            ^
  accepted: use `agent.cwd`, a folder relative to this file, or set `shell: true`""",
            id="folder",
        ),
    ],
)
def test_shell_syntax_that_a_key_replaces(tmp_path: Path, command: str, expected: str) -> None:
    (problem,) = flow_problems(tmp_path, MINIMAL.replace("python agent.py", command))
    assert str(problem) == expected


def test_shell_syntax_of_a_server_names_no_key_of_the_agent(tmp_path: Path) -> None:
    (problem,) = flow_problems(tmp_path, MINIMAL + "mcp: [{name: a, command: A=1 npx x}]\n")
    assert problem.accepted == "quote it, or write a script and name that"


def test_shell_syntax_names_both_ways_out(tmp_path: Path) -> None:
    (problem,) = flow_problems(tmp_path, MINIMAL.replace("agent.py", "agent.py | tee log"))
    assert (
        str(problem)
        == """\
a.flow.yaml:2:34: `|` is shell syntax, and no shell runs this command
    agent: {command: python agent.py | tee log}
                                     ^
  accepted: set `shell: true`, or quote it"""
    )


def test_all_problems_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
    nam: x
    agent: {comand: a, timeout: soon}
    tags: [a b, ok, "c d"]
    steps:
      - promt: x
      - assert: reply has y
    """
    found = [(p.line, p.column, p.suggestion) for p in flow_problems(tmp_path, text)]
    assert found == [
        (1, 1, "name"),
        (2, 9, "command"),
        (2, 29, ""),
        (3, 8, ""),
        (3, 17, ""),
        (5, 5, "prompt"),
        (6, 19, "contains"),
    ]


def test_a_hopeless_file_is_cut_off(tmp_path: Path) -> None:
    text = MINIMAL + "".join(f"k{n}: x\n" for n in range(10_000))
    found = flow_problems(tmp_path, text)
    assert len(found) == MAX_PROBLEMS + 1
    assert "the rest of the file was not read" in found[-1].message


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", "1:1: the file is empty", id="empty"),
        pytest.param(b"name: caf\xe9\n", "1:10: byte 0xE9 is not UTF-8", id="latin-1"),
        pytest.param(b"\xef\xbb\xbfa: 1\nb: \xff", "2:4: byte 0xFF is not UTF-8", id="after-bom"),
        pytest.param("name: x".encode("utf-16"), "1:1: UTF-16, not UTF-8", id="utf-16"),
        pytest.param(b"name: a\0b", "1:8: control character U+0000 in the file", id="nul"),
        pytest.param(b"#" * (MAX_BYTES + 1), "1:1: larger than 4 MiB", id="large"),
        pytest.param(b"just text", "1:1: found `just text`", id="scalar"),
        pytest.param(b"- a", "1:1: found a list", id="list"),
    ],
)
def test_files_that_are_no_spec(tmp_path: Path, data: bytes, expected: str) -> None:
    (problem,) = flow_problems(tmp_path, data)
    assert f"{problem.line}:{problem.column}: {problem.message}" == expected


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    assert flow_problems(tmp_path, b"\xef\xbb\xbf" + MINIMAL.encode()) == ()


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"x\.yaml:1:1: cannot be read: No such file"):
        load_flow(tmp_path / "x.yaml", shown="x.yaml")
    with pytest.raises(SpecError, match="not a file"):
        load_flow(tmp_path, shown="here")
    with pytest.raises(SpecError, match="cannot be read"):
        load_flow(Path("a\0b"), shown="nul")
