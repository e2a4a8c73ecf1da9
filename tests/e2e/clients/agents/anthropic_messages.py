"""The Messages API with the Anthropic SDK, plain or through its stream helper.

Arguments: `thinking` lets the model think first, `counted` has the tokens counted beforehand.
"""

from __future__ import annotations

import sys
from typing import Any

import anthropic

from tests.e2e.clients.agents.weather import (
    DESCRIPTION,
    PARAMETERS,
    PROMPT,
    STREAM,
    SYSTEM,
    used,
)

THINKING: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def ask(client: anthropic.Anthropic, asked: dict[str, Any]) -> Any:
    if not STREAM:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


def main() -> None:
    client = anthropic.Anthropic()
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    tool = {"name": "get_weather", "description": DESCRIPTION, "input_schema": PARAMETERS}
    shared: dict[str, Any] = {"model": "claude-small-1", "system": SYSTEM, "tools": [tool]}
    if "counted" in sys.argv:
        print(client.messages.count_tokens(messages=messages, **shared).input_tokens)
    shared |= {"max_tokens": 2048, **(THINKING if "thinking" in sys.argv else {})}
    while True:
        message = ask(client, {**shared, "messages": messages})
        messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            break
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": used(call.name, call.input),
            }
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
    print("".join(block.text for block in message.content if block.type == "text"))


if __name__ == "__main__":
    main()
