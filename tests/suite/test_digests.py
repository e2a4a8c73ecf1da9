"""Digests of files: read once while they stay as they are, and never without an end."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from flowproof.files import Digests


def test_the_digest_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 3_000_000)
    digests = Digests()
    assert digests.known(str(path), path.stat()) is None
    digest = digests.of(str(path), 3_000_000)
    assert digest == sha256(b"x" * 3_000_000).hexdigest()
    assert digests.known(str(path), path.stat()) == digest


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"xxx")
    digests = Digests()
    assert digests.of(str(path), 2) is None
    assert digests.of(str(path), 3) is not None
    assert digests.of(str(path), 2) is None, "what is known is no larger than was asked for"


@pytest.mark.parametrize("kind", ["pipe", "folder", "nothing"])
def test_what_has_no_end_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
    before = psutil.Process().num_fds()
    with pytest.raises(OSError):
        Digests().of(str(path), 100)
    assert psutil.Process().num_fds() == before
