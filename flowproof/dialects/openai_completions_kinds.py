"""What a reader calls the place where two requests for legacy completions differ.

`openai_completions` says what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from flowproof.dialects.steps import steps_of
from flowproof.model.jsonvalue import JsonValue


def of_message(prompt: JsonValue, path: str) -> str:
    """The kind of a difference inside the prompt, of which `prompt` is one side."""
    match steps_of(path):
        case ["prompt", int(index), *_]:
            among = isinstance(prompt, list) and index < len(prompt)
            one = prompt[index] if isinstance(prompt, list) and among else None
            return "user text" if isinstance(one, str | None) else "prompt tokens"
        case ["prompt"]:
            return "user text" if isinstance(prompt, str) else "prompt"
        case _:
            return "request"
