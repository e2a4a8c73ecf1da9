"""Where requests go: under any prefix and through Azure, per provider, and never to nobody."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from openai import AzureOpenAI, OpenAI

from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.mocks import MockResults
from flowproof.boundary.model_proxy import Intake
from flowproof.boundary.recording import Recording
from flowproof.boundary.recording_proxy import RecordingProxy
from flowproof.boundary.upstream import open_upstream
from tests.boundary.tools import chat_request, open_server, recording, replaying, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream

HELLO: Any = [{"role": "user", "content": "Hi"}]
BODY = up.completion("Hello there")


@contextlib.contextmanager
def opened(
    endpoints: Mapping[str, Endpoint], missing: Mapping[str, str]
) -> Iterator[tuple[int, RecordingProxy]]:
    with start_blocking_portal() as portal:
        client = open_upstream(endpoints, Limits(), missing)
        with portal.wrap_async_context_manager(client) as upstream:
            proxy = RecordingProxy(Intake(MockResults({})), Recording(), upstream)
            server = open_server(proxy.handle, 100_000, proxy.unreadable)
            with portal.wrap_async_context_manager(server) as port:
                yield port, proxy


def azure(port: int, deployment: str) -> str | None:
    """Ask as Azure's client does, which names the deployment in the path."""
    with AzureOpenAI(
        azure_endpoint=f"http://127.0.0.1:{port}",
        api_key="placeholder",
        api_version="2026-10-21",
        max_retries=0,
    ) as api:
        answer = api.chat.completions.create(model=deployment, messages=HELLO)
    return answer.choices[0].message.content


def test_azures_client_records_and_replays() -> None:
    with FakeUpstream(up.chat(BODY)) as upstream:
        resource = upstream.url.removesuffix("/v1") + "/openai"
        with opened({"openai": Endpoint(resource, {"api-key": "sk-real"})}, {}) as (port, proxy):
            assert azure(port, "gpt-prod") == "Hello there"
            turns = proxy._recording.finish(keep_retries=False).turns
    [asked] = upstream.received
    path, _, query = asked.target.partition("?")
    assert path == "/openai/deployments/gpt-prod/chat/completions"
    assert query == "api-version=2026-10-21"
    assert [v for name, v in asked.headers if name in ("api-key", "authorization")] == ["sk-real"]
    with replaying(turns) as replay:
        assert azure(replay.port, "gpt-prod") == "Hello there"
        assert replay.cassette.divergence is None
    with replaying(turns) as replay:
        with pytest.raises(Exception, match="gpt-other"):
            azure(replay.port, "gpt-other")
        assert replay.cassette.divergence is not None


@pytest.mark.parametrize(
    "prefix", ["/v1", "", "/v1/v1", "/gateway/openai/v1", "/api/openai"], ids=lambda p: p or "none"
)
def test_whatever_prefix_a_client_uses_the_upstreams_own_counts(prefix: str) -> None:
    def ask(port: int, under: str) -> str | None:
        with OpenAI(base_url=f"http://127.0.0.1:{port}{under}", api_key="k", max_retries=0) as api:
            answer = api.chat.completions.create(model="m", messages=HELLO)
        return answer.choices[0].message.content

    with FakeUpstream(up.chat(BODY)) as upstream:
        gateway = upstream.url.removesuffix("/v1") + "/llm/v1"
        with recording(gateway) as boundary:
            assert ask(boundary.port, prefix) == "Hello there"
            turns = boundary.finish().turns
    assert upstream.received[0].target == "/llm/v1/chat/completions"
    with replaying(turns) as replay:
        assert ask(replay.port, "/v1") == "Hello there"


def test_a_key_in_the_query_stays_here() -> None:
    with FakeUpstream(up.chat(BODY)) as upstream, recording(upstream.url) as boundary:
        path = "/v1/chat/completions?api-version=1&api_key=sk-agent&key=sk-agent"
        assert send(boundary.port, chat_request(), path=path).status == 200
    assert upstream.received[0].target == "/v1/chat/completions?api-version=1"


def test_each_provider_has_an_upstream_and_a_key_of_its_own() -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    asks = {"model": "c", "max_tokens": 9, "messages": HELLO}
    with (
        FakeUpstream(up.chat(BODY)) as openai,
        FakeUpstream(up.scripted(up.answer(message))) as anthropic,
    ):
        endpoints = {
            "openai": Endpoint(openai.url, {"authorization": "Bearer sk-openai"}),
            "anthropic": Endpoint(anthropic.url.removesuffix("/v1"), {"x-api-key": "sk-anthropic"}),
        }
        with opened(endpoints, {}) as (port, _):
            assert send(port, chat_request()).status == 200
            assert send(port, asks, path="/v1/messages").json() == message
    assert anthropic.received[0].target == "/v1/messages"
    assert "sk-openai" not in str(anthropic.received[0])
    assert "sk-anthropic" not in str(openai.received[0])
    assert openai.received[0].header("authorization") == "Bearer sk-openai"
    assert anthropic.received[0].header("x-api-key") == "sk-anthropic"


