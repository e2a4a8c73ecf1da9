"""A booking assistant on the OpenAI SDK: the agent under test.

Nothing in it knows flowproof. The SDK reads OPENAI_BASE_URL and OPENAI_API_KEY, and the task
comes from FLOWPROOF_PROMPT or, run by hand, from the command line.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import Any

from openai import OpenAI

MODEL = "gpt-5-mini"
MAX_TURNS = 8
SYSTEM = (
    "You are the booking assistant of Savanna Air. "
    "Search before you book, and look a booking up before you refund it. "
    "Tell the customer the reference of what you booked."
)


def tool(name: str, description: str, **parameters: dict[str, Any]) -> dict[str, Any]:
    """A tool as the model sees it; every parameter is required."""
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


TEXT = {"type": "string"}
TOOLS = [
    tool(
        "search_flights",
        "Find flights between two airports on one day.",
        origin=TEXT,
        destination=TEXT,
        date={"type": "string", "format": "date"},
    ),
    tool(
        "create_booking",
        "Book one seat on a flight.",
        flight={"type": "object", "properties": {"id": TEXT}, "required": ["id"]},
        passenger={"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    ),
    tool("lookup_booking", "Price and fare conditions of a booking.", reference=TEXT),
    tool(
        "issue_refund",
        "Pay money back to the customer.",
        reference=TEXT,
        amount={"type": "number"},
    ),
]


class Desk:
    """The airline's side: runs tools, and decides which of them the model may still use."""

    def __init__(self) -> None:
        self.bookings = {"SA-1041": {"flight": "KQ310", "price": 420, "refundable": False}}
        self.ruled_out: set[str] = set()

    def tools(self) -> list[dict[str, Any]]:
        """The tools to offer in the next request."""
        return [one for one in TOOLS if one["function"]["name"] not in self.ruled_out]

    def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run a tool that is offered now; anything else is refused, whoever asked for it."""
        if name not in {one["function"]["name"] for one in self.tools()}:
            return {"error": f"{name} is not available"}
        result: dict[str, Any] = getattr(self, name)(**arguments)
        return result

    def search_flights(self, origin: str, destination: str, date: str) -> dict[str, Any]:
        flights = [{"id": "KQ311", "from": origin, "to": destination, "date": date, "price": 640}]
        # A price is good for a moment only. This makes each result differ from the one before.
        return {"flights": flights, "quoted_at": datetime.now(UTC).isoformat()}

    def create_booking(self, flight: dict[str, Any], passenger: dict[str, Any]) -> dict[str, Any]:
        reference = f"SA-{1041 + len(self.bookings)}"
        self.bookings[reference] = {"flight": flight["id"], "price": 640, "refundable": True}
        return {"reference": reference, "flight": flight["id"], "passenger": passenger["name"]}

    def lookup_booking(self, reference: str) -> dict[str, Any]:
        booking = self.bookings.get(reference)
        if booking is None:
            return {"error": f"there is no booking {reference}"}
        if not booking["refundable"]:
            self.ruled_out.add("issue_refund")
        return {"reference": reference, **booking}

    def issue_refund(self, reference: str, amount: float) -> dict[str, Any]:
        if not self.bookings.get(reference, {}).get("refundable"):
            return {"error": f"{reference} is not refundable"}
        return {"reference": reference, "refunded": amount}


def assist(task: str) -> str:
    """Work on a task until the model answers in words."""
    client, desk = OpenAI(), Desk()
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": task},
    ]
    for _ in range(MAX_TURNS):
        tools: Any = desk.tools()
        answer = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message)
        for call in message.tool_calls:
            if call.type == "function":
                result = desk.run(call.function.name, json.loads(call.function.arguments))
                content = json.dumps(result)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    raise SystemExit(f"no answer after {MAX_TURNS} turns")


if __name__ == "__main__":
    print(assist(os.environ.get("FLOWPROOF_PROMPT") or " ".join(sys.argv[1:])))
