"""Every dialect that flowproof speaks; the boundary looks here for who serves a request."""

from __future__ import annotations

from flowproof.dialects.interface import Dialect
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.model.turn import Operation

DIALECTS: tuple[Dialect, ...] = (OpenAIChat(),)


def find(method: str, path: str) -> tuple[Dialect, Operation] | None:
    """The dialect that serves a request path (without query), with the operation it names."""
    for dialect in DIALECTS:
        operation = dialect.operation(method, path)
        if operation is not None:
            return dialect, operation
    return None


def by_name(name: str) -> Dialect:
    """The dialect of that name.

    :raises KeyError: if flowproof speaks no such dialect.
    """
    for dialect in DIALECTS:
        if dialect.name == name:
            return dialect
    raise KeyError(name)
