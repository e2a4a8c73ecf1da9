"""`flowproof show`: print the trajectory that a trace holds, and what crossed beside it."""

from __future__ import annotations

from pathlib import Path

import click

from flowproof.cli.options import put


@click.command("show")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print all of it as one JSON object.")
def command(trace: Path, as_json: bool) -> None:
    """Print the trajectory in TRACE: what was said, which tools were called, what came back.

    The calls of MCP servers, and those beside the conversation such as for embeddings, are listed
    after it.
    """
    from flowproof.flow.read_trace import require_spoken
    from flowproof.flow.trajectory import trajectory_of
    from flowproof.model.visible import visible
    from flowproof.report.lane_text import lanes_text
    from flowproof.report.trajectory_text import shown_json, side_calls_text, trajectory_text
    from flowproof.trace.file import read_trace

    found = read_trace(trace, str(trace), "SPEC")
    require_spoken(found)
    trajectory = trajectory_of(found.turns)
    lanes = [server.lane for server in found.mcp.values()]
    if as_json:
        put(shown_json(trajectory, found.side_calls, lanes))
        return
    made = [found.spec_name or trace.name, found.recorded, f"flowproof {found.flowproof}"]
    heading = visible("  ".join(part for part in made if part))
    beside = side_calls_text(found.side_calls), lanes_text(lanes, trajectory)
    put("\n\n".join(filter(None, (heading, trajectory_text(trajectory), *beside))) + "\n")
