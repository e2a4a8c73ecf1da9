"""Real Python clients as agents: recorded once, replayed without a model, caught when they change.

Each agent is told nothing but the environment that flowproof gives it.
"""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.e2e.clients.cases import CASES, Case
from tests.e2e.clients.matrix import compare
from tests.e2e.clients.proof import prove, rows
from tests.e2e.project import Project

ROOT = Path(__file__).resolve().parents[3]


def versions(case: Case) -> list[str]:
    """The installed versions of what a case uses, none if something is not installed."""
    try:
        return [version(name) for name in case.client.split(", ")]
    except PackageNotFoundError:
        return []


MISSING = sorted({case.client for case in CASES if not versions(case)})


# Each is four processes or so, of which some import for seconds; on a busy machine longer.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_a_client_is_recorded_replayed_and_caught(project: Project, case: Case) -> None:
    if case.client in MISSING:
        pytest.skip(f"{case.client} is not installed: it is of the extra `clients`")
    module, *arguments = case.agent.split()
    command = [sys.executable, "-m", f"tests.e2e.clients.agents.{module}", *arguments]
    prove(project, case, shlex.join(command), {"PYTHONPATH": str(ROOT)})


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING}")
def test_the_page_says_what_is_tested_with_which_versions() -> None:
    compare("Python", rows(CASES, versions))
