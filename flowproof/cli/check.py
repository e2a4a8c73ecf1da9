"""`flowproof check`: validate specs and suites without running anything."""

from __future__ import annotations

from pathlib import Path

import click

from flowproof.cli.options import Output, environment, output_options, put, say


@click.command("check")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_options
def command(paths: tuple[Path, ...], output: Output) -> int:
    """Validate every flow below PATHS, and the suite.yaml of each."""
    from flowproof.errors import ExitCode, Problem, SpecError
    from flowproof.flow.compile import compile_flow
    from flowproof.flow.job import relative
    from flowproof.model.jsonvalue import JsonValue, write
    from flowproof.report.ci import defused, defused_json, obeys_its_log
    from flowproof.spec.flow import load_flow
    from flowproof.spec.suite import load_suite
    from flowproof.suite.discover import discover, nearest_suite
    from flowproof.suite.order import ordered
    from flowproof.suite.project import require_version

    here = Path.cwd()
    obeys = obeys_its_log(environment())
    specs = discover(paths)
    suites = dict.fromkeys(
        suite for spec in specs if (suite := nearest_suite(spec.parent)) is not None
    )
    problems: list[Problem] = []
    later: list[str] = []
    for suite in suites:
        try:
            shown = relative(suite, here)
            loaded = load_suite(suite, shown=shown)
            require_version(loaded, shown)
            ordered(specs, loaded)
            later += [f"{one.position}: `{one.feature}`" for one in loaded.unsupported]
        except SpecError as error:
            problems += error.problems
    for spec in specs:
        try:
            flow = load_flow(spec, shown=relative(spec, here))
            compile_flow(flow, "replay")
            later += [f"{one.position}: `{one.feature}`" for one in flow.unsupported]
        except SpecError as error:
            problems += error.problems
    if output.json:
        listed: list[JsonValue] = [
            {"file": p.file, "line": p.line, "column": p.column, "message": p.message}
            for p in problems
        ]
        checked: list[JsonValue] = [relative(path, here) for path in (*suites, *specs)]
        text = write({"checked": checked, "problems": listed}) + "\n"
        put(defused_json(text) if obeys else text)
    else:
        for problem in problems:
            say(defused(str(problem)) if obeys else str(problem))
        for place in later:
            said = f"{place} is valid, and this version cannot run it"
            say(defused(said) if obeys else said)
        files = len(specs) + len(suites)
        if not output.quiet or problems:
            found = f"{len(problems) or 'no'} problem{'s' * (len(problems) != 1)}"
            say(f"{files} file{'s' * (files != 1)} checked, {found}")
    if problems:
        return int(ExitCode.AUTHOR_ERROR)
    return int(ExitCode.PASSED if specs else ExitCode.NOTHING_RAN)
