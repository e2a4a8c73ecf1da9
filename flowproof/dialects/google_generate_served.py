"""Tools that the Gemini API runs itself: how they are offered, and what shows that they ran.

`google_generate_message` asks for what stands in a part, `google_generate` for all else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowproof.dialects.calls import call_of_value
from flowproof.dialects.google_generate_names import member, snake
from flowproof.dialects.values import list_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import ToolCall

_SEARCH = "google_search"
_TOOLS = {
    "google_search": _SEARCH,
    "google_search_retrieval": _SEARCH,
    "enterprise_web_search": _SEARCH,
    "google_maps": "google_maps",
    "url_context": "url_context",
    "code_execution": "code_execution",
    "file_search": "file_search",
    "retrieval": "retrieval",
}
"""The tools whose calls an answer shows, and how those are called."""


def name_of(tool: str) -> str | None:
    """How calls are called of the tool that a request offers under this key; None where no answer
    shows them."""
    return _TOOLS.get(snake(tool))


def served_call(part: JsonValue) -> ToolCall | None:
    """The call in a part that the API runs itself, None if there is none."""
    if (code := member(part, "executableCode")) is not None:
        told = {key: member(code, key) for key in ("language", "code")}
        known: JsonObject = {key: value for key, value in told.items() if value is not None}
        return _call("code_execution", known or None, member(code, "id"))
    if (call := member(part, "toolCall")) is not None:
        kind = member(call, "toolType")
        name = kind.lower() if isinstance(kind, str) else ""
        # A search of the web and one of images are calls of one tool.
        name = _SEARCH if name.startswith(_SEARCH) else name
        return _call(name, member(call, "args"), member(call, "id"))
    return None


def shown_calls(candidate: JsonValue, made: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """The calls that show only in what stands beside an answer: one of each tool that ran.

    `made` has the calls that the answer itself holds; of their tools nothing is told twice.
    """
    known = {call.name for call in made if call.served}
    grounding = member(candidate, "groundingMetadata")
    context = member(member(candidate, "urlContextMetadata"), "urlMetadata")
    sources = _sources(grounding)
    urls = _texts([member(entry, "retrievedUrl") for entry in list_of(context)])
    asked: tuple[tuple[str, str, list[JsonValue], bool], ...] = (
        (_SEARCH, "queries", _queries(grounding), "web" in sources or "image" in sources),
        ("file_search", "queries", [], "file_search" in sources),
        (
            "retrieval",
            "queries",
            _texts(member(grounding, "retrievalQueries")),
            "retrieval" in sources,
        ),
        ("google_maps", "queries", [], "maps" in sources),
        ("url_context", "urls", urls, bool(list_of(context))),
    )
    for name, key, texts, ran in asked:
        if (texts or ran) and name not in known:
            yield _call(name, {key: texts} if texts else None, None)


def _queries(grounding: JsonValue) -> list[JsonValue]:
    return [
        *_texts(member(grounding, "webSearchQueries")),
        *_texts(member(grounding, "imageSearchQueries")),
    ]


def _sources(grounding: JsonValue) -> set[str]:
    """What the pieces that an answer rests on come from."""
    found: set[str] = set()
    for chunk in list_of(member(grounding, "groundingChunks")):
        found.update(kind for kind in ("web", "image", "maps") if member(chunk, kind) is not None)
        if (context := member(chunk, "retrievedContext")) is not None:
            found.add("retrieval" if _at_vertex(grounding, context) else "file_search")
    return found


def _at_vertex(grounding: JsonValue, context: JsonValue) -> bool:
    """Whether a piece comes from a retrieval tool, which only Vertex has, and no file search."""
    if member(context, "fileSearchStore") is not None:
        return False
    told = (member(grounding, "retrievalQueries"), member(context, "ragChunk"))
    return any(value is not None for value in (*told, member(context, "documentName")))


def _call(name: str, arguments: JsonValue, call_id: JsonValue) -> ToolCall:
    """A served call; its arguments are unknown where the API does not tell them."""
    return call_of_value(text_of(call_id), name, arguments, served=True)


def _texts(value: JsonValue) -> list[JsonValue]:
    return [text for text in list_of(value) if isinstance(text, str)]
