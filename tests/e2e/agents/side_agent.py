"""An agent of the standard library that makes the calls which AGENT_PLAN lists.

Each is an object with `path`, and with a `body` if it is to be a POST.
"""

from __future__ import annotations

import http.client
import json
import os
from urllib.parse import urlsplit

BASE = urlsplit(os.environ["OPENAI_BASE_URL"])

if __name__ == "__main__":
    for call in json.loads(os.environ["AGENT_PLAN"]):
        client = http.client.HTTPConnection(BASE.hostname or "", BASE.port, timeout=60)
        if "body" in call:
            client.request("POST", BASE.path + call["path"], json.dumps(call["body"]))
        else:
            client.request("GET", BASE.path + call["path"])
        answer = client.getresponse()
        said = {"status": answer.status, "answer": json.loads(answer.read())}
        print(json.dumps(said, sort_keys=True), flush=True)
        client.close()
