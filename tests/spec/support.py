"""Helpers of the tests of `spec`: a text in, a flow, a suite or its problems out."""

from __future__ import annotations

import textwrap
from pathlib import Path

from flowproof.errors import Problem, SpecError
from flowproof.model.flow_spec import FlowSpec, Step, SuiteSpec
from flowproof.spec.flow import load_flow
from flowproof.spec.suite import load_suite

MINIMAL = """\
name: A flow
agent: {command: python agent.py}
steps:
  - prompt: hello
"""


def flow(folder: Path, text: str) -> FlowSpec:
    """The flow in `text`, which must be valid."""
    file = folder / "a.flow.yaml"
    file.write_bytes(textwrap.dedent(text).encode())
    return load_flow(file, shown="a.flow.yaml")


def flow_problems(folder: Path, text: str | bytes) -> tuple[Problem, ...]:
    """The problems of the flow in `text`; empty for a valid one."""
    file = folder / "a.flow.yaml"
    file.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
    try:
        load_flow(file, shown="a.flow.yaml")
    except SpecError as error:
        return error.problems
    return ()


def messages(folder: Path, text: str) -> list[str]:
    """The problems of a flow as `line:column: message`."""
    return [f"{p.line}:{p.column}: {p.message}" for p in flow_problems(folder, text)]


def step(folder: Path, written: str) -> Step:
    """The step that one line declares, behind a prompt."""
    return flow(folder, f"{MINIMAL}  - {written}\n").steps[1]


def step_messages(folder: Path, written: str) -> list[str]:
    """The problems of a step in one line, as `column: message`; the step begins in column 5."""
    return [m.removeprefix("5:") for m in messages(folder, f"{MINIMAL}  - {written}\n")]


def suite(folder: Path, text: str) -> SuiteSpec:
    """The suite in `text`, which must be valid."""
    file = folder / "suite.yaml"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return load_suite(file, shown="suite.yaml")


def suite_messages(folder: Path, text: str) -> list[str]:
    """The problems of a suite as `line:column: message`."""
    try:
        suite(folder, text)
    except SpecError as error:
        return [f"{p.line}:{p.column}: {p.message}" for p in error.problems]
    return []
