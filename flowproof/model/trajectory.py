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

    `arguments` is None and `malformed` true where that text is not JSON. A call is `served` if
    the provider ran the tool itself, so that the result stands in the same answer; where it does
    not tell the arguments, the text is empty.
    """

    id: str | None
    name: str
    text: str
    arguments: JsonValue
    malformed: bool = False
    served: bool = False

    @property
    def fault(self) -> str:
        """What is wrong with malformed arguments, as the end of a sentence about them."""
        return "not told by the provider" if self.served and not self.text else "not JSON"


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

    @property
    def asks(self) -> tuple[ToolCall, ...]:
        """The tool calls that are left to the agent: all but served ones."""
        return tuple(call for call in self.tool_calls if not call.served)


@dataclass(frozen=True, slots=True)
class TurnView:
    """One model request with its answer.

    `number` counts recorded turns from 1. The request repeats the first `kept` messages of the
    turn numbered `base` (None: of no turn) and goes on with `added`; `continues` says that it is
    the same conversation, and not only the same instructions. `request_text` is the
    length in characters of all text in the request. `served` has those of `tools` that the
    provider runs itself. `answers` has one message per choice, and is empty where the answer was
    an error.
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
    served: tuple[str, ...] = ()

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
    """A tool call with the number of the turn in which the model asked for it; or, with a
    `server`, a call of an MCP server's tool with its number in the lane of that."""

    turn: int
    call: ToolCall
    server: str = ""

    @property
    def where(self) -> str:
        """Where it stands, as the end of a phrase."""
        return f"in call {self.turn} to {self.server}" if self.server else f"in turn {self.turn}"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All turns of one run, in the order in which they were recorded.

    `parameters` has the tools whose schemas say which arguments there are, each once.
    """

    turns: tuple[TurnView, ...]
    parameters: tuple[ToolParameters, ...] = ()

    def calls(self) -> Iterator[PlacedCall]:
        """Every tool call that the model asked for, in order.

        A call that the provider only served once the agent had approved it is one call, not two.
        """
        asked: set[tuple[str | None, str, str]] = set()
        for turn in self.turns:
            for answer in turn.answers:
                for call in answer.tool_calls:
                    known_by = (call.id, call.name, call.text)
                    if call.served and call.id is not None and known_by in asked:
                        continue
                    if not call.served:
                        asked.add(known_by)
                    yield PlacedCall(turn.number, call)

    def unreadable_turns(self) -> tuple[int, ...]:
        """The numbers of the turns whose answers may hold calls that nobody can see."""
        return tuple(turn.number for turn in self.turns if turn.unreadable)

    def offered_tools(self) -> frozenset[str]:
        """The names of all tools that any request offered to the model."""
        return frozenset(name for turn in self.turns for name in turn.tools)

    def served_tools(self) -> frozenset[str]:
        """The names of the tools that only the provider ran or would have run."""
        served: set[str] = set()
        left: set[str] = set()
        for turn in self.turns:
            served.update(turn.served)
            left.update(name for name in turn.tools if name not in turn.served)
            for call in (call for answer in turn.answers for call in answer.tool_calls):
                (served if call.served else left).add(call.name)
        return frozenset(served - left)

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

        None where that conversation has not replied: it ends in a tool call that is left to the
        agent, or in an error.
        """
        turns = self.conversation()
        if not turns:
            return None
        answers = turns[-1].answers
        return None if not answers or answers[0].asks else answers[0].text
