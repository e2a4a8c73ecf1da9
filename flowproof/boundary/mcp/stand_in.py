"""What an agent starts in place of a stdio MCP server: hands bytes between it and flowproof.

Counterpart: `stdio`, which listens. It runs as a script of an interpreter without site packages,
and everything it needs is in its arguments: MCP clients start servers without most variables.
"""

# Every start of the agent waits for this one, so it imports little of the standard library, and
# nothing else. Two threads that block are all it takes: whatever one side of the relay waits for,
# the other goes on, and neither an agent nor flowproof that reads slowly can lock both.

from __future__ import annotations

import _socket  # without the constants that `socket` makes enumerations of
import _thread
import os
import sys

TYPE_CHECKING = False  # importing it from `typing` would take longer than all of this
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

ABSTRACT = "@"
"""Begins an address that is no file; as in listings of the system, it stands for a NUL."""
_CHUNK = 65536
_GONE = (
    "flowproof's MCP stand-in: flowproof is not there (any more): {error}. The address in "
    "FLOWPROOF_MCP_SERVER_… is good for one run of one flow; do not keep it in a file.\n"
)
_ENDED = "flowproof's MCP stand-in: flowproof has ended this connection\n"


def connect(address: str) -> _socket.socket:
    """A connection to the flow that listens at this address.

    :raises OSError: if none does.
    """
    found = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    found.connect("\0" + address[1:] if address.startswith(ABSTRACT) else address)
    return found


def _from_agent(channel: _socket.socket, done: list[bool]) -> None:
    """Hand on what the agent says, to its end."""
    try:
        while data := os.read(0, _CHUNK):
            channel.sendall(data)
        done.append(True)
        channel.shutdown(_socket.SHUT_WR)
    except OSError:
        return  # flowproof is gone; who reads from it says so


def _to_agent(channel: _socket.socket) -> bool:
    """Hand on what flowproof says, to its end; whether the agent took it all."""
    while True:
        try:
            data = channel.recv(_CHUNK)
        except OSError:
            return True
        if not data:
            return True
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            return False


def _said(text: str) -> None:
    try:
        os.write(2, text.encode("utf-8", "replace"))
    except OSError:
        return  # nobody listens


def main(arguments: list[str]) -> int:
    """Relay until the agent or flowproof ends it; the status to exit with.

    0 once the agent has closed the input and had its last answer, 1 if flowproof is gone or ends
    the connection first, as a server that crashes does.
    """
    if len(arguments) != 1:
        _said("flowproof's MCP stand-in takes one argument, the address of a flow that runs\n")
        return 2
    try:
        channel = connect(arguments[0])
    except (OSError, ValueError) as error:
        _said(_GONE.format(error=error))
        return 1
    # At once: a handler of Python's would wait until whatever blocks this thread lets it go.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    done: list[bool] = []
    _thread.start_new_thread(_from_agent, (channel, done))
    if _to_agent(channel) and not done:
        _said(_ENDED)
        return 1
    return 0


if __name__ == "__main__":
    # The thread may still wait for the agent, and nothing here needs tidying.
    os._exit(main(sys.argv[1:]))
