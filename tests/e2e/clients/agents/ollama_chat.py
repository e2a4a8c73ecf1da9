"""Ollama's own client, plain or streamed."""

from __future__ import annotations

from typing import Any

import ollama

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


def ask(messages: list[Any]) -> tuple[str, list[Any]]:
    asked: dict[str, Any] = {"model": "small:1b", "messages": messages, "tools": [TOOL]}
    answers = ollama.chat(**asked, stream=True) if STREAM else [ollama.chat(**asked)]
    said = [answer.message for answer in answers]
    calls = [call for message in said for call in message.tool_calls or ()]
    return "".join(message.content or "" for message in said), calls


def main() -> None:
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": PROMPT},
    ]
    while True:
        text, calls = ask(messages)
        if not calls:
            break
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        for call in calls:
            result = used(call.function.name, dict(call.function.arguments))
            messages.append({"role": "tool", "tool_name": call.function.name, "content": result})
    print(text)


if __name__ == "__main__":
    main()
