"""The commands of suites around their flows, as the graph of a suite shows them: which flows they
surround and what they wait for. `dag` draws them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from flowproof.model.run_record import TaskRecord
from flowproof.report.diagram.drawn import DrawnFlow
from flowproof.report.diagram.groups import Group
from flowproof.report.diagram.layout import Edge

_DEEPEST = 50
"""Folders of a path that are looked at."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands before all flows and after them. `folders` has those of each suite by its
    folder, `homes` the folder of each flow that the record names, `told` the folders of these."""

    first: tuple[TaskRecord, ...]
    last: tuple[TaskRecord, ...]
    folders: Mapping[str, tuple[Sequence[TaskRecord], Sequence[TaskRecord]]]
    homes: Mapping[str, str]
    told: frozenset[str]

    def home(self, flow: str) -> str | None:
        """The folder of the suite whose commands surround the flow of this id, if any."""
        if flow in self.homes or not self.folders:
            return self.homes.get(flow)
        folder = flow
        for _ in range(_DEEPEST):
            folder = folder.rpartition("/")[0] or "."
            if folder in self.folders:
                return None if folder in self.told else folder
            if folder == ".":
                break
        return None

    def edges(self, groups: Iterable[Group]) -> Iterator[Edge]:
        """What waits: the commands of a suite for each other, its flows for those before them,
        and those after them for its flows, however these ended."""
        for first, last in self.folders.values():
            for one, then in (*pairwise(first), *pairwise(last)):
                yield Edge(one.id, then.id)
        for group in groups:
            if group.home is not None:
                first, last = self.folders[group.home]
                for one in first[-1:]:
                    yield Edge(one.id, group.id)
                for then in last[:1]:
                    yield Edge(group.id, then.id, "after")


def around(flows: Iterable[DrawnFlow], tasks: Sequence[TaskRecord]) -> Commands:
    """The commands that `tasks` of a run are: `before_all smoke` is that of the suite in the
    folder `smoke`, and `before_all` alone that of the run's own. Those after all flows may say
    which flows these are; otherwise it is those in the folder."""
    known = {flow.id for flow in flows} if tasks else set()
    first: list[TaskRecord] = []
    last: list[TaskRecord] = []
    folders: dict[str, tuple[list[TaskRecord], list[TaskRecord]]] = {}
    homes: dict[str, str] = {}
    for folder, task in _told_apart(tasks):
        after = task.id.startswith("after")
        (last if after else first).append(task)
        folders.setdefault(folder, ([], []))[after].append(task)
        homes |= {need: folder for need in task.needs if need in known}
    return Commands(tuple(first), tuple(last), folders, homes, frozenset(homes.values()))


def _told_apart(tasks: Iterable[TaskRecord]) -> Iterator[tuple[str, TaskRecord]]:
    """Tasks with the folder of their suite: in shards that were merged, each had its own."""
    seen: Counter[str] = Counter()
    for task in tasks:
        seen[task.id] += 1
        again = f" ({seen[task.id]})" if seen[task.id] > 1 else ""
        folder = task.id.partition(" ")[2] or "."
        yield folder + again, replace(task, id=task.id + again) if again else task
