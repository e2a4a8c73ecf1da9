"""A mock stands for the result of a call left to the agent, never of one that was served."""

from __future__ import annotations

import pytest

from flowproof.boundary.http1 import Request
from flowproof.boundary.mocks import MockedTool, MockResults
from flowproof.boundary.model_proxy import Intake, ModelCall
from flowproof.dialects.registry import by_name
from flowproof.model.jsonvalue import JsonObject, write
from flowproof.model.turn import Response

RESPONSES = by_name("openai.responses")


@pytest.mark.parametrize(
    ("where", "mocked"),
    [
        pytest.param("local", ("shell",), id="the agent's"),
        pytest.param("container_auto", (), id="served"),
    ],
)
def test_a_result_that_goes_on_from_an_answer(where: str, mocked: tuple[str, ...]) -> None:
    intake = Intake(MockResults({"shell": MockedTool(("as the author wrote",), repeat_last=True)}))
    call: JsonObject = {
        "type": "shell_call",
        "call_id": "c",
        "action": {"commands": ["ls"]},
        "environment": {"type": where},
    }
    intake.learn(RESPONSES, Response(200, {"id": "resp_1", "output": [call]}))
    told: JsonObject = {"type": "shell_call_output", "call_id": "c", "output": []}
    body: JsonObject = {"model": "m", "previous_response_id": "resp_1", "input": [told]}
    read = intake.read(Request("POST", "/v1/responses", "", (), write(body).encode()))
    assert isinstance(read, ModelCall)
    assert read.mocked == mocked
    assert (read.request == body) is not bool(mocked)
