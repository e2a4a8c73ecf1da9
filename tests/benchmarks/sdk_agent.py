"""The agent of `agent.py` again, built on the official SDK as most agents are."""

from __future__ import annotations

import os
from typing import Any

from openai import OpenAI


def main() -> None:
    client = OpenAI()
    messages: list[Any] = [
        {"role": "system", "content": "You are measured."},
        {"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]},
    ]
    for _ in range(int(os.environ["TURNS"])):
        answer = client.chat.completions.create(model="canned", messages=messages)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or []:
            result = "r" * int(os.environ["RESULT"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    main()
