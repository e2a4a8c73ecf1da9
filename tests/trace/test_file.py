"""Where traces lie, and what happens when they cannot be read or written there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from flowproof.errors import ExitCode, TraceCorrupt, TraceMissing
from flowproof.trace.encode import encode
from flowproof.trace.file import (
    find_trace,
    may_replace,
    read_trace,
    sha256_file,
    trace_path,
    write_trace,
)
from tests.trace.samples import conversation, trace_of


@pytest.mark.parametrize(
    ("spec", "trace"),
    [
        pytest.param("a/x.flow.yaml", "a/x.trace.json", id="usual"),
        pytest.param("x.flow.yml", "x.trace.json", id="yml"),
        pytest.param("x.yaml", "x.trace.json", id="no flow"),
        pytest.param("v1.2.flow.yaml", "v1.2.trace.json", id="dots"),
        pytest.param("noending", "noending.trace.json", id="no ending"),
    ],
)
def test_a_trace_lies_beside_its_spec(spec: str, trace: str) -> None:
    assert trace_path(Path(spec)) == Path(trace)


def test_a_legacy_trace_is_found_only_where_no_other_is(tmp_path: Path) -> None:
    spec = tmp_path / "x.flow.yaml"
    assert find_trace(spec) == tmp_path / "x.trace.json"
    (tmp_path / "x.trace.jsonl").write_text("{}")
    assert find_trace(spec) == tmp_path / "x.trace.jsonl"
    (tmp_path / "x.trace.json").write_text("{}")
    assert find_trace(spec) == tmp_path / "x.trace.json"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.json"
    trace = trace_of(*conversation(3))
    write_trace(path, trace)
    assert read_trace(path, "x.trace.json", "x.flow.yaml") == trace
    assert sha256_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.trace.json"]


def test_a_missing_trace_says_how_to_record_it(tmp_path: Path) -> None:
    for path in (tmp_path / "x.trace.json", tmp_path / "no" / "x.trace.json"):
        with pytest.raises(TraceMissing, match=r"flowproof record x\.flow\.yaml") as caught:
            read_trace(path, "x.trace.json", "x.flow.yaml")
        assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    folder, pipe = tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    for path, reason in ((folder, "is a directory"), (pipe, "a pipe or a device")):
        with pytest.raises(TraceCorrupt, match=reason):
            read_trace(path, "x.trace.json", "x.flow.yaml")
        with pytest.raises(OSError, match=reason if path is pipe else "directory"):
            sha256_file(path)


@pytest.mark.parametrize(
    ("held", "may"),
    [
        pytest.param(encode(trace_of(*conversation(1))), True, id="a trace"),
        pytest.param(b'{"driver":"command","format":"flowproof-trace"', True, id="sorted, cut off"),
        pytest.param(
            b'\xef\xbb\xbf\r\n{ "format" : "flowproof-trace"', True, id="another editor's"
        ),
        pytest.param(b"<<<<<<< HEAD\n{", True, id="after a bad merge"),
        pytest.param(b"", True, id="empty"),
        pytest.param(b"name: a\nagent: {command: x}\n", False, id="a spec"),
        pytest.param(b'{"name": "a", "agent": {}}', False, id="a spec in JSON"),
        pytest.param(b'print("flowproof-trace")', False, id="code"),
        pytest.param(b'{"app":"agent","cassette":{}}', False, id="an older trace"),
        pytest.param(b"\xff\xfe\0", False, id="bytes"),
    ],
)
def test_only_a_trace_is_replaced(tmp_path: Path, held: bytes, may: bool) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(held)
    link.symlink_to(path)
    assert may_replace(path) is may
    assert may_replace(link), "the link is replaced, the file is not"
    assert may_replace(tmp_path / "nothing")


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert not may_replace(tmp_path / "pipe")
    assert not may_replace(tmp_path / "folder")
    with pytest.raises(OSError, match="too long"):
        may_replace(tmp_path / ("x" * 5000))


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    loop = tmp_path / "x.trace.json"
    loop.symlink_to(loop)
    with pytest.raises(TraceCorrupt, match="cannot be read: too many levels"):
        read_trace(loop, "x.trace.json", "x.flow.yaml")


def test_a_failed_write_leaves_the_previous_trace(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.json"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_trace(path, trace_of())
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.trace.json"]
