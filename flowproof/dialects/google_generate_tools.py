"""The tools that a request of the Gemini API offers, by the names that their calls have.

`google_generate` asks.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.dialects.google_generate_message import entries
from flowproof.dialects.google_generate_names import member
from flowproof.dialects.google_generate_served import name_of
from flowproof.dialects.parameters import parameters_of
from flowproof.dialects.requests import offers
from flowproof.dialects.values import member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue

_DECLARATIONS = ("functionDeclarations", "function_declarations")


def _tools(pinned: JsonObject) -> list[JsonValue]:
    return entries(pinned.get("tools"))


def _declarations(tool: JsonValue) -> list[JsonValue]:
    return [entry for key in _DECLARATIONS for entry in entries(member_of(tool, key))]


def labels(pinned: JsonObject) -> Iterator[str | None]:
    """How each offered tool is called: a function by its name, one built in by its key."""
    for tool in _tools(pinned):
        if not isinstance(tool, dict):
            yield None
            continue
        for declared in _declarations(tool):
            yield text_of(member(declared, "name"))
        yield from (key for key in tool if key not in _DECLARATIONS)


def offered(pinned: JsonObject) -> dict[str, bool]:
    """Each tool on offer by the name that its calls have, and whether only the API runs it."""
    return offers(named for tool in _tools(pinned) for named in _named(tool))


def _named(tool: JsonValue) -> Iterator[tuple[str, bool]]:
    for declared in _declarations(tool):
        if (name := text_of(member(declared, "name"))) is not None:
            yield name, False
    for key in tool if isinstance(tool, dict) else ():
        if (built_in := name_of(key)) is not None:
            yield built_in, True


def parameters(pinned: JsonObject) -> dict[str, tuple[str, ...]]:
    """The arguments of each offered function, without those whose schemas leave them open."""
    return parameters_of(
        (name, member(declared, "parameters") or member(declared, "parametersJsonSchema"))
        for tool in _tools(pinned)
        for declared in _declarations(tool)
        if (name := text_of(member(declared, "name"))) is not None
    )
