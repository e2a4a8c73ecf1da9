"""The tools that a request of the Messages API offers, by the names that their calls have.

`anthropic_messages` asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowproof.dialects.anthropic_messages_blocks import text_of, type_of
from flowproof.dialects.parameters import parameter_names
from flowproof.model.jsonvalue import JsonObject, JsonValue

_SERVED = ("web_search_", "web_fetch_", "code_execution_", "tool_search_", "advisor_")
"""How the types of tools begin that the provider runs within the answer."""
_FIRST_CODE_EXECUTION = "code_execution_20250522"
_CODE_EXECUTION = ("code_execution", "bash_code_execution", "text_editor_code_execution")
"""The names by which all later editions of that tool are called."""


def listed(pinned: JsonObject) -> Sequence[JsonValue]:
    """The tools in a request's own list."""
    return _list(pinned.get("tools"))


def label(tool: JsonValue) -> str | None:
    """How an offered tool is called; one that has no name of its own by its type."""
    name = text_of(tool.get("name")) if isinstance(tool, dict) else None
    return name or type_of(tool) or None


def offered(pinned: JsonObject) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the provider runs it.

    Of a toolset whose tools the request does not list, nobody knows them before they are called.
    """
    found: dict[str, bool] = {}
    for tool in _offered(pinned):
        for name, served in _named(tool):
            found[name] = served and found.get(name, True)
    for server in _list(pinned.get("mcp_servers")):
        settings = _member(server, "tool_configuration")
        for entry in _list(_member(settings, "allowed_tools")):
            if isinstance(entry, str) and _member(settings, "enabled") is not False:
                found.setdefault(entry, True)
    return found


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
    listed = (text_of(_member(entry, "name")) for entry in _list(toolset.get("tools")))
    enabled = _member(toolset.get("default_config"), "enabled")
    for name in dict.fromkeys((*(name for name in listed if name is not None), *settings)):
        own = _member(settings.get(name), "enabled")
        if (enabled if own is None else own) is not False:
            yield name


def _offered(pinned: JsonObject) -> Iterator[JsonValue]:
    """The tools of a request, and those that a message in it defines."""
    yield from listed(pinned)
    for raw in _list(pinned.get("messages")):
        for block in _list(raw.get("content")) if isinstance(raw, dict) else ():
            match block:
                case {"type": "tool_addition", "tool": {"definition": dict(definition)}}:
                    yield definition
                case _:
                    pass


def parameters(pinned: JsonObject) -> dict[str, tuple[str, ...]]:
    """The arguments of each offered tool, without those whose schemas leave them open."""
    found: dict[str, tuple[str, ...]] = {}
    for tool in _offered(pinned):
        if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
            names = parameter_names(tool.get("input_schema"))
            # Of two schemas for one name, either may be the one that is called.
            known = found.get(name, names)
            found[name] = tuple(dict.fromkeys(known + names)) if known and names else ()
    return {name: names for name, names in found.items() if names}


def _member(value: JsonValue, key: str) -> JsonValue:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
