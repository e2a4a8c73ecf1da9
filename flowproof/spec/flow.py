"""Loads one `*.flow.yaml` into a `FlowSpec`. Counterpart: `flow.compile` makes a graph of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from flowproof.model.flow_spec import FlowSpec, Position
from flowproof.spec import flow_shapes as keys
from flowproof.spec.cross_checks import check_mocks, check_secrets, check_servers
from flowproof.spec.lane_steps import addressed
from flowproof.spec.reading import read_file
from flowproof.spec.records import Record, Values
from flowproof.spec.source import Report
from flowproof.spec.yaml_nodes import Node

_Flow: TypeAlias = Callable[[Position, str], FlowSpec]


def _flow(values: Values, report: Report) -> _Flow:
    steps, mocks = values.get(keys.STEPS, ()), values.get(keys.TOOLS, ())
    servers = values.get(keys.MCP, ())
    check_mocks(mocks, report)
    check_servers(servers, report)
    check_secrets(steps, mocks, servers, report)
    steps = addressed(steps, servers, mocks, report)
    name, agent = values.need(keys.NAME), values.need(keys.AGENT_FIELD)

    def make(position: Position, sha256: str) -> FlowSpec:
        return FlowSpec(
            name=name,
            agent=agent,
            steps=steps,
            position=position,
            sha256=sha256,
            description=values.get(keys.DESCRIPTION),
            expected_behavior=values.get(keys.EXPECTED),
            tags=values.get(keys.TAGS_FIELD, ()),
            control=values.get(keys.CONTROL),
            skip_unless_env=values.get(keys.SKIP, ()),
            strict=values.get(keys.STRICT, False),
            mocks=mocks,
            mcp=servers,
        )

    return make


FLOW: Record[_Flow] = Record(
    "the flow",
    "A flow of flowproof: an agent, what it is told, and what must hold.",
    (
        keys.NAME,
        keys.DESCRIPTION,
        keys.APP,
        keys.TAGS_FIELD,
        keys.EXPECTED,
        keys.CONTROL,
        keys.SKIP,
        keys.STRICT,
        keys.AGENT_FIELD,
        keys.TOOLS,
        keys.MCP,
        keys.VOLATILE,
        keys.REDACT,
        keys.ALLOW_SENSITIVE,
        keys.FREEZE,
        keys.STEPS,
    ),
    _flow,
)
"""All of a flow file."""


def load_flow(path: Path, *, shown: str) -> FlowSpec:
    """The flow that a file declares; `shown` names the file in positions and messages.

    :raises SpecError: with every problem of the file.
    """
    return read_file(path, shown, FLOW, _finish)


def _finish(flow: _Flow, root: Node, report: Report, sha256: str) -> FlowSpec:
    return replace(
        flow(report.position(root.mark), sha256),
        unsupported=report.found_unsupported,
        variables=report.found_variables,
    )
