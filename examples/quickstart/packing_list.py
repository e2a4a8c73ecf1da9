"""Writes a packing list and prints it as it arrives: an agent that streams."""

from __future__ import annotations

import os
import sys

from openai import OpenAI


def write_list(task: str) -> None:
    """Print the answer piece by piece, then how long it was."""
    stream = OpenAI().chat.completions.create(
        model="gpt-5-mini",
        messages=[
            {"role": "system", "content": "You write a short packing list for a traveller."},
            {"role": "user", "content": task},
        ],
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        if chunk.choices:
            print(chunk.choices[0].delta.content or "", end="", flush=True)
        elif chunk.usage:
            print(f"\n({chunk.usage.completion_tokens} tokens)")


if __name__ == "__main__":
    write_list(os.environ.get("FLOWPROOF_PROMPT") or " ".join(sys.argv[1:]))
