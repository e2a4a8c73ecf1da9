"""What an author declared, as plain frozen data. `spec` produces it, `flow` compiles it.

`${VAR}` references are still unresolved here: the values exist only while a flow runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from flowproof.model.jsonvalue import JsonValue


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value as the author wrote it.

    Unquoted it equals any JSON scalar of the same text (`1` is 1 and "1"); quoted only a string.
    """

    text: str
    quoted: bool


Expected: TypeAlias = "Scalar | tuple[Expected, ...] | Mapping[str, Expected]"
"""A structured value to compare with: scalars, lists and mappings of them."""


class Matcher(StrEnum):
    """How a `where` clause or an entry of `args:` compares."""

    EQUALS = "equals"
    CONTAINS = "contains"
    MATCHES = "matches"
    EXISTS = "exists"
    ABSENT = "is absent"


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition on the arguments of a tool call.

    `path` is empty only for the arguments as a whole. `value` is None for `EXISTS` and `ABSENT`,
    and a `Scalar` for `CONTAINS` and `MATCHES`.
    """

    path: tuple[str, ...]
    matcher: Matcher
    value: Expected | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """How many calls must match: `minimum` to `maximum`, both included; None has no bound."""

    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """Part of the task that the agent is given."""

    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One turn of a conversation."""

    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class AssertToolCall:
    """A tool was called, after the calls that earlier steps of this kind matched.

    With `arguments_exact` the arguments are these and no others. With `times` the step counts
    all matching calls of the trajectory and takes no part in the order. A `tool` of an MCP server
    is named `server/tool`, and `server` with it.
    """

    tool: str
    clauses: tuple[Clause, ...]
    position: Position
    source: str
    arguments_exact: Expected | None = None
    times: Times | None = None
    server: str = ""


@dataclass(frozen=True, slots=True)
class AssertToolCalls:
    """Exactly these tools were called, in this order; all by the model, or all of one MCP
    `server`."""

    tools: tuple[str, ...]
    position: Position
    source: str
    server: str = ""


@dataclass(frozen=True, slots=True)
class AssertNoToolCall:
    """No call of the whole trajectory, or of the lane of an MCP `server`, matches."""

    tool: str
    clauses: tuple[Clause, ...]
    position: Position
    source: str
    server: str = ""


@dataclass(frozen=True, slots=True)
class AssertReply:
    """The final assistant message contains, equals or matches a text, or must not."""

    matcher: Matcher
    value: Scalar
    negated: bool
    position: Position
    source: str


@dataclass(frozen=True, slots=True)
class AssertNoEgress:
    """Nothing undeclared was reached over the network."""

    position: Position
    source: str


@dataclass(frozen=True, slots=True)
class AssertNoSecretLeak:
    """None of these variables' values stands in anything that was captured.

    Empty means every secret that the suite declares.
    """

    variables: tuple[str, ...]
    position: Position
    source: str


Assertion: TypeAlias = (
    AssertToolCall
    | AssertToolCalls
    | AssertNoToolCall
    | AssertReply
    | AssertNoEgress
    | AssertNoSecretLeak
)
Step: TypeAlias = Prompt | UserTurn | Assertion


@dataclass(frozen=True, slots=True)
class Mock:
    """What the model is told a tool returned.

    `results` are given one call after another; after the last one `repeat_last` decides between
    giving it again and failing. A single `result:` is one result with `repeat_last`. No results:
    the tool is only declared. A string is sent as it is, anything else as compact JSON. `error`
    belongs to a tool of an MCP server: its `message`, and the `code` of a JSON-RPC error. So does
    `schema`, the JSON Schema of its arguments, told where the server itself lacks the tool.
    """

    tool: str
    results: tuple[JsonValue, ...]
    repeat_last: bool
    position: Position
    error: Mapping[str, JsonValue] | None = None
    schema: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class McpServer:
    """A tool server behind the Model Context Protocol: stdio (`command`) or HTTP (`url`)."""

    name: str
    command: str | None
    url: str | None
    port: int | None
    tools: tuple[Mock, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class Control:
    """The named property that a flow gives evidence for."""

    id: str
    title: str | None = None
    description: str | None = None
    references: tuple[str, ...] = ()
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """How the agent is started or reached. Exactly one of command, url, endpoint is set.

    `timeout` is in seconds. `cwd` is as written, relative to the spec's folder.
    """

    command: str | None = None
    url: str | None = None
    endpoint: str | None = None
    shell: bool = False
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 300.0
    expect_exit: int = 0
    keep_retries: bool = False
    allow_egress: tuple[str, ...] = ()
    proxy_port: int | None = None

    @property
    def driver(self) -> str:
        """Which driver runs it: `command`, `url` or `endpoint`."""
        if self.command is not None:
            return "command"
        return "url" if self.url is not None else "endpoint"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A declared feature that this version parses and cannot run."""

    feature: str
    position: Position


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A `${VAR}` reference that must resolve before anything is launched."""

    name: str
    position: Position


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """One flow: an agent, what it is told, and what must hold."""

    name: str
    agent: Agent
    steps: tuple[Step, ...]
    position: Position
    sha256: str
    description: str | None = None
    expected_behavior: str | None = None
    tags: tuple[str, ...] = ()
    control: Control | None = None
    skip_unless_env: tuple[str, ...] = ()
    strict: bool = False
    mocks: tuple[Mock, ...] = ()
    mcp: tuple[McpServer, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    variables: tuple[VariableUse, ...] = ()

    @property
    def task(self) -> str:
        """The text handed to the agent: every `prompt` step, joined by newlines."""
        return "\n".join(step.text for step in self.steps if isinstance(step, Prompt))

    @property
    def assertions(self) -> tuple[Assertion, ...]:
        """The steps that judge, in order."""
        return tuple(step for step in self.steps if not isinstance(step, Prompt | UserTurn))


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """What a suite says of one flow.

    `needs` are paths of flows, relative to the suite's folder, and names of services; `timeout`
    is in seconds; `resources` are names of what no two flows use at once.
    """

    needs: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    timeout: float | None = None
    retries: int | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteSpec:
    """What a suite.yaml declares; `folder` is absolute. `flows` are by their path relative to it,
    `retries` is how often a failed flow is tried again. `env_from` and the hooks are commands
    for `sh -c`."""

    name: str
    folder: str
    sha256: str | None = None
    min_version: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    strict: bool = False
    order: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    jobs: str | None = None
    retries: int = 0
    env_from: str | None = None
    before_all: str | None = None
    after_all: str | None = None
    before_each: str | None = None
    after_each: str | None = None
    flows: Mapping[str, FlowSettings] = field(default_factory=dict)
    unsupported: tuple[Unsupported, ...] = ()
