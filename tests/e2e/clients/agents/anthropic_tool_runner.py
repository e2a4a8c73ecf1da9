"""The tool runner of the Anthropic SDK, which keeps the conversation on the server."""

from __future__ import annotations

import anthropic
from anthropic import beta_tool

from tests.e2e.clients.agents.weather import DESCRIPTION, PROMPT, STREAM, SYSTEM, get_weather


def main() -> None:
    client = anthropic.Anthropic()
    tool = beta_tool(get_weather, description=DESCRIPTION)
    runner = client.beta.messages.tool_runner(
        model="claude-small-1",
        max_tokens=1024,
        system=SYSTEM,
        tools=[tool],
        messages=[{"role": "user", "content": PROMPT}],
        stream=STREAM,
    )
    message = runner.until_done()
    print("".join(block.text for block in message.content if block.type == "text"))


if __name__ == "__main__":
    main()
