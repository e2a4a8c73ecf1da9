"""`flowproof run`: replay flows from their traces. A folder means `suite run`."""

from __future__ import annotations

from pathlib import Path

import click

from flowproof.cli.options import Output, output_options


@click.command("run")
@click.argument("specs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Replay this trace instead of the one beside the spec; for one spec only.",
)
@click.option("--strict", is_flag=True, help="A flow that asserts nothing is an error.")
@output_options
def command(specs: tuple[Path, ...], trace: Path | None, strict: bool, output: Output) -> int:
    """Replay flows from their traces. No model is contacted and no key is needed.

    A folder runs every flow below it, as `flowproof suite run` does.
    """
    if any(path.is_dir() for path in specs):
        from flowproof.cli.suite import run_suite

        if trace is not None:
            raise click.UsageError("--trace names the trace of one flow; a folder may hold many")
        return run_suite(specs, strict, output)
    from flowproof.cli.single import run_single

    return run_single("replay", specs, trace, strict, output)
