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

    Each provider's requests go to the endpoint that the first of these variables names:

    \b
      FLOWPROOF_UPSTREAM_OPENAI, _ANTHROPIC, _GOOGLE, _OLLAMA or _AZURE
      FLOWPROOF_AGENT_UPSTREAM: a gateway for every provider
      OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL,
      OLLAMA_HOST, AZURE_OPENAI_ENDPOINT or AZURE_API_BASE
      OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or
      GOOGLE_API_KEY: its public endpoint

    The key is FLOWPROOF_AGENT_KEY or the provider's own. One variable is enough for an agent
    that asks one provider. A failure leaves the previous trace as it was.
    """
    from flowproof.cli.single import run_single

    return run_single("record", specs, out, strict, output)
