"""An agent's process tree on POSIX systems without a guard: a session of its own, ended as one.

Counterpart: `guarded.py`, used on Linux. This one does **not** reach processes that left the
agent's process group (`setsid`, `setpgid`, shells with job control), does not name survivors,
and ends nothing if flowproof itself is killed with SIGKILL.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable

import anyio

from flowproof.drivers.interface import Launch
from flowproof.drivers.start_error import start_error, unpassable
from flowproof.drivers.tree import TreeEnd
from flowproof.files import exhausted

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.025
_KILL_SECONDS = 2.0
"""How long killed processes may take to vanish; an init that does not reap keeps them listed."""


class SessionTrees:
    """Makes trees that share nothing."""

    def new(self, grace: float) -> SessionTree:
        """A tree for one agent.

        :raises OSError: if no pipe can be made.
        """
        return SessionTree(grace)

    def piped(self, grace: float) -> SessionTree:
        """The same with an input.

        :raises OSError: if no pipe can be made.
        """
        return SessionTree(grace, piped=True)

    def close(self) -> None:
        """Nothing is left to do."""


class SessionTree:
    """Ends the agent's process group; `grace` is the time in seconds between SIGTERM and SIGKILL.

    :raises OSError: if no pipe can be made.
    """

    def __init__(self, grace: float, *, piped: bool = False) -> None:
        self._grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self._error = ""
        self._lacking = False
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            self.stdout, self._write_stdout = os.pipe()
            ours.callback(os.close, self.stdout)
            theirs.callback(os.close, self._write_stdout)
            self.stderr, self._write_stderr = os.pipe()
            ours.callback(os.close, self.stderr)
            theirs.callback(os.close, self._write_stderr)
            self.stdin: int | None = None
            self._read_stdin: int | None = None
            if piped:
                self._read_stdin, self.stdin = os.pipe()
                theirs.callback(os.close, self._read_stdin)
                ours.callback(self.close_stdin)
                os.set_blocking(self.stdin, False)
            self._descriptors = ours.pop_all()
            self._agents_descriptors = theirs.pop_all()
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)

    async def run(self, launch: Launch) -> None:
        """Start the agent and wait until it exits or cannot be started."""
        self._error = unpassable(launch) or self._start(launch)
        self._agents_descriptors.close()
        await _until(lambda: self._process is None or self._process.poll() is not None)

    async def end(self) -> TreeEnd:
        """End what is left of the agent's process group."""
        self._agents_descriptors.close()
        process = self._process
        if process is None:
            return TreeEnd(None, self._error, lacking=self._lacking)

        def gone() -> bool:
            return process.poll() is not None and not _signal_group(process.pid, 0)

        if not gone():
            _signal_group(process.pid, signal.SIGTERM)
            _signal_group(process.pid, signal.SIGCONT)
            with anyio.move_on_after(self._grace):
                await _until(gone)
        with anyio.move_on_after(_KILL_SECONDS):
            await _until(lambda: gone() or not _signal_group(process.pid, signal.SIGKILL))
        return TreeEnd(process.poll())

    def close_stdin(self) -> None:
        """Let the agent read the end of its input; may be called twice."""
        if self.stdin is not None:
            os.close(self.stdin)
            self.stdin = None

    def close(self) -> None:
        """Give every descriptor back."""
        self._agents_descriptors.close()
        self._descriptors.close()

    def _start(self, launch: Launch) -> str:
        try:
            self._process = subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env=launch.env,
                stdin=subprocess.DEVNULL if self._read_stdin is None else self._read_stdin,
                stdout=self._write_stdout,
                stderr=self._write_stderr,
                start_new_session=True,
            )
        except OSError as error:
            stage = "cwd" if error.filename == launch.cwd else "exec"
            self._lacking = exhausted(error)
            return start_error(launch, stage, error.errno or 0, str(error))
        return ""


def _signal_group(group: int, number: int) -> bool:
    """Signal a process group; say whether it still exists."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


async def _until(done: Callable[[], bool]) -> None:
    """Look again and again: being told would take a thread for each agent, or a signal handler."""
    pause = _FIRST_PAUSE
    while not done():
        await anyio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
