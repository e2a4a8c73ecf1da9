"""`flowproof schema`: the JSON Schema of what authors write, for editors and other tools."""

from __future__ import annotations

import json

import click

from flowproof.cli.options import put


@click.command("schema")
@click.option(
    "--of",
    "kind",
    type=click.Choice(["flow", "suite"]),
    default="flow",
    show_default=True,
    help="Which file the schema describes.",
)
def command(kind: str) -> None:
    """Print the JSON Schema of a flow or a suite, for editors and other tools.

    It is made of the same declarations that flowproof reads with. What a schema cannot express,
    `flowproof check` tells: the syntax of commands, whether a regular expression can be used and
    tells anything, `min` up to `max`, names that must be unique, and an asserted secret that the
    flow itself gives away.
    """
    from flowproof.spec.schema import flow_schema, suite_schema

    schema = flow_schema() if kind == "flow" else suite_schema()
    put(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
