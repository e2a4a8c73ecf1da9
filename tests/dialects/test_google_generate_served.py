"""Tools that the Gemini API runs itself: seen as calls, and offered by the same name."""

from __future__ import annotations

import pytest

from flowproof.model.jsonvalue import JsonObject, write
from flowproof.model.trajectory import ToolCall
from tests.dialects import google_generate_tools as google
from tests.dialects.google_generate_tools import GEMINI
from tests.dialects.tools import served, untold


@pytest.mark.parametrize(
    ("candidate", "calls"),
    [
        pytest.param(
            google.candidate({"executableCode": {"language": "PYTHON", "code": "1", "id": "e"}}),
            (served("code_execution", {"language": "PYTHON", "code": "1"}, "e"),),
            id="code",
        ),
        pytest.param(
            google.candidate({"executable_code": {}}), (untold("code_execution"),), id="empty code"
        ),
        pytest.param(
            google.candidate(
                {"toolCall": {"toolType": "GOOGLE_MAPS", "args": {"a": 1}, "id": "t"}}
            ),
            (served("google_maps", {"a": 1}, "t"),),
            id="a call that is shown",
        ),
        pytest.param(
            google.candidate(
                {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}},
                groundingMetadata={"webSearchQueries": ["q"]},
            ),
            (served("google_search", {"queries": ["q"]}),),
            id="a search that is told twice",
        ),
        pytest.param(
            google.candidate(
                google.call("f"),
                groundingMetadata={"webSearchQueries": ["q", 1], "imageSearchQueries": ["r"]},
                urlContextMetadata={"urlMetadata": [{"retrievedUrl": "u"}, 3]},
            ),
            (
                served("google_search", {"queries": ["q", "r"]}),
                served("url_context", {"urls": ["u"]}),
                ToolCall(None, "f", "{}", {}),
            ),
            id="metadata, and a call that is left to the agent",
        ),
        pytest.param(
            google.candidate(groundingMetadata={"retrievalQueries": ["q"]}),
            (served("retrieval", {"queries": ["q"]}),),
            id="retrieval",
        ),
        pytest.param(
            google.candidate(
                groundingMetadata={
                    "groundingChunks": [
                        {"web": {"uri": "u"}},
                        {"maps": {}},
                        {"retrievedContext": {"fileSearchStore": "s"}},
                        {"retrievedContext": {"documentName": "d"}},
                        7,
                    ]
                },
                urlContextMetadata={"urlMetadata": [{}]},
            ),
            tuple(
                map(
                    untold,
                    ("google_search", "file_search", "retrieval", "google_maps", "url_context"),
                )
            ),
            id="what answers rest on",
        ),
        pytest.param(
            google.candidate(
                groundingMetadata={"groundingChunks": [{"retrievedContext": {"title": "t"}}]}
            ),
            (untold("file_search"),),
            id="a file that does not say where it is stored",
        ),
        pytest.param(
            google.candidate(
                groundingMetadata={"webSearchQueries": [], "groundingChunks": 3},
                urlContextMetadata={"urlMetadata": []},
            ),
            (),
            id="nothing ran",
        ),
        pytest.param(
            google.candidate(groundingMetadata="x", urlContextMetadata=[1]), (), id="odd metadata"
        ),
    ],
)
def test_gemini(candidate: JsonObject, calls: tuple[ToolCall, ...]) -> None:
    (answer,) = GEMINI.answer(google.body(candidate)).messages
    assert answer.tool_calls == calls


def test_a_served_call_does_not_explain_one_that_gemini_does_not_tell() -> None:
    code: JsonObject = {"executableCode": {"code": "1"}}
    untold = google.candidate(code, finish="UNEXPECTED_TOOL_CALL")
    assert GEMINI.answer(google.body(untold)).messages == ()


@pytest.mark.parametrize(
    ("tool", "tools"),
    [
        ({"googleSearch": {}}, ("google_search",)),
        ({"google_search_retrieval": {}}, ("google_search",)),
        ({"enterpriseWebSearch": {}}, ("google_search",)),
        ({"codeExecution": {}, "urlContext": {}}, ("code_execution", "url_context")),
        ({"computerUse": {}}, ()),
        ({"mcpServers": [{"name": "x"}]}, ()),
    ],
    ids=write,
)
def test_gemini_offers(tool: JsonObject, tools: tuple[str, ...]) -> None:
    said = GEMINI.said({"tools": [tool]})
    assert said.tools == said.served == tools
