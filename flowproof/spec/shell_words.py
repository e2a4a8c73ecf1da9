"""Commands that run without a shell: what in them only a shell would understand.

The drivers split the same text as a POSIX shell splits words; here its author is told beforehand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from flowproof.spec import variables

_ENOUGH = 20
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)=\S*")
_FOLDER = re.compile(r"\s*cd\s[^|&;<>\n]*(?=&&|;)")
_EXPANSION = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\()")
_EMPTY_FIRST = re.compile(r"""\s*(?:''|"")+(?:\s|$)""")


class Means(Enum):
    """What shell syntax is for, where a spec can say the same."""

    VARIABLE = "variable"
    FOLDER = "folder"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Fault:
    """Where in a command something is wrong; `shell` says that a shell would understand it.

    `name` is the variable that a shell would set.
    """

    offset: int
    length: int
    message: str
    shell: bool
    means: Means = Means.OTHER
    name: str = ""


def shell_faults(command: str) -> tuple[Fault, ...]:
    """What keeps a command from running without a shell; empty for one that is fine.

    `${VAR}` is a reference that flowproof resolves, and counts as text.
    """
    if _EMPTY_FIRST.match(command):
        return (Fault(0, len(command), "the command names no program", False),)
    faults = _assignments(command)
    folder = _FOLDER.match(command)
    for fault in _scan(command.rstrip()):
        if folder and fault.offset == folder.end():
            fault = replace(fault, means=Means.FOLDER)
        faults.append(fault)
    return tuple(faults)


def _assignments(command: str) -> list[Fault]:
    faults: list[Fault] = []
    at = 0
    while len(faults) < _ENOUGH and (found := _ASSIGNMENT.match(command, at)):
        name, at = found.group(1), found.end()
        message = f"`{name}=…` is shell syntax"
        faults.append(Fault(found.start(1), len(name) + 1, message, True, Means.VARIABLE, name))
    return faults


def _scan(command: str) -> list[Fault]:
    faults: list[Fault] = []
    references = {token.offset: token.length for token in variables.tokens(command)}
    quote, opened, at = "", 0, 0
    while at < len(command) and len(faults) < _ENOUGH:
        char = command[at]
        if at in references:
            at += references[at]
            continue
        if quote == "'":
            quote = "" if char == "'" else quote
        elif char == "\\":
            if at + 1 == len(command):
                faults.append(Fault(at, 1, "nothing follows the backslash", False))
            at += 1
        elif quote and char == quote:
            quote = ""
        elif found := _syntax(command, at, bool(quote)):
            faults.append(Fault(at, len(found), f"{_shown(found)} is shell syntax", True))
            at += len(found) - 1
        elif not quote and char in "'\"":
            quote, opened = char, at
        at += 1
    if quote and at >= len(command):
        faults.append(Fault(opened, 1, "a quote of this command is never closed", False))
    return faults


def _syntax(command: str, at: int, in_quotes: bool) -> str:
    """The shell syntax that begins here; empty for none. Inside " only expansions count."""
    char = command[at]
    if char == "`":
        return char
    if char == "$":
        found = _EXPANSION.match(command, at)
        return found.group() if found else ""
    if in_quotes or char not in "|&;<>\n":
        return ""
    twice = char in "|&<>" and command[at + 1 : at + 2] == char
    return char * 2 if twice else char


def _shown(syntax: str) -> str:
    return {"\n": "a line break", "`": "a backtick"}.get(syntax, f"`{syntax}`")
