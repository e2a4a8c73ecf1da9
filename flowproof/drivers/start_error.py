"""Why an agent could not be started, in words that help its author, and that reports may show:
they name no place of this machine, nor what its variables hold.

Counterpart: the operating system's error numbers, as `guarded.py` and `portable.py` meet them.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from flowproof.drivers.interface import Launch
from flowproof.files import remedy


def unpassable(launch: Launch) -> str:
    """What in a launch no process can be given, or nothing: NUL bytes, broken text, odd names."""
    if not launch.argv:
        return "the command has no words"
    for name in launch.env:
        if not name or "=" in name:
            return f"`{name}` is no name for an environment variable"
    texts = [("the command", word) for word in launch.argv]
    texts += [("the working directory", launch.cwd)]
    texts += [("the name of an environment variable", name) for name in launch.env]
    texts += [(f"the environment variable {name}", value) for name, value in launch.env.items()]
    for what, text in texts:
        if "\0" in text:
            return f"{what} holds a NUL character, which ends a text for the operating system"
        try:
            os.fsencode(text)
        except UnicodeEncodeError as error:
            bad = f"U+{ord(text[error.start]):04X}"
            return f"{what} holds {bad}, which {error.encoding} cannot express"
    return ""


def start_error(launch: Launch, stage: str, number: int, reason: str) -> str:
    """One or two sentences: what could not be started, why, and what to do about it.

    `stage` is `cwd`, `exec` or another step, `number` an errno or 0, `reason` its raw text.
    """
    if stage == "cwd":
        return _cwd_error(launch, number, reason)
    if stage != "exec":
        return f"no process could be made for `{_command(launch)}`: {reason}{remedy(number)}"
    command = _command(launch)
    match number:
        case errno.ENOENT | errno.ENOTDIR:
            return _not_found(launch)
        case errno.EACCES | errno.EPERM:
            return _not_executable(launch)
        case errno.ENOEXEC:
            return (
                f"`{command}` is neither a program for this machine nor a script that starts "
                "with a #! line; put its interpreter in front, such as `python` or `sh`"
            )
        case errno.E2BIG:
            size = sum(len(os.fsencode(text)) for text in (*launch.argv, *launch.env.values()))
            return (
                f"the words and environment of `{command}` ({size:,} bytes) are more than the "
                "operating system passes on; Linux takes 128 KiB in one value, so give the agent "
                "a long text in a file"
            )
        case _:
            return f"`{command}` could not be started: {reason}{remedy(number)}"


def _cwd_error(launch: Launch, number: int, reason: str) -> str:
    match number:
        case errno.ENOENT:
            why = "does not exist"
        case errno.ENOTDIR:
            why = "is not a folder"
        case errno.EACCES:
            why = "may not be entered"
        case _:
            why = f"cannot be used: {reason}"
    return f"the working directory {_cwd(launch)} {why}; `agent.cwd` sets it, relative to the spec"


def _cwd(launch: Launch) -> str:
    """Where the agent is started, as it is seen from the run."""
    if not launch.seen_from:
        return launch.cwd
    shown = Path(os.path.relpath(launch.cwd, launch.seen_from)).as_posix()
    return "the folder of the run" if shown == "." else shown


def _command(launch: Launch) -> str:
    """The command as a message names it; of a place outside of the run's folder its last name."""
    command = launch.argv[0]
    if not launch.seen_from or not command.startswith("/"):
        return command
    shown = Path(os.path.relpath(command, launch.seen_from)).as_posix()
    return f"…/{Path(command).name}" if shown.startswith("../") else shown


def _on_path(command: str) -> str:
    return "" if "/" in command else " on the agent's PATH"


def _located(launch: Launch) -> Path | None:
    """The file that the command names, executable or not."""
    command = launch.argv[0]
    if "/" in command:
        path = Path(launch.cwd, command)
        return path if path.exists() else None
    for folder in os.get_exec_path(launch.env):
        path = Path(launch.cwd, folder, command)
        if path.exists():
            return path
    return None


def _not_found(launch: Launch) -> str:
    import shutil

    command = launch.argv[0]
    path = _located(launch)
    shown = _command(launch)
    if path is not None:
        return (
            f"`{shown}` exists{_on_path(command)}, but the interpreter that it needs does not; "
            f"see its #! line{_shown(path)}"
        )
    if "/" in command:
        return f"`{shown}` was not found from {_cwd(launch)}; check the path and `agent.cwd`"
    if "=" in command:
        return f"`{command}` is no command; set variables in `agent.env`, or use `shell: true`"
    hint = "install it, or give its path"
    if Path(launch.cwd, command).exists():
        hint = f"a file of that name is in {_cwd(launch)}: write `./{command}`"
    elif Path(sys.executable).with_name(command).exists():
        hint = "it is in the folder of flowproof's own Python: activate that environment"
    elif command == "python" and shutil.which("python3", path=launch.env.get("PATH")):
        hint = "`python3` is there"
    searched = len(os.get_exec_path(launch.env))
    folders = "the 1 folder" if searched == 1 else f"the {searched} folders"
    return f"`{command}` was not found in {folders} of the agent's PATH; {hint}"


def _shown(path: Path) -> str:
    try:
        with path.open("rb") as file:
            line = file.readline(200)
    except OSError:
        return ""
    text = line.decode("utf-8", "replace").rstrip()
    # A carriage return there is a classic: it becomes part of the interpreter's name.
    windows = " (it ends in a carriage return)" if line.endswith(b"\r\n") else ""
    return f": {text}{windows}" if text.startswith("#!") else ""


def _not_executable(launch: Launch) -> str:
    command = launch.argv[0]
    path = _located(launch)
    if path is not None and path.is_dir():
        return f"`{_command(launch)}`{_on_path(command)} is a folder, not a program"
    where = _on_path(command) if path is not None else ""
    return (
        f"`{_command(launch)}`{where} is not executable; allow it with `chmod +x`, "
        "or put its interpreter in front"
    )
