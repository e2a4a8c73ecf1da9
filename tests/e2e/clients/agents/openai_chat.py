"""Chat completions with the OpenAI SDK, plain or through its stream helper."""

from __future__ import annotations

import json
from typing import Any

import openai

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
    "function": {
        "name": "get_weather",
        "description": DESCRIPTION,
        "parameters": PARAMETERS,
        "strict": True,
    },
}


def ask(client: openai.OpenAI, messages: list[Any]) -> Any:
    asked: dict[str, Any] = {"model": "gpt-5-mini", "messages": messages, "tools": [TOOL]}
    if not STREAM:
        return client.chat.completions.create(**asked).choices[0].message
    with client.chat.completions.stream(**asked) as stream:
        return stream.get_final_completion().choices[0].message


def main() -> None:
    client = openai.OpenAI()
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": PROMPT},
    ]
    while (message := ask(client, messages)).tool_calls:
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls
        ]
        messages.append({"role": "assistant", "content": message.content, "tool_calls": calls})
        for call in message.tool_calls:
            result = used(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(message.content)


if __name__ == "__main__":
    main()
