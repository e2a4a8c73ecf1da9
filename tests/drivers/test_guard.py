"""The guard process itself: started ahead, minimal, discreet, and gone when nobody needs it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flowproof.drivers import guard
from flowproof.drivers.guarded import GuardedTree

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
    assert "guard.py" in result.stdout.text
    assert "sk-real-secret" not in result.stdout.text
    assert "from-the-launch" not in result.stdout.text
    assert kit.mark not in result.stdout.text


def speak(request: object) -> list[dict[str, object]]:
    """One whole conversation with a guard: a request, end of input, all its answers."""
    ours, theirs = socket.socketpair()
    with ours, theirs, Path(os.devnull).open("w") as null:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__], stdin=theirs.fileno(), stdout=null, env={}
        )
        theirs.close()
        if request is not None:
            ours.sendall(json.dumps(request).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile() as lines:
            answers = [json.loads(line) for line in lines]
        assert process.wait() == 0
    return answers


def test_the_protocol_when_input_ends_first() -> None:
    request = {"argv": ["/bin/sleep", "300"], "cwd": "/", "env": {}, "grace": 1}
    forked, exited, ended = speak(request)
    assert list(forked) == ["forked"]
    assert exited == {"exited": -15}
    assert ended == {"ended": True, "survivors": [], "left": []}


def test_the_protocol_when_the_start_fails() -> None:
    forked, failed = speak({"argv": ["/no/such"], "cwd": "/", "env": {}, "grace": 1})
    assert list(forked) == ["forked"]
    assert (failed["failed"], failed["errno"]) == ("exec", 2)


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
    command = [sys.executable, "-I", "-S", "-X", "importtime", guard.__file__]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"json", "ctypes"} <= loaded
    assert {"typing", "asyncio", "subprocess", "pathlib", "dataclasses"}.isdisjoint(loaded)
