"""A recording of a server that never answered as one is no recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from flowproof.boundary.mcp.transport import Trouble
from flowproof.flow.mcp import McpBoundary, PreparedServer
from tests.boundary.mcp.talk import INITIALIZE, Talk, call, error, recording, result


@dataclass(frozen=True)
class Wire:
    """A transport of which nothing is to be told."""

    environment: Mapping[str, str] = field(default_factory=lambda: {"FLOWPROOF_MCP_URL_files": "x"})
    handle: str = "x"
    troubles: tuple[Trouble, ...] = ()
    stderr: str = ""
    notes: tuple[str, ...] = ()

    async def settle(self, seconds: float) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("recorded", [True, False], ids=["record", "replay"])
@pytest.mark.parametrize("answered", ["nothing", "result", "error"])
def test_a_server_that_answers_no_call_is_a_problem_of_the_recording(
    answered: str, recorded: bool
) -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.agent(INITIALIZE)
    talk.session.server_broke(INITIALIZE["id"], 404, "Not Found")
    talk.agent(call(1, "a"))
    match answered:
        case "result":
            talk.server(result(1, {}))
        case "error":
            talk.server(error(1, -32601, "no such method"))
        case _:
            list(talk.session.server_broke(1, 404, "Not Found"))
    server = PreparedServer("files", "http", 0, {}, url="http://127.0.0.1:9/nope")
    problems = McpBoundary(server, boundary, Wire(), recording=recorded).so_far().problems
    if answered == "nothing" and recorded:
        [problem] = problems
        assert "`files` answered no call" in problem and "HTTP status 404" in problem
    else:
        assert problems == ()
