"""A standard-library agent for benchmarks: asks for TURNS answers, each with `urllib`.

Every answer but the last calls a tool, whose result is RESULT bytes long.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any


def main() -> None:
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are measured."},
        {"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]},
    ]
    for _ in range(int(os.environ["TURNS"])):
        body = json.dumps({"model": "canned", "messages": messages}).encode()
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)["choices"][0]["message"]
        messages.append(answer)
        for call in answer.get("tool_calls") or []:
            result = "r" * int(os.environ["RESULT"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    main()
