"""The official SDK reads what the dialect writes: streams and plain bodies."""

from __future__ import annotations

import httpx2
import openai
import pytest
from openai import AzureOpenAI

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from tests.dialects.openai_responses_tools import (
    RESPONSES,
    STREAMING,
    assemble,
    call,
    reasoning,
    response,
    said,
    text_part,
)
from tests.dialects.sdk import openai_client, served, served_stream

LOGPROBS: list[JsonValue] = [
    {"token": "G", "logprob": -0.5, "bytes": [71], "top_logprobs": []},
]
CITATION: JsonObject = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 2,
    "title": "t",
    "url": "https://x",
}
SEARCH: JsonObject = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
CUSTOM: JsonObject = {
    "id": "ctc_1",
    "type": "custom_tool_call",
    "call_id": "call_3",
    "name": "sql",
    "input": "select 1",
}

BODIES = [
    pytest.param(response(said(text_part("Grüße 👋"))), id="text"),
    pytest.param(response(said(text_part("G", logprobs=LOGPROBS))), id="log probabilities"),
    pytest.param(response(said(text_part("Hi", annotations=[CITATION]))), id="annotations"),
    pytest.param(
        response(
            reasoning("I think.", "So."),
            call("a", '{"n": 1}', "call_1"),
            call("b", "{}", "call_2"),
            CUSTOM,
        ),
        id="calls",
    ),
    pytest.param(response(said({"type": "refusal", "refusal": "No."})), id="refusal"),
    pytest.param(response(SEARCH, said(text_part("a"), text_part("b"))), id="web search"),
    pytest.param(response(), id="nothing"),
]


def streaming(answer: JsonValue) -> openai.OpenAI:
    return openai_client(served_stream(RESPONSES, RESPONSES.stream(answer, STREAMING)))


@pytest.mark.parametrize("answer", BODIES)
def test_the_stream_helper_accumulates_the_plain_answer(answer: JsonObject) -> None:
    with openai_client(served(RESPONSES, answer)) as sdk:
        plain = sdk.responses.create(model="gpt-5", input="Hi")
    with streaming(answer) as sdk, sdk.responses.stream(model="gpt-5", input="Hi") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    # The helper adds what it parsed, null here.
    helped = parse(final.model_dump_json(exclude_none=True))
    assert helped == parse(plain.model_dump_json(exclude_none=True))
    assert plain.to_dict() == answer
    assert final.output_text == plain.output_text
    assert kinds[-1] == "response.completed"


@pytest.mark.parametrize("answer", BODIES)
def test_raw_iteration_gives_every_event(answer: JsonObject) -> None:
    with streaming(answer) as sdk:
        events = list(sdk.responses.create(model="gpt-5", input="Hi", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    texts = [event.delta for event in events if event.type == "response.output_text.delta"]
    last = events[-1]
    assert last.type == "response.completed"
    assert "".join(texts) == last.response.output_text
    frames = [f"data: {event.to_json(indent=None)}\n\n".encode() for event in events]
    assembled = assemble(frames)
    assert assembled.lossless
    assert assembled.body == answer


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_an_answer_that_broke_off_is_read_as_such(status: str) -> None:
    error: JsonObject = {"code": "server_error", "message": "it broke"}
    answer = response(status=status, error=error)
    with streaming(answer) as sdk:
        (*_, last) = sdk.responses.create(model="gpt-5", input="Hi", stream=True)
    assert last.type in ("response.incomplete", "response.failed")
    assert last.response.status == status
    assert last.response.error is not None
    assert last.response.error.message == "it broke"


@pytest.mark.parametrize("deployment", [None, "gpt-5"], ids=["endpoint", "deployment"])
def test_the_client_for_azure_is_served(deployment: str | None) -> None:
    paths: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        operation = RESPONSES.operation(request.method, request.url.path)
        assert operation is not None
        paths.append(operation.path)
        return httpx2.Response(200, json=response(said(text_part("Hi"))))

    with AzureOpenAI(
        azure_endpoint="http://127.0.0.1:1",
        azure_deployment=deployment,
        api_key="none",
        api_version="preview",
        http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
    ) as sdk:
        assert sdk.responses.create(model="gpt-5", input="Hi").output_text == "Hi"
    assert paths == ["/responses"]
