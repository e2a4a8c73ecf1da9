"""Commands that run without a shell: each piece of shell syntax is found, ordinary text is not."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.spec.shell_words import Means, shell_faults


@pytest.mark.parametrize(
    ("command", "offset", "message"),
    [
        pytest.param("a | b", 2, "`|` is shell syntax", id="pipe"),
        pytest.param("a && b", 2, "`&&` is shell syntax", id="and"),
        pytest.param("a || b", 2, "`||` is shell syntax", id="or"),
        pytest.param("a; b", 1, "`;` is shell syntax", id="semicolon"),
        pytest.param("a > b", 2, "`>` is shell syntax", id="redirect"),
        pytest.param("a <<x", 2, "`<<` is shell syntax", id="here"),
        pytest.param("a &", 2, "`&` is shell syntax", id="background"),
        pytest.param("a $HOME", 2, "`$HOME` is shell syntax", id="expansion"),
        pytest.param('a "$HOME"', 3, "`$HOME` is shell syntax", id="quoted-expansion"),
        pytest.param("a $(b)", 2, "`$(` is shell syntax", id="substitution"),
        pytest.param("a `b", 2, "a backtick is shell syntax", id="backtick"),
        pytest.param("A=1 b", 0, "`A=…` is shell syntax", id="assignment"),
        pytest.param("a\nb", 1, "a line break is shell syntax", id="lines"),
        pytest.param("a 'b", 2, "a quote of this command is never closed", id="open-quote"),
        pytest.param("a b\\", 3, "nothing follows the backslash", id="backslash"),
        pytest.param("'' a", 0, "the command names no program", id="no-program"),
    ],
)
def test_guilty(command: str, offset: int, message: str) -> None:
    assert [(fault.offset, fault.message) for fault in shell_faults(command)] == [(offset, message)]


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        pytest.param("A=1 B='x' c", [("A", Means.VARIABLE), ("B", Means.VARIABLE)], id="variables"),
        pytest.param("cd a && b", [("", Means.FOLDER)], id="folder"),
        pytest.param(" cd 'a b'; c", [("", Means.FOLDER)], id="folder-in-quotes"),
        pytest.param("cd a && b && c", [("", Means.FOLDER), ("", Means.OTHER)], id="first-only"),
        pytest.param("cd a | b", [("", Means.OTHER)], id="folder-for-nothing"),
        pytest.param("cdr a && b", [("", Means.OTHER)], id="another-program"),
        pytest.param("a && cd b", [("", Means.OTHER)], id="later"),
    ],
)
def test_what_shell_syntax_is_for(command: str, meant: list[tuple[str, Means]]) -> None:
    assert [(fault.name, fault.means) for fault in shell_faults(command)] == meant


@pytest.mark.parametrize(
    "command",
    [
        "python agent.py --n=1",
        "a '| && ; > < $HOME `x`'",
        'a "b; c | d"',
        r"a \| \; \$HOME",
        "a ${VAR} ${flowproof.proxy_url} $${X}",
        "a $ $5 *.txt ~ # {b}",
        "a 'b'\"c\"",
        "a\n",
        "./x=1",
    ],
)
def test_innocent(command: str) -> None:
    assert shell_faults(command) == ()


def test_a_command_full_of_syntax_is_not_listed_to_its_end() -> None:
    assert len(shell_faults(";" * 100_000)) < 100
    assert len(shell_faults("A=1 " * 25_000)) < 100


@given(st.text(alphabet="ab '\"\\", max_size=10))
def test_what_passes_splits_into_words(command: str) -> None:
    if not shell_faults(command) and command.strip():
        assert shlex.split(command)
