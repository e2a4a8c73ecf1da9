"""The results an author wrote for tools of an MCP server, as answers in the form the protocol has.

The same code answers at record and at replay; `boundary.mocks` is its counterpart for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowproof.boundary.mcp.jsonrpc import METHOD_NOT_FOUND
from flowproof.boundary.mocks import ResultsExhausted, mock_text
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp import VERSION_KEY, Result, RpcError

_ANY_ARGUMENTS: JsonObject = {"type": "object"}


@dataclass(frozen=True, slots=True)
class MockedMcpTool:
    """What flowproof answers in place of one tool, variables resolved.

    `error` (its `message`, and the `code` of a JSON-RPC error) excludes results. With neither
    the tool is not mocked. `schema` is the input schema that `tools/list` tells of a tool that
    the server lacks.
    """

    results: tuple[JsonValue, ...] = ()
    repeat_last: bool = True
    error: Mapping[str, JsonValue] | None = None
    schema: JsonObject | None = None


class McpMocks:
    """Answers the mocked tools of one server, and names them where its tools are listed."""

    def __init__(self, tools: Mapping[str, MockedMcpTool]) -> None:
        self._tools = {
            name: tool for name, tool in tools.items() if tool.results or tool.error is not None
        }

    def __contains__(self, tool: str | None) -> bool:
        """Whether calls of a tool are answered here."""
        return tool in self._tools

    def answer(self, tool: str, index: int, params: JsonValue) -> Result | RpcError:
        """The answer to the call of a mocked tool before which it was called `index` times; what
        the call's parameters say of the version decides on its form.

        :raises ResultsExhausted: if no result is left for it.
        """
        mocked = self._tools[tool]
        if mocked.error is not None:
            if "code" in mocked.error:
                return RpcError(dict(mocked.error))
            failed: JsonObject = {
                "content": [_text(mocked.error.get("message"))],
                "isError": True,
            }
            return Result(_completed(failed, params))
        if index >= len(mocked.results):
            if not mocked.repeat_last:
                raise ResultsExhausted(tool, index + 1, len(mocked.results))
            index = len(mocked.results) - 1
        return Result(_completed(_content(mocked.results[index]), params))

    def told(
        self, method: str, params: JsonValue, outcome: Result | RpcError, listed: set[str]
    ) -> Result | RpcError:
        """What the agent is told where a server says which tools it has.

        `listed` is filled with the tools of the pages so far: those that the server lacks follow
        the last page. What a mocked tool has as `outputSchema` is left out, since clients check
        results against it, and these are the author's.
        """
        if not self._tools:
            return outcome
        match method, outcome:
            case (("initialize" | "server/discover"), Result(dict() as value)):
                return Result(_with_tools(value))
            case "tools/list", Result(dict() as value):
                return Result(self._with_mocked(value, params, listed))
            case "tools/list", RpcError({"code": code}) if code == METHOD_NOT_FOUND:
                page: JsonObject = {"tools": []}
                if modern(params):
                    page |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
                return Result(self._with_mocked(page, params, listed))
            case _:
                return outcome

    def _with_mocked(self, page: JsonObject, params: JsonValue, listed: set[str]) -> JsonObject:
        if not (isinstance(params, dict) and params.get("cursor") is not None):
            listed.clear()
        tools = page.get("tools")
        if not isinstance(tools, list):
            return page
        shown = [self._as_mocked(tool) for tool in tools]
        listed.update(name for name in map(_name, tools) if name is not None)
        if page.get("nextCursor") is None:
            shown += [
                {
                    "name": name,
                    "inputSchema": _ANY_ARGUMENTS if tool.schema is None else tool.schema,
                }
                for name, tool in self._tools.items()
                if name not in listed
            ]
        return {**page, "tools": shown}

    def _as_mocked(self, tool: JsonValue) -> JsonValue:
        if not isinstance(tool, dict) or _name(tool) not in self._tools:
            return tool
        return {key: value for key, value in tool.items() if key != "outputSchema"}


def modern(params: JsonValue) -> bool:
    """Whether a request is of the era that names its version in every request."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def _name(tool: JsonValue) -> str | None:
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else None


def _content(result: JsonValue) -> JsonObject:
    """A result in the form that `tools/call` has."""
    if not isinstance(result, dict):
        return {"content": [_text(result)]}
    if isinstance(result.get("content"), list):
        return result
    return {"content": [_text(result)], "structuredContent": result}


def _text(value: JsonValue) -> JsonObject:
    return {"type": "text", "text": mock_text(value)}


def _completed(result: JsonObject, params: JsonValue) -> JsonObject:
    if modern(params) and "resultType" not in result:
        return {**result, "resultType": "complete"}
    return result


def _with_tools(value: JsonObject) -> JsonObject:
    """What a server says of itself, with the word that it has tools."""
    capabilities = value.get("capabilities")
    if not isinstance(capabilities, dict) or capabilities.get("tools") is not None:
        return value
    return {**value, "capabilities": {**capabilities, "tools": {}}}
