"""The keys of `agent:`, that is how the program under test is started or reached.

Counterpart: `flow_shapes` puts them into a flow, the drivers act on `model.flow_spec.Agent`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flowproof.model.flow_spec import Agent
from flowproof.spec import variables
from flowproof.spec.containers import ByKind, ListOf, MapOf
from flowproof.spec.records import Apart, Field, Needs, OneOf, Record, RecordPlace, Values
from flowproof.spec.shapes import (
    Choice,
    Duration,
    Flag,
    Json,
    Schema,
    Text,
    Whole,
    text_schema,
    whole,
)
from flowproof.spec.shell_words import Fault, Means, shell_faults
from flowproof.spec.source import Mark, Report
from flowproof.spec.yaml_nodes import ScalarNode

URL = Text("an address that begins with http:// or https://", r"(?:https?://|\$\{)\S+", True)


def check_command(node: ScalarNode, report: Report, hint: Callable[[Fault], str]) -> None:
    """Note what in a command only a shell would understand; `hint` says what to do about it."""
    for fault in shell_faults(node.text):
        mark = report.point(node, fault.offset, fault.length)
        message = f"{fault.message}, and no shell runs this command" if fault.shell else ""
        report.note(mark, message or fault.message, accepted=hint(fault) if fault.shell else "")


class ShellReferences:
    """With `shell: true` a `${` in the command is the shell's; else it must be a reference."""

    def check(self, keys: Mapping[str, Mark], record: RecordPlace, report: Report) -> None:
        """Nothing yet: `_agent` looks at the command once the value of `shell` is known."""

    def schema(self) -> Schema:
        shell: Schema = {"description": SHELL.doc, "const": True}
        command = {"description": COMMAND.doc} | text_schema(whole(variables.WELL_FORMED))
        return {
            "anyOf": [
                {"properties": {"shell": shell}, "required": ["shell"]},
                {"properties": {"command": command}},
            ]
        }


COMMAND = Field(
    "command",
    Text("a command"),
    "The command that starts the agent. It is split into words as a POSIX shell splits them; no "
    "shell runs it unless `shell` is true, and then `${VAR}` in it is the shell's.",
)
SHELL = Field("shell", Flag(), "Run the command by `sh -c`.", default=False)
CWD = Field(
    "cwd",
    Text("a folder", variables=True),
    "The folder to start in, relative to this file. Default: the folder of the nearest "
    "suite.yaml, else the current directory.",
)
ENV = Field(
    "env",
    MapOf(
        Text("a text", variables=True, blank=True),
        "a mapping of names to values",
        key=variables.NAME,
        key_accepted="letters, digits and `_`",
    ),
    "Environment variables, set last. `${flowproof.proxy_url}` and the other handles are replaced.",
)
EXPECT_EXIT = Field("expect_exit", Whole(0, 255), "The exit status that passes.", default=0)
WARM = Field(
    "warm",
    ByKind(
        "`true`, `false`, or a mapping with `preload`",
        scalar=Flag(),
        mapping=Record(
            "`warm`",
            "Start from an interpreter that has modules loaded already.",
            (
                Field(
                    "preload",
                    ByKind(
                        "a list of modules, or `auto`",
                        scalar=Choice(("auto",)),
                        sequence=ListOf(Text(), "a list of modules"),
                    ),
                    "The modules to load.",
                    required=True,
                ),
            ),
            lambda values, report: True,
        ),
    ),
    "Start from a warm interpreter.",
    default=False,
    later="agent.warm",
)
ENDPOINT_URL = Field(
    "endpoint", URL, "An agent that answers with its own trajectory.", later="agent.endpoint"
)
SERVICE_URL = Field(
    "url", URL, "A running service, sent the task by a POST request.", later="agent.url"
)
PROXY_PORT = Field(
    "proxy_port",
    Whole(1, 65535),
    "The port at which the service finds the model.",
    later="agent.proxy_port",
)
METHOD = Field(
    "method",
    Choice(("POST", "PUT", "PATCH")),
    "The method of the request to `url`.",
    default="POST",
    later="agent.method",
)
BODY = Field("body", Json(), "The body of the request to `url`.", later="agent.body")
VERSION = Field(
    "version",
    Text(variables=True),
    "What tells one deployment of the endpoint from another.",
    later="agent.version",
)
FIXTURE = Field(
    "fixture",
    Text("a path", variables=True),
    "A recorded answer of the endpoint.",
    later="agent.fixture",
)
HEADERS = Field(
    "headers",
    MapOf(
        Text("a text in one line", r"[^\r\n]*", variables=True, blank=True),
        "a mapping of header names to values",
        key="[A-Za-z0-9!#$%&'*+.^_|~-]+",
        key_accepted="letters, digits and `-`",
    ),
    "Headers of the request. Never stored.",
    later="agent.headers",
)
TIMEOUT = Field("timeout", Duration(), "How long the agent may take.", default=300)
KEEP_RETRIES = Field(
    "keep_retries", Flag(), "Record transient failures that were retried, too.", default=False
)
ALLOW_EGRESS = Field(
    "allow_egress",
    ListOf(
        Text(
            "host:port, ip:port, cidr:port, or a bare host or ip; no scheme and no path",
            r"(?!.*://)[^\s@]+",
            variables=True,
        ),
        "a list of destinations",
    ),
    "Destinations that the agent may reach; `assert_no_egress` makes it a claim.",
)
CLIENT = Field(
    "client",
    Text("the name of a preset", "[a-z0-9][a-z0-9-]*"),
    "A preset for a known client, such as `claude-code`.",
    later="agent.client",
)
CONVERSATION = Field(
    "conversation",
    ByKind(
        "`stdin`, or a mapping with `id_field`",
        scalar=Choice(("stdin",)),
        mapping=Record(
            "`conversation`",
            "A conversation with a service.",
            (Field("id_field", Text(), "The field that holds the id.", required=True),),
            lambda values, report: None,
        ),
    ),
    "How the agent takes the `user` turns of a conversation.",
    later="agent.conversation",
)

