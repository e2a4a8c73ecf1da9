"""The Responses API, as OpenAI and the servers that imitate it speak it.

Requests and plain answers here; items, events and assembly in the files beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flowproof.dialects import openai_responses_calls as calls
from flowproof.dialects import openai_responses_events as events
from flowproof.dialects import openai_responses_items as items
from flowproof.dialects import openai_responses_kinds as kinds
from flowproof.dialects import openai_responses_tools as tools
from flowproof.dialects import requests
from flowproof.dialects.answers import tokens
from flowproof.dialects.interface import (
    Answer,
    Asked,
    Assembler,
    Envelope,
    EnvelopePart,
    Said,
    Substitution,
)
from flowproof.dialects.mocks import Mocks
from flowproof.dialects.openai import OpenAI, route
from flowproof.dialects.openai_responses_assembly import ResponsesAssembler
from flowproof.dialects.values import list_of, member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall


class OpenAIResponses(OpenAI):
    """The dialect `openai.responses`."""

    name = "openai.responses"
    messages_path = "$.input"
    named = route("/responses")

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace the output of results whose call stands before them or in an earlier answer."""
        changed = list(list_of(pinned.get("input")))
        made: dict[str, ToolCall] = {}
        mocks = Mocks(substitution)
        for position, item in enumerate(changed):
            if not isinstance(item, dict):
                continue
            call = calls.call_of(item)
            if call is not None and call.id is not None and not call.served:
                made[call.id] = call
            call_id = items.answered_call(item)
            if call_id is None or calls.kind_of(item) not in tools.MOCKED:
                continue
            call = made.get(call_id) or earlier.get(call_id)
            tool, arguments = (call.name, call.text) if call else (None, "")
            text = mocks.text(tool, call_id, arguments)
            if text is not None:
                changed[position] = tools.mocked(item, text)
        return (pinned | {"input": changed}, tuple(mocks.tools)) if mocks.tools else (pinned, ())

    def envelope(self, pinned: JsonValue) -> Envelope:
        """Model, tool names, tools, roles, then every other parameter by name.

        Instructions are no part of it: where they changed, that is a change of a text.
        """
        if not isinstance(pinned, dict):
            return Envelope(())
        return requests.envelope(
            pinned,
            requests.tool_names(tools.labels(pinned)),
            "tools",
            EnvelopePart("roles", "$.input", [_role(item) for item in _input(pinned)]),
            apart=("input", "instructions"),
        )

    def part_kind(self, name: str, path: str) -> str:
        """What a reader calls a difference at a JSON path inside one part of the envelope."""
        return kinds.of_part(name, path)

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference in the instructions or the input."""
        return kinds.of_message(pinned, path)

    def said(self, pinned: JsonValue) -> Said:
        """The model, the instructions that open the conversation, the tools on offer, and the
        response whose conversation goes on."""
        if not isinstance(pinned, dict):
            return Said(None, "", ())
        return requests.said(
            pinned,
            requests.opening(self.message_list(pinned), items.role_of, items.message),
            tools.offered(pinned),
            tools.parameters(pinned),
            continues=text_of(pinned.get("previous_response_id")),
        )

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The instructions, then the items of the input; a text for either is one message."""
        if not isinstance(pinned, dict):
            return ()
        given = pinned.get("instructions")
        opening = [*list_of(given)]
        if given is not None and not isinstance(given, list):
            opening.append({"role": "system", "content": given})
        return [*opening, *_input(pinned)]

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One item in neutral words; a call in it is added to `names`."""
        return items.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """All items of a response as one message, and the usage.

        No message where an item cannot be read, where the response failed, or where it is not
        there yet: a background response is told elsewhere.
        """
        if not isinstance(body, dict):
            return Answer((), None)
        output, status, usage = body.get("output"), body.get("status"), body.get("usage")
        message = None
        failed = status == "failed"
        if isinstance(output, list) and not failed and status not in events.PENDING:
            message = items.answer(output)
        return Answer(
            messages=() if message is None else (message,),
            tokens=tokens(member_of(usage, "input_tokens"), member_of(usage, "output_tokens")),
            id=text_of(body.get("id")),
            failed=failed,
        )

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""
        return ResponsesAssembler(asked)

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body."""
        return events.frames(body, asked)


def _input(pinned: JsonObject) -> list[JsonValue]:
    given = pinned.get("input")
    if isinstance(given, list):
        return given
    return [] if given is None else [{"role": "user", "content": given}]


def _role(item: JsonValue) -> JsonValue:
    """Who speaks in an item, or else what it is."""
    if not isinstance(item, dict):
        return None
    role = text_of(item.get("role"))
    return calls.kind_of(item) if role is None else role
