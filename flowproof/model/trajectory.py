"""The neutral view of what an agent and its model said, whatever dialect they spoke."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from flowproof.model.jsonvalue import JsonValue

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool. `text` holds the arguments as they stood on the wire.

    `arguments` is None and `malformed` true where that text is not JSON.
    """

    id: str | None
    name: str
    text: str
    arguments: JsonValue
    malformed: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    `text` joins the text parts and is None where there is none. `attachments` describe parts
    that are not text. `call_id` and `tool` belong to a tool result.
    """

    role: Role
    text: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    tool: str | None = None
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnView:
    """One model request with its answer.

    `number` counts recorded turns from 1. The request repeats the first `kept` messages of the
    turn numbered `base` (None: of no turn) and goes on with `added`; `continues` says that it is
    the same conversation, and not only the same instructions. `request_text` is the
    length in characters of all text in the request. `answers` has one message per choice, and
    is empty where the answer was an error.
    """

    number: int
    dialect: str
    model: str | None
    system: str
    base: int | None
    kept: int
    added: tuple[Message, ...]
    request_text: int
    tools: tuple[str, ...]
    status: int
    answers: tuple[Message, ...]
    continues: bool = False
    mocked: tuple[str, ...] = ()
    tokens: tuple[int, int] | None = None

    @property
    def unreadable(self) -> bool:
        """Whether the model answered, and what it said or called cannot be told."""
        return 200 <= self.status < 300 and not self.answers


@dataclass(frozen=True, slots=True)
class ToolParameters:
    """The names of all arguments that a tool was offered with."""

    tool: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A tool call with the number of the turn in which the model asked for it."""

    turn: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All turns of one run, in the order in which they were recorded.

    `parameters` has the tools whose schemas say which arguments there are, each once.
    """

    turns: tuple[TurnView, ...]
    parameters: tuple[ToolParameters, ...] = ()

    def calls(self) -> Iterator[PlacedCall]:
        """Every tool call that the model asked for, in order."""
        for turn in self.turns:
            for answer in turn.answers:
                for call in answer.tool_calls:
                    yield PlacedCall(turn.number, call)

    def unreadable_turns(self) -> tuple[int, ...]:
        """The numbers of the turns whose answers may hold calls that nobody can see."""
        return tuple(turn.number for turn in self.turns if turn.unreadable)

    def offered_tools(self) -> frozenset[str]:
        """The names of all tools that any request offered to the model."""
        return frozenset(name for turn in self.turns for name in turn.tools)

    def conversation(self) -> tuple[TurnView, ...]:
        """The turns of the conversation that the flow is about; empty only without turns.

        An agent may also talk to the model about something else, such as a title. Turns of one
        conversation share a system prompt, so the group with the most turns is the one meant,
        then the one with the most request text; the order of arrival never decides.
        """
        groups: dict[str, list[TurnView]] = defaultdict(list)
        for turn in self.turns:
            groups[turn.system].append(turn)
        if not groups:
            return ()
        main = max(
            groups, key=lambda g: (len(groups[g]), sum(t.request_text for t in groups[g]), g)
        )
        return tuple(groups[main])

    def reply(self) -> str | None:
        """The final assistant message of the conversation that the flow is about.

        None where that conversation has not replied: it ends in a tool call or an error.
        """
        turns = self.conversation()
        if not turns:
            return None
        answers = turns[-1].answers
        return None if not answers or answers[0].tool_calls else answers[0].text
