"""A command that is spoken with through its standard streams, on every kind of process tree."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import closing

import anyio
import pytest

from flowproof.drivers.piped import PipedCommand
from flowproof.drivers.tree import TreeEnd

from .processes import Kit

pytestmark = pytest.mark.anyio


async def ran(
    kit: Kit, script: str, *says: bytes, finish: bool = True, patience: float = 0.5
) -> tuple[TreeEnd, bytes, PipedCommand]:
    """What a script wrote after it was told this, and how it ended."""
    heard = bytearray()

    async def received(data: bytes) -> None:
        heard.extend(data)

    async def talk() -> None:
        for one in says:
            await command.send(one)
        if finish:
            command.finish()

    with closing(kit.new_trees()) as trees:
        command = PipedCommand(trees, kit.shell(script), patience=patience, grace=0.3)
        async with anyio.create_task_group() as tasks:
            results: list[TreeEnd] = []

            async def run() -> None:
                results.append(await command.run(received))

            tasks.start_soon(run)
            await anyio.sleep(0.05)
            tasks.start_soon(talk)
    return results[0], bytes(heard), command


async def test_it_reads_what_it_is_told_and_leaves_when_that_ends(any_kit: Kit) -> None:
    ended, heard, command = await ran(any_kit, "cat; echo gone >&2", b"one\n", b"two\n")
    assert (ended, heard) == (TreeEnd(0), b"one\ntwo\n")
    assert command.stderr.text == "gone\n"


async def test_a_great_deal_goes_both_ways_at_once(any_kit: Kit) -> None:
    text = b"x" * 3_000_000
    ended, heard, _ = await ran(any_kit, "cat", text, patience=20)
    assert (ended.status, len(heard)) == (0, len(text))


async def test_one_that_stays_is_ended(any_kit: Kit) -> None:
    begun = time.monotonic()
    ended, _, _ = await ran(any_kit, "sleep 300")
    assert ended.status == -signal.SIGTERM
    assert time.monotonic() - begun < 10


async def test_one_that_ignores_sigterm_is_killed(any_kit: Kit) -> None:
    script = f"exec {sys.executable} -I -S -c 'import signal as s, time; " + (
        's.signal(s.SIGTERM, s.SIG_IGN); print("up", flush=True); time.sleep(300)\''
    )
    ended, heard, _ = await ran(any_kit, script, patience=2)
    assert (ended.status, heard) == (-signal.SIGKILL, b"up\n")


async def test_one_that_closes_its_output_is_of_no_use(any_kit: Kit) -> None:
    ended, _, _ = await ran(any_kit, "exec >&-; sleep 300", finish=False)
    assert ended.status == -signal.SIGTERM


async def test_one_that_never_reads_takes_nobody_with_it(any_kit: Kit) -> None:
    ended, _, _ = await ran(any_kit, "sleep 0.5; exit 4", b"x" * 1_000_000)
    assert ended.status == 4


async def test_one_that_cannot_be_started_says_why(any_kit: Kit) -> None:
    with closing(any_kit.new_trees()) as trees:
        command = PipedCommand(trees, any_kit.launch("no-such-command"))

        async def received(data: bytes) -> None:
            raise AssertionError(data)

        ended = await command.run(received)
        await command.send(b"lost")
        command.finish()
    assert ended.status is None
    assert ended.error.startswith("`no-such-command` was not found")
    assert not ended.lacking


async def test_cancelling_leaves_nothing(any_kit: Kit) -> None:
    async def received(data: bytes) -> None:
        scope.cancel()

    with closing(any_kit.new_trees()) as trees, anyio.CancelScope() as scope:
        command = PipedCommand(trees, any_kit.shell("echo up; sleep 300"), grace=0.3)
        await command.run(received)
    assert scope.cancelled_caught
