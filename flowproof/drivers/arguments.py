"""From the command that an author wrote to the words that start a process.

Counterpart: the spec hands over `agent.command` as text, `Launch.argv` takes the words.
"""

from __future__ import annotations

from typing import Final

_BLANKS: Final = " \t\n"
_ESCAPED_IN_DOUBLE_QUOTES: Final = '$`"\\'


def split_command(command: str, *, shell: bool) -> tuple[str, ...]:
    """The words of a command as a POSIX shell splits them; with `shell`, a shell to run it.

    Quotes, backslashes and continued lines work as in a shell. Nothing is expanded: `$HOME`,
    `*` and `|` without `shell` are plain text.

    :raises ValueError: if a quote is not closed, a backslash ends the command, or no word is
        in it; the message says which.
    """
    if not command.strip(_BLANKS):
        raise ValueError("the command is empty")
    if shell:
        return ("/bin/sh", "-c", command)
    # `shlex` keeps the newline of a continued line and the backslash of `"\$"`.
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(command):
        char = command[at]
        if char in _BLANKS:
            if word is not None:
                words.append("".join(word))
            word = None
            at += 1
        elif command.startswith("\\\n", at):
            at += 2
        else:
            text, at = _piece(command, at)
            word = [*word, text] if word else [text]
    if word is not None:
        words.append("".join(word))
    if not words:
        raise ValueError("the command is empty")
    return tuple(words)


def _piece(command: str, at: int) -> tuple[str, int]:
    """One quoted run, escaped character or plain run at `at`, and where it ends."""
    char = command[at]
    if char == "'":
        end = command.find("'", at + 1)
        if end < 0:
            raise ValueError(f"the single quote at character {at + 1} is not closed")
        return command[at + 1 : end], end + 1
    if char == '"':
        return _double_quoted(command, at)
    if char == "\\":
        if at + 1 == len(command):
            raise ValueError("the command ends in a backslash that escapes nothing")
        return command[at + 1], at + 2
    end = at
    while end < len(command) and command[end] not in _BLANKS and command[end] not in "'\"\\":
        end += 1
    return command[at:end], end


def _double_quoted(command: str, start: int) -> tuple[str, int]:
    text: list[str] = []
    at = start + 1
    while at < len(command):
        char, following = command[at], command[at + 1 : at + 2]
        if char == '"':
            return "".join(text), at + 1
        if char == "\\" and following == "\n":
            at += 2
        elif char == "\\" and following and following in _ESCAPED_IN_DOUBLE_QUOTES:
            text.append(following)
            at += 2
        else:
            text.append(char)
            at += 1
    raise ValueError(f"the double quote at character {start + 1} is not closed")
