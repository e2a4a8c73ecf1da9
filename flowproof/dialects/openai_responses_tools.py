"""The tools that a request of the Responses API offers, and results put in their place.

`openai_responses` asks; what a call or a result is, `openai_responses_items` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from flowproof.dialects.parameters import parameters_of
from flowproof.dialects.requests import offers
from flowproof.dialects.values import list_of, objects_of
from flowproof.model.jsonvalue import JsonObject, JsonValue

MOCKED = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
)
"""The results that a text can stand for: all but a picture of a screen or a yes and no."""

_BUILT_IN: Mapping[str, str] = {
    "local_shell": "local_shell",
    "shell": "shell",
    "apply_patch": "apply_patch",
    "computer": "computer",
    "computer_use": "computer",
    "computer_use_preview": "computer",
}
"""The tools without a name of their own that the agent runs, and how calls of them are called."""

_EDITION = re.compile(r"(?:_preview)?(?:_\d{4}_\d\d_\d\d)?\Z")
"""What the type of a tool has behind the name of its calls, such as `web_search_preview`."""
_DEEPEST = 3


def mocked(item: JsonObject, text: str) -> JsonObject:
    """A tool result that says `text`, in the form that its type demands."""
    if item.get("type") != "shell_call_output":
        return item | {"output": text}
    outcome: JsonObject = {"type": "exit", "exit_code": 0}
    return item | {"output": [{"stdout": text, "stderr": "", "outcome": outcome}]}


def labels(pinned: JsonObject) -> Iterator[str | None]:
    """How each tool in a request is called; one that has no name of its own by its type."""
    for tool in list_of(pinned.get("tools")):
        match tool:
            case {"name": str(name)} | {"type": str(name)}:
                yield name
            case _:
                yield None


def offered(pinned: JsonObject) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the API runs it."""
    return offers(named for tool in _all(pinned) for named in _named(tool))


def _named(tool: JsonObject) -> Iterator[tuple[str, bool]]:
    match tool:
        case {"type": "function" | "custom", "name": str(name)}:
            yield name, False
        case {"type": "function" | "custom"}:
            pass
        case {"type": "mcp"}:
            # What else such a server has, only its answers say.
            allowed = tool.get("allowed_tools")
            listed = allowed.get("tool_names") if isinstance(allowed, dict) else allowed
            yield from ((name, True) for name in list_of(listed) if isinstance(name, str))
        case {"type": "mcp_list_tools"}:
            for entry in objects_of(tool.get("tools")):
                if isinstance(own := entry.get("name"), str):
                    yield own, True
        case {"type": "shell", "environment": {"type": str(where)}}:
            yield "shell", where.startswith("container")
        case {"type": "tool_search"}:
            yield "tool_search", tool.get("execution") != "client"
        case {"type": str(kind)} if kind in _BUILT_IN:
            yield _BUILT_IN[kind], False
        case {"type": str(kind)}:
            yield _EDITION.sub("", kind), True
        case _:
            pass


def parameters(pinned: JsonObject) -> dict[str, tuple[str, ...]]:
    """The arguments of each offered function, without those whose schemas leave them open."""
    return parameters_of(_schemas(pinned))


def _schemas(pinned: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    for tool in _all(pinned):
        match tool:
            case {"type": "function" | "custom" as kind, "name": str(name)}:
                yield name, tool.get("parameters") if kind == "function" else None
            case _:
                pass


def _all(pinned: JsonObject) -> Iterator[JsonObject]:
    """Each tool on offer: in the request's own list, in items that add some, in namespaces.

    The list that an MCP server gave stands for the tools in it.
    """
    yield from _flat(pinned.get("tools"), _DEEPEST)
    for item in objects_of(pinned.get("input")):
        kind = item.get("type")
        if kind in ("additional_tools", "tool_search_output"):
            yield from _flat(item.get("tools"), _DEEPEST)
        elif kind == "mcp_list_tools":
            yield item


def _flat(tools: JsonValue, depth: int) -> Iterator[JsonObject]:
    for tool in objects_of(tools):
        if tool.get("type") != "namespace":
            yield tool
        elif depth:
            yield from _flat(tool.get("tools"), depth - 1)
