"""One digest over everything that a suite is made of: its specs, its traces, its suite.yaml files.

Machines that run parts of one suite write it down; merging parts of two suites is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from flowproof.errors import UsageError
from flowproof.files import place
from flowproof.suite.discover import nearest_suite
from flowproof.suite.selection import key_of
from flowproof.trace.file import find_trace


def suite_digest(specs: Sequence[Path], folder: Path) -> str:
    """The SHA-256 over the files of all these flows (absolute), in hex; `folder` is the suite's.

    A file counts by its path from the folder and its bytes, so that two checkouts of one commit
    agree wherever they lie. What is not there, or cannot be read, counts as that.
    """
    digest = hashlib.sha256()
    real = folder.resolve()
    named = (file for spec in specs for file in (spec, find_trace(spec)))
    files = [(key_of(place(file), real), file) for file in named]
    files += [(key_of(file, real), file) for file in _suites(specs)]
    for key, path in sorted(files):
        name = key.encode("utf-8", "surrogateescape")
        digest.update(b"%d:%b %b\n" % (len(name), name, _content(path)))
    return digest.hexdigest()


def _suites(specs: Sequence[Path]) -> set[Path]:
    """The suite.yaml files that govern these flows, with no symbolic link in their paths."""
    found = set()
    for folder in dict.fromkeys(spec.parent for spec in specs):
        # A flow below one that is no regular file is an error that says so.
        with suppress(UsageError):
            found.add(nearest_suite(folder))
    return {suite for suite in found if suite is not None}


def _content(path: Path) -> bytes:
    """The digest of a file. One that is not regular is not opened: a pipe would never end."""
    if not path.is_file():
        return b"-"
    try:
        with path.open("rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest().encode()
    except OSError:
        return b"?"
