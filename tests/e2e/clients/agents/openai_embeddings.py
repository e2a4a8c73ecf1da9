"""The OpenAI SDK beside its conversation: models, embeddings as bytes and as numbers."""

from __future__ import annotations

import openai

from tests.e2e.clients.agents import openai_chat
from tests.e2e.clients.agents.weather import PROMPT


def main() -> None:
    client = openai.OpenAI()
    print([model.id for model in client.models.list()])
    model = "text-embedding-3-small"
    # The SDK asks for base64 by itself and unpacks it.
    packed = client.embeddings.create(model=model, input=[PROMPT, "snow"])
    numbers = client.embeddings.create(model=model, input=PROMPT, encoding_format="float")
    assert packed.data[0].embedding == numbers.data[0].embedding
    print([one.embedding for one in packed.data])
    openai_chat.main()


if __name__ == "__main__":
    main()
