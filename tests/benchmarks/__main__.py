"""`make bench`: prints every figure with the aim that it is held against."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.canned import canned_upstream
from tests.benchmarks.cluster import cluster
from tests.benchmarks.mcp import mcp
from tests.benchmarks.measure import Command, compare, run
from tests.benchmarks.pages import pages
from tests.benchmarks.suites import suites

AGENT = Path(__file__).with_name("agent.py")
SDK_AGENT = Path(__file__).with_name("sdk_agent.py")
RESULT = 1024
FLOWPROOF = [sys.executable, "-m", "flowproof"]
# Compiled modules are kept, as on a machine where flowproof is installed.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    with TemporaryDirectory() as folder:
        start_up(Path(folder))
        replay_of_two_turns(Path(folder))
        growth(Path(folder))
        sdk_agent(Path(folder))
        suites(Path(folder), FLOWPROOF, ENVIRONMENT)
        pages(Path(folder), ENVIRONMENT)
        mcp(Path(folder), FLOWPROOF, ENVIRONMENT)
    with TemporaryDirectory() as folder:
        cluster(Path(folder))


def start_up(folder: Path) -> None:
    version = Command([*FLOWPROOF, "--version"], ENVIRONMENT, folder)
    nothing = Command([sys.executable, "-c", "pass"], ENVIRONMENT, folder)
    found = compare(version, nothing, pairs=15)
    print(f"flowproof --version          {found.ratio:5.2f} × python -c pass      (aim 4.00)")


def replay_of_two_turns(folder: Path) -> None:
    with canned_upstream(2) as upstream:
        spec = recorded(folder, 2, upstream)
        found = compare(replay(spec), bare(folder, 2, upstream), pairs=15)
    print(
        f"replay of 2 turns            {found.ratio:5.2f} × the bare agent      "
        f"{found.extra * 1000:+.0f} ms (aim +250 ms)"
    )


def growth(folder: Path) -> None:
    before = 0
    for turns in (50, 100, 200, 400):
        with canned_upstream(turns) as upstream:
            spec = recorded(folder, turns, upstream)
            found = compare(replay(spec), bare(folder, turns, upstream), pairs=5)
        size = spec.with_name(f"turns{turns}.trace.json").stat().st_size
        doubling = f"{size / before:4.2f} ×" if before else "      "
        print(
            f"{turns:3} turns: trace {size / 1e6:5.2f} MB {doubling}   replay {found.ratio:4.2f} × "
            f"the bare agent {found.extra * 1000:+5.0f} ms   peak {found.peak / 1e6:4.0f} MB"
        )
        before = size
    print("  (aims: at most 2.1 × per doubling, 1.5 MB at 200, 150 MB at 400)")


def sdk_agent(folder: Path) -> None:
    with canned_upstream(200) as upstream:
        spec = recorded(folder, 200, upstream, SDK_AGENT)
        found = compare(replay(spec), bare(folder, 200, upstream, SDK_AGENT), pairs=3)
    print(
        f"200 turns on the openai SDK  {found.ratio:5.2f} × the bare agent      "
        f"{found.extra * 1000:+.0f} ms (aim 1.50)"
    )


def recorded(folder: Path, turns: int, upstream: str, agent: Path = AGENT) -> Path:
    spec = folder / f"turns{turns}.flow.yaml"
    spec.write_text(
        f"name: {turns} turns\n"
        f"agent:\n  command: {sys.executable} {agent}\n"
        f"  env: {{TURNS: '{turns}', RESULT: '{RESULT}'}}\n"
        "steps:\n  - prompt: measure\n  - assert: reply contains done\n"
    )
    env = {**ENVIRONMENT, "FLOWPROOF_AGENT_UPSTREAM": upstream}
    run(Command([*FLOWPROOF, "record", str(spec)], env, folder))
    return spec


def replay(spec: Path) -> Command:
    return Command([*FLOWPROOF, "run", str(spec)], ENVIRONMENT, spec.parent)


def bare(folder: Path, turns: int, upstream: str, agent: Path = AGENT) -> Command:
    own = {"OPENAI_BASE_URL": upstream, "OPENAI_API_KEY": "none", "FLOWPROOF_PROMPT": "measure"}
    env = {**ENVIRONMENT, **own, "TURNS": str(turns), "RESULT": str(RESULT)}
    return Command([sys.executable, str(agent)], env, folder)


if __name__ == "__main__":
    main()
