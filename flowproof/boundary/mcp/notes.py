"""Calls and events while they may still change; `recorded_session` takes them down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from flowproof.boundary.mcp.jsonrpc import Request
from flowproof.boundary.mcp.lanes import progress_token
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.mcp import (
    CallOutcome,
    McpCall,
    McpEvent,
    Result,
    RpcError,
    Unanswered,
    matched_params,
)


@dataclass(slots=True)
class CallNote:
    """A call that may still be answered; fields as in `McpCall`."""

    request: Request
    connection: int
    after: int
    mocked: bool = False
    outcome: CallOutcome = field(default_factory=Unanswered)
    answered: int = 0

    def call(self) -> McpCall:
        """The call as it stands now."""
        return McpCall(
            connection=self.connection,
            id=self.request.id,
            method=self.request.method,
            params=matched_params(self.request.method, self.request.params),
            outcome=self.outcome,
            after=self.after,
            answered=self.answered,
            progress_token=progress_token(self.request.params),
            mocked=self.mocked,
        )


@dataclass(slots=True)
class EventNote:
    """An event that may still be answered; fields as in `McpEvent`."""

    connection: int
    sender: Literal["server", "agent"]
    message: JsonObject
    after: int
    seen: int
    answer: Result | RpcError | None = None
    answer_after: int = 0

    def event(self) -> McpEvent:
        """The event as it stands now."""
        return McpEvent(
            self.connection,
            self.sender,
            self.message,
            self.after,
            self.seen,
            self.answer,
            self.answer_after,
        )
