"""Tools that a provider runs itself: seen as calls, offered by the same name, never mocked."""

from __future__ import annotations

import pytest

from flowproof.dialects.interface import Dialect
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from flowproof.model.trajectory import ToolCall
from tests.dialects import anthropic_messages_tools as anthropic
from tests.dialects import google_generate_tools as google
from tests.dialects import openai_responses_tools as responses
from tests.dialects.anthropic_messages_tools import MESSAGES
from tests.dialects.google_generate_tools import GEMINI
from tests.dialects.openai_responses_tools import RESPONSES
from tests.dialects.tools import served, untold

CHAT = OpenAIChat()


def item(kind: str, **members: JsonValue) -> JsonObject:
    value: JsonObject = {"type": kind, "id": "i", "status": "completed"}
    return value | members


@pytest.mark.parametrize(
    ("raw", "call", "beside"),
    [
        pytest.param(
            item("web_search_call", action={"type": "search", "query": "q", "sources": [{}, {}]}),
            served("web_search", {"type": "search", "query": "q"}, "i"),
            ("web search sources (2)",),
            id="web search",
        ),
        pytest.param(
            item("web_search_call"), untold("web_search", "i"), (), id="web search for what?"
        ),
        pytest.param(
            item("file_search_call", queries=["a"], results=[{}]),
            served("file_search", {"queries": ["a"]}, "i"),
            ("file search results (1)",),
            id="file search",
        ),
        pytest.param(
            item("code_interpreter_call", code="1+1", container_id="c", outputs=None),
            served("code_interpreter", {"code": "1+1"}, "i"),
            (),
            id="code interpreter",
        ),
        pytest.param(
            item("image_generation_call", result="AAAAAAAA", revised_prompt="a cat", size=None),
            served("image_generation", {"revised_prompt": "a cat"}, "i"),
            ("image/png, 6 bytes",),
            id="image",
        ),
        pytest.param(
            item("mcp_call", server_label="wiki", name="ask", arguments='{"q": 1}', output="abc"),
            ToolCall("i", "ask", '{"q": 1}', {"q": 1}, served=True),
            ("MCP server wiki", "mcp result (3 characters)"),
            id="mcp",
        ),
        pytest.param(
            item("mcp_call", name="ask", arguments="{", error={"type": "x"}, status="failed"),
            ToolCall("i", "ask", "{", None, malformed=True, served=True),
            ("mcp failed",),
            id="mcp that failed",
        ),
        pytest.param(
            item("tool_search_call", execution="server", call_id=None, arguments={"paths": []}),
            served("tool_search", {"paths": []}, "i"),
            (),
            id="tool search",
        ),
        pytest.param(
            item(
                "shell_call",
                call_id="c",
                action={"commands": ["ls"]},
                environment={"type": "container_reference", "container_id": "x"},
            ),
            served("shell", {"commands": ["ls"]}, "c"),
            (),
            id="hosted shell",
        ),
        pytest.param(
            item("program", call_id="c", code="f()", fingerprint="x"),
            served("programmatic_tool_calling", {"code": "f()"}, "c"),
            (),
            id="program",
        ),
        pytest.param(
            item("news_call", topic="x", results=[]),
            served("news", {"topic": "x"}, "i"),
            ("news results (0)",),
            id="unknown",
        ),
    ],
)
def test_responses(raw: JsonObject, call: ToolCall, beside: tuple[str, ...]) -> None:
    names: dict[str, str] = {}
    message = RESPONSES.message(raw, names)
    assert (message.role, message.tool_calls, message.attachments) == ("assistant", (call,), beside)
    assert names == {call.id: call.name}
    said = responses.said(responses.text_part("Hi"))
    (answer,) = RESPONSES.answer(responses.response(raw, said)).messages
    assert (answer.text, answer.tool_calls, answer.asks) == ("Hi", (call,), ())
    assert answer.attachments == beside


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(item("mcp_call", arguments="{}"), id="mcp call of nothing"),
        pytest.param(item("news_call", call_id="c"), id="unknown, maybe the agent's"),
    ],
)
def test_responses_that_hide_a_call_are_no_answer(raw: JsonObject) -> None:
    assert RESPONSES.answer(responses.response(raw)).messages == ()


