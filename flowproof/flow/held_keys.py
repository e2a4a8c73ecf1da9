"""Keeps the keys that flowproof itself holds out of what a flow leaves: its trace and its record.

An agent is given none, but may have one from elsewhere, such as from its source.
`agent_environment` keeps them from the agent, `boundary.keys` knows how a key may be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from flowproof.boundary.keys import placeholder_for_parts
from flowproof.errors import KeyInTrace
from flowproof.flow.agent_environment import key_remover, key_texts
from flowproof.flow.providers import KEY_VARIABLES
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.model.visible import member_path
from flowproof.trace.document import Trace

T = TypeVar("T")

_SAID = (
    *("reason", "command", "description", "assertions", "divergence", "warnings", "traffic"),
    *("agent", "trajectory", "tasks", "attempts", "recording"),
)
"""The fields of a flow's record that tell what was said, or how it ended. The others name the
flow and its files, which have to be found again."""
_SHOWN = 5


def without_keys(record: FlowRecord, environ: Mapping[str, str]) -> FlowRecord:
    """The record of a flow with a placeholder wherever a key of the environment stands in it,
    also a part of one at which a text was cut."""
    if (remove := remover(environ)) is None:
        return record
    told = {name: getattr(record, name) for name in _SAID}
    changed = {name: changed_texts(value, remove) for name, value in told.items()}
    return replace(record, **{name: new for name, new in changed.items() if new is not told[name]})


def run_without_keys(record: RunRecord, environ: Mapping[str, str]) -> RunRecord:
    """The record of a run with a placeholder for each such key in what it says beside its flows,
    which are left as they are."""
    if (remove := remover(environ)) is None:
        return record
    return replace(
        record,
        errors=changed_texts(record.errors, remove),
        warnings=changed_texts(record.warnings, remove),
        tasks=changed_texts(record.tasks, remove),
    )


def remover(environ: Mapping[str, str]) -> Callable[[str], str] | None:
    """What puts a placeholder into a text for each key of the environment, and for each part of
    one at which it was cut; None where there is no key."""
    keys = key_texts(environ) - {""}
    if not keys:
        return None
    whole, parts = key_remover(environ), placeholder_for_parts(keys)
    return lambda text: parts(whole(text))


def changed_texts(value: T, change: Callable[[str], str]) -> T:
    """A value with every text in it changed, also inside tuples, JSON values and dataclasses; the
    same object where none is."""
    return cast("T", _changed(value, change))


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    kind = type(value)
    if kind is str:
        new = change(value)
        return value if new == value else new
    if kind is tuple or kind is list:
        items = [_changed(item, change) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else kind(items)
    if kind is dict:
        members = [(_changed(k, change), _changed(v, change)) for k, v in value.items()]
        same = all(k is key and v is value[key] for key, (k, v) in zip(value, members, strict=True))
        return value if same else dict(members)
    if is_dataclass(kind):
        told = {one.name: getattr(value, one.name) for one in fields(kind)}
        news = {name: _changed(item, change) for name, item in told.items()}
        news = {name: new for name, new in news.items() if new is not told[name]}
        return replace(value, **news) if news else value
    return value


def require_no_key(trace: Trace, environ: Mapping[str, str]) -> None:
    """See that a trace holds no key of the environment.

    :raises KeyInTrace: if it does, naming the variable, the turns and the places in them.
    """
    if not key_texts(environ) - {""}:
        return
    removers = {name: key_remover({name: environ.get(name, "")}) for name in KEY_VARIABLES}
    held, hide = key_remover(environ), remover(environ) or str
    found: dict[str, str] = {}
    for place, text in _texts(trace):
        if held(text) != text:
            names = (name for name, remove in removers.items() if remove(text) != text)
            found.setdefault(hide(place), next(names, "a key"))
            if len(found) > _SHOWN:
                break
    if found:
        raise KeyInTrace([*found.items()][:_SHOWN], more=len(found) > _SHOWN)


def _texts(trace: Trace) -> Iterator[tuple[str, str]]:
    """Every text of a trace that is not only its author's, with its place. A part that turns
    share is told once."""
    seen: set[int] = set()
    for number, turn in enumerate(trace.turns, 1):
        yield from _placed(turn.request, f"the request of turn {number}, at $", seen)
        yield from _of_answer(turn.response, f"the answer of turn {number}", seen)
    for number, call in enumerate(trace.side_calls, 1):
        yield f"the path of side call {number}", call.operation.path
        yield from _placed(call.request, f"the request of side call {number}, at $", seen)
        yield from _of_answer(call.response, f"the answer of side call {number}", seen)
    for tool, mock in trace.mocks.items():
        yield from _placed(list(mock.results), f"the results of the mock of {tool}, at $", seen)
    for one in trace.unserved or ():
        yield "the path of a request that nobody served", one.path


def _of_answer(response: Any, place: str, seen: set[int]) -> Iterator[tuple[str, str]]:
    yield from _placed(response.body, f"{place}, at $", seen)
    yield place, response.content_type
    yield place, response.text or ""
    for event in response.events or ():
        yield place, event


def _placed(value: object, path: str, seen: set[int]) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
        return
    if not isinstance(value, dict | list) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _placed(item, f"{path}[{index}]", seen)
        return
    for key, item in value.items():
        yield path, key
        yield from _placed(item, member_path(path, key), seen)
