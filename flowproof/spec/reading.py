"""From a file on disk to a value of our own, or to all of its problems at once."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from typing import NoReturn, TypeVar

from flowproof.errors import Problem, SpecError
from flowproof.spec.shapes import Shape
from flowproof.spec.source import MAX_BYTES, Mark, Refused, Report, TooManyProblems
from flowproof.spec.yaml_nodes import Node, read_nodes

# Told by its name or its first key: a trace may be larger than a spec, and be no YAML.
_TRACE_NAMES = (".trace.json", ".trace.jsonl")
_TRACE = re.compile(rb"""\s{0,99}(?:\{\s{0,99})?"?format"?\s{0,99}:\s{0,99}"?flowproof-trace\b""")

T = TypeVar("T")
U = TypeVar("U")


def read_file(
    path: Path, shown: str, shape: Shape[T], finish: Callable[[T, Node, Report, str], U]
) -> U:
    """Read a YAML file of a known shape; `finish` gets its value, its root and its SHA-256.

    :raises SpecError: with every problem of the file.
    """
    data = _bytes(path, shown)
    report = Report(shown, text := _text(data, shown))
    try:
        root = read_nodes(text, report)
        value = shape.read(root, report)
    except (Refused, TooManyProblems):
        raise report.failure() from None
    if report.problems:
        raise report.failure()
    return finish(value, root, report, hashlib.sha256(data).hexdigest())


def _bytes(path: Path, shown: str) -> bytes:
    try:
        # A pipe or a device would never end.
        if not S_ISREG(path.stat().st_mode):
            _refuse(shown, "not a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        _refuse(shown, f"cannot be read: {reason}")
    if path.name.endswith(_TRACE_NAMES) or _TRACE.match(data):
        _refuse(
            shown,
            "this is a trace, not a spec; `flowproof show` prints what it holds",
            accepted="a flow (`*.flow.yaml`) or a suite (`suite.yaml`)",
        )
    if len(data) > MAX_BYTES:
        _refuse(shown, f"larger than {MAX_BYTES // 1024 // 1024} MiB")
    return data


def _text(data: bytes, shown: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        _refuse(shown, "UTF-16, not UTF-8", accepted="a text file in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # With `utf-8-sig` the offset counts from behind a byte order mark.
        before = data.removeprefix(codecs.BOM_UTF8)[: error.start].decode("utf-8", "replace")
        report = Report(shown)
        start = before.rfind("\n") + 1
        mark = Mark(before.count("\n") + 1, len(before) - start + 1)
        byte = data.removeprefix(codecs.BOM_UTF8)[error.start]
        report.note(mark, f"byte 0x{byte:02X} is not UTF-8", accepted="a text file in UTF-8")
        raise SpecError(report.problems) from error


def _refuse(shown: str, message: str, accepted: str = "") -> NoReturn:
    raise SpecError([Problem(shown, 1, 1, message, accepted=accepted)])
