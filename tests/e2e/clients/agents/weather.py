"""What all these agents do: tell the weather of a city with the help of one tool.

Each runs as a process that knows its model from the environment alone. AGENT_CHANGE makes it
guilty: another system prompt, tool description or tool result than recorded. AGENT_STREAM=1 has
it read streams.
"""

from __future__ import annotations

import os
from typing import Any

CHANGE = os.environ.get("AGENT_CHANGE", "")
STREAM = os.environ.get("AGENT_STREAM") == "1"
PROMPT = os.environ.get("FLOWPROOF_PROMPT", "")
SYSTEM = "You are a weather clerk." + (" Be kind." if CHANGE == "system" else "")
DESCRIPTION = "The weather of a " + ("town." if CHANGE == "tool" else "city.")
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def get_weather(city: str) -> str:
    return f"{5 if CHANGE == 'result' else 4} degrees in {city}"


# Many libraries describe a tool by the docstring of its function.
get_weather.__doc__ = DESCRIPTION


def used(name: str, arguments: dict[str, Any]) -> str:
    """What the tool of that name returns."""
    if name != "get_weather":
        raise LookupError(f"there is no tool {name}")
    return get_weather(**arguments)
