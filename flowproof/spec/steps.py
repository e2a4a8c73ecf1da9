"""The steps of a flow: one table of what a step may be, read into the model's steps.

Counterpart: `step_shapes` reads the value of each, `flow_shapes` puts the list into a flow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flowproof.model.flow_spec import (
    AssertNoEgress,
    AssertNoSecretLeak,
    AssertNoToolCall,
    AssertReply,
    AssertToolCall,
    AssertToolCalls,
    Position,
    Prompt,
    Step,
    UserTurn,
)
from flowproof.spec.containers import ListOf
from flowproof.spec.shapes import Schema, Shape
from flowproof.spec.source import Report, choices, listed, nearest, quoted
from flowproof.spec.step_grammar import ReplyPhrase
from flowproof.spec.step_shapes import (
    CALL,
    NO_CALL,
    SECRETS,
    TASK_TEXT,
    TOOL_NAME,
    ReplyProse,
    ToolCallParts,
)
from flowproof.spec.yaml_nodes import (
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    flow_text,
)


@dataclass(frozen=True, slots=True, eq=False)
class StepKind:
    """One kind of step: its key, the shape of its value, and the step they make.

    `bare` makes the step where the key may stand alone. `later`: this version cannot run it.
    """

    key: str
    doc: str
    shape: Shape[Any] | None
    make: Callable[[Any, Position, str], Step]
    bare: bool = False
    later: bool = False


def _call(parts: ToolCallParts, position: Position, source: str) -> Step:
    return AssertToolCall(parts.tool, parts.clauses, position, source, parts.exact, parts.times)


def _reply(phrase: ReplyPhrase, position: Position, source: str) -> Step:
    return AssertReply(phrase.matcher, phrase.value, phrase.negated, position, source)


KINDS = (
    StepKind(
        "prompt",
        "Part of the task. All prompts are joined by newlines and given to the agent at once.",
        TASK_TEXT,
        lambda text, position, source: Prompt(text, position),
    ),
    StepKind(
        "user",
        "One turn of a conversation; an agent must opt in with `conversation`.",
        TASK_TEXT,
        lambda text, position, source: UserTurn(text, position),
        later=True,
    ),
    StepKind(
        "assert_tool_call",
        "The tool was called, after the calls of the earlier steps of this kind.",
        CALL,
        _call,
    ),
    StepKind(
        "assert_tool_calls",
        "Exactly these tools were called, in this order.",
        ListOf(TOOL_NAME, "a list of tool names"),
        AssertToolCalls,
    ),
    StepKind(
        "assert_no_tool_call",
        "No call of the whole trajectory matches.",
        NO_CALL,
        lambda parts, position, source: AssertNoToolCall(
            parts.tool, parts.clauses, position, source
        ),
    ),
    StepKind("assert", "The final reply of the agent.", ReplyProse(), _reply),
    StepKind(
        "assert_no_egress",
        "Nothing undeclared was reached over the network.",
        None,
        lambda _, position, source: AssertNoEgress(position, source),
        bare=True,
        later=True,
    ),
    StepKind(
        "assert_no_secret_leak",
        "None of these secrets stands in anything that was captured; bare, none that the suite "
        "declares.",
        SECRETS,
        lambda names, position, source: AssertNoSecretLeak(names or (), position, source),
        bare=True,
        later=True,
    ),
)
_SHOWN = 10
_BY_KEY = {step.key: step for step in KINDS}
_ACCEPTED = listed((step.key if step.bare else f"{step.key}: …", step.later) for step in KINDS)


class StepShape:
    """One step: a key with its value, or a bare key. Anything else is a problem."""

    def read(self, node: Node, report: Report) -> Step:
        match node:
            case ScalarNode():
                return self._bare(node, report)
            case MappingNode(entries=(entry,)):
                key, value = entry.key, entry.value
            case MappingNode(entries=entries) if entries:
                raise report.refuse(
                    entries[1].key.mark,
                    f"a step has one key, found {choices(e.key.text for e in entries[:_SHOWN])}",
                    accepted="one step for each key, each beginning with `- `",
                )
            case _:
                found = "the step is empty" if isinstance(node, MappingNode) else "found a list"
                raise report.refuse(node.mark, found, accepted=_ACCEPTED)
        if (step := _BY_KEY.get(key.text)) is None:
            raise report.refuse(
                key.mark,
                f"unknown step {quoted(key.text)}",
                accepted=_ACCEPTED,
                suggestion=nearest(key.text, _BY_KEY),
            )
        if step.shape is None:
            raise report.refuse(
                value.mark, f"{quoted(step.key)} takes no value", suggestion=f"- {step.key}"
            )
        source = f"{step.key}: {flow_text(value)}"
        made = step.make(step.shape.read(value, report), report.position(key.mark), source)
        if step.later:
            report.later(step.key, key.mark)
        return made

    def _bare(self, node: ScalarNode, report: Report) -> Step:
        step = _BY_KEY.get(node.text)
        if step is not None and step.bare:
            report.later(step.key, node.mark)
            return step.make(None, report.position(node.mark), step.key)
        if step is not None:
            raise report.refuse(
                node.mark, f"{quoted(step.key)} needs a value", suggestion=f"{step.key}: …"
            )
        if node.empty:
            raise report.refuse(node.mark, "the step is empty", accepted=_ACCEPTED)
        suggestion = nearest(re.split(r"[:\s]", node.text.strip(), maxsplit=1)[0], _BY_KEY)
        if suggestion and not _BY_KEY[suggestion].bare:
            suggestion += ": …"
        raise report.refuse(
            node.mark,
            f"found the plain text {quoted(node.text)}, which is no step",
            accepted=_ACCEPTED,
            suggestion=suggestion,
        )

    def schema(self) -> Schema:
        options: list[Schema] = []
        for step in KINDS:
            if step.bare:
                options.append({"const": step.key, "description": step.doc})
            if step.shape is not None:
                value = {"description": step.doc} | step.shape.schema()
                options.append(
                    {
                        "type": "object",
                        "description": step.doc,
                        "properties": {step.key: value},
                        "required": [step.key],
                        "additionalProperties": False,
                    }
                )
        return {"anyOf": list(options)}


_STEP_LIST: ListOf[Step] = ListOf(StepShape(), "a list of steps", minimum=1)


class Steps:
    """The list of steps: at least one that gives the task, and only one kind of those."""

    def read(self, node: Node, report: Report) -> tuple[Step, ...]:
        steps = _STEP_LIST.read(node, report)
        keys = [entry.key for entry in _entries(node)]
        given = {key.text for key in keys}
        tasks = [key for key in keys if key.text in {"prompt", "user"}]
        if other := next((key for key in tasks if key.text != tasks[0].text), None):
            report.note(
                other.mark,
                "`prompt` and `user` steps cannot be mixed",
                accepted="`prompt` steps (joined into one task), or `user` turns of a conversation",
            )
        meant = {nearest(key, _BY_KEY) for key in given - _BY_KEY.keys()}
        if not tasks and not meant & {"prompt", "user"}:
            report.note(node.mark, "no step gives the agent a task", accepted="a `prompt: …` step")
        return steps

    def schema(self) -> Schema:
        prompt: Schema = {"contains": {"type": "object", "required": ["prompt"]}}
        user: Schema = {"contains": {"type": "object", "required": ["user"]}}
        return _STEP_LIST.schema() | {"oneOf": [prompt, user]}


def _entries(node: Node) -> list[Entry]:
    items = node.items if isinstance(node, SequenceNode) else ()
    mappings = [item.entries[:_SHOWN] for item in items if isinstance(item, MappingNode)]
    return [entry for entries in mappings for entry in entries]
