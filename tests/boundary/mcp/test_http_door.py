"""Who may come in, what is served, and what never leaves: no browser, no other path, no client."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flowproof.model.mcp import Lane
from tests.boundary.mcp.http_tools import call, modern, modern_headers, replaying, send

EMPTY = Lane("files")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"origin": "https://evil.example"}, 403, id="another-site"),
        pytest.param({"origin": "null"}, 403, id="null-origin"),
        pytest.param({"origin": "http://127.0.0.1.evil.example"}, 403, id="looks-like-loopback"),
        pytest.param({"origin": "http://127.0.0.1@evil.example"}, 403, id="user-of-another"),
        pytest.param({"origin": "http://[::1"}, 403, id="no-url"),
        pytest.param({"host": "evil.example"}, 403, id="rebound-host"),
        pytest.param({"host": "evil.example:80"}, 403, id="rebound-host-with-port"),
        pytest.param({"host": "127.0.0.1:http"}, 403, id="no-port"),
        pytest.param({"origin": "http://localhost:3000"}, 200, id="local-page"),
        pytest.param({"origin": "http://[::1]:9"}, 200, id="local-page-ipv6"),
        pytest.param({"host": "localhost:1"}, 200, id="localhost"),
        pytest.param({}, 200, id="no-origin"),
    ],
)
def test_only_programs_of_this_machine_may_ask(headers: dict[str, str], status: int) -> None:
    with replaying(EMPTY) as boundary:
        answer = send(boundary.port, modern(1, "ping"), {**modern_headers("ping"), **headers})
        assert answer.status == status
        boundary.lane()
        assert boundary.boundary.contacted == (status == 200)


@pytest.mark.parametrize(
    ("path", "served"),
    [
        pytest.param("/mcp", True, id="plain"),
        pytest.param("/mcp/", True, id="slash"),
        pytest.param("/v1/mcp/files?tenant=1", True, id="inside"),
        pytest.param("/", False, id="root"),
        pytest.param("/v1/messages", False, id="other"),
        pytest.param("/.well-known/oauth-protected-resource/mcp", False, id="metadata"),
    ],
)
def test_any_path_with_mcp_reaches_it(path: str, served: bool) -> None:
    with replaying(EMPTY) as boundary:
        answer = send(boundary.port, modern(1, "ping"), modern_headers("ping"), path=path)
        assert answer.status == (200 if served else 404)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_without_sessions_there_is_only_post(method: str) -> None:
    with replaying(EMPTY) as boundary:
        headers = {"mcp-protocol-version": "2026-07-28"}
        answer = send(boundary.port, headers=headers, method=method)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_call_that_was_not_recorded_is_refused_and_told() -> None:
    with replaying(EMPTY) as boundary:
        answer = send(boundary.port, call(7, "tools/list"))
        assert answer.json()["id"] == 7
        assert "diverge" in answer.json()["error"]["message"].lower()
        boundary.lane()
        assert boundary.boundary.divergence is not None


def test_a_message_of_more_than_10_mib_is_refused_and_told() -> None:
    with replaying(EMPTY) as boundary:
        answer = send(boundary.port, b" " * (10 * 1024 * 1024 + 1))
        assert answer.status == 413
        assert "10 MiB" in answer.json()["error"]["message"]
        boundary.lane()
        assert boundary.boundary.divergence is not None


def test_no_json_is_a_400() -> None:
    with replaying(EMPTY) as boundary:
        answer = send(boundary.port, b"{")
        assert answer.status == 400
        assert answer.json()["error"]["code"] == -32700


def test_what_cannot_be_decoded_fails_the_run() -> None:
    with replaying(EMPTY) as boundary:
        answer = send(boundary.port, b"{}", {"content-encoding": "zip"})
        assert answer.status == 415
        assert ["zip" in one.text for one in boundary.transport.troubles] == [True]


def test_a_replay_has_no_http_client() -> None:
    code = (
        "import sys, flowproof.boundary.mcp.http, flowproof.boundary.mcp.replaying\n"
        "print([name for name in ('aiohttp', 'mcp', 'pydantic', 'yarl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_agent_is_told_by_two_variables() -> None:
    with replaying(EMPTY) as boundary:
        url = f"http://127.0.0.1:{boundary.port}/mcp"
        assert boundary.transport.environment == {
            "FLOWPROOF_MCP_URL_files": url,
            "FLOWPROOF_MCP_URL_FILES": url,
        }
