"""A text to complete, with Ollama's own client. There are no tools in it."""

from __future__ import annotations

import ollama

from tests.e2e.clients.agents.weather import PROMPT, STREAM, SYSTEM


def main() -> None:
    if STREAM:
        parts = ollama.generate(model="small:1b", prompt=PROMPT, system=SYSTEM, stream=True)
        print("".join(part.response or "" for part in parts))
    else:
        print(ollama.generate(model="small:1b", prompt=PROMPT, system=SYSTEM).response)


if __name__ == "__main__":
    main()
