"""pydantic-ai, which streams if somebody listens.

Argument: the model, such as `openai-chat:gpt-5-mini`.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable

from pydantic_ai import Agent, Tool

from tests.e2e.clients.agents.weather import DESCRIPTION, PROMPT, STREAM, SYSTEM, get_weather


async def drain(_context: object, events: AsyncIterable[object]) -> None:
    async for _ in events:
        pass


def main() -> None:
    tool = Tool(get_weather, description=DESCRIPTION)
    agent = Agent(sys.argv[1], instructions=SYSTEM, tools=[tool])
    print(agent.run_sync(PROMPT, event_stream_handler=drain if STREAM else None).output)


if __name__ == "__main__":
    main()
