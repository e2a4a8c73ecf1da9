"""Bytes of a stdio transport become messages, however they come."""

from __future__ import annotations

import itertools

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.boundary.mcp.jsonrpc import MAX_MESSAGE
from flowproof.boundary.mcp.lines import Lines
from flowproof.boundary.mcp.outbox import Outbox
from flowproof.boundary.mcp.server import Output


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_lines_are_the_same_however_they_come(data: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    lines = Lines()
    found = [
        line for start, end in itertools.pairwise(places) for line in lines.feed(data[start:end])
    ]
    assert found + lines.rest() == [line for line in data.split(b"\n") if line.strip()]


def test_a_line_is_kept_as_far_as_it_shows_to_be_too_long() -> None:
    lines = Lines()
    for _ in range(12):
        assert lines.feed(b"x" * (1 << 20)) == []
    (line,) = lines.feed(b"\n")
    assert len(line) == MAX_MESSAGE + 1
    assert lines.feed(b"next\n") == [b"next"]


@pytest.mark.parametrize(
    ("printed", "messages", "noise"),
    [
        pytest.param(b'{"a":1}\nhello\n', [b'{"a":1}', b"hello"], [], id="after"),
        pytest.param(b'[INFO] up\n\n{"a":1}\n', [b'{"a":1}'], ["[INFO] up"], id="before"),
        pytest.param(b'  [{"a":1}]\n', [b'  [{"a":1}]'], [], id="batch"),
        pytest.param(b"a\x1b[31m\nb\nc\nd\n", [], ["a\\u001b[31m", "b", "c"], id="only"),
    ],
)
def test_noise_before_the_first_message_is_told_apart(
    printed: bytes, messages: list[bytes], noise: list[str]
) -> None:
    output = Output()
    assert output.feed(printed) == messages
    assert output.noise == noise


def test_the_last_line_need_not_end() -> None:
    output = Output()
    assert output.feed(b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert output.rest() == [b'{"b"']
    assert output.rest() == []


def test_an_outbox_keeps_the_order_and_ends_once_all_is_written() -> None:
    async def main() -> list[bytes]:
        written: list[bytes] = []

        async def send(data: bytes) -> None:
            await anyio.lowlevel.checkpoint()
            written.append(data)

        outbox = Outbox(send)
        outbox.put(b"1")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outbox.run)
            await anyio.sleep(0.01)
            outbox.put(b"2")
            outbox.put(b"3")
            outbox.end()
            outbox.put(b"lost")
        return written

    assert anyio.run(main) == [b"1", b"2", b"3"]


def test_who_fills_an_outbox_waits_for_its_reader() -> None:
    async def main() -> list[str]:
        told: list[str] = []
        reading = anyio.Event()

        async def send(data: bytes) -> None:
            await reading.wait()

        outbox = Outbox(send)

        async def fill() -> None:
            outbox.put(b"x" * (5 * MAX_MESSAGE))
            await outbox.room()
            told.append("room")
            outbox.end()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outbox.run)
            tasks.start_soon(fill)
            await anyio.sleep(0.05)
            told.append("full")
            reading.set()
        return told

    assert anyio.run(main) == ["full", "room"]
