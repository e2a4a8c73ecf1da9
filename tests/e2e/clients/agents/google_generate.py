"""The Gemini API with Google's SDK, plain or streamed.

`automatic` as an argument leaves calling the tool to the SDK.
"""

from __future__ import annotations

import sys
from typing import Any

from google import genai
from google.genai import types

from tests.e2e.clients.agents.weather import (
    DESCRIPTION,
    PROMPT,
    STREAM,
    SYSTEM,
    get_weather,
    used,
)

AUTOMATIC = "automatic" in sys.argv
SCHEMA = types.Schema(
    type=types.Type.OBJECT,
    properties={"city": types.Schema(type=types.Type.STRING)},
    required=["city"],
)
DECLARED = types.FunctionDeclaration(name="get_weather", description=DESCRIPTION, parameters=SCHEMA)
TOOLS: list[Any] = [get_weather] if AUTOMATIC else [types.Tool(function_declarations=[DECLARED])]


def ask(client: genai.Client, contents: list[Any]) -> list[types.Part]:
    asked: dict[str, Any] = {
        "model": "gemini-small-1",
        "contents": contents,
        "config": types.GenerateContentConfig(system_instruction=SYSTEM, tools=TOOLS),
    }
    answers = (
        client.models.generate_content_stream(**asked)
        if STREAM
        else [client.models.generate_content(**asked)]
    )
    return [
        part
        for answer in answers
        for candidate in answer.candidates or ()
        for part in (candidate.content and candidate.content.parts) or ()
    ]


def joined(parts: list[types.Part]) -> list[types.Part]:
    """Parts as an answer in one piece has them: a stream cuts texts."""
    whole: list[types.Part] = []
    for part in parts:
        if whole and part.text is not None and whole[-1].text is not None:
            whole[-1] = types.Part(text=whole[-1].text + part.text)
        else:
            whole.append(part)
    return whole


def main() -> None:
    client = genai.Client()
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=PROMPT)])]
    while True:
        parts = joined(ask(client, contents))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls or AUTOMATIC:
            break
        results = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id,
                    name=call.name,
                    response={"result": used(call.name or "", call.args or {})},
                )
            )
            for call in calls
        ]
        contents.append(types.Content(role="model", parts=parts))
        contents.append(types.Content(role="user", parts=results))
    print("".join(part.text or "" for part in parts))


if __name__ == "__main__":
    main()
