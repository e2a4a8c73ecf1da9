"""What people are told about requests that nobody serves."""

from __future__ import annotations

import pytest

from flowproof.model.served import CLOUDS, SERVED, advice, listed, none_served, upgrades
from flowproof.model.traffic import Unserved

PLAIN = Unserved("POST", "/v2/rerank", 3)
UPGRADE = Unserved("GET", "/v1/responses", 2, "upgrade")
REALTIME = Unserved("GET", "/v1/realtime", 1, "websocket")
VERTEX = Unserved("POST", "/", 1, "cloud")
POLL = Unserved("GET", "/v1/responses/resp_1", 5, "retrieval")


def test_a_client_that_only_tries_a_websocket_is_told_to_use_http() -> None:
    said = none_served([UPGRADE])
    assert "the agent tried a WebSocket at /v1/responses 2 times" in said
    assert "flowproof speaks HTTP: set the client to HTTP" in said
    assert "base URL" not in said
    assert "(and made 1 side call)" in none_served([UPGRADE], "1 side call")


@pytest.mark.parametrize(
    ("unserved", "says"),
    [
        pytest.param(PLAIN, "POST /v2/rerank (3×).\nIt serves", id="plain"),
        pytest.param(REALTIME, "serves no API that needs a WebSocket\n", id="WebSocket"),
        pytest.param(VERTEX, "(google-genai does without GOOGLE_GENAI_USE_VERTEXAI)\n", id="cloud"),
        pytest.param(POLL, "let the agent ask without `background: true`", id="retrieval"),
    ],
)
def test_what_is_known_of_a_request_is_said(unserved: Unserved, says: str) -> None:
    said = none_served([unserved])
    assert says in said
    assert f"It serves the model APIs of {SERVED}" in said
    assert "dialect" not in said


def test_a_websocket_is_listed_as_one() -> None:
    assert listed([REALTIME, UPGRADE, PLAIN]) == (
        "WebSocket /v1/realtime (1×), WebSocket /v1/responses (2×), POST /v2/rerank (3×)"
    )
    assert listed([PLAIN, POLL, VERTEX], 1) == "POST /v2/rerank (3×) and 2 more"


def test_advice_is_given_once_and_not_for_what_nothing_is_known_of() -> None:
    assert advice([PLAIN, UPGRADE]) == ()
    assert len(advice([VERTEX, PLAIN, VERTEX, POLL])) == 2


def test_upgrades_are_counted_together_and_many_paths_cut() -> None:
    assert upgrades([PLAIN, REALTIME]) == ""
    assert upgrades([Unserved("GET", "/v1/responses", 1, "upgrade")]).endswith("once")
    many = [Unserved("GET", f"/{at}/responses", 1, "upgrade") for at in range(9)]
    assert upgrades(many).endswith("/4/responses … 9 times")


def test_the_served_apis_are_named_as_people_call_them() -> None:
    for name in ("Responses", "Completions", "Gemini", "embeddings", "Ollama"):
        assert name in SERVED
    assert "Vertex AI or Bedrock" in CLOUDS
