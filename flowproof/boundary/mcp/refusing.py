"""Answers to what is refused in both phases alike."""

from __future__ import annotations

from flowproof.boundary.mcp.interface import Command, ToAgent
from flowproof.boundary.mcp.jsonrpc import (
    BATCH_VERSION,
    INVALID_REQUEST,
    Request,
    classify,
    error,
)
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.visible import visible

NO_BATCHES = (
    f"a JSON-RPC batch (a top-level array) is not accepted here: of all versions of the protocol "
    f"only {BATCH_VERSION} has batches, and this connection did not settle on it"
)
NOTIFICATIONS = "notifications/"
"""How the protocol calls all that needs no answer."""
EMPTY_BATCH = "an empty JSON-RPC batch is no message"
_MOST_REFUSED = 100


def no_call(method: str) -> str:
    """Why a message without an id is none that an agent sends."""
    return (
        f"the agent sent `{visible(method[:100])}` without an id: only {NOTIFICATIONS}… are "
        "messages without one, and a call needs it"
    )


def refused_batch(batch: list[JsonValue], prefix: str) -> tuple[list[Command], str]:
    """The answers to a batch that is not accepted, and why it is not.

    First comes an error without an id: over HTTP it is the whole answer, with the status 400. The
    errors that follow keep a client on stdio from waiting for its requests.
    """
    reason = EMPTY_BATCH if not batch else NO_BATCHES
    requests = [found for one in batch if isinstance(found := classify(one), Request)]
    ids = [None, *(request.id for request in requests[:_MOST_REFUSED])]
    return [ToAgent(error(one, INVALID_REQUEST, f"{prefix}: {reason}"), one) for one in ids], reason
