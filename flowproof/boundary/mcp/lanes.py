"""What a lane keeps of ids and tokens, and how messages are told with those of another run.

`recording` leaves out what nothing repeats, `replaying` puts in what the agent sent this time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from flowproof.boundary.mcp.jsonrpc import key
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp import SUBSCRIPTION_KEY, Lane, McpCall, RequestId, Result

PROGRESS = "notifications/progress"
LISTEN = "subscriptions/listen"


def progress_token(params: JsonValue) -> JsonValue:
    """The token under which the sender of a request wants to hear of progress, None without."""
    return _within(params, "_meta").get("progressToken")


def named_token(message: Mapping[str, JsonValue]) -> JsonValue:
    """The token whose progress a message of the server tells, None if it tells none."""
    if message.get("method") != PROGRESS:
        return None
    params = message.get("params")
    return params.get("progressToken") if isinstance(params, dict) else None


def named_subscription(holder: JsonValue) -> JsonValue:
    """The id of the request that made the subscription of which parameters or a result tell, None
    if they tell of none."""
    return _within(holder, "_meta").get(SUBSCRIPTION_KEY)


def _within(holder: JsonValue, member: str) -> JsonObject:
    found = holder.get(member) if isinstance(holder, dict) else None
    return found if isinstance(found, dict) else {}


def pared(lane: Lane) -> Lane:
    """A lane without the ids and progress tokens of calls that no message of the server
    repeats."""
    told: set[tuple[int, str, str]] = set()
    for event in lane.events:
        if event.sender == "server":
            told.add((event.connection, "token", key(named_token(event.message))))
            subscription = named_subscription(event.message.get("params"))
            told.add((event.connection, "id", key(subscription)))
    for call in lane.calls:
        if isinstance(call.outcome, Result):
            told.add((call.connection, "id", key(named_subscription(call.outcome.value))))
    return replace(lane, calls=tuple(_pared(call, told) for call in lane.calls))


def _pared(call: McpCall, told: set[tuple[int, str, str]]) -> McpCall:
    keeps_id = (call.connection, "id", key(call.id)) in told
    keeps_token = (call.connection, "token", key(call.progress_token)) in told
    return replace(
        call,
        id=call.id if keeps_id else None,
        progress_token=call.progress_token if keeps_token else None,
    )


@dataclass(frozen=True, slots=True)
class Live:
    """What the agent sent this time with a call: its id, and its token for progress."""

    id: RequestId
    token: JsonValue


class Names:
    """Which ids and tokens of one connection stand for which recorded ones."""

    def __init__(self) -> None:
        self._ids: dict[str, Live] = {}
        self._tokens: dict[str, Live] = {}

    def learn(self, call: McpCall, live: Live) -> Iterator[str]:
        """A recorded call was made. Gives the names under which messages may have waited for
        it."""
        if call.id is not None:
            self._ids[key(call.id)] = live
            yield f"id {key(call.id)}"
        if call.progress_token is not None:
            self._tokens[key(call.progress_token)] = live
            yield f"token {key(call.progress_token)}"

    def missing(self, message: Mapping[str, JsonValue]) -> str | None:
        """The name of the call that a recorded message of the server belongs to, if it was not
        made yet."""
        token, subscription = named_token(message), named_subscription(message.get("params"))
        if token is not None and key(token) not in self._tokens:
            return f"token {key(token)}"
        if subscription is not None and key(subscription) not in self._ids:
            return f"id {key(subscription)}"
        return None

    def message(self, message: Mapping[str, JsonValue]) -> tuple[JsonObject, RequestId] | None:
        """A recorded message of the server, none of whose calls is missing, as the agent must be
        told it, with the id of the call it belongs to (None: it names none). None if the agent
        wants to hear of no progress."""
        told: JsonObject = {"jsonrpc": "2.0", **message}
        within: RequestId = None
        token, subscription = named_token(message), named_subscription(message.get("params"))
        if token is not None:
            live = self._tokens[key(token)]
            if live.token is None:
                return None
            told["params"] = {**_within(told, "params"), "progressToken": live.token}
            within = live.id
        if subscription is not None:
            live = self._ids[key(subscription)]
            told["params"] = _subscribed(told["params"], live.id)
            within = live.id
        return told, within

    def result(self, value: JsonValue) -> JsonValue:
        """A recorded result as the agent must be told it."""
        subscription = named_subscription(value)
        live = None if subscription is None else self._ids.get(key(subscription))
        return value if live is None else _subscribed(value, live.id)


def _subscribed(holder: JsonValue, request_id: RequestId) -> JsonValue:
    if not isinstance(holder, dict):
        return holder
    return {**holder, "_meta": {**_within(holder, "_meta"), SUBSCRIPTION_KEY: request_id}}
