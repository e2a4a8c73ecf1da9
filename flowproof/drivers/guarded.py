"""An agent's process tree on Linux, where a guard process ends it even if flowproof is killed.

Counterpart: `guard.py`, which holds the protocol spoken here. Out of reach: what a service
outside the tree starts on request (a container daemon, a job scheduler), and sessions of an
agent that kills its own guard, which is reported as an error.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import anyio

from flowproof.drivers import guard
from flowproof.drivers.interface import Launch
from flowproof.drivers.start_error import start_error, unpassable
from flowproof.drivers.tree import TreeEnd

_PATIENCE_SECONDS = 10.0
_EXIT_SECONDS = 2.0


# Imported and not run as a script, so that Python uses the compiled module that importing it here
# has left, and checks that it is up to date. The standard library comes first on the path.
_START = "import sys; sys.path.append(sys.argv[1]); import guard; guard.main()"


def guard_command() -> list[str]:
    """How a guard is started."""
    # UTF-8 mode makes texts about failures the same in any locale.
    folder = str(Path(guard.__file__).resolve().parent)
    return [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _START, folder]


def _guard_environment() -> dict[str, str]:
    """What the guard's interpreter may need to start; an agent can read it, so nothing else."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def request_bytes(launch: Launch, grace: float) -> bytes:
    """What a guard is asked; texts become the bytes that this process would pass to the system."""
    fields = [str(grace), launch.cwd, str(len(launch.argv)), *launch.argv]
    fields += (f"{name}={value}" for name, value in launch.env.items())
    data = b"\0".join(map(os.fsencode, fields))
    return b"%d\n%s" % (len(data), data)


def _texts(field: str) -> list[str]:
    """The texts that `guard.hexed` made a field of."""
    if field == "-":
        return []
    return [bytes.fromhex(one).decode("utf-8", "replace") for one in field.split(",")]


class GuardedTree:
    """Starts its guard at once; `grace` is the time in seconds between SIGTERM and SIGKILL.

    `patience` is how many seconds beyond its own bounds a guard may take to end a tree: on a
    machine that the tree keeps busy, giving the guard up early would set the tree free.

    :raises OSError: if the guard cannot be started.
    """

    def __init__(self, grace: float, *, patience: float = _PATIENCE_SECONDS) -> None:
        self._grace = grace
        bounds = grace + guard.SETTLE_SECONDS + guard.KILL_SECONDS
        self._longest_end = bounds + patience
        self._received = bytearray()
        self._launch: Launch | None = None
        self._agent = 0
        self._ended = False
        self._status: int | None = None
        self._error = ""
        self._survivors: tuple[str, ...] = ()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            self._control, control = socket.socketpair()
            ours.callback(self._control.close)
            theirs.callback(control.close)
            self.stdout, stdout = os.pipe()
            ours.callback(os.close, self.stdout)
            theirs.callback(os.close, stdout)
            self.stderr, stderr = os.pipe()
            ours.callback(os.close, self.stderr)
            theirs.callback(os.close, stderr)
            self._guard = subprocess.Popen(
                guard_command(),
                stdin=control.fileno(),
                stdout=stdout,
                stderr=stderr,
                env=_guard_environment(),
                cwd="/",
                start_new_session=True,
            )
            self._descriptors = ours.pop_all()
        self._control.setblocking(False)
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)

    async def run(self, launch: Launch) -> None:
        """Start the agent and wait until it exits or cannot be started."""
        if problem := unpassable(launch):
            self._error = problem
            return
        self._launch = launch
        await self._send(request_bytes(launch, self._grace))
        while self._status is None and (message := await self._receive()) is not None:
            self._note(message)

    async def end(self) -> TreeEnd:
        """Have the guard end what is left, and wait for its last word."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        self._guard.send_signal(signal.SIGCONT)  # the agent may have stopped it
        with anyio.move_on_after(self._longest_end):
            while (message := await self._receive()) is not None:
                self._note(message)
        if self._launch and not (self._ended or self._error):
            self._give_up()
        return TreeEnd(self._status, self._error, self._survivors)

    def close(self) -> None:
        """Give every descriptor back and reap the guard; an unused guard leaves at once."""
        self._descriptors.close()
        try:
            self._guard.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()

    def _note(self, message: list[str]) -> None:
        match message:
            case ["forked", pid]:
                self._agent = int(pid)
            case ["exited", status]:
                self._status = int(status)
            case ["ended", survivors, left]:
                self._ended = True
                still = [f"{name} (could not be ended)" for name in _texts(left)]
                self._survivors = tuple(map(_printable, [*_texts(survivors), *still]))
            case ["failed", stage, number, reason]:
                assert self._launch is not None  # the guard answers, it never asks
                told = "".join(_texts(reason))
                self._error = start_error(self._launch, stage, int(number), told)

    def _give_up(self) -> None:
        """The guard is gone or hangs without having ended the tree: do what can still be done."""
        if self._guard.poll() is None:
            guard.signal_tree(self._guard.pid, signal.SIGKILL)
            self._guard.kill()
        status = self._guard.wait()
        if self._agent:
            with contextlib.suppress(OSError):
                os.killpg(self._agent, signal.SIGKILL)
        if self._status is None:
            self._error = (
                f"the guard process of the agent ended before the agent did (status {status}); "
                "processes that the agent started may still run"
            )

    async def _send(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[self._control.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._control)
            except OSError:
                return  # the guard is gone; reading says so

    async def _receive(self) -> list[str] | None:
        """The words of the guard's next message; None when it has no more to say."""
        while (end := self._received.find(b"\n")) < 0:
            await anyio.wait_readable(self._control)
            try:
                data = self._control.recv(65536)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                return None
            self._received += data
        line = self._received[:end].decode()
        del self._received[: end + 1]
        return line.split(" ")


def _printable(name: str) -> str:
    # A process chooses its own name, so it could hold terminal controls.
    return "".join(char if char.isprintable() else "?" for char in name)