def test_a_local_shell_is_left_to_the_agent() -> None:
    raw = item("shell_call", call_id="c", action={}, environment={"type": "local"})
    call = RESPONSES.message(raw, {}).tool_calls[0]
    assert not call.served


@pytest.mark.parametrize(
    ("tool", "tools", "ran"),
    [
        ({"type": "web_search"}, "web_search", True),
        ({"type": "web_search_2025_08_26"}, "web_search", True),
        ({"type": "web_search_preview"}, "web_search", True),
        ({"type": "web_search_preview_2025_03_11"}, "web_search", True),
        ({"type": "code_interpreter", "container": "c"}, "code_interpreter", True),
        ({"type": "mcp", "allowed_tools": ["ask", 3]}, "ask", True),
        ({"type": "mcp", "allowed_tools": {"tool_names": ["ask"]}}, "ask", True),
        ({"type": "mcp"}, None, False),
        ({"type": "tool_search"}, "tool_search", True),
        ({"type": "tool_search", "execution": "client"}, "tool_search", False),
        ({"type": "shell"}, "shell", False),
        ({"type": "shell", "environment": {"type": "container_auto"}}, "shell", True),
        ({"type": "function"}, None, False),
    ],
    ids=write,
)
def test_responses_offers(tool: JsonObject, tools: str | None, ran: bool) -> None:
    said = RESPONSES.said({"tools": [tool]})
    assert said.tools == (() if tools is None else (tools,))
    assert said.served == (said.tools if ran else ())


def test_the_tools_that_an_mcp_server_listed_are_on_offer() -> None:
    listed = item("mcp_list_tools", server_label="w", tools=[{"name": "ask"}, 7, {"name": 1}])
    said = RESPONSES.said({"input": [listed], "tools": [{"type": "mcp", "server_label": "w"}]})
    assert (said.tools, said.served) == (("ask",), ("ask",))


def test_a_function_of_the_same_name_is_the_agents() -> None:
    own: JsonObject = {"type": "function", "name": "web_search"}
    theirs: JsonObject = {"type": "web_search"}
    for first, second in ((own, theirs), (theirs, own)):
        said = RESPONSES.said({"tools": [first, second]})
        assert (said.tools, said.served) == (("web_search",), ())


