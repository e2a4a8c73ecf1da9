"""The OpenAI Agents SDK. Argument: `responses` or `chat`, the API it speaks."""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, Runner, function_tool, set_default_openai_api

from tests.e2e.clients.agents.weather import DESCRIPTION, PROMPT, STREAM, SYSTEM, get_weather


async def streamed(agent: Agent[None]) -> str:
    run = Runner.run_streamed(agent, PROMPT)
    async for _ in run.stream_events():
        pass
    return str(run.final_output)


def main() -> None:
    set_default_openai_api("chat_completions" if "chat" in sys.argv else "responses")
    tool = function_tool(get_weather, description_override=DESCRIPTION)
    agent: Agent[None] = Agent(name="clerk", instructions=SYSTEM, model="gpt-5-mini", tools=[tool])
    if STREAM:
        print(asyncio.run(streamed(agent)))
    else:
        print(Runner.run_sync(agent, PROMPT).final_output)


if __name__ == "__main__":
    main()
