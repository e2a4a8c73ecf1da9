"""The npm clients over HTTP against a real server: recorded, then replayed with the server gone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.boundary.mcp.http_tools import recording, replaying
from tests.e2e.clients import npm
from tests.support.mcp.running import mcp_server

FOLDER = Path(__file__).parent / "node"
MISSING = npm.missing(FOLDER)

pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")


def ran(script: str, url: str) -> list[str]:
    """What a script printed."""
    node = npm.node(FOLDER)
    assert node is not None
    command = [node, str(FOLDER / script), url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


@pytest.mark.parametrize("script", ["sdk.mjs", "client.mjs"])
def test_a_client_gets_the_same_without_the_server(script: str) -> None:
    with mcp_server() as url, recording(url) as boundary:
        first = ran(script, boundary.transport.handle)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
        assert boundary.transport.troubles == ()
    assert {'{"progress":1,"total":2,"message":"half"}'} < set(first)
    with replaying(lane) as boundary:
        assert sorted(ran(script, boundary.transport.handle)) == sorted(first)
        boundary.lane()
        assert boundary.boundary.divergence is None
        assert boundary.boundary.unconsumed() == ()
