"""`flowproof schema`: the JSON Schema of what authors write and of what a run leaves."""

from __future__ import annotations

import json

import click

from flowproof.cli.options import put


@click.command("schema")
@click.option(
    "--of",
    "kind",
    type=click.Choice(["flow", "suite", "run-record", "evidence"]),
    default="flow",
    show_default=True,
    help="Which file the schema describes.",
)
def command(kind: str) -> None:
    """Print the JSON Schema of a flow, a suite, a run.json or an evidence.json.

    It is made of the same declarations that flowproof reads with. What a schema cannot express,
    `flowproof check` tells: the syntax of commands, whether a regular expression can be used and
    tells anything, `min` up to `max`, names that must be unique, and an asserted secret that the
    flow itself gives away. `flowproof report verify` does the same for what a run left.
    """
    put(json.dumps(_schema(kind), indent=2, ensure_ascii=False) + "\n")


def _schema(kind: str) -> object:
    if kind == "run-record":
        from flowproof.report.record_schema import run_record_schema

        return run_record_schema()
    if kind == "evidence":
        from flowproof.report.evidence_schema import evidence_schema

        return evidence_schema()
    from flowproof.spec.schema import flow_schema, suite_schema

    return flow_schema() if kind == "flow" else suite_schema()
