"""Suites on a cluster of two processes, held against the same suite in one process.

`make bench` prints the figure; `python -m tests.benchmarks.cluster` prints it alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.measure import Command, Comparison, compare
from tests.benchmarks.suites import AGENT, Bench

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
    """Compare the suite of `suites.fifty` on a LocalCluster with the same in one process."""
    made = Bench(folder, FLOWPROOF, ENVIRONMENT).suite("flows", flows, AGENT, turns=2)
    (made / "suite.yaml").write_text("name: measured\n", "utf-8")
    command = [*FLOWPROOF, "suite", "run", "-j", "2"]
    local = Command(command, ENVIRONMENT, made)
    return compare(Command([*command, "--engine", "dask"], ENVIRONMENT, made), local, pairs)


if __name__ == "__main__":
    main()
