"""Suites on a cluster of two processes, held against the same suite in one process.

`make bench` prints the figure; `python -m tests.benchmarks.cluster` prints it alone.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.canned import canned_upstream
from tests.benchmarks.measure import Command, Comparison, compare, run

AGENT = Path(__file__).with_name("agent.py")
FLOWPROOF = [sys.executable, "-m", "flowproof"]
# Compiled modules are kept, as on a machine where flowproof is installed.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
FLOWS = 50


def main() -> None:
    with TemporaryDirectory() as folder:
        cluster(Path(folder))


def cluster(folder: Path) -> None:
    """Print the ratio of wall times, start-up and end of the cluster included."""
    found = dask_against_local(folder, FLOWS, pairs=3)
    print(
        f"{FLOWS} flows on two Dask workers {found.ratio:5.2f} × local -j 2          "
        f"{found.extra * 1000:+.0f} ms (aim 1.50)"
    )


def dask_against_local(folder: Path, flows: int, *, pairs: int) -> Comparison:
    """Compare a suite of so many flows on a LocalCluster with the same in one process."""
    suite(folder, flows)
    command = [*FLOWPROOF, "suite", "run", ".", "-j", "2", "--no-reports"]
    local = Command(command, ENVIRONMENT, folder)
    return compare(Command([*command, "--engine", "dask"], ENVIRONMENT, folder), local, pairs)


def suite(folder: Path, flows: int) -> None:
    """Record one flow of two turns, and write it so many times under other names."""
    shutil.copy(AGENT, folder / "agent.py")
    text = (
        f"agent:\n  command: {sys.executable} -S agent.py\n  env: {{TURNS: '2', RESULT: '64'}}\n"
        "steps:\n  - prompt: measure\n  - assert: reply contains done\n"
    )
    (folder / "suite.yaml").write_text("name: measured\n", "utf-8")
    for number in range(flows):
        (folder / f"n{number}.flow.yaml").write_text(f"name: flow {number}\n{text}", "utf-8")
    with canned_upstream(2) as upstream:
        env = {**ENVIRONMENT, "FLOWPROOF_AGENT_UPSTREAM": upstream}
        run(Command([*FLOWPROOF, "record", "n0.flow.yaml"], env, folder))
    for number in range(1, flows):
        shutil.copy(folder / "n0.trace.json", folder / f"n{number}.trace.json")


if __name__ == "__main__":
    main()
