"""A fresh project per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.model import call, calling, model, saying
from tests.e2e.project import OPENAI_AGENT, PLAIN_AGENT, PLAIN_PLAN, Project, flow


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The SDK agent's two turns, recorded once by each worker; the upstream is gone."""
    project = Project(tmp_path_factory.mktemp("recorded"))
    project.write("weather.flow.yaml", flow(OPENAI_AGENT, {"assert": "reply contains 4 degrees"}))
    weather = call("get_weather", '{"city": "Oslo"}')
    with model(calling(weather), saying("It is 4 degrees.")) as upstream:
        assert project.record("weather.flow.yaml", upstream.url).code == 0
    assert len(upstream.received) == 2
    return project


@pytest.fixture(scope="session")
def plainly_recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two turns of the standard-library agent, as `PLAIN_PLAN` says."""
    project = Project(tmp_path_factory.mktemp("plain"))
    project.write("plain.flow.yaml", flow(PLAIN_AGENT, {"assert": "reply equals Good bye."}))
    with model(saying("Hello."), saying("Good bye.")) as upstream:
        assert project.record("plain.flow.yaml", upstream.url, plan=PLAIN_PLAN).code == 0
    return project


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of one turn: `hello`, answered with `Hello.`."""
    project = Project(tmp_path_factory.mktemp("traced"))
    project.write("a.flow.yaml", flow(PLAIN_AGENT, {"assert": "reply contains Hello"}))
    with model(saying("Hello.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=PLAIN_PLAN[:1]).code == 0
    return project.trace("a.flow.yaml")
