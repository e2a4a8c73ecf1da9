"""The guard process itself: started ahead, minimal, discreet, and gone when nobody needs it."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from flowproof.drivers import guard
from flowproof.drivers.guarded import GuardedTree, guard_command, request_bytes
from flowproof.drivers.interface import Launch

from .conftest import linux_only
from .processes import Kit, eventually

pytestmark = [pytest.mark.anyio, linux_only]


def children() -> list[psutil.Process]:
    return psutil.Process().children()


async def test_a_prestarted_guard_is_used_once(kit: Kit) -> None:
    driver = kit.driver()
    with driver.prestart():
        (early,) = children()
        first = await driver.run(kit.shell("echo $PPID"))
        assert children() == []
        second = await driver.run(kit.shell("echo $PPID"))
    assert first.stdout.text == f"{early.pid}\n"
    assert second.stdout.text != first.stdout.text


def test_an_unused_guard_leaves_at_once(kit: Kit) -> None:
    driver = kit.driver(grace=60)
    with driver.prestart():
        assert len(children()) == 1
    assert children() == []


def test_an_unused_guard_leaves_when_the_caller_fails(kit: Kit) -> None:
    with pytest.raises(RuntimeError), kit.driver().prestart():
        raise RuntimeError
    assert children() == []


async def test_a_prestarted_guard_that_died_is_an_error(kit: Kit) -> None:
    driver = kit.driver()
    with driver.prestart():
        children()[0].kill()
        assert eventually(lambda: children()[0].status() == psutil.STATUS_ZOMBIE)
        result = await driver.run(kit.shell("echo hi"))
    assert result.status is None
    assert "guard process" in result.error


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
    with ours, theirs, Path(os.devnull).open("w") as null:
        process = subprocess.Popen(guard_command(), stdin=theirs.fileno(), stdout=null, env={})
        theirs.close()
        if launch is not None:
            ours.sendall(request_bytes(launch, 1))
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile() as lines:
            answers = lines.read().splitlines()
        assert process.wait() == 0
    return answers


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


def test_a_guard_that_does_not_listen_is_killed(kit: Kit) -> None:
    tree = GuardedTree(0.1)
    os.kill(children()[0].pid, 19)
    tree.close()
    assert children() == []


def test_the_guard_imports_little() -> None:
    """Its start-up is on the path of every run; these modules would double it."""
    command = guard_command()
    command[1:1] = ["-X", "importtime"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"guard", "ctypes"} <= loaded
    heavy = {"typing", "asyncio", "subprocess", "pathlib", "dataclasses", "json", "re", "enum"}
    assert heavy.isdisjoint(loaded)
