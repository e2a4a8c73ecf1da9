"""One endpoint that speaks every API, strict as the providers are; agents record against it.

What no provider serves is 404, what lacks a mandatory member or header is 400, and a request must
bring exactly one credential.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.support.upstream import FakeUpstream, Received, Script, answer
from tests.support.wire import (
    anthropic_messages,
    google_generate,
    ollama_chat,
    openai_chat,
    openai_responses,
    side,
)
from tests.support.wire.script import Json, Model, Part, RefusedError, Request, Route

_ROUTES: Sequence[Route] = (
    *openai_chat.ROUTES,
    *openai_responses.ROUTES,
    *anthropic_messages.ROUTES,
    *google_generate.ROUTES,
    *ollama_chat.ROUTES,
    *side.ROUTES,
)
_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key")


def endpoint(*turns: Sequence[Part]) -> FakeUpstream:
    """An endpoint whose model says these turns, one per request of any of the APIs."""
    model = Model(turns)
    return FakeUpstream(lambda received: _answered(received, model))


def _answered(received: Received, model: Model) -> Script:
    path, _, query = received.target.partition("?")
    served = [route for route in _ROUTES if route.path.fullmatch(path)]
    route = next((one for one in served if one.method == received.method), None)
    if route is None:
        error = RefusedError(405 if served else 404, f"nobody serves {received.method} {path}")
        return answer(openai_chat.refusal(error), error.status)
    try:
        request = _request(received, path, query)
        _check(route, request)
        return route.answer(request, model)
    except RefusedError as error:
        return answer(route.refusal(error), error.status)


def _request(received: Received, path: str, query: str) -> Request:
    body: Json = {}
    if received.body:
        try:
            body = json.loads(received.body)
        except ValueError:
            raise RefusedError(400, "We could not parse the JSON body of your request.") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "The body of a request must be a JSON object.")
    return Request(path, query, dict(received.headers), body)


def _check(route: Route, request: Request) -> None:
    """Refuse what a provider refuses before any model is asked.

    :raises RefusedError: with its status.
    """
    given = [name for name in _CREDENTIALS if request.headers.get(name)]
    if route.keyed and len(given) != 1:
        told = " and ".join(given) or "none"
        raise RefusedError(401, f"a request brings one credential, this one brings {told}")
    for name in route.headers:
        if not request.headers.get(name):
            raise RefusedError(400, f"{name}: header is required")
    for name in route.needs:
        if request.body.get(name) is None:
            raise RefusedError(400, f"{name}: field required")
