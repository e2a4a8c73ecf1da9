"""The first task of a flow: everything that can go wrong before anything is launched or paid for.

What it returns, `Prepared`, holds resolved values and lives only while the flow runs.
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from flowproof.boundary.mocks import MockedTool
from flowproof.errors import NotBuiltYet, UnsetVariable, UsageError
from flowproof.files import shortened
from flowproof.flow.agent_environment import PLACEHOLDER_KEY, Handles, key_remover
from flowproof.flow.handles import unknown
from flowproof.flow.job import FlowJob
from flowproof.flow.providers import KEY_VARIABLES
from flowproof.model.flow_spec import (
    Agent,
    Assertion,
    AssertNoEgress,
    AssertNoSecretLeak,
    AssertNoToolCall,
    AssertReply,
    AssertToolCall,
    AssertToolCalls,
    Clause,
    FlowSpec,
    Scalar,
)
from flowproof.spec.variables import (
    Lookup,
    references,
    require_set,
    resolve,
    resolve_expected,
    resolve_json,
    tokens,
)
from flowproof.trace.file import may_replace

if TYPE_CHECKING:
    from flowproof.flow.mcp import PreparedServer


@dataclass(frozen=True, slots=True)
class Prepared:
    """A flow with its variables resolved, and no real key in it.

    `env` and `command` are as written: handles are put in at launch, and only then are `${VAR}`
    and escapes resolved, by `resolve`.
    """

    task: str
    assertions: tuple[Assertion, ...]
    mocks: Mapping[str, MockedTool]
    command: str
    cwd: Path
    env: Mapping[str, str]
    inherited: Mapping[str, str]
    resolve: Callable[[str], str]
    warnings: tuple[str, ...]
    servers: Mapping[str, PreparedServer] = field(default_factory=dict)


def resolve_env(job: FlowJob, environ: Mapping[str, str]) -> Prepared:
    """Resolve a flow's variables and check that this version can run it.

    :raises CapabilityError: if the spec declares what this version cannot run.
    :raises UnsetVariable: if a variable has no value.
    :raises UsageError: if the agent's working folder does not exist, a variable leaves an
        assertion with nothing to look for, or a recording could not be written where it belongs
        without replacing something that is no trace.
    """
    _require_capable(job.spec)
    if job.phase == "record":
        _require_writable(job)
    suite_env, absent = suite_values(job.suite_env, environ)
    agent = job.spec.agent
    given = _given_keys(agent)
    known = _lookup(suite_env, environ)
    if job.phase == "replay":
        given |= _of_real_servers(job.spec)
    require_set((use for use in job.spec.variables if use.name not in given), known)
    without_keys = key_remover(environ, suite_env)
    lookup = _keyless(known, without_keys)
    return Prepared(
        task=resolve(job.spec.task, lookup),
        assertions=tuple(_usable(one, lookup) for one in job.spec.assertions),
        mocks={
            mock.tool: MockedTool(
                tuple(resolve_json(result, lookup) for result in mock.results),
                mock.repeat_last,
            )
            for mock in job.spec.mocks
        },
        command=agent.command or "",
        cwd=_working_folder(job, lookup),
        env=agent.env,
        inherited={name: without_keys(value) for name, value in {**environ, **suite_env}.items()},
        resolve=lambda text: resolve(text, lookup),
        warnings=(*absent, *_warnings(job.spec)),
        servers=_servers(job, lookup),
    )


def _servers(job: FlowJob, lookup: Lookup) -> dict[str, PreparedServer]:
    """The MCP servers by name."""
    if not job.spec.mcp:
        return {}
    from flowproof.flow.mcp import prepared_server

    return {server.name: prepared_server(server, job.phase, lookup) for server in job.spec.mcp}


def _require_capable(spec: FlowSpec) -> None:
    if spec.unsupported:
        raise NotBuiltYet([(str(one.position), one.feature) for one in spec.unsupported])


def _require_writable(job: FlowJob) -> None:
    folder, shown = job.trace_path.parent, shortened(job.shown_trace)
    try:
        if not folder.is_dir():
            raise UsageError(f"{shown} cannot be written: its folder does not exist")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{shown} cannot be written: its folder may not be written to")
        replaceable = may_replace(job.trace_path)
    except OSError as error:
        raise UsageError(f"{shown} cannot be written: {error.strerror}") from error
    if not replaceable:
        raise UsageError(
            f"{shown} is there and is no flowproof trace, so it is not replaced; move it away, or "
            "record to another place with --out"
        )


def suite_values(
    declared: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The suite's own variables, and a warning for each that cannot resolve: it is absent, and
    only a flow that refers to it fails."""
    values: dict[str, str] = {}
    absent: list[str] = []
    for name, text in declared.items():
        try:
            values[name] = resolve(text, _lookup(values, environ))
        except UnsetVariable as error:
            unset = ", ".join(f"${{{one}}}" for one, _ in error.missing)
            absent.append(f"the suite's {name} is left out of `env:`, since {unset} is not set")
    return values, absent


