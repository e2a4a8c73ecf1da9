"""Real npm clients as agents: recorded once, replayed without a model, caught when they change.

Each agent is told nothing but the environment that flowproof gives it.
"""

from __future__ import annotations

import shlex

import pytest

from tests.e2e.clients import npm
from tests.e2e.clients.cases import Case
from tests.e2e.clients.matrix import compare
from tests.e2e.clients.npm_cases import CASES
from tests.e2e.clients.proof import prove, rows
from tests.e2e.project import Project

pytestmark = pytest.mark.skipif(npm.missing() is not None, reason=npm.missing() or "")


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_a_client_is_recorded_replayed_and_caught(project: Project, case: Case) -> None:
    node = npm.node()
    assert node is not None
    script, *arguments = case.agent.split()
    prove(project, case, shlex.join([node, str(npm.FOLDER / script), *arguments]))


def test_the_page_says_what_is_tested_with_which_versions() -> None:
    pinned = npm.pinned()
    compare("Node", rows(CASES, lambda case: [pinned[name] for name in case.client.split(", ")]))
