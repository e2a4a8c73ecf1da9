"""A standard-library agent for benchmarks: asks for TURNS answers over one connection.

Every answer but the last calls a tool, whose result is RESULT bytes long.
"""

from __future__ import annotations

import http.client
import json
import os
from typing import Any
from urllib.parse import urlsplit


def main() -> None:
    base = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(base.hostname or "", base.port or 80)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are measured."},
        {"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]},
    ]
    for _ in range(int(os.environ["TURNS"])):
        body = json.dumps({"model": "canned", "messages": messages})
        headers = {"content-type": "application/json"}
        connection.request("POST", f"{base.path}/chat/completions", body, headers)
        answer = json.loads(connection.getresponse().read())["choices"][0]["message"]
        messages.append(answer)
        for call in answer.get("tool_calls") or []:
            result = "r" * int(os.environ["RESULT"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    main()
