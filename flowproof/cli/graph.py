"""`flowproof graph`: draw what a spec compiles into."""

from __future__ import annotations

from pathlib import Path

import click

from flowproof.cli.options import put


@click.command("graph")
@click.argument("spec", type=click.Path(path_type=Path, exists=True, dir_okay=False))
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
    help="Which run to draw.",
)
def command(spec: Path, kind: str, phase: str) -> None:
    """Draw the task graph that SPEC compiles into, for record and for replay."""
    from flowproof.flow.compile import compile_flow
    from flowproof.graph import draw
    from flowproof.graph.task import GraphError
    from flowproof.graph.validate import validate
    from flowproof.model.phase import Phase
    from flowproof.spec.flow import load_flow

    flow = load_flow(spec, shown=str(spec))
    render = {
        "text": draw.as_text,
        "mermaid": draw.as_mermaid,
        "dot": draw.as_dot,
        "svg": draw.as_svg,
    }[kind]
    phases: tuple[Phase, ...] = ("record", "replay")
    chosen = [one for one in phases if phase in (one, "both")]
    if kind == "svg" and len(chosen) > 1:
        raise click.UsageError("an SVG file holds one graph: add --phase record or --phase replay")
    for one in chosen:
        graph = compile_flow(flow, one)
        if problems := validate(graph):
            raise GraphError("\n".join(problems))
        drawing = render(graph).rstrip("\n")
        heading = f"{one}:\n" if kind == "text" else ""
        put(f"{heading}{drawing}\n{'' if one is chosen[-1] else chr(10)}")
