"""What flowproof serves, as people call it, and what to do about requests for anything else.

`boundary.traffic` tells such requests apart; verdicts, refusals and reports say this of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flowproof.model.traffic import Arrival, Unserved

SERVED = (
    "OpenAI (Chat Completions, Responses, the legacy Completions), Anthropic (Messages), Google "
    "(Gemini generateContent) and Ollama (chat, generate), and beside them embeddings, counts of "
    "tokens and lists of models"
)
"""The model APIs that a flow may use."""
CLOUDS = (
    "A client of Vertex AI or Bedrock asks hosts of its cloud and is not served: let it use the "
    "model's own API"
)
"""What to do about the two clouds whose clients are sent elsewhere by settings of their own."""

ADVICE: Mapping[Arrival, str] = {
    "cloud": (
        "clients of Vertex AI and Bedrock ask like this, and flowproof serves neither: let the "
        "client use the model's own API (google-genai does without GOOGLE_GENAI_USE_VERTEXAI)"
    ),
    "retrieval": (
        "a response is asked for by its id, as one that is made in the background is: flowproof "
        "records what a request is answered with and serves no later state of it; let the agent "
        "ask without `background: true`, or stream"
    ),
    "websocket": "flowproof speaks HTTP and serves no API that needs a WebSocket",
}
"""What is known of some kinds of unserved requests, and what to do about them."""
_PATHS = 5
_LISTED = 10


def listed(unserved: Sequence[Unserved], most: int | None = None) -> str:
    """The requests on one line, each with how often it came; with `most`, the first so many."""
    shown = ", ".join(
        f"{'WebSocket' if _opens_websocket(one) else one.method} {one.path} ({one.count}×)"
        for one in unserved[:most]
    )
    more = 0 if most is None else len(unserved) - most
    return f"{shown} and {more} more" if more > 0 else shown


def advice(unserved: Iterable[Unserved]) -> tuple[str, ...]:
    """What `ADVICE` has on such requests, once for each kind."""
    kinds = dict.fromkeys(one.kind for one in unserved)
    return tuple(ADVICE[kind] for kind in kinds if kind in ADVICE)


def upgrades(unserved: Iterable[Unserved]) -> str:
    """That the agent tried a WebSocket where a request would be served; empty if it did not."""
    found = [one for one in unserved if one.kind == "upgrade"]
    if not found:
        return ""
    shown = ", ".join(one.path for one in found[:_PATHS]) + (" …" if len(found) > _PATHS else "")
    count = sum(one.count for one in found)
    return f"the agent tried a WebSocket at {shown} {'once' if count == 1 else f'{count} times'}"


def none_served(unserved: Sequence[Unserved], beside: str = "") -> str:
    """Why a flow whose requests were all unserved sent no model request, and what to do.

    `beside` says which side calls it made, if any.
    """
    tried = upgrades(unserved)
    others = [one for one in unserved if one.kind != "upgrade"]
    if not others:
        also = f" (and made {beside})" if beside else ""
        return (
            f"no model request arrived: {tried}{also}; flowproof speaks HTTP: set the client to "
            "HTTP"
        )
    arrived = listed(unserved, _LISTED) + (f", and {beside}" if beside else "")
    return "\n".join(
        (
            f"no model request arrived that flowproof serves; what arrived was: {arrived}.",
            *advice(others),
            f"It serves the model APIs of {SERVED}; is the client's base URL right, and its API "
            "one of these?",
        )
    )


def _opens_websocket(one: Unserved) -> bool:
    return one.kind in ("upgrade", "websocket")
