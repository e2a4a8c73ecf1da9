"""The tools that a request of the Gemini API offers, by the names that their calls have.

`google_generate` asks.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.dialects.google_generate_message import objects
from flowproof.dialects.google_generate_names import member
from flowproof.dialects.google_generate_served import name_of
from flowproof.dialects.parameters import parameter_names
from flowproof.model.jsonvalue import JsonObject, JsonValue

_DECLARATIONS = ("functionDeclarations", "function_declarations")


def _declarations(tool: JsonObject) -> list[JsonValue]:
    return [entry for key in _DECLARATIONS for entry in objects(tool.get(key))]


def labels(pinned: JsonObject) -> Iterator[str | None]:
    """How each offered tool is called: a function by its name, one built in by its key."""
    for tool in objects(pinned.get("tools")):
        if not isinstance(tool, dict):
            yield None
            continue
        for declared in _declarations(tool):
            name = member(declared, "name")
            yield name if isinstance(name, str) else None
        yield from (key for key in tool if key not in _DECLARATIONS)


def offered(pinned: JsonObject) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the API runs it."""
    found: dict[str, bool] = {}
    for tool in (tool for tool in objects(pinned.get("tools")) if isinstance(tool, dict)):
        for declared in _declarations(tool):
            if isinstance(name := member(declared, "name"), str):
                found[name] = False
        for key in tool:
            if (built_in := name_of(key)) is not None:
                found.setdefault(built_in, True)
    return found


def parameters(pinned: JsonObject) -> dict[str, tuple[str, ...]]:
    """The arguments of each offered function, without those whose schemas leave them open."""
    found: dict[str, tuple[str, ...]] = {}
    tools = [tool for tool in objects(pinned.get("tools")) if isinstance(tool, dict)]
    for declared in (declared for tool in tools for declared in _declarations(tool)):
        name = member(declared, "name")
        if isinstance(name, str):
            schema = member(declared, "parameters") or member(declared, "parametersJsonSchema")
            names = parameter_names(schema)
            # Of two schemas for one name, either may be the one that is called.
            known = found.get(name, names)
            found[name] = tuple(dict.fromkeys(known + names)) if known and names else ()
    return {name: names for name, names in found.items() if names}
