"""Every change between record and replay fails the flow and is named, with a real SDK agent."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from tests.e2e.project import Project

Place: TypeAlias = list[str | int]

USER_TEXT: Place = ["messages", 1, "content", 0, "text"]
CALL: Place = ["messages", 2, "tool_calls", 0]
FUNCTION: Place = ["tools", 0, "function"]
CITY: Place = [*FUNCTION, "parameters", "properties", "city"]


def edit(at: Place, **how: object) -> dict[str, Any]:
    """A plan that edits every request, or one `turn`, at a place."""
    return {"edits": [{"at": at, **how}]}


def late(at: Place, **how: object) -> dict[str, Any]:
    return edit(at, turn=1, **how)


# The plan, then what the divergence must say: its kind, its path, a part of its text.
CHANGES = {
    "model": (edit(["model"], to="small-2"), "model", "$.model", "small-2"),
    "system text": (
        edit(["messages", 0, "content"], append=" Be kind."),
        "system text",
        "$.messages[0].content",
        "Be kind.",
    ),
    "user text": (
        edit(USER_TEXT, to="How warm is it in Bergen?"),
        "user content part text",
        "$.messages[1].content[0].text",
        "Bergen",
    ),
    "trailing space": (
        edit(["messages", 0, "content"], append=" "),
        "system text",
        "$.messages[0].content",
        "only white space differs",
    ),
    "plain user text in place of parts": (
        edit(["messages", 1, "content"], to="How warm is it in Oslo?"),
        "user text",
        "$.messages[1].content",
        "How warm",
    ),
    "image": (
        edit(["messages", 1, "content", 1, "image_url", "url"], append="AA"),
        "image",
        "$.messages[1].content[1].image_url.url",
        "AA",
    ),
    "tool result": (
        late(["messages", 3, "content"], to="5 degrees"),
        "tool result",
        "$.messages[3].content",
        "5 degrees",
    ),
    "tool description": (
        edit([*FUNCTION, "description"], to="The weather of a town."),
        "tool description",
        "$.tools[0].function.description",
        "town",
    ),
    "parameter schema": (
        edit([*CITY, "type"], to="number"),
        "tool parameter schema",
        "$.tools[0].function.parameters.properties.city.type",
        "number",
    ),
    "description inside a schema": (
        edit([*CITY, "description"], append="!"),
        "tool parameter schema",
        "$.tools[0].function.parameters.properties.city.description",
        "a city!",
    ),
    "tool order": (
        edit(["tools"], reverse=True),
        "tool names or their order",
        "$.tools[0]",
        "get_time",
    ),
    "one tool less": (edit(["tools", 1]), "tool names or their order", "$.tools[1]", "get_time"),
    "tool_choice": (edit(["tool_choice"], to="required"), "tool_choice", "$.tool_choice", "requi"),
    "response_format": (
        edit(["response_format", "type"], to="json_object"),
        "response_format",
        "$.response_format.type",
        "json_object",
    ),
    "temperature": (edit(["temperature"], to=0.25), "temperature", "$.temperature", "0.25"),
    "no temperature": (edit(["temperature"]), "temperature", "$.temperature", "(absent)"),
    "max_tokens": (edit(["max_tokens"], to=65), "max_tokens", "$.max_tokens", "65"),
    "seed": (edit(["seed"], to=8), "seed", "$.seed", "8"),
    "unknown field": (
        edit(["extra_body", "vendor", "beam"], to=5),
        "vendor",
        "$.vendor.beam",
        "5",
    ),
    "new field": (edit(["extra_body", "extra"], to=True), "extra", "$.extra", "true"),
    "call arguments": (
        late([*CALL, "function", "arguments"], to='{"city": "Bergen"}'),
        "tool call arguments",
        "$.messages[2].tool_calls[0].function.arguments.city",
        "Bergen",
    ),
    "argument white space": (
        late([*CALL, "function", "arguments"], to='{"city":"Oslo"}'),
        "tool call arguments",
        "$.messages[2].tool_calls[0].function.arguments",
        '{"city":',
    ),
    "call id": (
        late([*CALL, "id"], to="call_2"),
        "tool call id",
        "$.messages[2].tool_calls[0].id",
        "call_2",
    ),
    "invisible character": (
        edit(["messages", 0, "content"], append="\u200b"),
        "system text",
        "$.messages[0].content",
        "U+200B ZERO WIDTH SPACE",
    ),
}


@pytest.mark.parametrize(("plan", "kind", "path", "text"), CHANGES.values(), ids=list(CHANGES))
def test_a_change_fails_and_is_named(
    recorded: Project, plan: dict[str, Any], kind: str, path: str, text: str
) -> None:
    ran = recorded.replay("weather.flow.yaml", plan=plan)
    assert ran.code == 1
    flow = ran.flow
    assert flow["verdict"] == "fail"
    found = flow["divergence"]
    assert (found["kind"], found["path"]) == (kind, path)
    told = "\n".join([found["message"], *(line["text"] for line in found["excerpt"])])
    assert kind in found["message"]
    assert text in told
    minus, plus = (line["text"] for line in found["excerpt"])
    assert minus != plus
    assert found["message"] in flow["reason"]
    # The SDK is told so at once, and did not try again.
    assert flow["traffic"]["requests"] == found["request"]
    assert found["message"] in flow["agent"]["stderr"]["text"]


def test_one_call_more(recorded: Project) -> None:
    flow = recorded.replay("weather.flow.yaml", plan={"more": 1}).flow
    assert (flow["verdict"], flow["exit_code"]) == ("fail", 1)
    assert flow["divergence"]["kind"] == "extra call"
    assert "model request 3" in flow["reason"]


def test_one_call_fewer(recorded: Project) -> None:
    ran = recorded.replay("weather.flow.yaml", plan={"calls": 1})
    assert (ran.code, ran.flow["verdict"], ran.flow["divergence"]) == (1, "fail", None)
    assert "fewer model calls than recorded: 1 of 2" in ran.flow["reason"]
    assert "turn 2" in ran.flow["reason"]


def test_after_a_divergence_every_call_is_refused_with_it(plainly_recorded: Project) -> None:
    changed = {"do": "ask", "say": "hello", "with": {"temperature": 1}}
    equal = {"do": "ask", "with": {"messages": [{"role": "user", "content": "hello"}]}}
    ran = plainly_recorded.replay("plain.flow.yaml", plan=[changed, equal])
    assert ran.code == 1
    first, second = ran.said()
    assert first["status"] == second["status"] == 400
    assert first["answer"] == second["answer"]
    assert first["answer"]["error"]["code"] == "flowproof_divergence"
    assert "temperature" in first["answer"]["error"]["message"]
    assert ran.flow["traffic"]["served"] == 0
    # The agent itself ended well: only the divergence fails the flow.
    assert (ran.flow["agent"]["status"], ran.flow["verdict"]) == (0, "fail")
    assert ran.flow["divergence"]["request"] == 1
