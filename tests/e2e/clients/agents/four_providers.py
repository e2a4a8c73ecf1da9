"""One agent that asks the models of four providers, each through its own client."""

from __future__ import annotations

from tests.e2e.clients.agents import anthropic_messages, google_generate, ollama_chat, openai_chat


def main() -> None:
    for client in (openai_chat, anthropic_messages, google_generate, ollama_chat):
        client.main()


if __name__ == "__main__":
    main()
