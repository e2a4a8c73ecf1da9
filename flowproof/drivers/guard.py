"""The process between flowproof and an agent: it starts the agent and ends its whole tree.

Counterparts: `guard_server.py`, which forks it, and `guarded.py`, which speaks with it. Every run
waits for its start-up, so it imports the standard library only, and little of that.
"""

# The protocol, in bytes. Standard input is one end of a socket pair; standard output and error
# are the agent's own pipes, which the guard lets go of once the agent has them. Fields of the
# request are separated by NUL, which none can hold; of the answers, a line each, by a blank, and
# texts in them are written in hexadecimal, names joined by commas.
#
#   in   LENGTH\n grace cwd COUNT word… NAME=value…    once; LENGTH counts what follows it
#   in   end of input                          stop: end the whole tree
#   out  forked GUARD AGENT                    two process ids; about to become the agent
#   out  failed fork|cwd|exec ERRNO REASON     last, if it did not
#   out  exited STATUS                         negative for a signal
#   out  ended SURVIVORS LEFT                  last; then the guard exits
#
# SURVIVORS were still running after the agent had exited by itself; LEFT could not be ended.

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False  # importing it from `typing` would cost more than all the rest
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
else:
    import _signal as signal  # without the names for numbers, which take 5 ms to make

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

SETTLE_SECONDS = 0.1
"""What ends by itself this soon after the agent is no survivor: helpers that watch a pipe do."""
KILL_SECONDS = 5.0
"""How long processes are killed again and again before they are reported as left."""
PAUSE_SECONDS = 0.02
NAMES = 20
"""At most so many process names are reported."""

# Nothing that the kernel raises for a fault of the guard itself may be ignored.
_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
_UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}


class Process:
    """A row of the process table: ids, one-letter state, and the kernel's short name."""

    __slots__ = ("group", "name", "parent", "pid", "state")

    def __init__(self, pid: int, name: str, state: str, parent: int, group: int) -> None:
        self.pid = pid
        self.name = name
        self.state = state
        self.parent = parent
        self.group = group


