"""Nothing that an agent started outlives its run, however it tries."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import anyio
import psutil
import pytest

from flowproof.drivers.command import Stream
from flowproof.drivers.guarded import GuardedTree
from flowproof.drivers.guards import Guards
from flowproof.model.agent_exit import AgentExit

from .conftest import linux_only
from .processes import REPOSITORY, Kit, eventually, marked

pytestmark = [pytest.mark.anyio, linux_only]

STUBBORN = "trap '' TERM INT HUP; (sleep 300 & sleep 300) & setsid sleep 300 & echo ready; wait"
DAEMON = "setsid sh -c 'trap \"\" TERM; setsid sleep 300 & wait' & sleep 0.2; echo done"


async def test_a_timeout_ends_processes_that_ignore_sigterm(any_kit: Kit) -> None:
    script = "trap '' TERM; (sleep 300 & sleep 300) & echo ready; wait"
    result = await any_kit.run(any_kit.shell(script, timeout=0.4))
    assert (result.status, result.timed_out) == (-signal.SIGKILL, True)
    assert result.stdout.text == "ready\n"
    assert 0.7 < result.duration < 4
    assert marked(any_kit.mark) == []


async def test_a_timeout_reaches_other_sessions(kit: Kit) -> None:
    result = await kit.run(kit.shell(STUBBORN, timeout=0.4))
    assert (result.status, result.timed_out) == (-signal.SIGKILL, True)
    assert marked(kit.mark) == []


async def test_an_agent_may_use_its_grace_and_is_heard(any_kit: Kit) -> None:
    big = "head -c 300000 /dev/zero"
    script = f"trap '{big}; echo bye; exit 7' TERM; echo ready; sleep 300 & wait"
    result = await any_kit.run(any_kit.shell(script, timeout=0.4), grace=5)
    assert (result.status, result.timed_out) == (7, True)
    assert result.stdout.text.endswith("\0bye\n")
    assert result.duration < 3


async def test_a_stopped_process_gets_its_sigterm(any_kit: Kit) -> None:
    script = "trap 'exit 7' TERM; kill -STOP $$; sleep 300"
    result = await any_kit.run(any_kit.shell(script, timeout=0.4), grace=5)
    assert (result.status, result.timed_out) == (7, True)


async def test_a_daemon_that_holds_the_output_is_ended_and_named(kit: Kit) -> None:
    result = await kit.run(kit.shell(DAEMON))
    assert (result.status, result.timed_out) == (0, False)
    assert sorted(result.survivors) == ["sh", "sleep"]
    assert result.stdout.text == "done\n"
    assert result.duration < 4
    assert marked(kit.mark) == []


async def test_helpers_that_end_by_themselves_are_no_survivors(kit: Kit) -> None:
    result = await kit.run(kit.shell("setsid sleep 0.03 & exit 0"))
    assert result.survivors == ()


async def test_names_of_survivors_are_printable(kit: Kit) -> None:
    script = (
        "import os, time\n"
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    open('/proc/self/comm', 'w').write('a) S 1\\x1b[31m')\n"
        "    time.sleep(300)\n"
        "time.sleep(0.2)"
    )
    result = await kit.run(kit.python(script))
    assert result.survivors == ("a) S 1?[31m",)


async def test_a_daemon_outside_our_reach_does_not_hang_the_portable_tree(any_kit: Kit) -> None:
    """What holds a pipe and is no descendant cannot be ended, but is not waited for either."""
    path = str(any_kit.folder / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        script = (
            "import socket\n"
            f"s = socket.socket(socket.AF_UNIX); s.connect({path!r})\n"
            "socket.send_fds(s, [b'x'], [1, 2]); print('sent')"
        )
        result = await any_kit.run(any_kit.launch(sys.executable, "-c", script))
    assert (result.status, result.stdout.text) == (0, "sent\n")
    assert 1 <= result.duration < 4


async def test_a_modest_fork_bomb(kit: Kit) -> None:
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "depth = children = 0\n"
        "while depth < 4 and children < 3:\n"
        "    children += 1\n"
        "    if not os.fork():\n"
        "        depth, children = depth + 1, 0\n"
        "        if depth % 2: os.setsid()\n"
        "    time.sleep(0.1)\n"
        "time.sleep(300)"
    )
    result = await kit.run(kit.python(script, timeout=0.7), grace=0.2)
    assert result.timed_out
    assert result.duration < 8
    assert marked(kit.mark) == []


async def test_a_process_that_flees_from_pid_to_pid(kit: Kit) -> None:
    script = (
        "import os, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True:\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()"
    )
    shell = f"{sys.executable} -I -S -c '{script}'; sleep 300"
    result = await kit.run(kit.shell(shell, timeout=0.5))
    assert result.timed_out
    assert result.duration < 8
    assert marked(kit.mark) == []


async def test_cancelling_ends_the_tree_before_it_returns(any_kit: Kit) -> None:
    ready = anyio.Event()

    def heard(stream: Stream, chunk: bytes) -> None:
        ready.set()

    driver = any_kit.driver(on_output=heard)
    script = "trap '' TERM; (sleep 300 & sleep 300) & echo ready; wait"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(driver.run, any_kit.shell(script))
        await ready.wait()
        assert eventually(lambda: len(marked(any_kit.mark)) >= 3)
        tasks.cancel_scope.cancel()
    assert marked(any_kit.mark) == []


async def test_what_an_agent_did_until_it_was_cancelled_is_told(any_kit: Kit) -> None:
    ready = anyio.Event()
    told: list[AgentExit] = []

    def heard(stream: Stream, chunk: bytes) -> None:
        if b"ready" in chunk:
            ready.set()

    script = "echo begun >&2; trap 'echo bye; exit 3' TERM; sleep 300 & echo ready; wait"
    launch = replace(any_kit.shell(script), cut=told.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(any_kit.driver(on_output=heard).run, launch)
        await ready.wait()
        assert told == []
        tasks.cancel_scope.cancel()
    [ended] = told
    assert (ended.status, ended.timed_out, ended.error) == (3, False, "")
    # Also what it said when it was told to end.
    assert (ended.stdout.text, ended.stderr.text) == ("ready\nbye\n", "begun\n")
    assert 0 < ended.duration < 8
    assert marked(any_kit.mark) == []


async def test_an_agent_that_ends_by_itself_is_not_cut(any_kit: Kit) -> None:
    told: list[AgentExit] = []
    ended = await any_kit.run(replace(any_kit.shell("echo hi"), cut=told.append))
    assert (ended.stdout.text, told) == ("hi\n", [])


async def test_cancelling_before_the_agent_runs(any_kit: Kit) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await any_kit.run(any_kit.shell("sleep 300"))
    assert scope.cancelled_caught
    assert marked(any_kit.mark) == []


async def test_orphans_are_reaped_while_the_agent_runs(kit: Kit) -> None:
    zombies = 'cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z $PPID "'
    script = f"for i in 1 2 3; do (true & true &) ; done; sleep 0.3; {zombies}; true"
    result = await kit.run(kit.shell(script))
    assert result.stdout.text == "0\n"


async def test_group_signals_do_not_end_the_guard(kit: Kit) -> None:
    script = "for s in INT HUP QUIT USR1 PIPE ALRM TSTP; do kill -$s $PPID; done; sleep 0.1; exit 4"
    result = await kit.run(kit.shell(script))
    assert (result.status, result.error) == (4, "")


async def test_sigterm_makes_the_guard_end_the_tree(kit: Kit) -> None:
    result = await kit.run(kit.shell("setsid sleep 300 & kill -TERM $PPID; sleep 300"))
    assert (result.status, result.timed_out) == (-signal.SIGTERM, False)
    assert result.duration < 4


async def test_an_agent_that_kills_its_guard_dies_and_is_told_of(kit: Kit) -> None:
    result = await kit.run(kit.shell("sleep 300 & kill -KILL $PPID; sleep 300"))
    assert result.status is None
    assert "the guard process of the agent ended before the agent did" in result.error
    assert eventually(lambda: marked(kit.mark) == [])


async def test_an_agent_that_stops_its_guard_is_ended(kit: Kit) -> None:
    script = "setsid sleep 300 & sleep 0.2; kill -STOP $PPID; sleep 300"
    result = await kit.run(kit.shell(script, timeout=0.6))
    assert (result.status, result.timed_out, result.error) == (-signal.SIGTERM, True, "")
    assert result.duration < 4


@pytest.mark.slow
async def test_a_guard_that_does_not_answer_is_given_up_in_bounded_time(kit: Kit) -> None:
    class Impatient(Guards):
        def new(self, grace: float) -> GuardedTree:
            return GuardedTree(self.start, grace, patience=0.1)

    kit.new_trees = Impatient
    script = "trap '' TERM; setsid sleep 300 & while :; do kill -STOP $PPID; done"
    result = await kit.run(kit.shell(script, timeout=0.6), grace=0.1)
    assert result.timed_out
    assert "guard process" in result.error
    assert result.duration < 12
    assert eventually(lambda: marked(kit.mark) == [])


RUNNER = """
import anyio, json, os, sys, time
from flowproof.drivers.command import CommandDriver
from flowproof.drivers.interface import Launch
from flowproof.model.clock import SystemClock

