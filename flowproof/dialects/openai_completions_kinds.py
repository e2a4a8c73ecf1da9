"""What a reader calls the place where two requests for legacy completions differ.

`openai_completions` says what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from flowproof.dialects.kinds import steps_of
from flowproof.dialects.values import entry_of
from flowproof.model.jsonvalue import JsonValue


def of_message(prompt: JsonValue, path: str) -> str:
    """The kind of a difference inside the prompt, of which `prompt` is one side."""
    match steps_of(path):
        case ["prompt", int(index), *_]:
            one = entry_of(prompt, index)
            return "user text" if isinstance(one, str | None) else "prompt tokens"
        case ["prompt"]:
            return "user text" if isinstance(prompt, str) else "prompt"
        case _:
            return "request"
