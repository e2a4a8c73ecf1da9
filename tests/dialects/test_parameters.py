"""Which arguments a schema says a tool takes, and where it leaves that open."""

from __future__ import annotations

from typing import Any

import pytest

from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.dialects.parameters import parameter_names

CLOSED: dict[str, Any] = {"type": "object", "properties": {"b": {}, "a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        pytest.param(CLOSED, ("b", "a"), id="properties"),
        pytest.param(CLOSED | {"additionalProperties": False}, ("b", "a"), id="no others"),
        pytest.param(CLOSED | {"additionalProperties": True}, (), id="others"),
        pytest.param(CLOSED | {"additionalProperties": {}}, (), id="others of any kind"),
        pytest.param(CLOSED | {"patternProperties": {"^x": {}}}, (), id="others by pattern"),
        pytest.param(CLOSED | {"anyOf": [{"required": ["c"]}]}, (), id="alternatives"),
        pytest.param({"$ref": "#/$defs/x", "properties": {"a": {}}}, (), id="elsewhere"),
        pytest.param({"type": "object", "properties": {}}, (), id="none"),
        pytest.param({"type": "object"}, (), id="nothing said"),
        pytest.param({"properties": ["a"]}, (), id="no object of properties"),
        pytest.param(None, (), id="no schema"),
        pytest.param("x", (), id="no object"),
    ],
)
def test_names_of_arguments(schema: Any, names: tuple[str, ...]) -> None:
    assert parameter_names(schema) == names


def test_a_chat_request_tells_the_arguments_of_its_functions() -> None:
    def function(name: str, schema: Any) -> dict[str, Any]:
        return {"type": "function", "function": {"name": name, "parameters": schema}}

    said = OpenAIChat().said(
        {
            "tools": [
                function("wipe", CLOSED),
                function("open", {"type": "object"}),
                function("twice", CLOSED),
                function("twice", {"properties": {"c": {}}}),
                function("mixed", CLOSED),
                function("mixed", None),
                {"type": "custom", "custom": {"name": "shell"}},
                "x",
            ],
            "functions": [{"name": "old", "parameters": {"properties": {"q": {}}}}],
        }
    )
    assert said.parameters == {"wipe": ("b", "a"), "twice": ("b", "a", "c"), "old": ("q",)}
