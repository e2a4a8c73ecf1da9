"""Blobs: what a shard writes is what a merge reads, and what is none is refused by name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.errors import ExitCode, UsageError
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, write
from flowproof.model.run_record import RunRecord
from flowproof.report.blob import BlobHead, find_blobs, planned_digest, read_record, render
from flowproof.report.write import write_files
from tests.report.fixtures import sample_run
from tests.report.hostile import hostile_run

HEAD = BlobHead(
    flowproof="0.1.0",
    shard=2,
    shards=3,
    suite="5f" * 32,
    flows=7,
    planned="a1" * 32,
    selection=(("-k", "a or b"), ("--strict", "")),
    partial=True,
    folder=".",
)


def put(folder: Path, record: RunRecord, head: BlobHead = HEAD) -> Path:
    [path] = write_files(folder, render(record, head))
    return path


@pytest.mark.parametrize("record", [sample_run(), hostile_run()], ids=["sample", "hostile"])
def test_what_is_written_is_read(tmp_path: Path, record: RunRecord) -> None:
    path = put(tmp_path / "deep/er", record)
    (tmp_path / "deep/notes.json").write_text("{}", "utf-8")
    assert path.name == "shard-2-of-3.flowproof-blob"
    [blob] = find_blobs([tmp_path])
    assert (blob.path, blob.head) == (path, HEAD)
    assert read_record(blob) == record
    assert blob.called == f"shard 2/3 ({path})"


@pytest.mark.parametrize("path", ["a", '"', "\u00e9", "\ud800", "\x01"], ids=ascii)
def test_names_of_what_was_left_out_fit_its_first_line(tmp_path: Path, path: str) -> None:
    names = tuple(f"{path * 4_000}{at}" for at in range(200))
    put(tmp_path, sample_run(), replace(HEAD, left_out=names))
    [blob] = find_blobs([tmp_path])
    kept = blob.head.left_out
    assert kept == names[: len(kept)] and 1 <= len(kept) < 200


def test_a_blob_that_is_reached_twice_is_one(tmp_path: Path) -> None:
    path = put(tmp_path / "a", sample_run())
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len(find_blobs([tmp_path, path, tmp_path / "b"])) == 1


def test_the_digest_of_a_plan_knows_paths_and_no_order() -> None:
    assert planned_digest(["a", "b", "b"]) == planned_digest(["b", "a"])
    assert len({planned_digest(paths) for paths in ([], ["a"], ["b"], ["a", "b"], ["ab"])}) == 5
    assert planned_digest(["\ud800", "\udc80"])


@pytest.mark.parametrize(
    ("places", "text"),
    [
        pytest.param(["gone"], "no such folder", id="no folder"),
        pytest.param(["."], "there is no *.flowproof-blob below", id="no blob"),
    ],
)
def test_nothing_to_merge(tmp_path: Path, places: list[str], text: str) -> None:
    with pytest.raises(UsageError, match=text.replace("*", r"\*")):
        find_blobs([tmp_path / place for place in places])


def refused(folder: Path, data: bytes) -> str:
    """How a blob of these bytes is refused, by a message that names the file."""
    path = folder / "x.flowproof-blob"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        for blob in find_blobs([folder]):
            read_record(blob)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR
    message = str(caught.value)
    assert message.startswith(f"{path}: not a usable blob: ")
    assert len(message) < 1000
    return message


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "its first line does not end", id="empty"),
        pytest.param(b"x" * 1_000_000, "its first line does not end", id="a long line"),
        pytest.param(b"<html>\n", "not JSON", id="not JSON"),
        pytest.param(b"\xff\xfe\n", "not UTF-8", id="not text"),
        pytest.param(b"[" * 30_000 + b"\n", "not JSON", id="deep"),
        pytest.param(b"[]\n", "does not say 'flowproof.blob/1'", id="a list"),
        pytest.param(b'{"schema": "flowproof.run/1"}\n', "does not say", id="a run record"),
        pytest.param(
            b'{"schema": "flowproof.blob/2", "flowproof": "99.1"}\n',
            "flowproof 99.1 wrote it, and this is",
            id="a later one",
        ),
        pytest.param(b'{"schema": "flowproof.blob/1"}\n', "is missing", id="nothing but a schema"),
    ],
)
def test_what_is_no_blob(tmp_path: Path, data: bytes, text: str) -> None:
    assert text in refused(tmp_path, data)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        pytest.param("shard", "2", "$.shard: expected an integer", id="text for a number"),
        pytest.param("shard", True, "$.shard: expected an integer", id="true for a number"),
        pytest.param("shard", 0, "there is no shard 0 of 3", id="below the first"),
        pytest.param("shard", 4, "there is no shard 4 of 3", id="behind the last"),
        pytest.param("shards", 10**9, "there is no shard 2 of 1000000000", id="too many"),
        pytest.param("shards", 10**900, "there is no shard 2 of 1000", id="very many"),
        pytest.param("selection", [["-k"]], "expected a list of 2", id="half a pair"),
        pytest.param("selection", {"-k": "a"}, "expected a list", id="a mapping"),
        pytest.param("partial", 1, "$.partial: expected true or false", id="a number for a truth"),
        pytest.param("folder", "../../etc", "leads out of", id="a folder that climbs"),
        pytest.param("folder", "a/../..", "leads out of", id="a folder that climbs later"),
        pytest.param("folder", "/etc", "leads out of", id="an absolute folder"),
        pytest.param("folder", "a\0b", "leads out of", id="a folder that no system has"),
        pytest.param("more", 1, "unknown key 'more'", id="a key of another version"),
        pytest.param("record_sha256", 1, "record_sha256: expected a string", id="no digest"),
        pytest.param("record_sha256", "00", "damaged or was cut short", id="another digest"),
        pytest.param("flowproof", "0.0.9", "another version than it says", id="another version"),
    ],
)
def test_a_first_line_that_lies(tmp_path: Path, key: str, value: JsonValue, text: str) -> None:
    def lie(head: JsonObject) -> None:
        head[key] = value

    assert text in refused(tmp_path, changed(sample_run(), lie))


def changed(record: RunRecord, change: Callable[[JsonObject], None]) -> bytes:
    [(_, data)] = render(record, HEAD)
    assert isinstance(data, bytes)
    line, body = data.split(b"\n", 1)
    head = parse(line)
    assert isinstance(head, dict)
    change(head)
    return write(head).encode() + b"\n" + body


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "its record: not a usable", id="none"),
        pytest.param(b"{}", "its `schema` is nothing", id="an empty object"),
        pytest.param(DEEP, "not JSON: nested", id="deep"),
        pytest.param(b"\xff", "not UTF-8 at byte 0", id="not text"),
        pytest.param(b'{"schema": "flowproof.run/1", "id": 1}', "its record: $", id="wrong types"),
    ],
)
def test_a_record_that_is_none(tmp_path: Path, body: bytes, text: str) -> None:
    def sign(head: JsonObject) -> None:
        head["record_sha256"] = hashlib.sha256(body).hexdigest()

    line = changed(sample_run(), sign).split(b"\n", 1)[0]
    found = refused(tmp_path, line + b"\n" + body)
    assert text.replace("its record: not a usable", "its record: not JSON") in found


def test_a_record_that_was_cut_short(tmp_path: Path) -> None:
    [(_, data)] = render(sample_run(), HEAD)
    assert isinstance(data, bytes)
    assert "cut short" in refused(tmp_path, data[:-100])


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = put(tmp_path, sample_run())
    os.truncate(path, 1 << 40)  # a hole, which takes no room
    [blob] = find_blobs([tmp_path])
    with pytest.raises(UsageError, match="larger than 256 MiB"):
        read_record(blob)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.flowproof-blob")
    with pytest.raises(UsageError, match="no regular file"):
        find_blobs([tmp_path])


def test_names_of_shards_do_not_collide(tmp_path: Path) -> None:
    for shard in (1, 2, 3):
        put(tmp_path, sample_run(), replace(HEAD, shard=shard))
    assert [blob.head.shard for blob in find_blobs([tmp_path])] == [1, 2, 3]
