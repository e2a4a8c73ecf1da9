"""What the cases of a JUnit file are called: no two alike, and none too long.

Dashboards tell cases apart by class name and name, and silently keep one of several that agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.text import clean, shortened

NAME_LIMIT = 250
_FLOW_PART = 120
"""Characters of a flow's name that stand before the name of one of its assertions."""


def suite_name(record: RunRecord) -> str:
    """The name of the suite, never empty: a reader crashes where it is missing."""
    return shortened(clean(record.suite).strip() or "flowproof", NAME_LIMIT)


def suite_classname(record: RunRecord) -> str:
    """The class name of a case that belongs to no folder."""
    return suite_name(record).replace(".", "_")


class CaseNames:
    """Hands out names of cases, each once."""

    def __init__(self) -> None:
        # Mutable: what was handed out, and how often each name was asked for.
        self._taken: set[tuple[str, str]] = set()
        self._asked: Counter[tuple[str, str]] = Counter()

    def unique(self, classname: str, name: str, suffix: str = "") -> str:
        """The name with its suffix, and with a number where that was handed out before."""
        wanted = _with_suffix(name, suffix)
        unique = wanted
        while (classname, unique) in self._taken:
            # Counting goes on where it ended, so that many of one name take no quadratic time.
            self._asked[classname, wanted] += 1
            unique = _with_suffix(name, f"{suffix} ({self._asked[classname, wanted] + 1})")
        self._taken.add((classname, unique))
        return unique


def flow_names(record: RunRecord, names: CaseNames) -> list[tuple[str, str]]:
    """The class name and name of each flow, in order; with its path where its name repeats."""
    wanted = [(_classname(record, flow), _flow_name(flow)) for flow in record.flows]
    repeated = Counter(wanted)
    found = []
    for flow, (classname, name) in zip(record.flows, wanted, strict=True):
        path = f" [{shortened(clean(flow.path), 150)}]" if repeated[classname, name] > 1 else ""
        found.append((classname, names.unique(classname, name, path)))
    return found


def assertion_names(flow: FlowRecord, classname: str, name: str, names: CaseNames) -> Sequence[str]:
    """The names of the assertions of the flow that is called so, such as `flow › assertion`."""
    head = shortened(name, _FLOW_PART)
    said = (" ".join(clean(one.source).split()) or "assertion" for one in flow.assertions)
    return [names.unique(classname, f"{head} › {source}") for source in said]


def case_names(record: RunRecord) -> list[tuple[str, str]]:
    """The class name and name of each flow of a record, in order; no two are alike."""
    return flow_names(record, CaseNames())


def _flow_name(flow: FlowRecord) -> str:
    name = " ".join(clean(flow.name).split())
    return shortened(name or clean(flow.path), NAME_LIMIT)


def _with_suffix(name: str, suffix: str) -> str:
    return shortened(name, NAME_LIMIT - len(suffix)) + suffix


def _classname(record: RunRecord, flow: FlowRecord) -> str:
    folders = clean(flow.path).replace("\\", "/").split("/")[:-1]
    parts = [suite_name(record), *(part for part in folders if part not in ("", ".", ".."))]
    return shortened(".".join(part.replace(".", "_") for part in parts), NAME_LIMIT)
