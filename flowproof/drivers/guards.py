"""Has a guard started for each agent, by one process that is ready to fork them.

Counterpart: `guard_server.py`, that process. It may die (an agent can kill it): guards that run
do without it, one that was not yet forked is missed by its tree, and the next has a new one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from flowproof.drivers import guard_server
from flowproof.drivers.guarded import GuardedTree

_EXIT_SECONDS = 2.0
_SEND_SECONDS = 5.0
"""How long some hundred requests that wait may keep us from adding another."""

# Imported and not run as a script, so that Python uses the compiled module that importing it here
# has left, and checks that it is up to date. The standard library comes first on the path.
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from flowproof.drivers import guard_server; guard_server.main()"
)


def server_command() -> list[str]:
    """How the process that forks guards is started."""
    # UTF-8 mode makes texts about failures the same in any locale.
    root = str(Path(guard_server.__file__).resolve().parents[2])
    return [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _START, root]


def _server_environment() -> dict[str, str]:
    """What the interpreter may need to start; an agent can read it, so nothing else."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


class Guards:
    """Makes guarded trees, also for several threads. The process behind it starts at once, and
    again if it has died.

    :raises OSError: if it cannot be started.
    """

    def __init__(self) -> None:
        self._replacing = threading.Lock()
        self._start()

    def new(self, grace: float) -> GuardedTree:
        """A tree with a guard of its own; `grace` is in seconds.

        :raises OSError: if it cannot be made.
        """
        return GuardedTree(self.start, grace)

    def piped(self, grace: float) -> GuardedTree:
        """The same with an input.

        :raises OSError: if it cannot be made.
        """
        return GuardedTree(self.start, grace, piped=True)

    def start(self, control: int, stdout: int, stderr: int, stdin: int | None = None) -> None:
        """Start a guard with these descriptors. If that fails later, it says so on `control`,
        or that is closed.

        :raises OSError: if there is nobody to start it.
        """
        with self._replacing:
            if self._server.poll() is not None:
                self._channel.close()
                self._start()
        self._server.send_signal(signal.SIGCONT)  # some agent may have stopped it
        text, given = (b"+", []) if stdin is None else (b"<", [stdin])
        socket.send_fds(self._channel, [text], [control, stdout, stderr, *given])

    def close(self) -> None:
        """End the process, which waits for its guards: trees are to be closed before."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)  # also where a fork of ours holds a copy
        self._channel.close()
        self._server.send_signal(signal.SIGCONT)
        try:
            self._server.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._server = subprocess.Popen(
                    server_command(),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=_server_environment(),
                    cwd="/",
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
        ours.settimeout(_SEND_SECONDS)
        self._channel = ours
