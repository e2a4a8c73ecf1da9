"""What came of a task that a worker was given; `dask` waits for it.

A worker is not trusted: whatever it raises or returns concerns that one flow.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from flowproof.errors import FlowproofError, WorldError
from flowproof.report.text import one_line
from flowproof.suite.engines.remote import Answer, Lost, answer_of

if TYPE_CHECKING:
    from distributed import Future


async def outcome(future: Future[object]) -> Answer:
    """What a task came to.

    :raises WorldError: if that is no answer.
    :raises OSError: if the cluster cannot be reached.
    :raises CancelledError: if the cluster gave it up.
    """
    from distributed import KilledWorker

    error = await future.exception()
    match error:
        case None:
            pass
        case KilledWorker():
            # A scheduler that is told to tries by itself before it says so.
            return Lost(error.last_worker.address, error.allowed_failures + 1)
        case ImportError():
            raise WorldError(f"a worker of the cluster cannot load flowproof: {told(error)}")
        case FlowproofError():
            raise WorldError(str(error))
        case _:
            raise WorldError(f"it failed on its worker, whose log says more: {told(error)}")
    try:
        found = await future
    except (OSError, CancelledError):
        raise
    except Exception as unreadable:
        raise WorldError(f"its worker answered nonsense: {told(unreadable)}") from unreadable
    return answer_of(found)


def told(error: BaseException) -> str:
    """An error of a library or a worker in one line."""
    return one_line(f"{type(error).__name__}: {error}")
