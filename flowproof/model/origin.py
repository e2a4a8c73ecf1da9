"""Where a run and its answers come from and what it covers: what a reader a year later asks first.

`run_record` holds them; the suite finds them out, and each flow its recording.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """Who ran it and on what. `trigger` is what started it (`push`, `schedule` …), `ci` the
    service that ran it and `url` its page of the run; all three are empty outside CI. `actor` is
    the CI's, else the user of the operating system. `system` and `kernel` name the operating
    system and its version, `distribution` is the SHA-256 over flowproof's own files."""

    actor: str = ""
    trigger: str = ""
    ci: str = ""
    url: str = ""
    system: str = ""
    kernel: str = ""
    distribution: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The state of the repository that the suite lies in. `repository` is its address without
    credentials, `branch` may be empty. With `changed`, files differed from the commit: `changes`
    is then the SHA-256 of that difference, and the commit alone does not tell what ran. None where
    that is unknown, such as of files that go through a filter of the repository: none is run."""

    repository: str
    commit: str
    branch: str
    changed: bool | None
    changes: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """Where the answers of a flow come from. `recorded` is when its trace was written, RFC 3339
    in UTC, and `flowproof` the version that wrote it; both are empty where no trace tells, such
    as for a recording that was not kept. `models` have the names by which the models called
    themselves in their answers, each once, in order; empty where no answer has one."""

    recorded: str = ""
    flowproof: str = ""
    models: tuple[str, ...] = ()


MOST_LEFT_OUT = 200
"""How many of the flows that were left out are named; the numbers count the others."""


@dataclass(frozen=True, slots=True)
class Population:
    """How many flows there were and how many of them were to run. `selection` has the `paths`
    and options of the command line that chose them, by name; empty where nothing was left out.
    `left_out` are the paths of flows that were not to run, relative to the run's folder and
    sorted, of which there may be more.

    `selected` counts each flow once, however often it was to run.
    """

    discovered: int
    selected: int
    selection: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def deselected(self) -> int:
        """How many flows the selection left out."""
        return self.discovered - self.selected
