"""Compiles a flow into its task graph: the pipeline in graphs/*.yaml, fitted to the spec."""

from __future__ import annotations

from functools import cache

from flowproof.assets import asset
from flowproof.graph.load import GraphTemplate, expand, load_template
from flowproof.graph.task import Graph
from flowproof.model.flow_spec import FlowSpec
from flowproof.model.phase import Phase


def compile_flow(spec: FlowSpec, phase: Phase) -> Graph:
    """The immutable graph of tasks that records or replays a flow."""
    return expand(
        _template(phase), {"mcp": [server.name for server in spec.mcp]}, {spec.agent.driver}
    )


@cache
def _template(phase: Phase) -> GraphTemplate:
    name = f"{phase}.yaml"
    return load_template(asset("graphs", name).read_text("utf-8"), f"graphs/{name}")
