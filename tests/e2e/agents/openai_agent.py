"""An agent on the official SDK, for the tests that record and replay it as a process.

AGENT_PLAN, a JSON object, changes what it does; it prints each answer as the SDK read it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

PLAN: dict[str, Any] = json.loads(os.environ.get("AGENT_PLAN") or "{}")
SYSTEM = "You are a weather clerk.\nAnswer briefly."
IMAGE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"


def tool(name: str, description: str, argument: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string", "description": f"a {argument}"}},
        "required": [argument],
    }
    function = {
        "name": name,
        "description": description,
        "parameters": parameters,
        # The stream helper of the SDK takes strict tools only.
        "strict": True,
    }
    return {"type": "function", "function": function}


def request(messages: list[Any]) -> dict[str, Any]:
    return {
        "model": "small-1",
        "messages": messages,
        "tools": [
            tool("get_weather", "The weather of a city.", "city"),
            tool("get_time", "The time in a zone.", "zone"),
        ],
        "tool_choice": "auto",
        "response_format": {"type": "text"},
        "temperature": 0.2,
        "max_tokens": 64,
        "seed": 7,
        "extra_body": {"vendor": {"beam": 4}},
    }


def edited(value: dict[str, Any], turn: int) -> dict[str, Any]:
    """The request with the plan's edits: `at` a place, put `to`, `append`, `reverse` or `drop`."""
    value = json.loads(json.dumps(value))
    for edit in PLAN.get("edits", ()):
        if edit.get("turn", turn) != turn:
            continue
        *way, last = edit["at"]
        place: Any = value
        for step in way:
            place = place[step]
        if "to" in edit:
            place[last] = edit["to"]
        elif "append" in edit:
            place[last] += edit["append"]
        elif "reverse" in edit:
            place[last].reverse()
        else:
            del place[last]
    return value


def show(what: object) -> None:
    print(json.dumps(what, sort_keys=True))


def ask(client: openai.OpenAI, arguments: dict[str, Any]) -> Any:
    """One model request, answered plainly, through chunks or through the stream helper."""
    how = PLAN.get("how", "plain")
    if how == "plain":
        completion = client.chat.completions.create(**arguments)
        show(completion.model_dump(mode="json"))
        return completion.choices[0].message
    if how == "chunks":
        state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
        if PLAN.get("usage"):
            arguments |= {"stream_options": {"include_usage": True}}
        for chunk in client.chat.completions.create(**arguments, stream=True):
            state.handle_chunk(chunk)
        completion = state.get_final_completion()
        show(completion.model_dump(mode="json"))
        return completion.choices[0].message
    with client.chat.completions.stream(
        **arguments, stream_options={"include_usage": True}
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    show({"events": sorted(set(kinds)), "final": final.model_dump(mode="json")})
    return final.choices[0].message


def converse(client: openai.OpenAI) -> None:
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": os.environ["FLOWPROOF_PROMPT"]},
                {"type": "image_url", "image_url": {"url": IMAGE}},
            ],
        },
    ]
    for turn in range(PLAN.get("calls", 10)):
        message = ask(client, edited(request(messages), turn))
        if message is None or not message.tool_calls:
            break
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": "4 degrees"} for call in calls
        ]
    for _ in range(PLAN.get("more", 0)):
        ask(client, edited(request(messages), -1))


def main() -> int:
    # The address and the key come from the variables that flowproof sets, unless planned.
    base = os.environ["OPENAI_BASE_URL"] + PLAN.get("base_suffix", "")
    client = openai.OpenAI(
        base_url=base,
        default_headers=PLAN.get("headers"),
        max_retries=PLAN.get("max_retries", 2),
    )
    try:
        converse(client)
    except openai.APIStatusError as error:
        if not PLAN.get("survive"):
            raise
        show({"status": error.status_code, "body": error.body})
    return int(PLAN.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main())
