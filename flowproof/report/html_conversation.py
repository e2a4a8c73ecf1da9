"""The trajectory as conversations: what was said turn by turn, each tool call with its result.

`html_pairs` finds the results; the macros of `report/conversation.html.j2` lay out what is made
here. A terminal shows the same by `trajectory_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flowproof.model.mcp_record import McpRecord
from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView
from flowproof.report.html_body import Body, Room
from flowproof.report.html_mcp import DoneShown, done_at
from flowproof.report.html_pairs import Place, Result, paired, sent_back
from flowproof.report.text import shortened

MOST_TURNS = 2_000
"""Turns of a page."""
_NAME = 200
"""Characters of a name: tools, models and ids may be called anything."""


@dataclass(frozen=True, slots=True)
class ResultShown:
    """What a tool returned, as the request of turn `turn` told the model. `by` names the tool or
    the call where the result stands alone; a `mocked` one is of the flow's author."""

    body: Body | None
    by: str
    turn: int
    mocked: bool
    attachments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallShown:
    """A tool call with its result, where there is one. `problem` says what is wrong with its
    arguments, if anything; `served` calls were run by the provider, and `done` is the call of an
    MCP server that it led to."""

    name: str
    id: str
    arguments: Body
    problem: str
    served: bool
    result: ResultShown | None
    done: DoneShown | None = None


@dataclass(frozen=True, slots=True)
class MessageShown:
    """One message. `label` names who speaks, `note` what is special about it. A tool result whose
    call is not on the page has `result` in place of a body."""

    role: str
    label: str
    note: str = ""
    body: Body | None = None
    calls: tuple[CallShown, ...] = ()
    attachments: tuple[str, ...] = ()
    result: ResultShown | None = None


