"""A local Ollama: chat and generate, streamed as lines unless told otherwise, tags and show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from tests.support.upstream import LAST_CHUNK, Script, answer, chunk, head
from tests.support.wire.script import Json, Model, RefusedError, Request, Route, Turn, halves

_ENDED = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 5191566416,
    "load_duration": 2154458,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 383809000,
    "eval_count": 298,
    "eval_duration": 4799921000,
}


def refusal(error: RefusedError) -> Json:
    """The body of an error of Ollama."""
    return {"error": error.message}


def _chat(request: Request, model: Model) -> Script:
    turn = model.next()
    calls = [
        {
            "id": f"call_{id}",
            "function": {"index": index, "name": call.name, "arguments": dict(call.arguments)},
        }
        for index, (id, call) in enumerate(turn.calls)
    ]
    whole: Json = {"role": "assistant", "content": turn.text}
    whole |= {"thinking": turn.thoughts} if turn.thoughts else {}
    whole |= {"tool_calls": calls} if calls else {}
    if request.body.get("stream") is False:
        return answer(_told(request, {"message": whole}, ended=True))
    messages: list[Json] = [
        {"role": "assistant", "content": "", "thinking": piece} for piece in halves(turn.thoughts)
    ]
    messages += [{"role": "assistant", "content": piece} for piece in halves(turn.text)]
    messages += [{"role": "assistant", "content": "", "tool_calls": [one]} for one in calls]
    lines = [_told(request, {"message": message}) for message in messages]
    last = {"message": {"role": "assistant", "content": ""}}
    return _lines([*lines, _told(request, last, ended=True)])


def _generate(request: Request, model: Model) -> Script:
    turn = model.next()
    if request.body.get("stream") is False:
        said = {"response": turn.text, "context": [1, 2, 3]}
        return answer(_told(request, said, ended=True))
    return _lines(_generated(request, turn))


def _generated(request: Request, turn: Turn) -> Iterator[Json]:
    for piece in halves(turn.text):
        yield _told(request, {"response": piece})
    yield _told(request, {"response": "", "context": [1, 2, 3]}, ended=True)


def _told(request: Request, said: Json, *, ended: bool = False) -> Json:
    shared = {"model": request.body["model"], "created_at": "2026-11-30T17:17:46.451200Z"}
    return {**shared, **said, **(_ENDED if ended else {"done": False})}


def _lines(values: Iterable[Json]) -> Script:
    headers = [("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked")]
    lines = (chunk(json.dumps(value).encode() + b"\n") for value in values)
    return [head(200, headers), *lines, LAST_CHUNK]


def _tags(_request: Request, _model: Model) -> Script:
    return answer({"models": [{"name": "small:1b", "model": "small:1b", "size": 815319791}]})


def _show(_request: Request, _model: Model) -> Script:
    told = {
        "details": {"family": "small", "parameter_size": "1B"},
        "model_info": {"general.architecture": "small", "small.context_length": 8192},
        "capabilities": ["completion", "tools"],
        "template": "{{ .System }}{{ .Tools }}{{ .Prompt }}",
    }
    return answer(told)


ROUTES = (
    Route(
        "POST", re.compile(r"/api/chat"), _chat, refusal, needs=("model", "messages"), keyed=False
    ),
    Route(
        "POST",
        re.compile(r"/api/generate"),
        _generate,
        refusal,
        needs=("model", "prompt"),
        keyed=False,
    ),
    Route("GET", re.compile(r"/api/tags"), _tags, refusal, keyed=False),
    Route("POST", re.compile(r"/api/show"), _show, refusal, keyed=False),
)
