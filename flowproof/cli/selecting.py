"""The options that select flows, for the commands of a suite; `suite.selection` applies them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flowproof.errors import UsageError
from flowproof.files import shortened

if TYPE_CHECKING:
    from flowproof.suite.project import Project
    from flowproof.suite.selection import Selection

F = TypeVar("F", bound=Callable[..., Any])

_NAMED = 10
MOST_PATHS = 100
"""How many of the paths that were given are told."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options as they were typed; `shuffle` is empty where no seed was given with it."""

    names: str | None = None
    tags: str | None = None
    last_failed: bool = False
    shard: str | None = None
    durations: Path | None = None
    shuffle: str | None = None

    def typed(self) -> tuple[tuple[str, str], ...]:
        """The options that may leave flows out, by name; of a long one its beginning and end."""
        options = {
            "-k": self.names,
            "--tag": self.tags,
            "--last-failed": "" if self.last_failed else None,
            "--shard": self.shard,
        }
        return tuple(
            (name, shortened(value)) for name, value in options.items() if value is not None
        )


def named(paths: Sequence[Path], here: Path) -> tuple[tuple[str, str], ...]:
    """The paths that were given, as a record tells them beside the options that choose: relative
    to the run's folder, without line numbers, and of very many only the first."""
    from flowproof.flow.job import relative
    from flowproof.suite.selection import without_line

    shown = [relative(without_line(path.absolute()), here) for path in paths]
    told = [("paths", shortened(path)) for path in shown[:MOST_PATHS]]
    more = len(shown) - len(told)
    return (*told, *([("paths", f"and {more:,} more")] if more else []))


@dataclass(frozen=True, slots=True)
class Found:
    """The selected flows, absolute and in order, and the suite that they belong to; `folder` is
    where its state and its run records are kept. `suite_jobs` is what the suite says about how
    many run at once, `one_at_a_time` that it has hooks around each flow, which may not bear two
    of them. `seconds` is how long flows took when the whole suite last ran. `discovered` are all
    flows that the `selection` chose from, and `needed_by` has those that are there only because
    another, the value, needs them. The run is `partial` if a part of the suite is not in it;
    `left_out` says so of all parts that shards divide."""

    specs: tuple[Path, ...]
    suite: str
    folder: Path
    partial: bool
    left_out: bool
    warnings: tuple[str, ...]
    discovered: tuple[Path, ...]
    selection: Selection
    needed_by: Mapping[Path, Path] = field(default_factory=dict)
    suite_jobs: str | None = None
    one_at_a_time: bool = False
    seconds: Mapping[Path, float] = field(default_factory=dict)


def selection_options(function: F) -> F:
    """Add -k, --tag, --last-failed, --shard, --durations-file and --shuffle, passed on as one
    `chosen`."""

    def gathered(
        *args: Any,
        names: str | None,
        tags: str | None,
        last_failed: bool,
        shard: str | None,
        durations_file: Path | None,
        shuffle: str | None,
        **kwargs: Any,
    ) -> Any:
        chosen = Chosen(names, tags, last_failed, shard, durations_file, shuffle)
        return function(*args, chosen=chosen, **kwargs)

    gathered.__name__ = function.__name__
    gathered.__doc__ = function.__doc__
    gathered.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option(
            "--shuffle",
            metavar="[SEED]",
            is_flag=False,
            flag_value="",
            help="Run flows in another order, which the seed decides; it is printed.",
        ),
        click.option(
            "--durations-file",
            metavar="PATH",
            type=click.Path(path_type=Path, dir_okay=False),
            help="What the flows took in an earlier run, to balance shards.",
        ),
        click.option("--shard", metavar="I/N", help="Only the I-th of N parts, such as 2/4."),
        click.option("--last-failed", is_flag=True, help="Only flows that failed when last run."),
        click.option("--tag", "tags", metavar="EXPR", help='By tags, as in "a and not b".'),
        click.option("-k", "names", metavar="EXPR", help='By name or path, as in "a or b".'),
    ):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def found_below(paths: Sequence[Path], chosen: Chosen, project: Project) -> Found:
    """Discover flows below these paths (none: the current folder), and select among them.

    :raises UsageError: if a path or an option cannot be used.
    """
    from flowproof.suite.discover import SUFFIX, discover, nearest_suite
    from flowproof.suite.jobs import one_at_a_time
    from flowproof.suite.needs import needing, with_needed
    from flowproof.suite.order import ordered
    from flowproof.suite.selection import select, why_none, without_line

    seed = None if chosen.shuffle is None else _seed(chosen.shuffle)
    given = [without_line(path.absolute()) for path in paths] or [project.here]
    specs = discover(given)
    top = given[0] if given[0].is_dir() else given[0].parent
    suite = project.usable_suite(top)
    file = nearest_suite(top)
    folder = file.parent if file else top.resolve()
    warnings: list[str] = []
    if not specs:
        warnings.append(f"there is no *{SUFFIX} below {', '.join(map(str, given))}")
    if seed is not None:
        warnings.append(f"the order is shuffled; --shuffle={seed} gives the same again")
    selection = _selection(chosen, seed, folder, specs, project.here)
    chosen_ones = select(specs, selection, project, folder)
    selected = with_needed(chosen_ones, project)
    if specs and not selected:
        why = why_none(specs, selection, project)
        below = _failures_below(specs, folder, project.here) if chosen.last_failed else ""
        warnings.append(f"{why}; {below}" if below else why)
    left_out = _leaves_out(selection, given, specs, folder)
    return Found(
        specs=ordered(selected, suite),
        suite=suite.name if suite else top.name,
        folder=folder,
        partial=left_out or selection.shard is not None,
        left_out=left_out,
        warnings=tuple(warnings),
        discovered=specs,
        selection=selection,
        needed_by=needing(chosen_ones, selected, project),
        suite_jobs=suite.jobs if suite else None,
        one_at_a_time=one_at_a_time(selected, project),
        seconds={} if seed is not None else _timed(selected, folder),
    )