script, cwd, env, forked = json.loads(sys.argv[1])

def heard(stream, chunk):
    if forked and not os.fork():  # a fork holds a copy of everything, sockets included
        time.sleep(30)
        os._exit(0)
    print("ready", flush=True)

driver = CommandDriver(clock=SystemClock(), grace=0.3, on_output=heard)
try:
    anyio.run(driver.run, Launch(("/bin/sh", "-c", script), cwd, env, 60))
except KeyboardInterrupt:
    sys.exit(130)
"""


def start_runner(kit: Kit, *, forked: bool = False) -> subprocess.Popen[str]:
    request = json.dumps([STUBBORN, str(kit.folder), kit.env, forked])
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER, request],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda s: s.name
)
async def test_nothing_is_left_when_flowproof_is_ended(kit: Kit, number: signal.Signals) -> None:
    with start_runner(kit) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "ready\n"
        assert eventually(lambda: len(marked(kit.mark)) >= 4)
        tree = psutil.Process(runner.pid).children(recursive=True)
        assert len(tree) >= 5
        os.killpg(runner.pid, number)
        status = runner.wait()
    assert status == (130 if number is signal.SIGINT else -number)
    assert eventually(lambda: not any(process.is_running() for process in tree))
    assert marked(kit.mark) == []


async def test_a_fork_of_flowproof_does_not_keep_the_tree_alive(kit: Kit) -> None:
    with start_runner(kit, forked=True) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "ready\n"
        forks = [
            child for child in psutil.Process(runner.pid).children() if "-S" not in child.cmdline()
        ]
        try:
            os.kill(runner.pid, signal.SIGKILL)
            assert eventually(lambda: marked(kit.mark) == [])
            assert [fork.is_running() for fork in forks] == [True]
        finally:
            for fork in forks:
                fork.kill()


async def test_a_normal_end_waits_for_nothing(any_kit: Kit) -> None:
    began = time.monotonic()
    await any_kit.run(any_kit.shell("exit 0"), grace=30)
    assert time.monotonic() - began < 2