def process(pid: str) -> Process | None:
    """What /proc tells of one process; None if it is gone."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            row = os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    # The name may itself hold blanks and brackets.
    start, end = row.find(b"("), row.rfind(b")")
    state, parent, group = row[end + 2 :].split(None, 3)[:3]
    name = row[start + 1 : end].decode("utf-8", "replace")
    return Process(int(pid), name, state.decode(), int(parent), int(group))


def descendants(root: int) -> list[Process]:
    """Every process below `root`, parents before their children, ended ones included.

    Reads the whole table: the kernel's list of children is optional and documented as unreliable.
    """
    children: dict[int, list[Process]] = {}
    try:
        with os.scandir("/proc") as entries:
            pids = [entry.name for entry in entries if entry.name.isdecimal()]
    except OSError:
        return []
    for found in filter(None, map(process, pids)):
        children.setdefault(found.parent, []).append(found)
    tree = children.pop(root, [])
    for member in tree:
        tree += children.pop(member.pid, [])
    return tree


def names(tree: Sequence[Process]) -> list[str]:
    """The short names of those still running."""
    return [member.name for member in tree if member.state not in "ZX"][:NAMES]


def signal_tree(root: int, number: int, *extra: int) -> None:
    """Send a signal to every process group below `root`, and to the groups in `extra`.

    Each session below was made below, so no group holds a stranger. The kernel signals a group
    as a whole: a process cannot escape by forking meanwhile, as it could between single kills.
    """
    groups = {member.group for member in descendants(root)}.union(extra)
    for group in groups - {0, os.getpgrp()}:
        try:
            if number == signal.SIGKILL:
                # Many busy processes would otherwise leave us no time to find the others.
                os.setpriority(os.PRIO_PGRP, group, 19)
            os.killpg(group, number)
            if number == signal.SIGTERM:
                os.killpg(group, signal.SIGCONT)
        except OSError:
            pass  # gone, or of another user; the caller looks again


def ignore_signals() -> None:
    """Ignore whatever may be ignored, but for faults."""
    for number in signal.valid_signals() - _UNCATCHABLE - _FAULTS:
        signal.signal(number, signal.SIG_IGN)


class Request:
    """What is to be started: words, folder and environment as bytes, `grace` in seconds."""

    __slots__ = ("argv", "cwd", "env", "grace")

    def __init__(self, data: bytes) -> None:
        grace, self.cwd, count, *rest = data.split(b"\0")
        self.grace = float(grace)
        self.argv = rest[: int(count)]
        variables = (one.partition(b"=") for one in rest[int(count) :])
        self.env = {name: value for name, _, value in variables}


def hexed(*texts: str) -> str:
    """Texts as one field of an answer; none at all is `-`."""
    return ",".join(text.encode("utf-8", "surrogateescape").hex() for text in texts) or "-"


def load_prctl() -> None:
    """Get ready to call it, once for all guards that are forked."""
    global _prctl
    import ctypes  # flowproof reads this file too, and has no use for it

    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def checked(option: int, value: int) -> None:
        if prctl(option, ctypes.c_ulong(value)):
            raise OSError(ctypes.get_errno(), f"prctl {option} failed")

    _prctl = checked


def _prctl(option: int, value: int) -> None:
    raise RuntimeError("load_prctl() comes first")


def _become_agent(
    guard: int,
    control: int,
    failure: int,
    stdin: int | None,
    argv: list[bytes],
    cwd: bytes,
    env: Mapping[bytes, bytes],
) -> None:
    """Turn this fork of `guard` into the agent, or say through `failure` why not.

    Never returns.
    """
    stage = "fork"
    try:
        os.setsid()
        # An agent that outlived its guard could not be found again.
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(127)
        for number in signal.valid_signals() - _UNCATCHABLE:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # Said from here, so that an agent that kills its guard at once is known all the same.
        os.write(control, b"forked %d %d\n" % (guard, os.getpid()))
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
        stage = "cwd"
        os.chdir(cwd)
        stage = "exec"
        # Every other descriptor here is close-on-exec: Python made it.
        os.execvpe(argv[0], argv, env)
    except BaseException as error:
        code = getattr(error, "errno", None) or 0
        os.write(failure, f"failed {stage} {code} {hexed(str(error))}".encode())
    finally:
        os._exit(127)


class Guard:
    """One agent and everything below it, from the request to the last process.

    `runner`, if there is one, is a pidfd of flowproof's process. The agent reads from `stdin`, a
    descriptor of this process; None: from nothing.
    """

    def __init__(self, runner: int | None, stdin: int | None = None, control: int = 0) -> None:
        self.stopped = False
        self.agent = 0
        self.status: int | None = None
        self._control = control
        self._stdin = stdin
        self._received = b""
        self._wake, writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(writer, False)
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        if runner is not None:
            # Its death shows even where some fork of it still holds the control socket.
            self._poll.register(runner, select.POLLIN)
        self._take_signals(writer)
        _prctl(PR_SET_CHILD_SUBREAPER, 1)

    def _take_signals(self, wake: int) -> None:
        """SIGTERM means stop; what else a group or a terminal may send stays ignored."""
        for number in (signal.SIGTERM, signal.SIGCHLD):
            # Their numbers arrive through the pipe; nothing is left to do in a handler.
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def pause(self, seconds: float | None) -> None:
        """Sleep until something happens, at most so long; take in what was sent."""
        for descriptor, _ in self._poll.poll(None if seconds is None else int(seconds * 1000) + 1):
            if descriptor == self._wake:
                self.stopped |= signal.SIGTERM in os.read(self._wake, 4096)
                continue
            try:
                data = os.read(descriptor, 65536) if descriptor == self._control else b""
            except OSError:
                data = b""  # flowproof went away without reading what we said
            if not data:
                self._poll.unregister(descriptor)
                self.stopped = True
            self._received += data

    def report(self, message: str) -> None:
        """Tell flowproof, if it is still there."""
        try:
            os.write(self._control, message.encode() + b"\n")
        except OSError:
            self.stopped = True

    def request(self) -> Request | None:
        """Wait for the launch request; None if flowproof has no use for this guard any more."""
        while True:
            length, found, data = self._received.partition(b"\n")
            if found and len(data) >= int(length):
                return Request(data[: int(length)])
            if self.stopped:
                return None
            self.pause(None)

    def launch(self, request: Request) -> bool:
        """Start the agent; say whether that worked."""
        guard = os.getpid()
        reader, writer = os.pipe()
        try:
            self.agent = os.fork()
        except OSError as error:
            self.report(f"failed fork {error.errno or 0} {hexed(str(error))}")
            return False
        if not self.agent:
            argv, cwd, env = request.argv, request.cwd, request.env
            _become_agent(guard, self._control, writer, self._stdin, argv, cwd, env)
        os.close(writer)
        if self._stdin is not None:
            os.close(self._stdin)  # who writes to an agent that is gone must learn it
        # The agent's pipes must end with the agent's tree, so the guard may not hold them.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        failure = os.read(reader, 65536)
        os.close(reader)
        os.close(null)
        if failure:
            os.waitpid(self.agent, 0)
            self.report(failure.decode())
        return not failure

    def reap(self) -> bool:
        """Collect whoever has ended; say whether no descendant is left.

        Orphans become children of a subreaper, so no child means no descendant.
        """
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return False
                if pid == self.agent and self.status is None:
                    self.status = os.waitstatus_to_exitcode(status)
                    self.report(f"exited {self.status}")
        except ChildProcessError:
            return True

    def settle(self, until: float) -> bool:
        """Wait until nobody is left or the monotonic clock shows `until`; say whether nobody is."""
        while not (alone := self.reap()) and (rest := until - time.monotonic()) > 0:
            self.pause(min(rest, PAUSE_SECONDS))
        return alone

    def end(self, grace: float) -> list[str]:
        """End every descendant; the names of those that even SIGKILL did not end in time."""
        if self.reap():
            return []
        signal_tree(os.getpid(), signal.SIGTERM, self.agent if self.status is None else 0)
        deadline = time.monotonic() + grace
        alone = self.settle(deadline)
        deadline += KILL_SECONDS
        while not alone and time.monotonic() < deadline:
            signal_tree(os.getpid(), signal.SIGKILL, self.agent if self.status is None else 0)
            self.pause(PAUSE_SECONDS)
            alone = self.reap()
        return [] if alone else names(descendants(os.getpid()))

    def run(self) -> None:
        """Serve one launch request to its end."""
        request = self.request()
        if request is None or not self.launch(request):
            return
        while self.status is None and not self.stopped:
            self.pause(None)
            self.reap()
        survivors: list[str] = []
        if self.status is not None and not self.settle(time.monotonic() + SETTLE_SECONDS):
            survivors = names(descendants(os.getpid()))
        left = self.end(request.grace)
        self.report(f"ended {hexed(*survivors)} {hexed(*left)}")
