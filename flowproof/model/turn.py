"""What crossed the model boundary: requests, responses, and the turns they make."""

from __future__ import annotations

from dataclasses import dataclass

from flowproof.model.jsonvalue import JsonValue


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request asks a model API to do: its dialect and normalised path.

    A prefix, a query and a model named in the path are left out of `path`.
    """

    dialect: str
    path: str


@dataclass(frozen=True, slots=True)
class Response:
    """What the upstream answered.

    `body` is a JSON value where the upstream sent JSON, else None with the text in `text`.
    `events` are the raw frames of a stream, kept where the assembled body alone would lose
    something.
    """

    status: int
    body: JsonValue
    text: str | None = None
    content_type: str = "application/json"
    events: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One request as pinned, with its response. `request` excludes transport settings."""

    operation: Operation
    request: JsonValue
    response: Response
    streamed: bool = False
    mocked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SideCall:
    """A request beside the trajectory, such as for an embedding, with its response.

    `operation` names the side endpoint in place of a dialect; its path includes the query.
    `request` is None where the request had no body.
    """

    operation: Operation
    method: str
    request: JsonValue
    response: Response
