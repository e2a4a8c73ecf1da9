"""Takes the port that an agent is told about, before anything that answers on it is loaded."""

from __future__ import annotations

import socket

from flowproof.errors import PortTaken

LOOPBACK = "127.0.0.1"


def bind_loopback(port: int = 0) -> socket.socket:
    """A listening TCP socket on 127.0.0.1; port 0 takes any free one.

    :raises PortTaken: if the port cannot be had.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(512)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise PortTaken(f"cannot listen on {LOOPBACK}:{port}: {error.strerror}") from error
    return listener
