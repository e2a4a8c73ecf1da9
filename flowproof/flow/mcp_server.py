"""Starts the real stdio servers of a recording: our children, in the agent's folder.

Counterparts: `boundary.mcp.stdio`, which speaks with them; `drivers.piped`, which runs them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Iterator

from flowproof.boundary.mcp.server import ServerEnd, StartProcess
from flowproof.drivers.command import platform_trees
from flowproof.drivers.interface import Launch
from flowproof.drivers.piped import PipedCommand
from flowproof.drivers.tree import TreeEnd, Trees
from flowproof.errors import WorldError
from flowproof.files import remedy
from flowproof.flow.agent_environment import server_environment
from flowproof.flow.handles import unknown
from flowproof.flow.resolve_env import Prepared


@contextlib.contextmanager
def real_server(
    argv: tuple[str, ...], prepared: Prepared, new_trees: Callable[[], Trees] = platform_trees
) -> Iterator[StartProcess]:
    """Get ready to start one server, as often as the agent does.

    :raises WorldError: if the system has nothing left to start any command with.
    """
    declared = {
        name: prepared.resolve(value)
        for name, value in prepared.env.items()
        if not unknown(value, {})  # a handle, which leads to flowproof
    }
    launch = Launch(
        argv=argv,
        cwd=str(prepared.cwd),
        env=server_environment(prepared.inherited, declared),
        timeout=math.inf,
    )
    try:
        trees = new_trees()
    except OSError as error:
        told = f"no process could be made for `{argv[0]}`: {error}"
        raise WorldError(f"{told}{remedy(error.errno)}") from None
    with contextlib.closing(trees):
        yield lambda: _RealServer(PipedCommand(trees, launch))


class _RealServer:
    """Fulfils `boundary.mcp.server.Process`."""

    def __init__(self, command: PipedCommand) -> None:
        self._command = command
        self.send = command.send
        self.finish = command.finish

    @property
    def stderr(self) -> str:
        return self._command.stderr.text

    async def run(self, received: Callable[[bytes], Awaitable[None]]) -> ServerEnd:
        return _end(await self._command.run(received))


def _end(ended: TreeEnd) -> ServerEnd:
    if ended.status is None:
        return ServerEnd(ended.error, started=False, lacking=ended.lacking)
    if ended.status < 0:
        return ServerEnd(f"was ended by signal {-ended.status}")
    return ServerEnd(f"exited with status {ended.status}")
