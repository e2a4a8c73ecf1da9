"""A connection to a Dask cluster: one that is there already, or one of processes of our own.

`dask` runs flows over it. All that is started here is gone when the connection is closed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any

import anyio

from flowproof.errors import CapabilityError, UsageError, WorldError
from flowproof.files import shortened
from flowproof.flow.providers import KEY_VARIABLES
from flowproof.report.text import one_line

if TYPE_CHECKING:
    from distributed import Client

CONNECTING = 30.0
"""Seconds that a scheduler may take to answer, and workers of our own to start."""
_FOLDERS = "flowproof-run-"
"""How folders of our own clusters begin; the process id of their run follows."""
_CLOSING = 20.0
_GIVING_UP = 2.0
_PORTS = 65_535
_LOGGERS = ("distributed", "distributed.client", "distributed.nanny", "distributed.scheduler")
_PRELOAD = (
    "distributed",
    "distributed.nanny",
    "flowproof.suite.engines.worker",
    # What every replay loads once it is needed, for all workers at once.
    "flowproof.flow.check",
    "flowproof.flow.replay",
    "flowproof.flow.report",
    "flowproof.spec.flow",
)


def require_dask() -> None:
    """Check that the optional part is installed.

    :raises CapabilityError: if it is not, with how to install it.
    """
    try:
        import dask.config
    except ImportError as error:
        raise CapabilityError(
            "--engine dask needs the extra `dask`, which is not installed; in a checkout of "
            "flowproof: pip install '.[dask]'"
        ) from error
    # Its own log would interleave with what we print. It has to be known before the import.
    dask.config.set({"logging": dict.fromkeys(_LOGGERS, "critical")})


@contextlib.asynccontextmanager
async def connected(address: str, seconds: float = CONNECTING) -> AsyncIterator[Client]:
    """A client of the scheduler at an address such as `tcp://host:8786`, which has so many
    seconds to answer.

    :raises UsageError: if there can be no such address.
    :raises WorldError: if there is no such scheduler.
    """
    require_address(address)
    from distributed import Client

    client = Client(address, asynchronous=True, timeout=seconds, set_as_default=False)
    answers = False
    try:
        try:
            # Its own limit is not one for a server that accepts and is silent.
            with anyio.fail_after(seconds):
                await client
        # What answers may be any server: the library fails at what it says in any way.
        except Exception as error:
            why = one_line(str(error)) or f"nothing came within {seconds:g} s"
            raise WorldError(f"no Dask scheduler answers at {address}: {why}") from error
        answers = True
        yield client
    finally:
        with anyio.move_on_after(_CLOSING if answers else _GIVING_UP, shield=True):
            await client.close()


def require_address(address: str) -> None:
    """Check that the port of an address such as `tcp://host:8786` can be one.

    :raises UsageError: if it cannot.
    """
    port = address.rpartition(":")[2]
    if not (port.isascii() and port.isdigit() and 1 <= int(port[:9]) <= _PORTS):
        raise UsageError(
            f"the scheduler {shortened(address)}: {port[:20]!r} is no port, which is a number from "
            f"1 to {_PORTS}; Dask's own is 8786"
        )


@contextlib.asynccontextmanager
async def local_cluster(workers: int) -> AsyncIterator[tuple[Client, Path]]:
    """A cluster of so many processes on this machine, which run one flow each at a time, and the
    folder that they keep files in.

    :raises WorldError: if it cannot be started.
    """
    sweep(Path(gettempdir()))
    mine = f"{_FOLDERS}{os.getpid()}-"
    with (
        TemporaryDirectory(prefix=mine, ignore_cleanup_errors=True) as folder,
        _without_keys(),
    ):
        begin_server()
        import dask.config
        from distributed import LocalCluster

        # A lost worker is our business: we count how often a flow was tried.
        settings = {
            "distributed.worker.multiprocessing-method": "forkserver",
            "distributed.scheduler.allowed-failures": 0,
            # Samples of what a worker does a hundred times a second: nobody looks at them.
            "distributed.worker.profile.enabled": False,
        }
        with dask.config.set(settings):
            cluster: Any = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                local_directory=folder,
                asynchronous=True,
            )
            try:
                try:
                    # One that is half started cannot be closed.
                    with anyio.fail_after(CONNECTING, shield=True):
                        await cluster
                except (OSError, RuntimeError) as error:
                    raise WorldError(f"no worker processes could be started: {error}") from error
                async with connected(cluster.scheduler_address) as client:
                    yield client, Path(folder)
            finally:
                # Processes that never came up end with ours.
                with anyio.move_on_after(_CLOSING, shield=True), suppress(AssertionError):
                    await cluster.close()


def begin_server() -> None:
    """Start the process that workers of our own are forked from, if it is not there yet. It loads
    what they need while the caller does something else.

    A Ctrl-C in a terminal reaches them all: it is blocked in them, since we end them in order.
    """
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # here, since it unblocks what is blocked below
    forkserver.set_forkserver_preload(list(_PRELOAD))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _without_keys():
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def sweep(temporary: Path) -> None:
    """Remove what runs left behind that were killed before they could."""
    for folder in temporary.glob(f"{_FOLDERS}*-*"):
        number = folder.name.removeprefix(_FOLDERS).partition("-")[0]
        with suppress(OSError):
            if number.isdecimal() and folder.lstat().st_uid == os.getuid() and _gone(int(number)):
                shutil.rmtree(folder, ignore_errors=True)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


@contextlib.contextmanager
def _without_keys() -> Iterator[None]:
    """Keep provider keys out of the environment of processes that start meanwhile: an agent may
    read that of its worker, and no replay needs a key."""
    keys = {name: os.environ.pop(name) for name in KEY_VARIABLES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(keys)
