"""The address at which stand-ins find the flow that they belong to.

Counterparts: `stand_in`, which connects to it; `stdio`, which speaks with who does.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flowproof.boundary.mcp import stand_in

_QUEUE = 512


@dataclass(frozen=True, slots=True)
class Link:
    """A listening socket and its address, as the command of a stand-in."""

    listener: socket.socket
    argv: tuple[str, ...]


@contextlib.contextmanager
def listening() -> Iterator[Link]:
    """Listen while the context is open; nothing stays in the file system after it.

    The address is hard to guess. On Linux, where it is no file but listed for all to see, who
    connects is to be asked for its user (`stranger`).

    :raises OSError: if the system has no socket or folder left.
    """
    script = str(Path(stand_in.__file__).resolve())
    with contextlib.ExitStack() as stack:
        if sys.platform == "linux":
            address = f"{stand_in.ABSTRACT}flowproof-{secrets.token_hex(16)}"
        else:
            folder = tempfile.mkdtemp(prefix="flowproof-")
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            address = str(Path(folder, "mcp"))
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        name = address
        if address.startswith(stand_in.ABSTRACT):
            name = "\0" + address.removeprefix(stand_in.ABSTRACT)
        listener.bind(name)
        listener.listen(_QUEUE)
        listener.setblocking(False)
        # -I -S: neither the agent's folder nor its environment decides what is loaded.
        yield Link(listener, (sys.executable, "-I", "-S", script, address))


def stranger(channel: socket.socket) -> int | None:
    """The id of the user at the other end if that is neither ours nor root's, where the system
    tells. Elsewhere the folder of the address lets in nobody else."""
    if sys.platform != "linux":
        return None
    data = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", data)
    return None if user in (0, os.geteuid()) else int(user)
