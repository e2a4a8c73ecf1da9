"""Judges the steps about tool calls at one boundary, one step after another.

Counterparts: `matching` decides about one call, `ledgers` knows which boundary a step reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from flowproof.checks import showing
from flowproof.checks.explaining import closest, describe, why_not, why_unknown
from flowproof.checks.matching import Fit, conditions, fit
from flowproof.model.flow_spec import (
    AssertNoToolCall,
    AssertToolCall,
    AssertToolCalls,
    Clause,
    Times,
)
from flowproof.model.outcome import Failed, Outcome, Passed, Unjudged
from flowproof.model.trajectory import PlacedCall, Trajectory

if TYPE_CHECKING:
    from flowproof.model.mcp import Lane


class CallLedger:
    """All calls of a trajectory, or of an MCP server's lane, and which of them the steps judged so
    far account for.

    Ordered steps match the earliest call after the one that the ordered step before them
    matched, which finds an ordered subsequence wherever there is one. A step that fails leaves
    the ledger as it was, so that later steps are judged on their own merit.

    An answer that cannot be read may hold any calls: a step that those could change is not judged.
    """

    def __init__(
        self,
        calls: Iterable[PlacedCall],
        offered: Collection[str],
        unreadable: Sequence[int] = (),
        server: str = "",
    ) -> None:
        self._calls: Sequence[PlacedCall] = tuple(calls)
        self._offered = offered
        self._unreadable = unreadable
        self._server = server
        self._next = 0
        self._in_order: set[int] = set()
        self._listed: set[int] = set()

    @classmethod
    def of_model(cls, trajectory: Trajectory) -> CallLedger:
        """The ledger of what the model asked for."""
        return cls(trajectory.calls(), trajectory.offered_tools(), trajectory.unreadable_turns())

    @classmethod
    def of_lane(cls, lane: Lane) -> CallLedger:
        """The ledger of what was asked of an MCP server."""
        from flowproof.model.mcp_calls import offered, tool_calls

        names = {f"{lane.server}/{name}" for name, _ in offered(lane)}
        return cls(tool_calls(lane), names, server=lane.server)

    def called(self, step: AssertToolCall) -> Outcome:
        """Whether the call was made in its order, or as often as `times` says."""
        if step.times is not None:
            return self._counted(step, step.times)
        clauses = conditions(step)
        for index in range(self._next, len(self._calls)):
            if fit(step.tool, clauses, self._calls[index].call) is Fit.MATCHES:
                self._next = index + 1
                self._in_order.add(index)
                self._listed.add(index)
                return Passed()
        missing = self._not_in_order(step.tool, clauses)
        return self.unless_unreadable(
            missing, f"that a call of {describe(step.tool, clauses)} is missing"
        )

    def called_exactly(self, step: AssertToolCalls) -> Outcome:
        """Whether these tools and no others were called, in this order."""
        made = [placed.call.name for placed in self._calls]
        left = Counter(step.tools)
        for index, tool in enumerate(made):
            if left[tool] > 0:
                left[tool] -= 1
                self._listed.add(index)
        if made == list(step.tools):
            return self.unless_unreadable(Passed(), "that no other tool was called")
        pairs = enumerate(zip_longest(step.tools, made), start=1)
        number, (wanted, actual) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        if wanted is None:
            what = f"call {number} should not be there: {showing.call(self._calls[number - 1])}"
        elif actual is None:
            what = f"call {number} is missing: it should be {showing.name(wanted)}"
        else:
            placed = self._calls[number - 1]
            what = f"call {number} should be {showing.name(wanted)}: {showing.call(placed)}"
        failed = Failed(
            what,
            expected=f"{_number(len(step.tools))}: {_names(step.tools)}",
            closest=f"{_number(len(made))}: {_names(made)}",
        )
        wanted_still = iter(step.tools)
        if all(tool in wanted_still for tool in made):
            return self.unless_unreadable(failed, "that a call is missing")
        return failed

    def not_called(self, step: AssertNoToolCall) -> Outcome:
        """Whether no call of the whole trajectory is one that the step forbids.

        A call of which that cannot be said counts as forbidden: nothing shows that it is not.
        """
        guilty: dict[Fit, list[PlacedCall]] = {Fit.MATCHES: [], Fit.UNKNOWN: [], Fit.DIFFERS: []}
        for placed in self._calls:
            guilty[fit(step.tool, step.clauses, placed.call)].append(placed)
        every = guilty[Fit.MATCHES] + guilty[Fit.UNKNOWN]
        if not every:
            what = f"that no call of {describe(step.tool, step.clauses)} was made"
            return self.unless_unreadable(Passed(), what)
        first, tool = every[0], showing.name(step.tool)
        if guilty[Fit.MATCHES]:
            what = f"{tool} was called {first.where} with {showing.arguments(first)}"
        else:
            what = (
                f"{tool} was called {first.where}; {why_unknown(step.clauses, first)}, so "
                f"it cannot be shown that they differ: {showing.arguments(first)}"
            )
        if len(every) > 1:
            what += f" (and {len(every) - 1} more)"
        wanted = f"no call of {describe(step.tool, step.clauses)}"
        return Failed(what, expected=wanted, closest=showing.call(first))

    def unlisted(self) -> tuple[tuple[int, PlacedCall], ...]:
        """The calls, each with its index, that no step so far accounts for.

        An ordered step accounts for the call it matched, a step with `times` for all calls that
        match, a list of calls for as many calls of each tool as it names.
        """
        pairs = enumerate(self._calls)
        return tuple((index, call) for index, call in pairs if index not in self._listed)

    def _counted(self, step: AssertToolCall, times: Times) -> Outcome:
        clauses = conditions(step)
        fits = [fit(step.tool, clauses, placed.call) for placed in self._calls]
        matching = [index for index, found in enumerate(fits) if found is Fit.MATCHES]
        unknown = fits.count(Fit.UNKNOWN)
        self._listed.update(matching)
        low, high, count = times.minimum, times.maximum, len(matching)
        # Calls that cannot be judged must not decide: it has to hold with and without them.
        if low <= count and (high is None or count + unknown <= high):
            if high is None:
                return Passed()
            wanted = f"that {describe(step.tool, clauses)} was called {_often(times)}"
            return self.unless_unreadable(Passed(), wanted)
        failed = self._miscounted(step, times, fits)
        if count < low:
            wanted = f"that {describe(step.tool, clauses)} was called too rarely"
            return self.unless_unreadable(failed, wanted)
        return failed

    def _miscounted(self, step: AssertToolCall, times: Times, fits: Sequence[Fit]) -> Failed:
        clauses = conditions(step)
        matching = [index for index, found in enumerate(fits) if found is Fit.MATCHES]
        count, unknown = len(matching), fits.count(Fit.UNKNOWN)
        calls = self._named(step.tool)
        if not calls:
            return self._never_called(step.tool, f"{describe(step.tool, clauses)}, {_often(times)}")
        tool, wanted = showing.name(step.tool), f"wanted: {_often(times)}"
        if not count and not unknown:
            near = why_not(clauses, closest(clauses, calls))
            what = f"{tool} was called with other arguments, never with these; {wanted}; {near}"
        else:
            with_these = " with these arguments" if clauses else ""
            was = f"was called {_number(count)}" if count else "was never called"
            what = f"{tool} {was}{with_these}; {wanted}"
        if unknown:
            why = why_unknown(clauses, self._calls[fits.index(Fit.UNKNOWN)])
            what += f"; {unknown} more cannot be judged: {why}"
        nearest = calls if not count else [self._calls[index] for index in matching]
        return Failed(
            what,
            expected=f"{describe(step.tool, clauses)}, {_often(times)}",
            closest=showing.some(map(showing.call, nearest), 3),
        )

    def _not_in_order(self, tool: str, clauses: tuple[Clause, ...]) -> Failed:
        expected = describe(tool, clauses)
        calls = self._named(tool)
        if not calls:
            return self._never_called(tool, expected)
        earlier = [
            index
            for index, placed in enumerate(self._calls[: self._next])
            if fit(tool, clauses, placed.call) is Fit.MATCHES
        ]
        if not earlier:
            near = closest(clauses, calls)
            what = f"{showing.name(tool)} was called with other arguments"
            return Failed(
                f"{what}: {why_not(clauses, near)}", expected=expected, closest=showing.call(near)
            )
        free = [index for index in earlier if index not in self._in_order]
        near = self._calls[(free or earlier)[-1]]
        last = self._calls[self._next - 1]
        if free:
            what = (
                f"{showing.name(tool)} was called, but out of order: {near.where}, before "
                f"{showing.name(last.call.name)} {last.where}, which an earlier step matched"
            )
        else:
            what = (
                f"{showing.name(tool)} was called {_number(len(earlier))}"
                f"{' with these arguments' if clauses else ''}, "
                "and earlier steps already account for that"
            )
        return Failed(what, expected=expected, closest=showing.call(near))

    def _never_called(self, tool: str, expected: str) -> Failed:
        made = [placed.call.name for placed in self._calls]
        what = f"{showing.name(tool)} was never called"
        if made:
            what += f"; called were {_names(made)}"
        elif self._server:
            what += f"; the agent called no tool of {showing.name(self._server)} at all"
        else:
            what += "; the model asked for no tool at all"
        if self._offered and tool not in self._offered:
            by = "the server" if self._server else "no request"
            verb = "lists no" if self._server else "offered a"
            what += f"; {by} {verb} tool of this name"
        near = showing.nearest(tool, {*made, *self._offered})
        if near is not None:
            what += f"; did you mean {showing.name(near)}?"
        return Failed(what, expected=expected, closest=_names(made))

    def unless_unreadable(self, outcome: Passed | Failed, claim: str) -> Outcome:
        """The outcome, which calls in an unreadable answer could change: `claim` says to what."""
        if not self._unreadable:
            return outcome
        reason = f"{showing.unreadable(self._unreadable)}, so it cannot be shown {claim}"
        if isinstance(outcome, Failed):
            reason += f"; as far as can be read, {outcome.message}"
        return Unjudged(reason)

    def _named(self, tool: str) -> list[PlacedCall]:
        return [placed for placed in self._calls if placed.call.name == tool]


def _names(tools: Sequence[str]) -> str:
    return showing.some(map(showing.name, tools)) or "none"


def _number(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _often(times: Times) -> str:
    if times.maximum is None:
        return f"at least {_number(times.minimum)}"
    if times.minimum == times.maximum:
        return _number(times.minimum)
    if not times.minimum:
        return f"at most {_number(times.maximum)}"
    return f"{times.minimum} to {times.maximum} times"
