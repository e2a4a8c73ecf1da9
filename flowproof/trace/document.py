"""What a trace holds, as plain frozen data; `file` brings it to disk and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from flowproof.model.flow_spec import Mock
from flowproof.model.jsonvalue import JsonValue, write
from flowproof.model.mcp import Lane
from flowproof.model.traffic import Unserved
from flowproof.model.turn import SideCall, Turn

FORMAT = "flowproof-trace"
VERSION = 1

Pins: TypeAlias = Literal["whole", "legacy"]
"""`whole`: every turn holds its whole request and response. `legacy`: recorded by flowproof
0.23, whose requests hold the model, the messages' text and tool calls, and the tools' names."""


@dataclass(frozen=True, slots=True)
class RecordedMock:
    """A mock as the author had written it when the recording was made, variables unresolved.
    `error` and `schema` belong to tools of MCP servers."""

    results: tuple[JsonValue, ...]
    repeat_last: bool
    error: Mapping[str, JsonValue] | None = None
    schema: Mapping[str, JsonValue] | None = None

    def matches(self, other: RecordedMock) -> bool:
        """Whether both tell the model the same text: the order of keys counts."""
        return self._text() == other._text()

    def _text(self) -> str:
        error, schema = (None if one is None else dict(one) for one in (self.error, self.schema))
        return write([self.repeat_last, list(self.results), error, schema])

    @property
    def answers(self) -> bool:
        """Whether it answers anything; a tool may also be only declared."""
        return bool(self.results) or self.error is not None


def recorded_mocks(mocks: Iterable[Mock]) -> dict[str, RecordedMock]:
    """The mocks of a spec by tool, as a trace keeps them."""
    return {
        mock.tool: RecordedMock(mock.results, mock.repeat_last, mock.error, mock.schema)
        for mock in mocks
    }


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """What crossed the boundary to one MCP server, and the mocks of its tools."""

    lane: Lane
    mocks: Mapping[str, RecordedMock] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """One recording of one flow.

    `recorded` is RFC 3339 in UTC, `spec_file` a file name without folders, `spec_sha256` hex,
    `platform` like `linux-x86_64`. `retries_dropped` counts the transient failures that were
    left out. What a legacy trace does not tell is an empty text. Turns may share parts of their
    requests, so none of it may be changed. `side_calls` stand beside the conversation; each is
    there once. `unserved` are the requests that nobody served, None where the recording does not
    tell. `mcp` are the tool servers by name.
    """

    flowproof: str
    recorded: str
    spec_name: str
    spec_file: str
    spec_sha256: str
    driver: str
    platform: str
    containment: str
    turns: tuple[Turn, ...]
    mocks: Mapping[str, RecordedMock] = field(default_factory=dict)
    retries_dropped: int = 0
    pins: Pins = "whole"
    side_calls: tuple[SideCall, ...] = ()
    unserved: tuple[Unserved, ...] | None = None
    mcp: Mapping[str, RecordedServer] = field(default_factory=dict)