@pytest.mark.parametrize(
    ("block", "call"),
    [
        pytest.param(
            {"type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {"url": "u"}},
            served("web_fetch", {"url": "u"}, "s"),
            id="server tool",
        ),
        pytest.param(
            {"type": "mcp_tool_use", "id": "m", "name": "read", "input": {}},
            served("read", {}, "m"),
            id="mcp",
        ),
        pytest.param(
            {"type": "server_tool_use", "id": "s", "name": "advisor", "input": "{"},
            ToolCall("s", "advisor", "{", None, malformed=True, served=True),
            id="garbled",
        ),
    ],
)
def test_messages(block: JsonObject, call: ToolCall) -> None:
    (answer,) = MESSAGES.answer(anthropic.body(block, anthropic.text("Hi"))).messages
    assert (answer.text, answer.tool_calls, answer.asks) == ("Hi", (call,), ())


@pytest.mark.parametrize(
    ("body", "tools"),
    [
        pytest.param(
            {"tools": [{"type": "web_search_20260209", "name": "web_search"}]},
            ("web_search",),
            id="by name",
        ),
        pytest.param(
            {"tools": [{"type": "code_execution_20250522", "name": "code_execution"}]},
            ("code_execution",),
            id="first code execution",
        ),
        pytest.param(
            {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
            ("code_execution", "bash_code_execution", "text_editor_code_execution"),
            id="later code execution",
        ),
        pytest.param(
            {"tools": [{"type": "mcp_toolset", "tools": [{"name": "a"}, 1], "configs": {"b": {}}}]},
            ("a", "b"),
            id="listed toolset",
        ),
        pytest.param(
            {"tools": [{"type": "mcp_toolset", "mcp_server_name": "files"}]}, (), id="open toolset"
        ),
        pytest.param(
            {
                "tools": [
                    {
                        "type": "mcp_toolset",
                        "tools": [{"name": "a"}, {"name": "b"}],
                        "default_config": {"enabled": False},
                        "configs": {"b": {"enabled": True}, "c": {"enabled": False}, "d": 1},
                    }
                ]
            },
            ("b",),
            id="toolset of which one tool is enabled",
        ),
        pytest.param(
            {"mcp_servers": [{"tool_configuration": {"allowed_tools": ["a", 1]}}, 2]},
            ("a",),
            id="server",
        ),
    ],
)
def test_messages_offers(body: JsonObject, tools: tuple[str, ...]) -> None:
    said = MESSAGES.said(body)
    assert said.tools == said.served == tools


CITED: JsonObject = {"type": "url_citation", "url_citation": {"url": "u", "title": "t"}}


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        pytest.param({"annotations": [CITED, CITED]}, (untold("web_search"),), id="cited pages"),
        pytest.param({"annotations": [{"type": "file"}, 7]}, (), id="other notes"),
        pytest.param({"annotations": "x"}, (), id="odd notes"),
        pytest.param({}, (), id="no notes"),
    ],
)
def test_chat(message: JsonObject, calls: tuple[ToolCall, ...]) -> None:
    said: JsonObject = {"role": "assistant", "content": "Hi"}
    (answer,) = CHAT.answer({"choices": [{"index": 0, "message": said | message}]}).messages
    assert (answer.text, answer.tool_calls) == ("Hi", calls)


@pytest.mark.parametrize(
    ("body", "tools", "ran"),
    [
        pytest.param({"web_search_options": {}}, ("web_search",), True, id="options"),
        pytest.param({"tools": [{"type": "web_search_preview"}]}, ("web_search",), True, id="tool"),
        pytest.param({"tools": [{"type": "novel"}]}, (), True, id="nothing that would be seen"),
        pytest.param({"functions": [{"name": "f"}]}, ("f",), False, id="functions"),
        pytest.param(
            {"web_search_options": {}, "tools": [{"function": {"name": "web_search"}}]},
            ("web_search",),
            False,
            id="a function of that name",
        ),
    ],
)
def test_chat_offers(body: JsonObject, tools: tuple[str, ...], ran: bool) -> None:
    said = CHAT.said(body)
    assert (said.tools, said.served) == (tools, tools if ran else ())


@pytest.mark.parametrize(
    ("dialect", "pinned"),
    [
        pytest.param(
            RESPONSES,
            {
                "input": [
                    item(
                        "shell_call",
                        call_id="c",
                        action={},
                        environment={"type": "container_reference"},
                    ),
                    responses.result("c", [], kind="shell_call_output"),
                ]
            },
            id="responses",
        ),
        pytest.param(
            MESSAGES,
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "server_tool_use", "id": "c", "name": "shell", "input": {}}
                        ],
                    },
                    {"role": "user", "content": [anthropic.result("c", "r")]},
                ]
            },
            id="messages",
        ),
        pytest.param(
            GEMINI,
            {
                "contents": [
                    google.content(
                        {"toolCall": {"toolType": "SHELL", "id": "c", "args": {}}},
                        {"toolResponse": {"toolType": "SHELL", "id": "c", "response": {}}},
                    )
                ]
            },
            id="gemini",
        ),
    ],
)
def test_no_result_is_put_in_for_a_served_call(dialect: Dialect, pinned: JsonObject) -> None:
    assert dialect.substitute(pinned, lambda *_call: "mocked", {}) == (pinned, ())
