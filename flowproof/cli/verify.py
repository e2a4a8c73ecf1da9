"""`flowproof report verify`: does a reports folder still say what its run said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowproof.cli.options import Output, environment, output_options, put, say

if TYPE_CHECKING:
    from flowproof.report.verify import Verified

_SHOWN = 100
_TOLD = 10_000


@click.command("verify")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--inputs",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Compare the specs, traces and other inputs too: with those in FOLDER, where the run "
    "began.",
)
@output_options
def command(folder: Path, inputs: Path | None, output: Output) -> int:
    """Recompute all that the reports in DIR claim, and name what differs.

    Digests, counts, the chain of the evidence, and each report made again of run.json. The exit
    code is 0 if all agree, 1 if something differs, 2 if DIR cannot be verified.
    """
    from flowproof.report.ci import defused, defused_json, obeys_its_log
    from flowproof.report.verify import verify
    from flowproof.suite.origin import distribution_digest

    found = verify(folder, inputs, distribution=distribution_digest())
    obeys = obeys_its_log(environment())
    if not output.quiet or found.findings:
        text = "\n".join(_lines(found, folder))
        say(defused(text) if obeys else text)
    if output.json:
        text = _json(found, folder)
        put(defused_json(text) if obeys else text)
    return 1 if found.findings else 0


def _lines(found: Verified, folder: Path) -> list[str]:
    from flowproof.files import shortened
    from flowproof.report.text import one_line

    lines = [
        f"{one_line(one.file, 200)} {one_line(one.problem)}" for one in found.findings[:_SHOWN]
    ]
    if len(found.findings) > _SHOWN:
        lines.append(f"… and {len(found.findings) - _SHOWN} more; --json tells all")
    lines += [f"note: {one_line(note)}" for note in found.notes[:_SHOWN]]
    shown = one_line(shortened(str(folder)))
    files = "1 file" if found.files == 1 else f"{found.files} files"
    made = f", made again: {', '.join(found.reports)}" if found.reports else ""
    inputs = f", inputs that are the same: {found.inputs}" if found.inputs else ""
    compared = f"{files} compared{made}{inputs}"
    count = len(found.findings)
    if count:
        things = "1 thing differs" if count == 1 else f"{count} things differ"
        return [*lines, f"{shown}: {things}. {compared}."]
    return [*lines, f"{shown}: all agree. {compared}."]


def _json(found: Verified, folder: Path) -> str:
    from flowproof.model.jsonvalue import write

    value = write(
        {
            "folder": str(folder),
            "agrees": not found.findings,
            "exit_code": 1 if found.findings else 0,
            "files": found.files,
            "reports": [*found.reports],
            "inputs": found.inputs,
            "differences": [
                {"file": one.file, "problem": one.problem} for one in found.findings[:_TOLD]
            ],
            "notes": [*found.notes[:_TOLD]],
        }
    )
    return value + "\n"
