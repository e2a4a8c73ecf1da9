"""Commands split as a POSIX shell splits them, checked against a shell."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.drivers.arguments import split_command


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param("python assistant.py", ("python", "assistant.py"), id="plain"),
        pytest.param("  a\t b\n", ("a", "b"), id="blanks"),
        pytest.param("a 'b c' \"d e\"", ("a", "b c", "d e"), id="quotes"),
        pytest.param("a '' \"\"", ("a", "", ""), id="empty words"),
        pytest.param("a'b'\"c\"\\ d", ("abc d",), id="joined pieces"),
        pytest.param("a \\\n  --flag", ("a", "--flag"), id="continued line"),
        pytest.param('"\\$x" "\\n" "a\\\nb"', ("$x", "\\n", "ab"), id="escapes in double quotes"),
        pytest.param("echo $HOME | cat *", ("echo", "$HOME", "|", "cat", "*"), id="no expansion"),
        pytest.param("a #b", ("a", "#b"), id="no comments"),
    ],
)
def test_words(command: str, words: tuple[str, ...]) -> None:
    assert split_command(command, shell=False) == words


def test_a_shell_gets_the_command_as_it_is() -> None:
    assert split_command("a | b 'c", shell=True) == ("/bin/sh", "-c", "a | b 'c")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param("a 'b", "single quote at character 3 is not closed", id="single quote"),
        pytest.param('a "b\\"', "double quote at character 3 is not closed", id="double quote"),
        pytest.param("a \\", "ends in a backslash", id="backslash"),
        pytest.param(" \n", "the command is empty", id="empty"),
        pytest.param("\\\n", "the command is empty", id="only a continued line"),
    ],
)
def test_errors(command: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_command(command, shell=False)


@pytest.mark.parametrize("command", ["", " \n"], ids=["nothing", "blanks"])
def test_an_empty_shell_command_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match="the command is empty"):
        split_command(command, shell=True)


_PIECES = ["a", "é", " ", "\t", "'", '"', "\\\\", "\\$", "\\'", '\\"', "\\a", "\\\n"]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=10).map("".join))
def test_a_real_shell_agrees(text: str) -> None:
    command = f"x {text}"
    script = f"set -- {command}\nprintf '%s\\0' \"$@\""
    shell = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False)
    if shell.returncode:
        with pytest.raises(ValueError, match="is not closed"):
            split_command(command, shell=False)
    else:
        words = tuple(shell.stdout.decode().split("\0")[:-1])
        assert split_command(command, shell=False) == words
