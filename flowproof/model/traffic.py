"""What the model boundary counted in one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Arrival: TypeAlias = Literal["request", "upgrade", "websocket", "cloud", "retrieval"]
"""What an unserved request is: an `upgrade` to a WebSocket where a request would be served, any
other `websocket`, one as clients of Vertex AI and Bedrock (a `cloud`) make it, the `retrieval` of
an earlier response; else a `request`."""


MOST_UNSERVED = 50
"""How many different unserved requests are told apart; a scan must not fill the report."""
LONGEST_METHOD = 20
LONGEST_PATH = 200
"""How much of the path of an unserved request is kept."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """A request that no dialect serves, as it arrived, with how often."""

    method: str
    path: str
    count: int
    kind: Arrival = "request"


@dataclass(frozen=True, slots=True)
class ModelTraffic:
    """What the model boundary counted. `recorded` is the number of turns in the trace, `served`
    how many of them this run used, `retries_dropped` how many transient failures a recording
    left out. `side_calls` counts the requests beside the conversation, such as for an embedding,
    which are not among `requests`; `side_recorded` says how many different ones the trace holds.
    """

    requests: int = 0
    served: int = 0
    recorded: int = 0
    retries_dropped: int = 0
    unserved: tuple[Unserved, ...] = ()
    side_calls: int = 0
    side_recorded: int = 0
