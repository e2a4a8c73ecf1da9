"""Remembers which flows of a suite did not end well, for `--last-failed`.

A run of some flows changes what is known of these, and of no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from flowproof.errors import UsageError
from flowproof.files import read_regular, shortened, write_atomic
from flowproof.model.jsonvalue import JsonError, JsonValue, parse, write
from flowproof.suite.state_lock import alone

FILE = "last-failed.json"
_LARGEST = 16 * 1024 * 1024


class NoEarlierRun(UsageError):
    """No run is known that could have failed."""


def read_failed(state: Path) -> frozenset[str]:
    """The paths, relative to the suite, of the flows that failed when they last ran; `state` is
    the suite's `.flowproof` folder.

    :raises NoEarlierRun: if no run is known.
    :raises UsageError: if what is known cannot be read.
    """
    file = state / FILE
    shown = shortened(str(file))
    try:
        if (data := read_regular(file, _LARGEST)) is None:
            raise UsageError(f"{shown}: larger than {_LARGEST >> 20} MiB; delete it")
        value = parse(data)
    except FileNotFoundError:
        raise NoEarlierRun(
            "--last-failed: no earlier run is known here; run the suite once"
        ) from None
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror}") from error
    except JsonError as error:
        raise UsageError(f"{shown}: not JSON: {error}; delete it") from error
    if not isinstance(value, list):
        raise UsageError(f"{shown}: expected a list of flows; delete it")
    return frozenset(name for name in value if isinstance(name, str))


def failed_below(specs: Iterable[Path], folder: Path) -> Iterator[tuple[Path, int]]:
    """The folders below `folder` that know of failures of their own, and of how many: those of
    suites, and those that were run by themselves. `specs` are all flows below it."""
    seen = {folder}
    for spec in specs:
        for place in spec.parents:
            if place in seen or not place.is_relative_to(folder):
                break
            seen.add(place)
            with suppress(UsageError):
                if failed := read_failed(place / ".flowproof"):
                    yield place, len(failed)


def note_failed(state: Path, *, ran: Iterable[str], failed: Iterable[str]) -> None:
    """Keep what a run found: of the flows that `ran`, these `failed`.

    :raises OSError: if it cannot be written.
    """
    with alone(state):
        try:
            before = read_failed(state)
        except UsageError:
            before = frozenset()
        names: list[JsonValue] = [*sorted((before - frozenset(ran)) | frozenset(failed))]
        write_atomic(state / FILE, (write(names, indent=1) + "\n").encode())
