"""The Responses API with the OpenAI SDK, plain or through its stream helper.

`chained` as an argument sends what is new and the id of the last response, instead of everything.
"""

from __future__ import annotations

import json
import sys
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

CHAINED = "chained" in sys.argv
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": DESCRIPTION,
    "parameters": PARAMETERS,
    "strict": True,
}

# The stream helper adds what it parsed to an item; the API takes back what it sent.
PARSED: Any = {"parsed_arguments": True, "content": {"__all__": {"parsed"}}}


def ask(client: openai.OpenAI, **asked: Any) -> Any:
    asked |= {"model": "gpt-5-mini", "instructions": SYSTEM, "tools": [TOOL]}
    if not STREAM:
        return client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def main() -> None:
    client = openai.OpenAI()
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    more: dict[str, Any] = {}
    while True:
        response = ask(client, input=items, **more)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        results = [
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": used(call.name, json.loads(call.arguments)),
            }
            for call in calls
        ]
        if CHAINED:
            items, more = results, {"previous_response_id": response.id}
        else:
            said = [item.model_dump(exclude=PARSED) for item in response.output]
            items = [*items, *said, *results]
    print(response.output_text)


if __name__ == "__main__":
    main()
