"""Requests that nobody serves: told apart, counted, and refused in words that help."""

from __future__ import annotations

import pytest

from flowproof.model.traffic import Arrival, Unserved
from tests.boundary.tools import chat_request, replaying, send, turn

WEBSOCKET = {"connection": "Upgrade", "upgrade": "websocket"}
GOOGLE = {"x-goog-api-client": "google-genai-sdk/3.6.1"}
MODEL = "/publishers/google/models/gemini-3-flash:generateContent"


@pytest.mark.parametrize(
    ("method", "path", "headers", "kind"),
    [
        pytest.param("POST", "/v1/images/edits", {}, "request", id="another API"),
        pytest.param("GET", "/v1/files", {"upgrade": "h2c"}, "request", id="HTTP/2"),
        pytest.param("GET", "/v1/realtime", WEBSOCKET, "websocket", id="realtime"),
        pytest.param("GET", "/v1/responses", WEBSOCKET, "upgrade", id="Responses"),
        pytest.param("GET", "/v1/responses", {"upgrade": "WebSocket"}, "upgrade", id="case"),
        pytest.param("POST", f"/v1beta1{MODEL}", GOOGLE, "cloud", id="Vertex by key"),
        pytest.param("POST", f"/v1/projects/p/locations/l{MODEL}", {}, "cloud", id="Vertex"),
        pytest.param("POST", "/", GOOGLE, "cloud", id="Vertex by project"),
        pytest.param("POST", "/", {}, "request", id="a bare path"),
        pytest.param("POST", "/model/a.b-v1:0/converse-stream", {}, "cloud", id="Bedrock"),
        pytest.param("GET", "/v1/organization/projects/p", {}, "request", id="projects"),
        pytest.param("GET", "/v1/responses/resp_1", {}, "retrieval", id="polling"),
        pytest.param("POST", "/v1/responses/resp_1/cancel", {}, "retrieval", id="cancelling"),
    ],
)
def test_kinds(method: str, path: str, headers: dict[str, str], kind: Arrival) -> None:
    with replaying([]) as boundary:
        answer = send(boundary.port, b"", method=method, path=f"{path}?key=k", headers=headers)
        seen = boundary.intake.unserved.seen()
    assert seen == (Unserved(method, path, 1, kind),)
    assert answer.status == (426 if kind == "upgrade" else 404)


@pytest.mark.parametrize(
    ("path", "headers", "says"),
    [
        pytest.param("/v1/realtime", WEBSOCKET, "a WebSocket at /v1/realtime (", id="WebSocket"),
        pytest.param("/v1/responses/r", {}, "ask without `background: true`", id="polling"),
        pytest.param("/v1/files", {}, "no model API at GET /v1/files", id="plain"),
    ],
)
def test_a_refusal_says_what_is_known(path: str, headers: dict[str, str], says: str) -> None:
    with replaying([]) as boundary:
        answer = send(boundary.port, b"", method="GET", path=path, headers=headers)
    assert says in answer.json()["error"]["message"]


def test_a_websocket_is_counted_apart_from_a_plain_request() -> None:
    with replaying([turn(chat_request())]) as boundary:
        for headers in (WEBSOCKET, {}, WEBSOCKET):
            send(boundary.port, b"", method="GET", path="/v1/chat/completions", headers=headers)
        seen = boundary.intake.unserved.seen()
        assert boundary.cassette.divergence is None
        assert send(boundary.port, chat_request()).status == 200
    assert [(one.kind, one.count) for one in seen] == [("upgrade", 2), ("request", 1)]
