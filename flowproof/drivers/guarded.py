"""An agent's process tree on Linux, where a guard process ends it even if flowproof is killed.

Counterparts: `guard.py`, which holds the protocol spoken here, and `guards.py`, which gets one
guard for each tree. Out of reach: what a service
outside the tree starts on request (a container daemon, a job scheduler), and sessions of an
agent that kills its own guard, which is reported as an error.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import Protocol

import anyio

from flowproof.drivers import guard
from flowproof.drivers.interface import Launch
from flowproof.drivers.start_error import start_error, unpassable
from flowproof.drivers.tree import TreeEnd
from flowproof.files import exhausted

_PATIENCE_SECONDS = 10.0


class StartGuard(Protocol):
    """Starts a guard with these descriptors: its control socket, its agent's output and errors,
    and perhaps its agent's input."""

    def __call__(
        self, control: int, stdout: int, stderr: int, stdin: int | None = None, /
    ) -> None: ...


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
    """Has its guard started at once; `grace` is the time in seconds between SIGTERM and SIGKILL.

    `patience` is how many seconds beyond its own bounds a guard may take to end a tree: on a
    machine that the tree keeps busy, giving the guard up early would set the tree free. With
    `piped` the agent has an input.

    :raises OSError: if the guard cannot be started.
    """

    def __init__(
        self,
        start: StartGuard,
        grace: float,
        *,
        patience: float = _PATIENCE_SECONDS,
        piped: bool = False,
    ) -> None:
        self._grace = grace
        bounds = grace + guard.SETTLE_SECONDS + guard.KILL_SECONDS
        self._longest_end = bounds + patience
        self._received = bytearray()
        self._launch: Launch | None = None
        self._guard = self._agent = 0
        self._over = False
        self._ended = False
        self._status: int | None = None
        self._error = ""
        self._survivors: tuple[str, ...] = ()
        self._lacking = False
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
            self.stdin: int | None = None
            stdin: int | None = None
            if piped:
                stdin, self.stdin = os.pipe()
                theirs.callback(os.close, stdin)
                ours.callback(self.close_stdin)
                os.set_blocking(self.stdin, False)
            start(control.fileno(), stdout, stderr, stdin)
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
        self._signal_guard(signal.SIGCONT)  # the agent may have stopped it
        with anyio.move_on_after(self._longest_end):
            while (message := await self._receive()) is not None:
                self._note(message)
        if self._launch and not (self._ended or self._error):
            self._give_up()
        return TreeEnd(self._status, self._error, self._survivors, self._lacking)

    def close_stdin(self) -> None:
        """Let the agent read the end of its input; may be called twice."""
        if self.stdin is not None:
            os.close(self.stdin)
            self.stdin = None

    def close(self) -> None:
        """Give every descriptor back; an unused guard leaves at once."""
        self._descriptors.close()

    def _note(self, message: list[str]) -> None:
        match message:
            case ["forked", guard, agent]:
                self._guard, self._agent = int(guard), int(agent)
            case ["exited", status]:
                self._status = int(status)
            case ["ended", survivors, left]:
                self._ended = True
                still = [f"{name} (could not be ended)" for name in _texts(left)]
                self._survivors = tuple(map(_printable, [*_texts(survivors), *still]))
            case ["failed", stage, number, reason]:
                assert self._launch is not None  # the guard answers, it never asks
                told = "".join(_texts(reason))
                self._lacking = stage == "fork" or exhausted(OSError(int(number), told))
                self._error = start_error(self._launch, stage, int(number), told)

    def _give_up(self) -> None:
        """The guard is gone or hangs without having ended the tree: do what can still be done."""
        if self._guard and not self._over:
            guard.signal_tree(self._guard, signal.SIGKILL)
            self._signal_guard(signal.SIGKILL)
        if self._agent:
            with contextlib.suppress(OSError):
                os.killpg(self._agent, signal.SIGKILL)
        if self._status is None and not self._agent:
            self._lacking = True
            self._error = (
                "the guard process of the agent did not come up, so that it was not started; is "
                "the limit on open files or processes (`ulimit -n`, `ulimit -u`) reached?"
            )
        elif self._status is None:
            self._error = (
                "the guard process of the agent ended before the agent did; processes that the "
                "agent started may still run"
            )

    def _signal_guard(self, number: int) -> None:
        # It holds the other end of the socket: until that is closed, the id is its own.
        if self._guard and not self._over:
            with contextlib.suppress(OSError):
                os.kill(self._guard, number)

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
                self._over = True
                return None
            self._received += data
        line = self._received[:end].decode()
        del self._received[: end + 1]
        return line.split(" ")


def _printable(name: str) -> str:
    # A process chooses its own name, so it could hold terminal controls.
    return "".join(char if char.isprintable() else "?" for char in name)
