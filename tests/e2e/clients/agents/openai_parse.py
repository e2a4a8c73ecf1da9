"""Answers that the OpenAI SDK parses into a model, by chat completions and then by responses."""

from __future__ import annotations

import json
from typing import Any

import openai
import pydantic
from openai.types.responses import ParsedResponse

from tests.e2e.clients.agents.weather import DESCRIPTION, PROMPT, SYSTEM, used


class GetWeather(pydantic.BaseModel):
    city: str


class Weather(pydantic.BaseModel):
    city: str
    degrees: int


def by_chat(client: openai.OpenAI) -> Weather | None:
    tool = openai.pydantic_function_tool(GetWeather, name="get_weather", description=DESCRIPTION)
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": PROMPT},
    ]
    while True:
        completion = client.chat.completions.parse(
            model="gpt-5-mini", messages=messages, tools=[tool], response_format=Weather
        )
        message = completion.choices[0].message
        if not message.tool_calls:
            return message.parsed
        messages.append(message)
        for call in message.tool_calls:
            assert isinstance(call.function.parsed_arguments, GetWeather)
            result = used(call.function.name, call.function.parsed_arguments.model_dump())
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def by_responses(client: openai.OpenAI, weather: Weather) -> Weather | None:
    response: ParsedResponse[Weather] = client.responses.parse(
        model="gpt-5-mini",
        instructions="Round what you are told.",
        input=weather.model_dump_json(),
        text_format=Weather,
    )
    return response.output_parsed


def main() -> None:
    client = openai.OpenAI()
    weather = by_chat(client)
    assert weather is not None
    rounded = by_responses(client, weather)
    assert rounded is not None
    print(json.dumps([weather.model_dump(), rounded.model_dump()]))


if __name__ == "__main__":
    main()
