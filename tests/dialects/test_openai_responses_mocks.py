"""Results that an author wrote, put into requests of the Responses API."""

from __future__ import annotations

import copy

import pytest

from flowproof.dialects.interface import Substitution
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import ToolCall
from tests.dialects.openai_responses_tools import RESPONSES, call, result

USER: JsonObject = {"role": "user", "content": "u"}


def mocks(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return None if tool == "book" else f"{tool} {call_id} {occurrence} {arguments}"


def always(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return "mock"


def never(tool: str, call_id: str | None, occurrence: int, arguments: str) -> str | None:
    return None


def changed_input(body: JsonObject) -> list[JsonValue]:
    found = body["input"]
    assert isinstance(found, list)
    return found


def test_results_are_replaced_whatever_their_output_was() -> None:
    body: JsonObject = {
        "input": [
            USER,
            call("search", '{"to": 1}', "a"),
            call("book", "{}", "b"),
            {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
            result("a", "real"),
            result("b", "real"),
            result("c", [{"type": "input_text", "text": "real"}], "custom_tool_call_output"),
            call("search", "{}", "a"),
            result("a", "again"),
        ]
    }
    before = copy.deepcopy(body)
    changed, tools = RESPONSES.substitute(body, mocks, {})
    listed = changed_input(changed)
    assert listed[4] == result("a", 'search a 0 {"to": 1}')
    assert listed[5] is changed_input(body)[5]
    assert listed[6] == result("c", "sql c 0 select 1", "custom_tool_call_output")
    assert listed[8] == result("a", "search a 1 {}")
    assert tools == ("search", "sql", "search")
    assert body == before


def test_a_result_is_replaced_whose_call_stands_only_in_an_earlier_answer() -> None:
    body: JsonObject = {"previous_response_id": "resp_1", "input": [result("a", "real")]}
    earlier = {"a": ToolCall("a", "search", "{}", {})}
    changed, tools = RESPONSES.substitute(body, mocks, earlier)
    assert changed == body | {"input": [result("a", "search a 0 {}")]}
    assert tools == ("search",)
    assert RESPONSES.substitute(body, mocks, {}) == (body, ())


SHELL: JsonObject = {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}
PATCH: JsonObject = {"type": "apply_patch_call", "call_id": "a", "operation": {"path": "x"}}
LOCAL: JsonObject = {"type": "local_shell_call", "call_id": "a", "action": {"command": ["ls"]}}


@pytest.mark.parametrize(
    ("made", "given", "output"),
    [
        pytest.param(
            SHELL,
            result("a", [], "shell_call_output"),
            [
                {
                    "stdout": 'shell a 0 {"commands":["ls"]}',
                    "stderr": "",
                    "outcome": {"type": "exit", "exit_code": 0},
                }
            ],
            id="shell",
        ),
        pytest.param(
            PATCH,
            result("a", "done", "apply_patch_call_output"),
            'apply_patch a 0 {"path":"x"}',
            id="apply patch",
        ),
        pytest.param(
            LOCAL,
            {"type": "local_shell_call_output", "id": "a", "output": "real"},
            'local_shell a 0 {"command":["ls"]}',
            id="local shell, by its own id",
        ),
    ],
)
def test_results_of_built_in_tools_are_replaced_in_their_form(
    made: JsonObject, given: JsonObject, output: JsonValue
) -> None:
    changed, tools = RESPONSES.substitute({"input": [made, given]}, mocks, {})
    assert changed_input(changed) == [made, given | {"output": output}]
    assert len(tools) == 1


@pytest.mark.parametrize(
    ("given", "substitution"),
    [
        pytest.param([call("search", "{}", "a"), result("a", "r")], never, id="not mocked"),
        pytest.param([result("a", "r"), call("search", "{}", "a")], always, id="call comes later"),
        pytest.param([call("search", "{}", "b"), result("a", "r")], always, id="other id"),
        pytest.param([{"type": "function_call"}, 1, None, {"type": []}], always, id="malformed"),
        pytest.param(
            [
                {"type": "computer_call", "call_id": "a", "action": {"type": "wait"}},
                result("a", {"type": "computer_screenshot"}, "computer_call_output"),
            ],
            always,
            id="a picture",
        ),
        pytest.param(
            [
                {"type": "mcp_approval_request", "id": "a", "name": "ask", "arguments": "{}"},
                {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
            ],
            always,
            id="an approval",
        ),
        pytest.param("nothing", always, id="text"),
    ],
)
def test_where_nothing_is_replaced_the_same_body_comes_back(
    given: JsonValue, substitution: Substitution
) -> None:
    body: JsonObject = {"input": given}
    changed, tools = RESPONSES.substitute(body, substitution, {})
    assert changed is body
    assert tools == ()
