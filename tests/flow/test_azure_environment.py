"""Clients of Azure find what they look for, and nobody else finds anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from flowproof.boundary.keys import PLACEHOLDER_KEY
from flowproof.flow.azure_environment import ApiType, azure_environment, recorded_api_type
from flowproof.model.turn import Operation, Response, SideCall
from tests.flow.support import asking, saying, trace, turn

PROXY = "http://127.0.0.1:4646"
RESOURCE = "https://r.openai.azure.com"
SDK = {"AZURE_OPENAI_ENDPOINT": PROXY, "AZURE_OPENAI_API_KEY": PLACEHOLDER_KEY}
LITELLM = {"AZURE_API_BASE": PROXY, "AZURE_API_KEY": PLACEHOLDER_KEY}
AZURE_TYPE = {"OPENAI_API_TYPE": "azure"}
OPENAI_TYPE = {"OPENAI_API_TYPE": "openai"}
ANY = {"OPENAI_API_VERSION": "2024-10-21"}


@pytest.mark.parametrize(
    ("inherited", "recorded", "given"),
    [
        pytest.param({}, "", {}, id="nothing hints at it"),
        pytest.param({"OPENAI_API_KEY": "k"}, "", {}, id="a key of OpenAI's"),
        pytest.param({"AZURE_OPENAI_ENDPOINT": RESOURCE}, "", SDK | AZURE_TYPE, id="an endpoint"),
        pytest.param({"AZURE_OPENAI_API_KEY": "k"}, "", SDK | AZURE_TYPE, id="a key"),
        pytest.param({"AZURE_OPENAI_AD_TOKEN": "k"}, "", SDK | AZURE_TYPE, id="a token"),
        pytest.param({"AZURE_API_BASE": RESOURCE}, "", LITELLM, id="litellm alone"),
        pytest.param(
            {"AZURE_OPENAI_ENDPOINT": RESOURCE, "OPENAI_API_KEY": "k"}, "", SDK, id="both keys"
        ),
        pytest.param(
            {"AZURE_OPENAI_ENDPOINT": RESOURCE, "OPENAI_API_TYPE": "x"}, "", SDK, id="a type"
        ),
        pytest.param(
            {"AZURE_OPENAI_ENDPOINT": f"{RESOURCE}/openai/v1/"},
            "",
            SDK | {"AZURE_OPENAI_ENDPOINT": f"{PROXY}/openai/v1"} | AZURE_TYPE,
            id="an endpoint without deployments",
        ),
        pytest.param(
            {"FLOWPROOF_UPSTREAM_AZURE": RESOURCE}, "", SDK | LITELLM | AZURE_TYPE, id="named by us"
        ),
        pytest.param(
            {"FLOWPROOF_UPSTREAM_AZURE": RESOURCE, "OPENAI_API_KEY": "k"},
            *("", SDK | LITELLM | OPENAI_TYPE),
            id="named by us beside OpenAI",
        ),
        pytest.param({}, "azure", SDK | LITELLM | ANY | AZURE_TYPE, id="recorded"),
        pytest.param({}, "openai", SDK | LITELLM | ANY | OPENAI_TYPE, id="recorded beside OpenAI"),
        pytest.param(
            {"OPENAI_API_VERSION": "2025-04-01"},
            *("azure", SDK | LITELLM | AZURE_TYPE),
            id="recorded, and the version set",
        ),
    ],
)
def test_what_it_finds(
    inherited: Mapping[str, str], recorded: ApiType, given: Mapping[str, str]
) -> None:
    assert azure_environment(inherited, PROXY, recorded) == given


PLAIN = turn(asking("hello"), saying("Hello"))
DEPLOYED = replace(PLAIN, operation=Operation("openai.chat", "/deployments/d/chat/completions"))
CLAUDE = replace(PLAIN, operation=Operation("anthropic.messages", "/messages"))
EMBEDDED = SideCall(
    Operation("openai.embeddings", "/deployments/d/embeddings"), "POST", {}, Response(200, {})
)


def test_a_recording_tells_whom_its_clients_spoke_to() -> None:
    assert recorded_api_type(trace(PLAIN, CLAUDE)) == ""
    assert recorded_api_type(trace(DEPLOYED, CLAUDE)) == "azure"
    assert recorded_api_type(trace(DEPLOYED, PLAIN)) == "openai"
    assert recorded_api_type(replace(trace(CLAUDE), side_calls=(EMBEDDED,))) == "azure"
    assert recorded_api_type(replace(trace(PLAIN), side_calls=(EMBEDDED,))) == "openai"
