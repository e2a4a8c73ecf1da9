"""What must hold across the parts of a flow and no schema can say.

Counterpart: `flow` calls these once the parts are read, as far as they could be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from flowproof.model.flow_spec import (
    AssertNoSecretLeak,
    McpServer,
    Mock,
    Position,
    Prompt,
    Step,
    UserTurn,
)
from flowproof.model.jsonvalue import JsonValue
from flowproof.spec.source import Mark, Report, quoted
from flowproof.spec.variables import references


def check_mocks(mocks: Sequence[Mock], report: Report) -> None:
    """Note a tool that is declared twice in one list."""
    _once(((mock.tool, mock.position) for mock in mocks), "the tool", report)


def check_servers(servers: Sequence[McpServer], report: Report) -> None:
    """Note servers whose names, or names as variables, are the same, and tools declared twice."""
    _once(((server.name, server.position) for server in servers), "the server", report)
    names: dict[str, str] = {}
    for server in servers:
        check_mocks(server.tools, report)
        first = names.setdefault(server.name.replace("-", "_"), server.name)
        if first != server.name:
            report.note(
                _mark(server.position),
                f"the servers {quoted(first)} and {quoted(server.name)} differ only in `-` and "
                "`_`, and would share one environment variable",
            )


def check_secrets(
    steps: Sequence[Step], mocks: Sequence[Mock], servers: Sequence[McpServer], report: Report
) -> None:
    """Note an asserted secret that the flow itself puts into a prompt or a mock: it would leak."""
    planted: dict[str, str] = {}
    for step in steps:
        if isinstance(step, Prompt | UserTurn):
            for name in references(step.text):
                planted.setdefault(name, f"the task in line {step.position.line}")
    for mock in chain(mocks, *(server.tools for server in servers)):
        for text in _texts([*mock.results, dict(mock.error or {})]):
            for name in references(text):
                where = f"the mock of {quoted(mock.tool)} in line {mock.position.line}"
                planted.setdefault(name, where)
    for step in steps:
        if isinstance(step, AssertNoSecretLeak):
            for name in step.variables:
                if name in planted:
                    report.note(
                        _mark(step.position),
                        f"the secret {quoted(f'${{{name}}}')} cannot be kept from leaking: "
                        f"{planted[name]} holds it",
                    )


def _once(named: Iterable[tuple[str, Position]], what: str, report: Report) -> None:
    seen: dict[str, Position] = {}
    for name, position in named:
        first = seen.setdefault(name, position)
        if first is not position:
            report.note(
                _mark(position),
                f"{what} {quoted(name)} was declared already, in line {first.line}",
            )


def _texts(value: JsonValue) -> Iterable[str]:
    match value:
        case str():
            yield value
        case list():
            yield from chain.from_iterable(map(_texts, value))
        case dict():
            yield from chain.from_iterable(map(_texts, value.values()))
        case _:
            return


def _mark(position: Position) -> Mark:
    return Mark(position.line, position.column)