def _lookup(first: Mapping[str, str], environ: Mapping[str, str]) -> Lookup:
    return lambda name: first.get(name, environ.get(name))


def _keyless(lookup: Lookup, without_keys: Callable[[str], str]) -> Lookup:
    """A spec may name a provider's key: what comes of it is the placeholder, set or not. The
    agent, the model and every report would see the real one."""

    def value(name: str) -> str | None:
        if name in KEY_VARIABLES:
            return PLACEHOLDER_KEY
        found = lookup(name)
        return None if found is None else without_keys(found)

    return value


def _given_keys(agent: Agent) -> frozenset[str]:
    """The keys that the agent is given as placeholders; no replay needs them to be set."""
    texts = (agent.command or "", *agent.env.values())
    return frozenset(name for text in texts for name in references(text) if name in KEY_VARIABLES)


def _of_real_servers(spec: FlowSpec) -> frozenset[str]:
    """The variables that only real MCP servers are started or reached with: no replay does."""
    texts = [text for one in spec.mcp for text in (one.command, one.url) if text]
    theirs = Counter(token.variable for text in texts for token in tokens(text))
    uses = Counter(use.name for use in spec.variables)
    return frozenset(name for name in uses if theirs[name] == uses[name])


def _working_folder(job: FlowJob, lookup: Lookup) -> Path:
    declared = job.spec.agent.cwd
    if declared is None:
        return job.working_folder
    try:
        folder = (job.spec_path.parent / resolve(declared, lookup)).resolve()
        if folder.is_dir():
            return folder
        why = "is no folder"
    except OSError as error:
        why = f"cannot be used ({error.strerror})"
    except RuntimeError:
        # So Python before 3.13 tells of links that lead to themselves.
        why = "leads through a symbolic link that leads to itself"
    raise UsageError(f"{job.shown_path}: agent.cwd {why}: {shortened(declared)}")


def _usable(assertion: Assertion, lookup: Lookup) -> Assertion:
    """A resolved assertion. One that a variable made useless is told before a model is paid."""
    resolved = _resolved(assertion, lookup)
    if resolved != assertion:
        from flowproof.checks.registry import unusable

        if reason := unusable(resolved):
            raise UsageError(f"{assertion.position}: `{assertion.source}`: {reason}")
    return resolved


def _resolved(assertion: Assertion, lookup: Lookup) -> Assertion:
    match assertion:
        case AssertToolCall():
            exact = assertion.arguments_exact
            return dataclasses.replace(
                assertion,
                clauses=_resolved_clauses(assertion.clauses, lookup),
                arguments_exact=None if exact is None else resolve_expected(exact, lookup),
            )
        case AssertNoToolCall():
            return dataclasses.replace(
                assertion, clauses=_resolved_clauses(assertion.clauses, lookup)
            )
        case AssertReply(value=Scalar(text, quoted)):
            return dataclasses.replace(assertion, value=Scalar(resolve(text, lookup), quoted))
        case AssertToolCalls() | AssertNoEgress() | AssertNoSecretLeak():
            return assertion
        case _:
            assert_never(assertion)


def _resolved_clauses(clauses: tuple[Clause, ...], lookup: Lookup) -> tuple[Clause, ...]:
    return tuple(
        clause
        if clause.value is None
        else dataclasses.replace(clause, value=resolve_expected(clause.value, lookup))
        for clause in clauses
    )


def _warnings(spec: FlowSpec) -> tuple[str, ...]:
    found = []
    claims = any(isinstance(one, AssertNoEgress) for one in spec.assertions)
    if spec.agent.allow_egress and not claims:
        found.append(
            "allow_egress is declared and nothing enforces it here: this version does not "
            "contain the agent, which may reach any destination"
        )
    return (*found, *_unknown_handles(spec))


def _unknown_handles(spec: FlowSpec) -> Iterator[str]:
    known = Handles(
        "",
        {server.name: "" for server in spec.mcp if server.url is not None},
        {server.name: "" for server in spec.mcp if server.command is not None},
    ).values()
    texts = [spec.agent.command or "", *spec.agent.env.values()]
    for name in dict.fromkeys(name for text in texts for name in unknown(text, known)):
        yield (
            f"unknown handle ${{flowproof.{name}}} is passed to the agent as it is; "
            f"known: {', '.join(known)}"
        )
