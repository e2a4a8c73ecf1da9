"""Figures of suites: what many flows cost beside their agents, in time and in memory.

Agents are real processes, also the trivial ones: `tiny_agent.py` makes one request and ends.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.canned import canned_upstream
from tests.benchmarks.measure import Command, Run, run

TESTS = Path(__file__).parents[1]
AGENT = f"{sys.executable} {TESTS / 'benchmarks/agent.py'}"
TINY = f"{sys.executable} -I -S {TESTS / 'e2e/agents/tiny_agent.py'}"
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Bench:
    """Where suites are made, and how flowproof is run on them."""

    folder: Path
    flowproof: Sequence[str]
    env: Mapping[str, str]

    def suite(self, name: str, flows: int, command: str, *, turns: int = 1) -> Path:
        """A folder of flows of one agent, recorded once."""
        folder = self.folder / name
        folder.mkdir()
        first = folder / "f0.flow.yaml"
        first.write_text(_spec(0, command, turns))
        with canned_upstream(turns) as upstream:
            env = {**self.env, "FLOWPROOF_AGENT_UPSTREAM": upstream}
            run(Command([*self.flowproof, "record", first.name], env, folder))
        for number in range(1, flows):
            spec = folder / f"f{number}.flow.yaml"
            spec.write_text(_spec(number, command, turns))
            shutil.copy(folder / "f0.trace.json", folder / f"f{number}.trace.json")
        return folder

    def run(self, folder: Path, *options: str) -> Run:
        """Run a suite once; every flow must pass."""
        return run(Command([*self.flowproof, "suite", "run", *options], self.env, folder))


def _spec(number: int, command: str, turns: int) -> str:
    return (
        f"name: flow {number}\n"
        f"agent:\n  command: {command}\n  env: {{TURNS: '{turns}', RESULT: '1024'}}\n"
        "steps:\n  - prompt: measure\n  - assert: reply contains done\n"
    )


def suites(folder: Path, flowproof: Sequence[str], env: Mapping[str, str]) -> None:
    """Print all of them."""
    bench = Bench(folder, flowproof, env)
    fifty(bench)
    waiting(bench)
    thousands(bench)
    listing(bench)


def fifty(bench: Bench) -> None:
    folder = bench.suite("fifty", 50, AGENT, turns=2)
    with canned_upstream(2) as upstream:
        own = {"OPENAI_BASE_URL": upstream, "FLOWPROOF_PROMPT": "measure"}
        env = {**bench.env, **own, "TURNS": "2", "RESULT": "1024"}
        bare = Command(AGENT.split(), env, folder)
        bench.run(folder, "-j", "2"), run(bare)
        pairs = [
            (bench.run(folder, "-j", "2"), sum(run(bare).cpu for _ in range(50)))
            for _ in range(ROUNDS)
        ]
    cores = min(2, len(os.sched_getaffinity(0)))
    wall = statistics.median(one.wall / (cpu / cores) for one, cpu in pairs)
    alone = statistics.median(one.cpu / cpu for one, cpu in pairs)
    added = statistics.median((one.cpu - cpu) / 50 for one, cpu in pairs)
    each = statistics.median(cpu / 50 for _, cpu in pairs)
    print(
        f"50 flows, -j 2               {wall:5.2f} × the agents' CPU time / {cores} (aim 1.35)\n"
        f"  all CPU time               {alone:5.2f} × theirs (what remains if nothing waits)\n"
        f"  flowproof adds             {added * 1000:5.0f} ms CPU a flow (aim 40), to an agent "
        f"of {each * 1000:.0f} ms"
    )


def waiting(bench: Bench) -> None:
    folder = bench.suite("waiting", 64, f"sh -c 'sleep 1; exec {TINY}'")
    seconds = statistics.median(bench.run(folder, "-j", "64").wall for _ in range(ROUNDS))
    print(f"64 flows that wait 1 s, -j 64 {seconds:4.2f} s (aim 6)")


def thousands(bench: Bench) -> None:
    few = bench.suite("few", 200, TINY)
    many = bench.suite("many", 2000, TINY)
    for title, options in (("records alone", ["--no-reports"]), ("with all reports", [])):
        small, large = (bench.run(one, "-j", "8", *options) for one in (few, many))
        print(
            f"2,000 flows against 200      {large.peak / small.peak:5.2f} × the memory "
            f"(aim 1.30), {small.peak / 1e6:.0f} and {large.peak / 1e6:.0f} MB, {title}\n"
            f"                             {large.cpu / small.cpu:5.2f} × the CPU time (linear: "
            f"10), {large.wall:.0f} s"
        )


def listing(bench: Bench) -> None:
    top = bench.folder / "listed"
    for number in range(10_000):
        folder = top / f"g{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.flow.yaml").write_text(_spec(number, "agent", 1))
    found = run(Command([*bench.flowproof, "suite", "list"], bench.env, top))
    print(f"suite list of 10,000 specs   {found.wall:5.2f} s (aim 10), {found.cpu:.2f} s CPU")
