"""The command line as a whole: which commands there are, and how errors leave the process."""

from __future__ import annotations

import json
import os

import click
import pytest

from flowproof.cli.main import cli, run
from flowproof.errors import Problem, SpecError, UpstreamError, UsageError
from flowproof.version import __version__
from tests.cli.support import Shell


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param(["rnu"], "no such command `rnu`; did you mean `run`?", id="misspelt"),
        pytest.param(["qqqqqq"], "no such command `qqqqqq`", id="like none"),
        pytest.param(["run"], "Missing argument 'SPECS...'", id="no argument"),
        pytest.param(["check", "--nope", "."], "--nope", id="no such option"),
        pytest.param(["suite", "rnu"], "No such command 'rnu'", id="of a group"),
        pytest.param(["graph", "gone.flow.yaml"], "gone.flow.yaml", id="no such file"),
        pytest.param(["schema", "--of", "x"], "'x' is not one of", id="no such choice"),
        pytest.param(["run", "gone.flow.yaml"], "no such file or folder", id="our own"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_usage_errors(shell: Shell, arguments: list[str], text: str, as_json: bool) -> None:
    told = shell(*arguments, *(["--json"] if as_json else []))
    assert told.code == 2
    if as_json:
        assert told.json["exit_code"] == 2
        assert "error" in told.json
    else:
        assert text in told.err
        assert told.out == ""


def test_a_word_like_no_command_has_no_suggestion(shell: Shell) -> None:
    assert "did you mean" not in shell("qqqqqq").err


def test_help_lists_every_command_and_every_command_explains_itself(shell: Shell) -> None:
    told = shell("--help")
    assert told.code == 0
    names = cli.list_commands(click.Context(cli))
    assert {"record", "run", "suite", "check", "schema", "graph", "show"} <= set(names)
    for name in names:
        assert f"  {name} " in told.out
        explained = shell(name, "--help")
        assert explained.code == 0
        assert f"Usage: flowproof {name}" in explained.out


def test_version(shell: Shell) -> None:
    assert shell("--version").out == f"flowproof {__version__}\n"


def raising(error: BaseException) -> click.Command:
    """A command that fails like this, and takes the options of every other."""

    @click.command("fail")
    @click.option("--json", is_flag=True)
    @click.option("--debug", is_flag=True)
    def fail(json: bool, debug: bool) -> None:
        raise error

    return fail


SPEC_ERROR = SpecError([Problem("a.flow.yaml", 3, 1, "wrong\u202e", "x: y")])


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        pytest.param(UsageError("wrong\x1b[2J"), 2, "error: wrong\\u001b[2J", id="usage"),
        pytest.param(SPEC_ERROR, 2, "a.flow.yaml:3:1: wrong\\u202e\n    x: y\n    ^", id="spec"),
        pytest.param(UpstreamError("gone"), 4, "error: gone", id="the world"),
        pytest.param(KeyboardInterrupt(), 130, "", id="interrupt"),
        pytest.param(click.Abort(), 130, "", id="abort"),
        pytest.param(
            OSError(36, "File name too long", "x" * 5000),
            2,
            f"error: {'x' * 140}…{'x' * 140}: File name too long\n",
            id="the system",
        ),
        pytest.param(
            ExceptionGroup("g", [PermissionError(13, "Permission denied", "a\x1b")]),
            2,
            "error: a\\u001b: Permission denied",
            id="the system, in a group",
        ),
        pytest.param(
            ExceptionGroup("g", [ExceptionGroup("h", [UpstreamError("gone")])]),
            4,
            "error: gone",
            id="the world, in a group",
        ),
        pytest.param(
            ExceptionGroup("g", [OSError(13, "a"), ValueError("b")]),
            3,
            "internal error: ExceptionGroup",
            id="two at once",
        ),
        pytest.param(
            ZeroDivisionError("oh\x1b"),
            3,
            "internal error: ZeroDivisionError: oh\\u001b",
            id="ours",
        ),
    ],
)
def test_errors_leave_with_their_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, text: str
) -> None:
    assert run([], raising(error)) == code
    out, err = capsys.readouterr()
    assert text in err
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        pytest.param(UsageError('a "quoted"\nword'), 2, 'a "quoted"\nword', id="usage"),
        pytest.param(SPEC_ERROR, 2, str(SPEC_ERROR), id="spec"),
        pytest.param(KeyboardInterrupt(), 130, "interrupted", id="interrupt"),
        pytest.param(
            ZeroDivisionError("oh"), 3, "internal error: ZeroDivisionError: oh", id="ours"
        ),
    ],
)
def test_errors_as_json(shell: Shell, error: BaseException, code: int, text: str) -> None:
    shell.captured.readouterr()
    assert run(["--json"], raising(error)) == code
    out, err = shell.captured.readouterr()
    assert json.loads(out) == {"error": text, "exit_code": code}
    assert err.strip() == ""


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_debug_shows_where_an_internal_error_came_from(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    arguments = ["--debug", *(["--json"] if as_json else [])]
    assert run(arguments, raising(ZeroDivisionError("oh"))) == 3
    out, err = capsys.readouterr()
    assert "Traceback" in err
    assert "test_main.py" in err
    assert bool(out) is as_json


@pytest.mark.parametrize("command", ["run", "record", "check", "show", "graph"])
def test_a_path_of_5000_letters(shell: Shell, command: str) -> None:
    told = shell(command, "x" * 5000)
    assert (told.code, told.out) == (2, "")
    assert "x" * 100 in told.err
    assert "internal error" not in told.err


def test_an_order_of_5000_letters(shell: Shell) -> None:
    shell.write("suite.yaml", f"name: s\norder: [{'x' * 5000}.flow.yaml]\n")
    shell.write("a.flow.yaml")
    for arguments in (["suite", "run"], ["check", "."]):
        told = shell(*arguments)
        assert told.code == 2
        assert "File name too long" in told.err
        assert len(told.err) < 500


def test_a_current_folder_that_is_gone(shell: Shell) -> None:
    gone = shell.folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    told = shell("suite", "run", "--json")
    assert told.code == 2
    assert "the current folder is no longer there" in told.json["error"]


def test_a_pipe_that_breaks_inside_is_no_reader_that_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    group = type(cli)("flowproof", callback=raising(BrokenPipeError(32, "Broken pipe")).callback)
    group.invoke_without_command, group.no_args_is_help = True, False
    group.params = raising(BrokenPipeError()).params
    assert run([], group) == 3
    assert (
        "internal error: RuntimeError: a pipe to another process broke" in capsys.readouterr().err
    )
