"""The tools that a request of the Messages API offers, by the names that their calls have.

`anthropic_messages` asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowproof.dialects.anthropic_messages_blocks import type_of
from flowproof.dialects.parameters import parameters_of
from flowproof.dialects.requests import offers
from flowproof.dialects.values import list_of, member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue

_SERVED = ("web_search_", "web_fetch_", "code_execution_", "tool_search_", "advisor_")
"""How the types of tools begin that the provider runs within the answer."""
_FIRST_CODE_EXECUTION = "code_execution_20250522"
_CODE_EXECUTION = ("code_execution", "bash_code_execution", "text_editor_code_execution")
"""The names by which all later editions of that tool are called."""


def listed(pinned: JsonObject) -> Sequence[JsonValue]:
    """The tools in a request's own list."""
    return list_of(pinned.get("tools"))


def label(tool: JsonValue) -> str | None:
    """How an offered tool is called; one that has no name of its own by its type."""
    return text_of(member_of(tool, "name")) or type_of(tool) or None


def offered(pinned: JsonObject) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the provider runs it.

    Of a toolset whose tools the request does not list, nobody knows them before they are called.
    """
    return offers(_all(pinned))


def _all(pinned: JsonObject) -> Iterator[tuple[str, bool]]:
    for tool in _offered(pinned):
        yield from _named(tool)
    for server in list_of(pinned.get("mcp_servers")):
        settings = member_of(server, "tool_configuration")
        for entry in list_of(member_of(settings, "allowed_tools")):
            if isinstance(entry, str) and member_of(settings, "enabled") is not False:
                yield entry, True


def _named(tool: JsonValue) -> Iterator[tuple[str, bool]]:
    kind, name = type_of(tool), label(tool)
    if isinstance(tool, dict) and kind == "mcp_toolset":
        yield from ((known, True) for known in _known(tool))
    elif kind.startswith("code_execution_") and kind != _FIRST_CODE_EXECUTION:
        yield from ((called, True) for called in _CODE_EXECUTION)
    elif name is not None:
        yield name, kind.startswith(_SERVED)


def _known(toolset: JsonObject) -> Iterator[str]:
    """The tools of a toolset that the request names and does not disable."""
    configs = toolset.get("configs")
    settings = configs if isinstance(configs, dict) else {}
    listed = (text_of(member_of(entry, "name")) for entry in list_of(toolset.get("tools")))
    enabled = member_of(toolset.get("default_config"), "enabled")
    for name in dict.fromkeys((*(name for name in listed if name is not None), *settings)):
        own = member_of(settings.get(name), "enabled")
        if (enabled if own is None else own) is not False:
            yield name


def _offered(pinned: JsonObject) -> Iterator[JsonValue]:
    """The tools of a request, and those that a message in it defines."""
    yield from listed(pinned)
    for raw in list_of(pinned.get("messages")):
        for block in list_of(member_of(raw, "content")):
            match block:
                case {"type": "tool_addition", "tool": {"definition": dict(definition)}}:
                    yield definition
                case _:
                    pass


def parameters(pinned: JsonObject) -> dict[str, tuple[str, ...]]:
    """The arguments of each offered tool, without those whose schemas leave them open."""
    named = ((text_of(member_of(tool, "name")), tool) for tool in _offered(pinned))
    return parameters_of(
        (name, member_of(tool, "input_schema")) for name, tool in named if name is not None
    )
