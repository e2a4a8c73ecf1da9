"""JSON Schemas of what authors write, made of the same declarations that the parser reads with."""

from __future__ import annotations

from typing import Any

from flowproof.spec.flow import FLOW
from flowproof.spec.shapes import VALUE_SCHEMA, Schema
from flowproof.spec.suite import SUITE


def flow_schema() -> Schema:
    """The JSON Schema (2020-12) of a `*.flow.yaml`.

    It takes what the parser takes, as far as JSON Schema can say: not whether a regular
    expression or a command can be used, whether `min` is at most `max`, whether names are
    unique, or whether the flow itself gives away a secret that it asserts.
    """
    return _schema("flowproof flow", FLOW.schema())


def suite_schema() -> Schema:
    """The JSON Schema (2020-12) of a suite.yaml."""
    return _schema("flowproof suite", SUITE.schema())


def _schema(title: str, content: Schema) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **content,
        "$defs": {"value": VALUE_SCHEMA},
    }