def test_a_provider_without_an_upstream_is_refused_with_what_to_do() -> None:
    with FakeUpstream(up.chat(BODY)) as upstream:
        endpoints = {"anthropic": Endpoint(upstream.url, {})}
        with opened(endpoints, {"openai": "set FLOWPROOF_UPSTREAM_OPENAI"}) as (port, proxy):
            answers = [send(port, chat_request(stream=stream)) for stream in (False, True)]
            said, refused = dict(proxy.stranded), proxy.refused
    expected = "no upstream for openai.chat: set FLOWPROOF_UPSTREAM_OPENAI"
    for answer in answers:
        assert answer.status == 400
        assert answer.headers["x-should-retry"] == "false"
        error = json.loads(answer.body)["error"]
        assert error["code"] == "flowproof_upstream"
        assert expected in error["message"]
    assert said == {"openai.chat": expected}
    assert refused == 2
    assert upstream.received == []


def test_one_with_an_upstream_is_not_refused() -> None:
    with FakeUpstream(up.chat(BODY)) as upstream:
        endpoints = {"openai": Endpoint(upstream.url, {})}
        with opened(endpoints, {"anthropic": "set FLOWPROOF_UPSTREAM_ANTHROPIC"}) as (port, proxy):
            assert send(port, chat_request()).status == 200
            assert proxy.stranded == {}


AZURE_URL = "/openai/deployments/d/chat/completions"
V1_URL = "/openai/v1/chat/completions"
VERSION = "?api-version=2026-10-21"


@pytest.mark.parametrize(
    ("path", "named", "goes_to"),
    [
        pytest.param(AZURE_URL, "azure azure.v1 openai", f"azure {AZURE_URL}", id="a deployment"),
        pytest.param(
            f"/openai/chat/completions{VERSION}",
            *("azure azure.v1 openai", f"azure /openai/chat/completions{VERSION}"),
            id="a version of Azure's",
        ),
        pytest.param(V1_URL, "azure azure.v1 openai", f"azure {V1_URL}", id="the API of OpenAI"),
        pytest.param(
            V1_URL + VERSION, "azure openai", f"azure {V1_URL}{VERSION}", id="a preview of it"
        ),
        pytest.param(V1_URL, "azure openai", "openai /v1/chat/completions", id="of a gateway"),
        pytest.param(
            AZURE_URL, "openai", "openai /v1/deployments/d/chat/completions", id="OpenAI's alone"
        ),
        pytest.param(
            "/v1/chat/completions", "azure azure.v1 openai", "openai /v1/chat/completions", id="no"
        ),
        pytest.param(
            f"/v1/chat/completions{VERSION}",
            *("azure azure.v1 openai", f"openai /v1/chat/completions{VERSION}"),
            id="a version of somebody's",
        ),
        pytest.param(
            "/a/openai/v1/chat/completions",
            *("azure azure.v1 openai", "openai /v1/chat/completions"),
            id="under another prefix",
        ),
    ],
)
def test_what_clients_of_azure_ask_goes_to_azure(path: str, named: str, goes_to: str) -> None:
    where, _, target = goes_to.partition(" ")
    with FakeUpstream(up.chat(BODY)) as azures, FakeUpstream(up.chat(BODY)) as openai:
        at_azure = Endpoint(azures.url.removesuffix("/v1") + "/openai", {"api-key": "sk-azure"})
        known = {"azure": at_azure, "azure.v1": at_azure, "openai": Endpoint(openai.url, {})}
        with opened({name: known[name] for name in named.split()}, {}) as (port, _proxy):
            assert send(port, chat_request(), path=path).status == 200
    received = {"azure": azures.received, "openai": openai.received}
    assert [one.target for one in received[where]] == [target]
    assert sum(map(len, received.values())) == 1


def test_a_deployment_goes_nowhere_where_azure_has_to_be_named() -> None:
    with FakeUpstream(up.chat(BODY)) as upstream:
        endpoints = {"openai": Endpoint(upstream.url, {})}
        with opened(endpoints, {"azure": "name it"}) as (port, proxy):
            for path, status in ((AZURE_URL, 400), ("/v1/chat/completions", 200)):
                assert send(port, chat_request(), path=path).status == status
            embedding = "/openai/deployments/d/embeddings"
            assert send(port, {"input": "a"}, path=embedding).status == 400
    name = "openai.chat from a client of Azure"
    assert proxy.stranded[name] == f"no upstream for {name}: name it"
    assert "openai.embeddings from a client of Azure" in proxy.stranded


def test_what_cannot_be_read_is_told_apart_from_what_goes_nowhere() -> None:
    with FakeUpstream(up.chat(BODY)) as upstream, recording(upstream.url) as boundary:
        error = send(boundary.port, b"no JSON").json()["error"]
    assert error["code"] == "flowproof_unreadable"
    assert error["message"].startswith("flowproof: cannot record: ")
