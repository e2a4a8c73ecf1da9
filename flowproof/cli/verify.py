"""`flowproof report verify`: does a reports folder still say what its run said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowproof.cli.options import Output, environment, output_options, put, say
from flowproof.errors import ExitCode

if TYPE_CHECKING:
    from flowproof.report.verify import Verified
    from flowproof.report.verify_files import Unchecked

_SHOWN = 100
_TOLD = 10_000
_NAMED = 10


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
    code is 0 if all agree, 1 if something differs, 4 if nothing does but not all could be checked,
    2 if DIR cannot be verified.
    """
    from flowproof.report.ci import defused, defused_json, obeys_its_log
    from flowproof.report.verify import verify
    from flowproof.suite.inputs import top_of
    from flowproof.suite.origin import distribution_digest

    # A lock file, say, may lie above the folder of the suite.
    within = None if inputs is None else top_of(inputs.absolute())
    found = verify(folder, inputs, within=within, distribution=distribution_digest())
    obeys = obeys_its_log(environment())
    code = _exit_code(found)
    if not output.quiet or code:
        text = "\n".join(_lines(found, folder))
        say(defused(text) if obeys else text)
    if output.json:
        text = _json(found, folder, code)
        put(defused_json(text) if obeys else text)
    return int(code)


def _exit_code(found: Verified) -> ExitCode:
    if found.findings:
        return ExitCode.FLOW_FAILED
    return ExitCode.WORLD_ERROR if found.unchecked else ExitCode.PASSED


def _lines(found: Verified, folder: Path) -> list[str]:
    from flowproof.files import shortened
    from flowproof.report.text import one_line

    lines = [
        f"{one_line(one.file, 200)} {one_line(one.problem)}" for one in found.findings[:_SHOWN]
    ]
    if len(found.findings) > _SHOWN:
        lines.append(f"… and {len(found.findings) - _SHOWN} more; --json tells all")
    lines += [f"NOT checked: {_unchecked(one)}" for one in found.unchecked]
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
    if found.unchecked:
        left = len({name for one in found.unchecked for name in one.files})
        could = "1 file could not be checked" if left == 1 else f"{left} files could not be checked"
        why = "; ".join(dict.fromkeys(one_line(one.why) for one in found.unchecked))
        return [*lines, f"{shown}: nothing differs, but {could}: {why}. {compared}."]
    return [*lines, f"{shown}: all agree. {compared}."]


def _unchecked(one: Unchecked) -> str:
    from flowproof.report.text import one_line

    names = ", ".join(one_line(name, 200) for name in one.files[:_NAMED])
    more = len(one.files) - _NAMED
    return f"{names}{f' and {more} more' if more > 0 else ''}: {one_line(one.why)}"


def _json(found: Verified, folder: Path, code: ExitCode) -> str:
    from flowproof.model.jsonvalue import write

    value = write(
        {
            "folder": str(folder),
            "agrees": not code,
            "complete": not found.unchecked,
            "exit_code": int(code),
            "files": found.files,
            "reports": [*found.reports],
            "inputs": found.inputs,
            "differences": [
                {"file": one.file, "problem": one.problem} for one in found.findings[:_TOLD]
            ],
            "not_checked": [
                {"files": [*one.files[:_TOLD]], "why": one.why} for one in found.unchecked
            ],
            "notes": [*found.notes[:_TOLD]],
        }
    )
    return value + "\n"
