"""The completions that came before chat, with the OpenAI SDK. There are no tools in it."""

from __future__ import annotations

import openai

from tests.e2e.clients.agents.weather import PROMPT, STREAM, SYSTEM


def main() -> None:
    client = openai.OpenAI()
    prompt = f"{SYSTEM}\n\n{PROMPT}\n"
    model = "gpt-3.5-turbo-instruct"
    if STREAM:
        chunks = client.completions.create(model=model, prompt=prompt, stream=True)
        print("".join(choice.text for chunk in chunks for choice in chunk.choices))
    else:
        print(client.completions.create(model=model, prompt=prompt).choices[0].text)


if __name__ == "__main__":
    main()