_ONLY_PROCESS = "it is about a process that flowproof starts"


def _hint(fault: Fault) -> str:
    match fault.means:
        case Means.VARIABLE:
            return f"set `{fault.name}` in `agent.env`, or set `shell: true`"
        case Means.FOLDER:
            return "use `agent.cwd`, a folder relative to this file, or set `shell: true`"
        case _:
            return "set `shell: true`, or quote it"


def _agent(values: Values, report: Report) -> Agent:
    # A `shell` that cannot be read is a problem of its own, and says nothing about the command.
    node, shell = values.node_of(COMMAND), values.get(SHELL, values.has(SHELL))
    if isinstance(node, ScalarNode) and not shell:
        report.use_variables(node)
        check_command(node, report, _hint)
    return Agent(
        command=values.get(COMMAND),
        url=values.get(SERVICE_URL),
        endpoint=values.get(ENDPOINT_URL),
        shell=shell,
        cwd=values.get(CWD),
        env=values.get(ENV) or {},
        headers=values.get(HEADERS) or {},
        timeout=values.get(TIMEOUT, 300.0),
        expect_exit=values.get(EXPECT_EXIT, 0),
        keep_retries=values.get(KEEP_RETRIES, False),
        allow_egress=values.get(ALLOW_EGRESS, ()),
        proxy_port=values.get(PROXY_PORT),
    )


AGENT = Record(
    "`agent`",
    "The program under test.",
    (
        COMMAND,
        SERVICE_URL,
        ENDPOINT_URL,
        SHELL,
        CWD,
        ENV,
        HEADERS,
        TIMEOUT,
        EXPECT_EXIT,
        KEEP_RETRIES,
        ALLOW_EGRESS,
        PROXY_PORT,
        METHOD,
        BODY,
        VERSION,
        FIXTURE,
        CLIENT,
        CONVERSATION,
        WARM,
    ),
    _agent,
    (
        ShellReferences(),
        OneOf(("command", "url", "endpoint")),
        Needs("url", "proxy_port", "the service must find the model at a port known beforehand"),
        Needs("proxy_port", "url", "a command finds the model through its environment"),
        Needs("method", "url"),
        Needs("body", "url"),
        Needs("version", "endpoint"),
        Needs("fixture", "endpoint"),
        Apart("command", "headers", "a command is sent no request"),
        *(
            Needs(key, "command", _ONLY_PROCESS)
            for key in ("shell", "cwd", "env", "expect_exit", "warm")
        ),
    ),
)
