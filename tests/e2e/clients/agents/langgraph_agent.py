"""LangChain's agent, a LangGraph graph.

Arguments: the model, such as `openai:gpt-5-mini`, and `responses` for the API of that name.
"""

from __future__ import annotations

import sys
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.tools import StructuredTool

from tests.e2e.clients.agents.weather import DESCRIPTION, PROMPT, STREAM, SYSTEM, get_weather


def main() -> None:
    tool = StructuredTool.from_function(get_weather, description=DESCRIPTION)
    chosen: dict[str, Any] = {"use_responses_api": True} if "responses" in sys.argv else {}
    model = init_chat_model(sys.argv[1], **chosen)
    agent = create_agent(model, [tool], system_prompt=SYSTEM)
    given: Any = {"messages": [{"role": "user", "content": PROMPT}]}
    state: Any = {}
    # The model streams if its messages are listened to.
    modes: Any = ["messages", "values"] if STREAM else ["values"]
    for mode, part in agent.stream(given, stream_mode=modes):
        state = part if mode == "values" else state
    print(state["messages"][-1].text)


if __name__ == "__main__":
    main()
