"""How long a run still takes, from what its flows took in an earlier run and in this one.

An estimate for people: `live_view` shows it, and nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ENOUGH = 5
"""So many flows must have ended before their average stands for those that nobody timed."""


class Remaining:
    """Counts what is left of a run of `total` flows, of which `jobs` run at once.

    `known` pairs the path of each flow that was timed before with its seconds; under `--repeat`
    a path occurs several times.
    """

    def __init__(self, known: Sequence[tuple[str, float]], total: int, jobs: int) -> None:
        self._seconds = dict(known)
        self.at_once(jobs)
        self._average = sum(self._seconds.values()) / len(self._seconds) if known else None
        # Mutable: flows that wait, those of them that were timed, and what ended.
        self._waiting = total
        self._known = len(known)
        self._sum = sum(seconds for _, seconds in known)
        self._ended = 0
        self._took = 0.0

    def at_once(self, jobs: int) -> None:
        """So many flows run at once from now on."""
        self._jobs = max(1, jobs)

    def expected(self, path: str) -> float | None:
        """What this flow took in an earlier run, in seconds."""
        return self._seconds.get(path)

    def begun(self, path: str) -> None:
        """A flow no longer waits: it runs, or will not."""
        self._waiting -= 1
        if path in self._seconds:
            self._known -= 1
            self._sum -= self._seconds[path]

    def ended(self, seconds: float) -> None:
        """A flow that ran took so long."""
        self._ended += 1
        self._took += seconds

    def seconds(self, running: Iterable[tuple[str, float]]) -> float | None:
        """Seconds that the run still takes, where these flows run for so long already; None
        where too little is known to say."""
        typical = self._took / self._ended if self._ended >= ENOUGH else self._average
        if typical is None:
            return None
        # A flow that takes longer than it used to leaves the others what they need.
        left = [max(0.0, self._seconds.get(path, typical) - elapsed) for path, elapsed in running]
        flows = self._waiting + len(left)
        if flows <= 0:
            return None
        work = max(0.0, self._sum) + max(0, self._waiting - self._known) * typical + sum(left)
        return max(work / min(self._jobs, flows), *left, 0.0)
