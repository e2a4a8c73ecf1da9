"""Every key of a suite.yaml, declared once for the parser and the JSON Schema.

Counterpart: `suite` reads a file with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Any

from flowproof.model.flow_spec import FlowSettings
from flowproof.spec.agent_shapes import CWD, ENV, URL
from flowproof.spec.containers import ListOf, MapOf
from flowproof.spec.flow_shapes import ONE_LINE, TAGS, VARIABLE_NAME, regex_check
from flowproof.spec.records import Field, OneOf, Record, Values
from flowproof.spec.shapes import Duration, Flag, Text, Whole
from flowproof.spec.source import Mark, Report

_COMMAND = Text("a command", variables=True)
_FOR_SHELL = Text("a command")
"""`${…}` in it is the shell's."""
_RETRIES = Whole(0, 100)
_PATH = r"[^\s/\\][^\\]*"
_FLOW_PATH = Text("the path of a flow file, relative to this file", _PATH)


def _nothing(values: Values, report: Report) -> None:
    """The record only has to be valid: what it declares cannot run yet."""


_READY = Record(
    "`ready`",
    "What shows that the service is up.",
    (
        Field("http", URL, "An address that answers with a 2xx status."),
        Field("port", Whole(1, 65535), "A port that accepts connections."),
        Field(
            "log",
            Text("a regular expression", check=regex_check),
            "A regular expression that a line of its output matches.",
        ),
    ),
    _nothing,
    (OneOf(("http", "port", "log")),),
)
_SERVICE = Record(
    "a service",
    "A program that flows need beside the agent.",
    (
        Field("command", _COMMAND, "The command that starts it.", required=True),
        CWD,
        ENV,
        Field("ready", _READY, "What shows that it is up.", required=True),
        Field("timeout", Duration(), "How long it may take to be ready."),
    ),
    _nothing,
)
_NEEDS = Field(
    "needs",
    ListOf(Text("a flow's path or a service's name"), "a list of flows and services"),
    "Flows that must have passed, and services that must be up.",
)
_RESOURCES = Field("resources", ListOf(Text(), "a list of names"), "What no two flows use at once.")
_FLOW_TIMEOUT = Field("timeout", Duration(), "How long the flow may take.")
_FLOW_RETRIES = Field("retries", _RETRIES, "How often a failed flow is tried again.")
_FLOW_TAGS = Field("tags", TAGS, "More tags for this flow.")


@dataclass(frozen=True, slots=True)
class PlacedSettings:
    """The settings of one flow, with where its path and its needs stand."""

    settings: FlowSettings
    mark: Mark
    needs_mark: Mark


def _at_its_path(placed: PlacedSettings, mark: Mark) -> PlacedSettings:
    return replace(placed, mark=mark)


def _flow_settings(values: Values, report: Report) -> PlacedSettings:
    settings = FlowSettings(
        needs=tuple(map(normpath, values.get(_NEEDS, ()))),
        resources=values.get(_RESOURCES, ()),
        timeout=values.get(_FLOW_TIMEOUT),
        retries=values.get(_FLOW_RETRIES),
        tags=values.get(_FLOW_TAGS, ()),
    )
    return PlacedSettings(settings, values.mark, values.mark_of(_NEEDS))


_FLOW_SETTINGS = Record(
    "the settings of a flow",
    "What the suite says about one flow.",
    (_NEEDS, _RESOURCES, _FLOW_TIMEOUT, _FLOW_RETRIES, _FLOW_TAGS),
    _flow_settings,
)

NAME = Field("name", ONE_LINE, "The suite's name. Default: the name of its folder.")
MIN_VERSION = Field(
    "min_version",
    Text('a version: `"0.1"`', r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}"),
    "The oldest flowproof that may run this suite.",
)
SUITE_ENV = Field(
    "env",
    ENV.shape,
    "Variables for every flow. One that cannot be resolved fails only the flows that use it.",
)
ENV_FROM = Field("env_from", _FOR_SHELL, "A command, by `sh -c`, that prints KEY=VALUE lines.")
SECRETS = Field(
    "secrets",
    ListOf(VARIABLE_NAME, "a list of names of variables"),
    "Variables whose values must never be seen.",
    later="secrets",
)
_HOOK = "A command, by `sh -c` in the suite's folder, "
BEFORE_ALL = Field("before_all", _FOR_SHELL, f"{_HOOK}before the first flow.")
AFTER_ALL = Field("after_all", _FOR_SHELL, f"{_HOOK}after the last flow.")
BEFORE_EACH = Field("before_each", _FOR_SHELL, f"{_HOOK}before each flow; FLOWPROOF_SPEC names it.")
AFTER_EACH = Field("after_each", _FOR_SHELL, f"{_HOOK}after each flow; FLOWPROOF_SPEC names it.")
ORDER = Field(
    "order",
    ListOf(_FLOW_PATH, "a list of paths of flow files"),
    "These flows run first, one after another; the rest after them.",
)
JOBS = Field(
    "jobs",
    Text("a number, `auto`, or a percentage: `50%`", r"auto|[1-9][0-9]{0,3}|(?:[1-9][0-9]?|100)%"),
    "How many flows run at once.",
)
TIMEOUT = Field("timeout", Duration(), "How long a flow may take that says nothing itself.")
RETRIES = Field("retries", _RETRIES, "How often a failed flow is tried again.", default=0)
STRICT = Field("strict", Flag(), "Make every flow strict.", default=False)
TAGS_FIELD = Field("tags", TAGS, "Tags for every flow.")
SERVICES = Field(
    "services",
    MapOf(
        _SERVICE,
        "a mapping of names to services",
        key="[A-Za-z0-9][A-Za-z0-9_.-]*",
        key_accepted="letters, digits and `_ . -`",
    ),
    "Programs that flows need.",
    later="services",
)
FLOWS = Field(
    "flows",
    MapOf(
        _FLOW_SETTINGS,
        "a mapping of paths to settings",
        key=_PATH,
        key_accepted="the path of a flow file, relative to this file",
        placed=_at_its_path,
    ),
    "Settings of single flows, by path relative to this file.",
)

FIELDS: tuple[Field[Any], ...] = (
    NAME,
    MIN_VERSION,
    SUITE_ENV,
    ENV_FROM,
    SECRETS,
    BEFORE_ALL,
    AFTER_ALL,
    BEFORE_EACH,
    AFTER_EACH,
    ORDER,
    JOBS,
    TIMEOUT,
    RETRIES,
    STRICT,
    TAGS_FIELD,
    SERVICES,
    FLOWS,
)
"""All keys, in the order in which an editor offers them."""
