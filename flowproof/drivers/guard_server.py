"""The process that forks a guard for each agent: one interpreter is started for a whole run.

Counterparts: `guards.py`, which runs this file with `-I -S`, and `guard.py`, which a fork becomes.
A fork speaks with flowproof through descriptors of its own, so it needs this process no more.
"""

# Standard input is one end of a SEQPACKET socket pair. Each message on it is one of `MESSAGES`
# and brings the descriptors that become those of one guard; whatever else is to be said goes
# through the first of them. The end of input, or of flowproof, ends this process once all guards
# have ended.

from __future__ import annotations

import _socket  # without the constants that `socket` makes enumerations of
import os
import select
import sys

from flowproof.drivers import guard

TYPE_CHECKING = False  # as in `guard`
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

DESCRIPTORS = 3
"""A guard's own: the control socket, standard output and standard error of its agent."""
MESSAGES = {b"+": DESCRIPTORS, b"<": DESCRIPTORS + 1}
"""How many descriptors each brings: `<` also the standard input of an agent that has one."""
_SIZE = 4
"""Bytes of a descriptor's number in a message."""


def _runner() -> int | None:
    """A pidfd of flowproof's process."""
    try:
        return os.pidfd_open(os.getppid())
    except (AttributeError, OSError):
        return None  # before Linux 5.3 the end of input has to do


def _received(channel: _socket.socket) -> tuple[bytes, list[int]] | None:
    """The next message with its descriptors; None if there is no message any more."""
    room = _socket.CMSG_SPACE((DESCRIPTORS + 1) * _SIZE)
    try:
        text, brought, _, _ = channel.recvmsg(1, room, _socket.MSG_CMSG_CLOEXEC)
    except OSError:
        return None
    data = b"".join(part for _, _, part in brought)
    found = [data[at : at + _SIZE] for at in range(0, len(data), _SIZE)]
    return (text, [int.from_bytes(one, sys.byteorder) for one in found]) if text else None


def _become_guard(descriptors: list[int], runner: int | None) -> None:
    """Turn this fork into a guard. Never returns."""
    try:
        os.setsid()
        own, stdin = descriptors[:DESCRIPTORS], descriptors[DESCRIPTORS:]
        for number, descriptor in enumerate(own):
            os.dup2(descriptor, number)
            os.close(descriptor)
        guard.Guard(runner, stdin[0] if stdin else None).run()
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def _fork(descriptors: list[int], runner: int | None) -> None:
    try:
        if not os.fork():
            _become_guard(descriptors, runner)
    except OSError as error:
        told = f"failed fork {error.errno or 0} {guard.hexed(str(error))}\n"
        try:  # noqa: SIM105 (contextlib takes longer to import than all of this)
            os.write(descriptors[0], told.encode())
        except OSError:
            pass  # flowproof is gone, and we learn it in a moment


def _reap(flags: int = os.WNOHANG) -> None:
    """Collect guards that have ended, so that their processor time is counted as ours."""
    try:
        while os.waitpid(-1, flags)[0]:
            pass
    except ChildProcessError:
        pass  # none is left


def main() -> None:
    """Fork guards as long as flowproof wants some, and end the process."""
    guard.load_prctl()
    guard.ignore_signals()
    # It interrupts the wait below, which then goes on.
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    channel, runner = _socket.socket(fileno=0), _runner()
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    if runner is not None:
        poll.register(runner, select.POLLIN)
    while all(descriptor == 0 for descriptor, _ in poll.poll()):
        received = _received(channel)
        if received is None:
            break
        text, descriptors = received
        # Fewer arrive where a limit on them is reached.
        if len(descriptors) == MESSAGES.get(text):
            _fork(descriptors, runner)
        for descriptor in descriptors:
            os.close(descriptor)
    os.close(0)
    _reap(0)
    os._exit(0)
