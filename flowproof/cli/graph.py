"""`flowproof graph`: draw what a spec, or a suite, compiles into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowproof.cli.options import put, say

if TYPE_CHECKING:
    from flowproof.graph.task import Graph


@click.command("graph")
@click.argument("spec", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["text", "mermaid", "dot", "svg"]),
    default="text",
    show_default=True,
    help="svg needs Graphviz's `dot` program.",
)
@click.option(
    "--phase",
    type=click.Choice(["record", "replay", "both"]),
    default="both",
    show_default=True,
    help="Which run of a single flow to draw.",
)
def command(spec: Path, kind: str, phase: str) -> None:
    """Draw the task graph that SPEC compiles into, for record and for replay.

    Of a folder, draw the graph of its suite: flows, what they wait for, and what no two of them
    may use at once.
    """
    if spec.is_dir():
        if phase != "both":
            raise click.UsageError("--phase is for a single flow, and this is a folder")
        put(_render(_of_folder(spec), kind).rstrip("\n") + "\n")
        return
    from flowproof.flow.compile import compile_flow
    from flowproof.graph.task import GraphError
    from flowproof.graph.validate import validate
    from flowproof.model.phase import Phase
    from flowproof.spec.flow import load_flow

    flow = load_flow(spec, shown=str(spec))
    phases: tuple[Phase, ...] = ("record", "replay")
    chosen = [one for one in phases if phase in (one, "both")]
    if kind == "svg" and len(chosen) > 1:
        raise click.UsageError("an SVG file holds one graph: add --phase record or --phase replay")
    for one in chosen:
        graph = compile_flow(flow, one)
        if problems := validate(graph):
            raise GraphError("\n".join(problems))
        drawing = _render(graph, kind).rstrip("\n")
        heading = f"{one}:\n" if kind == "text" else ""
        put(f"{heading}{drawing}\n{'' if one is chosen[-1] else chr(10)}")


def _render(graph: Graph, kind: str) -> str:
    from flowproof.graph import draw

    match kind:
        case "mermaid":
            return draw.as_mermaid(graph)
        case "dot":
            return draw.as_dot(graph)
        case "svg":
            return draw.as_svg(graph)
        case _:
            return draw.as_text(graph)


def _of_folder(folder: Path) -> Graph:
    from flowproof.cli.selecting import Chosen, found_below
    from flowproof.suite.picture import picture
    from flowproof.suite.plan import PlanOptions, plan
    from flowproof.suite.project import JobOptions, Project

    project = Project(Path.cwd(), JobOptions("replay"))
    found = found_below([folder], Chosen(), project)
    for warning in found.warnings:
        say(f"warning: {warning}")
    for below in dict.fromkeys(spec.parent for spec in found.specs):
        project.suite_of(below)  # a run makes errors of its flows; here is nothing to draw
    return picture(plan(found.specs, project, PlanOptions()), project)
