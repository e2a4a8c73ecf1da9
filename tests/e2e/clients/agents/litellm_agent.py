"""LiteLLM. Argument: the model, such as `gemini/gemini-small-1`; its prefix chooses the API."""

from __future__ import annotations

import json
import sys
from typing import Any

import litellm

from tests.e2e.clients.agents.weather import (
    DESCRIPTION,
    PARAMETERS,
    PROMPT,
    STREAM,
    SYSTEM,
    used,
)

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS},
}


def ask(messages: list[Any]) -> Any:
    asked: dict[str, Any] = {"model": sys.argv[1], "messages": messages, "tools": [TOOL]}
    if not STREAM:
        return litellm.completion(**asked).choices[0].message
    chunks = list(litellm.completion(**asked, stream=True))
    whole: Any = litellm.stream_chunk_builder(chunks, messages=messages)
    return whole.choices[0].message


def main() -> None:
    # Its advice on errors would be printed among the agent's own words.
    litellm.suppress_debug_info = True
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": PROMPT},
    ]
    while (message := ask(messages)).tool_calls:
        messages.append(message)
        for call in message.tool_calls:
            result = used(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(message.content)


if __name__ == "__main__":
    main()
