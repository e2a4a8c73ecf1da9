"""Judges what the final assistant message of a trajectory says.

Counterpart: `model.trajectory.Trajectory.reply`, which knows which message that is.
"""

from __future__ import annotations

from flowproof.checks import showing
from flowproof.checks.matching import affordable
from flowproof.model.flow_spec import AssertReply, Matcher
from flowproof.model.outcome import Failed, Outcome, Passed, Unjudged
from flowproof.model.trajectory import Trajectory

_VERB = {Matcher.CONTAINS: "contain", Matcher.EQUALS: "equal", Matcher.MATCHES: "match"}


def judge_reply(step: AssertReply, trajectory: Trajectory) -> Outcome:
    """Whether the reply contains, equals or matches a text, or does not.

    Without a reply nothing holds, not even that it does not contain a text. One that cannot be
    read is not judged.

    :raises PatternError: if the pattern of `matches` cannot be used, or not on so long a reply.
    """
    expected = f"a reply that {_verb(step)} {showing.quoted(step.value.text)}"
    reply = trajectory.reply()
    last = trajectory.conversation()[-1:]
    if last and last[0].unreadable:
        found = showing.unreadable([last[0].number])
        return Unjudged(f"the reply is unreadable: {found}, and it is the conversation's last")
    if reply is None:
        return Failed(_no_reply(trajectory), expected=expected)
    if _holds(step, reply) is not step.negated:
        return Passed()
    closest = f"the reply: {showing.quoted(reply)}"
    if step.negated:
        what = f"the reply {_found(step, reply)}"
    elif step.matcher is Matcher.EQUALS:
        what = f"the reply is {showing.contrast(reply, step.value)}"
    else:
        wanted = showing.quoted(step.value.text)
        what = f"the reply does not {_VERB[step.matcher]} {wanted}: it is {showing.quoted(reply)}"
        folded = step.matcher is Matcher.CONTAINS and step.value.text.casefold() in reply.casefold()
        what += "; only upper and lower case differ" if folded else ""
    return Failed(what, expected=expected, closest=closest)


def _holds(step: AssertReply, reply: str) -> bool:
    match step.matcher:
        case Matcher.CONTAINS:
            return step.value.text in reply
        case Matcher.EQUALS:
            return step.value.text == reply
        case Matcher.MATCHES:
            return affordable(step.value.text, [reply]).search(reply)
        case _:
            raise TypeError(f"a reply is not judged by `{step.matcher}`")


def _verb(step: AssertReply) -> str:
    verb = _VERB[step.matcher]
    return f"does not {verb}" if step.negated else f"{verb}{'es' if verb == 'match' else 's'}"


def _found(step: AssertReply, reply: str) -> str:
    """Where the forbidden text stands, for a reply that should not have it."""
    wanted = step.value.text
    match step.matcher:
        case Matcher.CONTAINS:
            at = reply.index(wanted)
            start = max(0, at - showing.LIMIT // 2)
            around = showing.quoted(reply[start : start + showing.LIMIT])
            return f"contains {showing.quoted(wanted)}: {'…' if start else ''}{around}"
        case Matcher.EQUALS:
            return f"equals {showing.quoted(wanted)}"
        case _:
            return f"matches {showing.quoted(wanted)}: it is {showing.quoted(reply)}"


def _no_reply(trajectory: Trajectory) -> str:
    turns = trajectory.conversation()
    if not turns:
        return "the trajectory has no reply: the agent asked the model nothing"
    last = turns[-1]
    if not last.answers:
        return (
            "the trajectory has no reply: "
            f"its last turn, {last.number}, was answered with status {last.status}"
        )
    calls = last.answers[0].asks
    if not calls:
        return f"the trajectory has no reply: its last message, in turn {last.number}, has no text"
    tools = showing.some((showing.name(call.name) for call in calls), 3)
    return f"the trajectory has no reply: it ends in a tool call to {tools} in turn {last.number}"
