"""Finds the record of a run that is kept, from the folder in which the run was started.

Records lie with the suite that ran, which may be anywhere: a folder notes in its own `.flowproof`
where else those of its runs are. `run_store` keeps them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flowproof.errors import RunRecordUnreadable, UsageError
from flowproof.files import read_regular, shortened, write_atomic
from flowproof.model.jsonvalue import JsonError, JsonValue, parse, write
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import MAX_CHARACTERS, load
from flowproof.suite.discover import nearest_suite
from flowproof.suite.state_lock import alone

STATE = ".flowproof"
RUNS = "runs"
RECORD = "report.json"
FILE = "elsewhere.json"
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
MOST = 50
"""How many folders are noted; the ones longest ago are forgotten first."""
_LARGEST = 1024 * 1024
_NAMED = 10


def made_state(folder: Path) -> Path:
    """The `.flowproof` of a folder, which keeps itself out of git.

    :raises OSError: if it cannot be made.
    """
    state = folder / STATE
    state.mkdir(parents=True, exist_ok=True)
    ignore = state / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")
    return state


def note_elsewhere(here: Path, folder: Path) -> None:
    """Note that a run which was started `here` is kept in another folder, unless that is where
    one looks anyway.

    :raises OSError: if it cannot be noted.
    """
    real = folder.resolve()
    if real in _usual(here):
        return
    state = made_state(here)
    name = os.path.relpath(real, here.resolve())
    with alone(state):
        before = [one for one in _noted(here) if one != name]
        names: list[JsonValue] = [*before[1 - MOST :], name]
        write_atomic(state / FILE, (write(names, indent=1) + "\n").encode())


def find_kept(here: Path, id: str | None = None) -> Path:
    """The file of the run with this id, or without an id of the one that started last: of those
    that are kept in the suite of a folder, in that folder, and where runs started there are.

    :raises UsageError: if there is none.
    """
    folders = _folders(here)
    found = [run for folder in folders for run in _kept(folder)]
    # Ids tell seconds; of two runs in one second the file system knows the later.
    found.sort(reverse=True)
    if not found:
        looked = ", ".join(shortened(str(folder)) for folder in folders[:_NAMED])
        raise UsageError(
            f"no run is kept in {looked}; run the suite once, or name the run.json of a run"
        )
    if id is None:
        return found[0][2]
    for _, _, path in found:
        if path.parent.name == id:
            return path
    known = ", ".join(path.parent.name for _, _, path in found[:_NAMED])
    raise UsageError(
        f"{shortened(id)}: no such file, and no run of this id is kept; there are {known}"
    )


def find_record(here: Path, named: str | None) -> Path:
    """The file that somebody means: a run record by its path, or a kept run as in `find_kept`.

    :raises UsageError: if there is none.
    """
    if named is None:
        return find_kept(here)
    path = here / named
    with suppress(OSError, ValueError):  # a name that no file can have
        if path.is_file():
            return Path(named)
        if path.is_dir():
            raise UsageError(f"{shortened(named)}: it is a folder; name the run.json in it")
    if "/" in named or os.sep in named or named.endswith(".json"):
        raise UsageError(f"{shortened(named)}: no such file")
    return find_kept(here, named)


def read_kept(path: Path) -> RunRecord:
    """The run record in a file.

    :raises UsageError: if it cannot be read, or is none.
    """
    shown = shortened(str(path))
    try:
        if path.stat().st_size > MAX_CHARACTERS:
            raise UsageError(f"{shown}: larger than {MAX_CHARACTERS >> 20} MiB")
        return load(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown}: not UTF-8 at byte {error.start}") from error
    except MemoryError as error:
        raise UsageError(f"{shown}: too large to read here: not enough memory") from error
    except RunRecordUnreadable as error:
        raise UsageError(f"{shown}: {error}") from error


def _usual(here: Path) -> list[Path]:
    """The folders in which one looks without a note: that of the suite, and this one."""
    suite = nearest_suite(here)
    return list(dict.fromkeys([*([suite.parent] if suite else []), here.resolve()]))


def _folders(here: Path) -> list[Path]:
    noted = (Path(os.path.realpath(here / name)) for name in _noted(here))
    return list(dict.fromkeys([*_usual(here), *noted]))


def _noted(here: Path) -> list[str]:
    """What is noted, as far as it can be read: it only says where to look."""
    with suppress(OSError, JsonError):
        data = read_regular(here / STATE / FILE, _LARGEST)
        value = None if data is None else parse(data)
        names = value if isinstance(value, list) else []
        return [name for name in names if isinstance(name, str) and "\0" not in name][-MOST:]
    return []


def _kept(folder: Path) -> Iterator[tuple[str, int, Path]]:
    """The second in which each run that is kept in a folder started, when its record was
    written, and where that is."""
    with suppress(OSError):
        for run in sorted((folder / STATE / RUNS).iterdir()):
            record = run / RECORD
            if RUN_ID.fullmatch(run.name):
                with suppress(OSError):  # another run may take it away meanwhile
                    yield run.name.partition("-")[0], record.stat().st_mtime_ns, record
