"""Help and documentation say what is true: every variable, and everything that is not built."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.flow.providers import FLOWPROOF_UPSTREAMS, PROVIDERS, UPSTREAM_VARIABLE
from flowproof.spec import flow_shapes, suite_shapes
from flowproof.spec.records import Field
from tests.cli.support import Shell

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/spec.md"]
BASES = [name for provider in PROVIDERS.values() for name in provider.base_variables]
PUBLIC = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"]
SHAPES = (*vars(flow_shapes).values(), *suite_shapes.FIELDS)
AGENTS = ["agent.url", "agent.endpoint", "agent.warm", "agent.client"]
NOT_BUILT = sorted({one.later for one in SHAPES if isinstance(one, Field) and one.later}) + AGENTS


def named_in(text: str, variable: str) -> bool:
    """Whether a text names a variable; of flowproof's upstreams the end of the name is enough."""
    if variable in FLOWPROOF_UPSTREAMS and variable != UPSTREAM_VARIABLE:
        return f"_{variable.rpartition('_')[2]}" in text and "FLOWPROOF_UPSTREAM_" in text
    return variable in text


@pytest.mark.parametrize("variable", [*FLOWPROOF_UPSTREAMS, *BASES, *PUBLIC])
def test_every_variable_that_names_an_upstream_is_told(shell: Shell, variable: str) -> None:
    assert named_in(shell("record", "--help").out, variable)
    assert named_in((ROOT / "README.md").read_text("utf-8"), variable)


def test_a_variable_that_is_missing_is_found_to_be_so() -> None:
    assert not named_in("FLOWPROOF_UPSTREAM_OPENAI, _GOOGLE", "FLOWPROOF_UPSTREAM_OLLAMA")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", NOT_BUILT)
def test_what_is_not_built_is_said_not_to_be(page: str, name: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    start = next(at for at in (text.find("## Not built"), text.find("## What is valid")) if at >= 0)
    section = text[start:].split("\n## ")[0]
    assert f"`{name}`" in section or f"`{name}:`" in section
