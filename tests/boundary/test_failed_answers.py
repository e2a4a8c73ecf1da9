"""An answer under status 200 that says that the API failed: as transient as a status of 500."""

from __future__ import annotations

import json

import pytest

from tests.boundary.tools import recording, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream


def response(status: str) -> dict[str, object]:
    error = {"code": "server_error", "message": "it broke"} if status == "failed" else None
    return {"id": "resp_1", "object": "response", "status": status, "error": error, "output": []}


@pytest.mark.parametrize(
    ("first", "dropped"),
    [pytest.param("failed", 1, id="failed"), pytest.param("incomplete", 0, id="incomplete")],
)
def test_one_that_was_retried_is_left_out(first: str, dropped: int) -> None:
    answers = [up.answer(response(status)) for status in (first, "completed")]
    body = json.dumps({"model": "m", "input": "Hi"}).encode()
    with FakeUpstream(up.scripted(*answers)) as upstream, recording(upstream.url) as boundary:
        told = [send(boundary.port, body, path="/v1/responses").json() for _ in answers]
        recorded = boundary.finish()
    assert [one["status"] for one in told] == [first, "completed"]
    assert recorded.retries_dropped == dropped
    assert len(recorded.turns) == 2 - dropped
