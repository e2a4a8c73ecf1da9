"""Where a run comes from and what it covers: what a reader a year later asks first.

`run_record` holds one of each; the suite finds them out.
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
    is then the SHA-256 of that difference, and the commit alone does not tell what ran."""

    repository: str
    commit: str
    branch: str
    changed: bool
    changes: str = ""


@dataclass(frozen=True, slots=True)
class Population:
    """How many flows there were and how many of them were to run. `selection` has the options of
    the command line that chose them, by name; empty where nothing was left out.

    `selected` counts each flow once, however often it was to run.
    """

    discovered: int
    selected: int
    selection: tuple[tuple[str, str], ...] = ()

    @property
    def deselected(self) -> int:
        """How many flows the selection left out."""
        return self.discovered - self.selected
