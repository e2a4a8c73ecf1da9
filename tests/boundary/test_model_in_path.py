"""A model that a path names is a change of the model, wherever else its text stands in the path."""

from __future__ import annotations

import pytest

from flowproof.boundary.cassette import Cassette
from flowproof.dialects.registry import find
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.outcome import Divergence
from flowproof.model.turn import Operation, Response, Turn
from tests.boundary.tools import BY_NAME

ASKED: JsonObject = {"contents": [], "messages": [], "input": "Hi"}


def operation(path: str) -> Operation:
    found = find("POST", path)
    assert found is not None
    return found[1]


def diverge(recorded: str, sent: str) -> Divergence:
    turn = Turn(operation(recorded), ASKED, Response(200, {}))
    taken = Cassette([turn], BY_NAME).take(operation(sent), ASKED)
    assert isinstance(taken, Divergence)
    return taken


GOOGLE = "/v1beta/models/{}:generateContent"
AZURE = "/openai/deployments/{}/chat/completions"


@pytest.mark.parametrize("path", [GOOGLE, AZURE, "/openai/deployments/{}/responses"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m", "gemini-2.5-flash"),
        ("gemini-2.5-flash", "m"),
        ("models", "model"),
        ("c", "d"),
        ("e", "n"),
        ("t", "tt"),
        ("deployments", "chat"),
    ],
)
def test_another_model_is_called_another_model(path: str, old: str, new: str) -> None:
    found = diverge(path.format(old), path.format(new))
    assert found.kind == "model"
    told = [line.text.split("  ")[0] for line in found.excerpt if line.mark in ("-", "+")]
    assert told == [f'"{old}"', f'"{new}"']


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        pytest.param("/models/m:generateContent", "/tunedModels/m:generateContent", id="tuned"),
        pytest.param("/models/m:generateContent", "/tunedModels/n:generateContent", id="both"),
        pytest.param(AZURE.format("m"), "/openai/deployments/n/responses", id="another API"),
        pytest.param(AZURE.format("m"), "/v1/chat/completions", id="no model"),
    ],
)
def test_another_path_is_not(recorded: str, sent: str) -> None:
    assert diverge(recorded, sent).kind in ("operation", "model API")
