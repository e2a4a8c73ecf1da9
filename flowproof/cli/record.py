"""`flowproof record`: run flows once against the real model and write their traces."""

from __future__ import annotations

from pathlib import Path

import click

from flowproof.cli.options import Output, output_options


@click.command("record")
@click.argument("specs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the trace here instead of beside the spec; for one spec only.",
)
@click.option("--strict", is_flag=True, help="A flow that asserts nothing is an error.")
@output_options
def command(specs: tuple[Path, ...], out: Path | None, strict: bool, output: Output) -> int:
    """Run flows once against the real model; write each trace if everything held.

    The model is named by FLOWPROOF_AGENT_UPSTREAM, else OPENAI_BASE_URL, else, where
    OPENAI_API_KEY is set, the public endpoint. The key comes from FLOWPROOF_AGENT_KEY, else
    OPENAI_API_KEY. A failure leaves the previous trace as it was.
    """
    from flowproof.cli.single import run_single

    return run_single("record", specs, out, strict, output)