@dataclass(frozen=True, slots=True)
class TurnShown:
    """One turn: `facts` of its request, then what that added and what was answered.

    `anchor` is unique in the page, or empty. `problem` says that the answer is none. `results_of`
    numbers the turns to whose calls the request told the results, `spoken` the assertions that
    speak of this turn. `left_out` messages had no room.
    """

    number: int
    anchor: str
    facts: tuple[str, ...]
    tokens: str
    problem: str
    results_of: tuple[int, ...]
    spoken: tuple[int, ...]
    messages: tuple[MessageShown, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class TalkShown:
    """One conversation: turns that continue each other. `main` is the one that the flow is about,
    where there are others."""

    number: int
    main: bool
    turns: tuple[TurnShown, ...]


@dataclass(frozen=True, slots=True)
class TalksShown:
    """All conversations of a flow; `summary` counts turns and tokens, `left_out` turns had no
    room."""

    talks: tuple[TalkShown, ...]
    summary: str
    left_out: int


def talks_shown(
    trajectory: Trajectory,
    room: Room,
    spoken: Mapping[int, Sequence[int]],
    lanes: Sequence[McpRecord] = (),
) -> TalksShown:
    """The view of a trajectory; `spoken` has for numbers of turns those of the assertions that
    speak of them. `lanes` have what its calls led to at MCP servers."""
    shown = trajectory.turns[:MOST_TURNS]
    pairs = paired(shown)
    main = {turn.number for turn in trajectory.conversation()}
    groups = list(_conversations(shown))
    known = {turn.number: turn for turn in shown}
    maker = _Talk(pairs, known, room, spoken, done_at(trajectory, lanes))
    talks: list[TalkShown] = []
    for number, turns in enumerate(groups, 1):
        about = len(groups) > 1 and turns[0].number in main
        talks.append(TalkShown(number, about, tuple(maker.turns(turns))))
    return TalksShown(tuple(talks), _summary(trajectory), len(trajectory.turns) - len(shown))


def _conversations(turns: Iterable[TurnView]) -> Iterator[list[TurnView]]:
    """Turns grouped by the conversation that they continue, in the order of their beginnings."""
    group_of: dict[int, list[TurnView]] = {}
    groups: list[list[TurnView]] = []
    for turn in turns:
        group = group_of.get(turn.base) if turn.base is not None and turn.continues else None
        if group is None:
            group = []
            groups.append(group)
        group.append(turn)
        group_of[turn.number] = group
    return iter(groups)


def _summary(trajectory: Trajectory) -> str:
    turns = len(trajectory.turns)
    told = [turn.tokens for turn in trajectory.turns if turn.tokens is not None]
    text = "1 turn" if turns == 1 else f"{turns:,} turns"
    if not told:
        return text
    some = "" if len(told) == turns else f", as {len(told):,} of them tell"
    return f"{text}, {_tokens(sum(one for one, _ in told), sum(two for _, two in told))}{some}"


def _tokens(asked: int, answered: int) -> str:
    return f"{asked:,} tokens in, {answered:,} out"


@dataclass(frozen=True, slots=True)
class _Talk:
    pairs: Mapping[Place, Result]
    known: Mapping[int, TurnView]
    room: Room
    spoken: Mapping[int, Sequence[int]]
    done: Mapping[Place, DoneShown]
    anchors: set[str] = field(default_factory=set)

    def turns(self, turns: Sequence[TurnView]) -> Iterator[TurnShown]:
        before: TurnView | None = None
        for turn in turns:
            base = None if turn.base is None else self.known.get(turn.base)
            messages, left_out, results_of = self._messages(turn, base)
            anchor = f"turn-{turn.number}"
            yield TurnShown(
                turn.number,
                "" if anchor in self.anchors else anchor,
                tuple(_facts(turn, before)),
                "" if turn.tokens is None else _tokens(*turn.tokens),
                _problem(turn),
                results_of,
                tuple(self.spoken.get(turn.number, ())),
                messages,
                left_out,
            )
            self.anchors.add(anchor)
            before = turn

    def _messages(
        self, turn: TurnView, base: TurnView | None
    ) -> tuple[tuple[MessageShown, ...], int, tuple[int, ...]]:
        shown: list[MessageShown] = []
        left_out = 0
        elsewhere: dict[int, None] = {}
        told = any(message.role == "system" for message in turn.added)
        if turn.system and not told and (base is None or base.system != turn.system):
            shown.append(MessageShown("system", "System", body=self.room.prose(turn.system)))
        for at, message, note in _said_in(turn, base):
            place = Place(turn.number, at)
            if message.role == "tool" and (pair := self.pairs.get(place)) is not None:
                if pair.call.turn != turn.number:
                    elsewhere[pair.call.turn] = None
            elif self.room.takes(1 + 2 * len(message.tool_calls) + len(message.attachments)):
                shown.append(self._message(message, note, place, turn))
            else:
                left_out += 1
        return tuple(shown), left_out, tuple(elsewhere)

    def _message(self, message: Message, note: str, place: Place, turn: TurnView) -> MessageShown:
        if message.role == "tool":
            result = self._result(Result(place, place, message, message.tool in turn.mocked))
            return MessageShown("tool", "Tool result", note, result=result)
        return MessageShown(
            role=message.role,
            label=_LABELS[message.role],
            note=note,
            body=self.room.prose(message.text) if message.text else None,
            calls=tuple(
                self._call(call, Place(place.turn, place.message, at))
                for at, call in enumerate(message.tool_calls)
            ),
            attachments=_short(message.attachments),
        )

    def _call(self, call: ToolCall, place: Place) -> CallShown:
        result = self.pairs.get(place)
        return CallShown(
            name=shortened(call.name, _NAME),
            id=shortened(call.id or "", _NAME),
            arguments=self.room.data(call.text)
            if call.malformed
            else self.room.json(call.arguments, call.text),
            problem=f"these arguments are {call.fault}" if call.malformed else "",
            served=call.served,
            result=None if result is None else self._result(result),
            done=self.done.get(place),
        )

    def _result(self, result: Result) -> ResultShown:
        message = result.message
        return ResultShown(
            body=self.room.data(message.text) if message.text else None,
            by=shortened(message.tool or message.call_id or "", _NAME),
            turn=result.told.turn,
            mocked=result.mocked,
            attachments=_short(message.attachments),
        )


def _said_in(turn: TurnView, base: TurnView | None) -> Iterator[tuple[int, Message, str]]:
    """What a turn adds and what was answered: each with its place among them and a note."""
    repeated = sent_back(turn, base)
    for at, message in enumerate(turn.added):
        if at not in repeated:
            yield at, message, "sent by the agent" if message.role == "assistant" else ""
    for at, answer in enumerate(turn.answers):
        note = f"choice {at + 1} of {len(turn.answers)}" if len(turn.answers) > 1 else ""
        yield len(turn.added) + at, answer, note


def _short(attachments: Iterable[str]) -> tuple[str, ...]:
    return tuple(shortened(one, 2 * _NAME) for one in attachments)


def _facts(turn: TurnView, before: TurnView | None) -> Iterator[str]:
    yield shortened(turn.dialect, _NAME)
    if turn.model:
        yield shortened(turn.model, _NAME)
    if turn.base is not None and not turn.continues:
        yield f"has the instructions of turn {turn.base}"
    elif turn.base is not None and before is not None and before.number != turn.base:
        yield f"continues turn {turn.base}"
    if turn.tools and (before is None or before.tools != turn.tools):
        yield f"{len(turn.tools):,} tools offered" if len(turn.tools) > 1 else "1 tool offered"
    if turn.status != 200 and turn.answers:
        yield f"answered with status {turn.status}"


def _problem(turn: TurnView) -> str:
    if turn.unreadable:
        return "The answer cannot be read."
    return "" if turn.answers else f"The model’s API answered with status {turn.status}."


_LABELS: Mapping[str, str] = {"system": "System", "user": "User", "assistant": "Assistant"}
