"""Which flows of a run the graph of its suite shows: those that wait, many of one kind as one.

`dag` draws them. Everything here is linear in the flows and in what they say they wait for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowproof.report.diagram.drawn import Cell, DrawnFlow
from flowproof.report.diagram.layers import TALLEST
from flowproof.report.text import one_line
from flowproof.report.words import Words

_NAMED = 10
_LOCKS = 50


@dataclass(frozen=True, slots=True)
class Group:
    """One box: a flow, or `count` flows that cannot be told apart in the graph. `among` names
    some of several. `needs` and `after` are the ids of other boxes, `home` is the folder of the
    commands around it, None where there are none."""

    id: str
    name: str
    words: Words
    href: str
    count: int
    among: str
    needs: tuple[str, ...]
    after: tuple[str, ...]
    home: str | None


@dataclass(frozen=True, slots=True)
class SharedLock:
    """What several flows use, so that no two of them ran at once. `flows` are their names with
    links, at most ten; `more` counts the others."""

    name: str
    flows: tuple[Cell, ...]
    more: int = 0


def grouped(
    flows: Sequence[DrawnFlow], home: Callable[[str], str | None]
) -> tuple[list[Group], int]:
    """The boxes of the flows that wait, or that commands surround: `home` has their folder by the
    flow's id. And how many flows are left, which wait for nothing and nothing for them."""
    known = {flow.id for flow in flows if flow.id}
    waited: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for flow in flows:
        for firsts, merely in ((flow.needs, False), (flow.after, True)):
            for first in firsts:
                if first != flow.id:
                    waited[first].append((flow.id, merely))
    alike: dict[object, list[DrawnFlow]] = {}
    alone = 0
    for flow in flows:
        needs = known.intersection(flow.needs) - {flow.id}
        after = known.intersection(flow.after) - {flow.id}
        behind, folder = waited.get(flow.id, ()), home(flow.id)
        if flow.id and (needs or after or behind or folder is not None):
            key = (frozenset(needs), frozenset(after), frozenset(behind), folder, flow.words)
            alike.setdefault(key, []).append(flow)
        else:
            alone += 1
    box = {
        flow.id: members[0].id if len(members) > TALLEST else flow.id
        for members in alike.values()
        for flow in members
    }
    found = [one for members in alike.values() for one in _boxes(members, box, home)]
    return found, alone


def _boxes(
    members: Sequence[DrawnFlow], box: Mapping[str, str], home: Callable[[str], str | None]
) -> Iterator[Group]:
    many = len(members) > TALLEST
    for flow in members[:1] if many else members:
        names = ", ".join(one_line(one.name, 60) for one in members[:_NAMED])
        yield Group(
            id=flow.id,
            name=f"{len(members):,} flows" if many else flow.name,
            words=flow.words,
            href="" if many else flow.href,
            count=len(members) if many else 1,
            among=f"; among them {names}" if many else "",
            needs=tuple(dict.fromkeys(box[one] for one in flow.needs if one in box)),
            after=tuple(dict.fromkeys(box[one] for one in flow.after if one in box)),
            home=home(flow.id),
        )


def shared_locks(flows: Iterable[DrawnFlow]) -> tuple[tuple[SharedLock, ...], int]:
    """What two flows or more have to themselves while they run, the most shared first, and how
    many of these are left out."""
    held: dict[str, list[DrawnFlow]] = defaultdict(list)
    for flow in flows:
        for lock in dict.fromkeys(flow.locks):
            held[lock].append(flow)
    shared = sorted(
        ((lock, users) for lock, users in held.items() if len(users) > 1),
        key=lambda one: (-len(one[1]), one[0]),
    )
    listed = tuple(
        SharedLock(
            one_line(lock, 100),
            tuple(Cell(one_line(user.name, 100), user.href) for user in users[:_NAMED]),
            max(0, len(users) - _NAMED),
        )
        for lock, users in shared[:_LOCKS]
    )
    return listed, max(0, len(shared) - _LOCKS)
