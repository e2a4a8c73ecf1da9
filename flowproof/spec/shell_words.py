"""Commands that run without a shell: what in them only a shell would understand.

The drivers split the same text as a POSIX shell splits words; here its author is told beforehand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flowproof.spec import variables

_ENOUGH = 20
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*=)")
_EXPANSION = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\()")
_EMPTY_FIRST = re.compile(r"""\s*(?:''|"")+(?:\s|$)""")


@dataclass(frozen=True, slots=True)
class Fault:
    """Where in a command something is wrong; `shell` says that a shell would understand it."""

    offset: int
    length: int
    message: str
    shell: bool


def shell_faults(command: str) -> tuple[Fault, ...]:
    """What keeps a command from running without a shell; empty for one that is fine.

    `${VAR}` is a reference that flowproof resolves, and counts as text.
    """
    if _EMPTY_FIRST.match(command):
        return (Fault(0, len(command), "the command names no program", False),)
    faults = []
    if found := _ASSIGNMENT.match(command):
        name = found.group(1)
        faults.append(Fault(found.start(1), len(name), f"`{name}…` is shell syntax", True))
    return (*faults, *_scan(command.rstrip()))


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