def _seed(given: str) -> str:
    """The seed of a shuffle: a new one where none was given.

    :raises UsageError: for what was meant as a path, which the option before it swallowed.
    """
    if not given:
        return os.urandom(4).hex()
    if "/" in given or given.endswith(".flow.yaml") or _is_there(given):
        shown = shortened(given)
        raise UsageError(
            f"--shuffle {shown}: this is a path and no seed; write --shuffle=SEED and then the "
            "path, or --shuffle behind it"
        )
    return given


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False  # no file can have this name


def _leaves_out(
    selection: Selection, given: Sequence[Path], specs: Sequence[Path], folder: Path
) -> bool:
    """Whether flows of the suite are left out of all parts that shards divide."""
    from flowproof.suite.coverage import covers

    return replace(selection, shard=None).partial or not covers(given, specs, folder)


def _timed(specs: Sequence[Path], folder: Path) -> dict[Path, float]:
    """What is known of how long these flows take; it decides which begins first, no more."""
    from flowproof.suite.durations import FILE, read_durations
    from flowproof.suite.selection import key_of

    try:
        known = read_durations(folder / ".flowproof" / FILE)
    except UsageError:
        return {}
    keys = {spec: key_of(spec, folder) for spec in specs}
    return {spec: known[key] for spec, key in keys.items() if key in known}


def _failed(folder: Path, specs: Sequence[Path], here: Path) -> frozenset[str]:
    from flowproof.suite.last_failed import NoEarlierRun, read_failed

    try:
        return read_failed(folder / ".flowproof")
    except NoEarlierRun as error:
        below = _failures_below(specs, folder, here)
        raise UsageError(f"{error}; {below}" if below else str(error)) from None


def _failures_below(specs: Sequence[Path], folder: Path, here: Path) -> str:
    """Which suites below that of the run know of failures: it was not asked about these."""
    from shlex import quote

    from flowproof.flow.job import relative
    from flowproof.suite.last_failed import failed_below

    found = [
        (shortened(relative(place, here)), count) for place, count in failed_below(specs, folder)
    ]
    if not found:
        return ""
    told = ", ".join(f"{place} ({count})" for place, count in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    command = f"flowproof suite run --last-failed {quote(found[0][0])}"
    return f"failures are known in {told}{more}: {command}"


def _selection(
    chosen: Chosen, seed: str | None, folder: Path, specs: Sequence[Path], here: Path
) -> Selection:
    from flowproof.flow.job import relative
    from flowproof.suite.durations import FILE, read_durations
    from flowproof.suite.expression import parse_expression
    from flowproof.suite.selection import Selection
    from flowproof.suite.sharding import parse_shard

    if chosen.durations is not None and chosen.shard is None:
        raise UsageError("--durations-file is for --shard, which is not given")
    kept = relative(folder / ".flowproof" / FILE, here)
    return Selection(
        names=None if chosen.names is None else parse_expression(chosen.names, "-k"),
        tags=None if chosen.tags is None else parse_expression(chosen.tags, "--tag"),
        failed=_failed(folder, specs, here) if chosen.last_failed else None,
        shard=None if chosen.shard is None else parse_shard(chosen.shard),
        durations=None if chosen.durations is None else read_durations(chosen.durations, kept),
        seed=seed,
    )
