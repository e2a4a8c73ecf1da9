"""The guard of an agent, and the process that forks it: minimal, discreet, and gone when nobody
needs them."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import anyio
import psutil
import pytest

from flowproof.drivers import guard
from flowproof.drivers.guarded import request_bytes
from flowproof.drivers.guards import Guards, server_command
from flowproof.drivers.interface import Launch
from flowproof.errors import WorldError

from .conftest import linux_only
from .processes import Kit, eventually

pytestmark = [pytest.mark.anyio, linux_only]


def children() -> list[psutil.Process]:
    return psutil.Process().children()


PARENT = "cut -d' ' -f4 /proc/$PPID/stat"
"""Prints the parent of the guard."""


async def test_one_process_forks_the_guards_of_all_agents(kit: Kit) -> None:
    driver = kit.driver()
    with driver.prestart():
        (server,) = children()
        runs = [await driver.run(kit.shell(f"echo $PPID; {PARENT}")) for _ in range(2)]
        assert children() == [server]
        assert eventually(lambda: server.children() == [])
    (first, above), (second, again) = (run.stdout.text.split() for run in runs)
    assert above == again == str(server.pid)
    assert len({first, second, above}) == 3


async def test_without_a_head_start_nothing_stays(kit: Kit) -> None:
    result = await kit.run(kit.shell("exit 3"))
    assert (result.status, children()) == (3, [])


def test_an_unused_server_leaves_at_once(kit: Kit) -> None:
    driver = kit.driver(grace=60)
    with driver.prestart():
        assert len(children()) == 1
    assert children() == []


def test_an_unused_server_leaves_when_the_caller_fails(kit: Kit) -> None:
    with pytest.raises(RuntimeError), kit.driver().prestart():
        raise RuntimeError
    assert children() == []


async def test_agents_go_on_without_the_server_and_others_get_a_new_one(kit: Kit) -> None:
    driver = kit.driver()
    with driver.prestart():
        (server,) = children()
        killed = f"kill -KILL {server.pid}; setsid sleep 300 & sleep 0.3; echo done; exit 4"
        first = await driver.run(kit.shell(killed))
        second = await driver.run(kit.shell(PARENT))
        (other,) = children()
    assert (first.status, first.error, first.stdout.text) == (4, "", "done\n")
    assert first.survivors == ("sleep",)
    assert (second.status, second.stdout.text) == (0, f"{other.pid}\n")
    assert other.pid != server.pid


async def test_a_guard_that_never_came_is_an_error(kit: Kit) -> None:
    class Dying(Guards):
        def start(self, control: int, stdout: int, stderr: int, stdin: int | None = None) -> None:
            (server,) = children()
            server.suspend()
            super().start(control, stdout, stderr)
            server.kill()

    kit.new_trees = Dying
    with pytest.raises(WorldError, match="guard process of the agent did not come up"):
        await kit.run(kit.shell("echo hi"))


async def test_a_stopped_server_is_woken(kit: Kit) -> None:
    driver = kit.driver()
    with driver.prestart():
        (server,) = children()
        server.suspend()
        result = await driver.run(kit.shell("echo hi"))
        server.suspend()
    assert (result.status, result.stdout.text) == (0, "hi\n")
    assert children() == []


async def test_a_system_out_of_processes_is_told_of(kit: Kit) -> None:
    driver = kit.driver()
    with driver.prestart():
        (server,) = children()
        # Not even root is exempt from a limit on open files: the guard's descriptors do not fit.
        server.rlimit(psutil.RLIMIT_NOFILE, (4, 4))
        with pytest.raises(WorldError, match="ulimit -n"):
            await driver.run(kit.shell("echo hi"))


async def test_a_guard_holds_no_descriptor_of_another(kit: Kit) -> None:
    driver = kit.driver()
    shown = "ls -l /proc/$PPID/fd | grep -c -e socket: -e pipe: -e pidfd"
    alone = await driver.run(kit.shell(shown))
    counts: list[str] = []

    async def one() -> None:
        counts.append((await driver.run(kit.shell(f"sleep 0.3; {shown}"))).stdout.text)

    with driver.prestart():
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(one)
    # A guard may still be closing one as its agent starts; another flow would bring three.
    assert len(counts) == 5
    assert max(map(int, counts)) <= int(alone.stdout.text) + 1


async def test_secrets_of_flowproof_are_not_in_the_guard(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-secret")
    kit.env["AGENT_VALUE"] = "from-the-launch"
    script = "tr '\\0' ' ' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline"
    result = await kit.run(kit.shell(script))
    assert "import guard" in result.stdout.text
    assert "sk-real-secret" not in result.stdout.text
    assert "from-the-launch" not in result.stdout.text
    assert kit.mark not in result.stdout.text


def speak(launch: Launch | None) -> list[str]:
    """One whole conversation with a guard: a request, end of input, all its answers."""
    ours, theirs = socket.socketpair()
    with closing(Guards()) as guards, ours, Path(os.devnull).open("w") as null:
        with theirs:
            guards.start(theirs.fileno(), null.fileno(), null.fileno())
        if launch is not None:
            ours.sendall(request_bytes(launch, 1))
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile() as lines:
            return lines.read().splitlines()


def test_the_protocol_when_input_ends_first() -> None:
    launch = Launch(("/bin/sleep", "300"), "/", {}, 1)
    forked, exited, ended = speak(launch)
    assert forked.startswith("forked ")
    assert exited == "exited -15"
    assert ended == "ended - -"


def test_the_protocol_when_the_start_fails() -> None:
    forked, failed = speak(Launch(("/no/such",), "/", {}, 1))
    assert forked.startswith("forked ")
    assert failed.startswith("failed exec 2 ")


@pytest.mark.parametrize(
    "words", [("a", "", "b c"), ("line\nline", "=", "é\udcff")], ids=["blanks", "odd bytes"]
)
def test_a_request_arrives_as_it_was_sent(words: tuple[str, ...]) -> None:
    env = {"EMPTY": "", "SIGN": "a=b\n", "BYTES": "\udcfe"}
    _, data = request_bytes(Launch(words, "/tmp/é", env, 1), 0.5).split(b"\n", 1)
    request = guard.Request(data)
    assert [os.fsdecode(word) for word in request.argv] == list(words)
    assert os.fsdecode(request.cwd) == "/tmp/é"
    assert {os.fsdecode(k): os.fsdecode(v) for k, v in request.env.items()} == env
    assert request.grace == 0.5


def test_the_protocol_without_a_request() -> None:
    assert speak(None) == []


def test_the_process_table(kit: Kit) -> None:
    with subprocess.Popen(
        ["/bin/sh", "-c", "sleep 300 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True
    ) as shell:
        try:
            assert shell.stdout is not None
            shell.stdout.readline()
            assert eventually(
                lambda: guard.names(guard.descendants(os.getpid())) == ["sh", "sleep"]
            )
            tree = guard.descendants(os.getpid())
            assert [member.parent for member in tree] == [os.getpid(), shell.pid]
            assert [member.group for member in tree] == [shell.pid] * 2
        finally:
            guard.signal_tree(os.getpid(), 9)
    assert guard.descendants(os.getpid()) == []


def test_a_process_that_is_gone() -> None:
    assert guard.process("0") is None


def test_a_guard_that_does_not_listen_is_not_waited_for(kit: Kit) -> None:
    guards = Guards()
    tree = guards.new(0.1)
    (server,) = children()
    assert eventually(lambda: len(server.children()) == 1)
    (found,) = server.children()
    found.suspend()
    tree.close()
    guards.close()
    assert children() == []
    found.resume()
    assert eventually(lambda: not found.is_running())


def test_the_guard_imports_little() -> None:
    """Its start-up is on the path of every run; these modules would double it."""
    command = server_command()
    command[1:1] = ["-X", "importtime"]
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        done = subprocess.run(
            command, stdin=theirs.fileno(), capture_output=True, text=True, check=True
        )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"flowproof.drivers.guard", "ctypes"} <= loaded
    heavy = {"typing", "asyncio", "subprocess", "pathlib", "dataclasses", "json", "re", "enum"}
    assert heavy.isdisjoint(loaded)
