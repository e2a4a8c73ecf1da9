"""Much output in little memory, and many agents at once."""

from __future__ import annotations

import tracemalloc

import anyio
import pytest

from flowproof.model.agent_exit import AgentExit

from .processes import Kit

pytestmark = pytest.mark.anyio

MEGABYTE = 1_000_000


@pytest.mark.slow
async def test_much_output_on_both_streams_in_bounded_memory(any_kit: Kit) -> None:
    size = 100 * MEGABYTE
    script = f"head -c {size} /dev/zero & head -c {size} /dev/zero >&2; wait; echo end"
    tracemalloc.start()
    try:
        result = await any_kit.run(any_kit.shell(script, timeout=60))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.status == 0
    assert (result.stdout.total, result.stderr.total) == (size + 4, size)
    assert result.stdout.text.endswith("\0end\n")
    assert "bytes left out" in result.stderr.text
    assert len(result.stderr.text) < 1.1 * 1024 * 1024
    assert peak < 16 * MEGABYTE


async def test_invalid_utf8(any_kit: Kit) -> None:
    result = await any_kit.run(any_kit.shell("printf 'a\\377b\\303'"))
    assert result.stdout.text == "a\ufffdb\ufffd"
    assert result.stdout.total == 4


async def test_thirty_agents_at_once(any_kit: Kit) -> None:
    driver = any_kit.driver(grace=2)
    results: dict[int, AgentExit] = {}

    async def one(number: int) -> None:
        script = f"sleep 300 & echo {number}; kill $!; exit {number}"
        results[number] = await driver.run(any_kit.shell(script))

    async with anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(one, number)
    assert {n: (r.status, r.stdout.text) for n, r in results.items()} == {
        n: (n, f"{n}\n") for n in range(30)
    }
