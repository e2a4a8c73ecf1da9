"""Which models answered a flow and when that was recorded, in the record of either phase."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.flow.answered import LONGEST_MODEL, MOST_MODELS, answering, recording_of
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.origin import Recording
from flowproof.model.turn import Response, Turn
from flowproof.version import __version__
from tests.flow.support import CHAT, SPEC, asking, asks, job, run, saying, trace, turn
from tests.support.upstream import FakeUpstream, chat, completion, refusing_url

HELLO = asking("Say hello")
DATED = {**saying("Hello"), "model": "gpt-4o-2026-08-06"}


def answered(body: JsonValue, status: int = 200) -> Turn:
    return Turn(CHAT, {"model": "asked"}, Response(status, body))


@pytest.mark.parametrize(
    ("bodies", "models"),
    [
        pytest.param([{"model": "b"}, {"model": "a"}, {"model": "b"}], ("b", "a"), id="each once"),
        pytest.param([{"modelVersion": "gemini-3"}], ("gemini-3",), id="as Google calls it"),
        pytest.param([{"id": "1"}, None, [], "x", {"model": 3}, {"model": ""}], (), id="not told"),
        pytest.param([{"model": "m" * 5_000}], ("m" * LONGEST_MODEL,), id="a long name"),
        pytest.param(
            [{"model": str(at)} for at in range(99)], tuple(map(str, range(MOST_MODELS))), id="many"
        ),
    ],
)
def test_who_answered(bodies: list[JsonValue], models: tuple[str, ...]) -> None:
    assert answering([answered(body) for body in bodies]) == models


def test_an_error_is_no_answer_of_a_model() -> None:
    assert answering([answered({"model": "gateway"}, 500), answered({"model": "m"})]) == ("m",)


def test_a_recording_of_an_old_version_does_not_tell() -> None:
    old = replace(trace(turn(HELLO, DATED)), pins="legacy", recorded="", flowproof="0.23")
    assert recording_of(old) == Recording("", "0.23", ())


def test_a_replay_says_of_which_recording_it_is(tmp_path: Path) -> None:
    record = run(job(tmp_path, SPEC, turn(HELLO, DATED)), asks(HELLO))
    assert record.recording == Recording("2026-11-30T09:00:00Z", "0.1.0", ("gpt-4o-2026-08-06",))


def test_also_a_replay_that_diverged_at_once(tmp_path: Path) -> None:
    record = run(job(tmp_path, SPEC, turn(HELLO, DATED)), asks(asking("Bye"), status=1))
    assert record.recording is not None
    assert record.recording.models == ("gpt-4o-2026-08-06",)


def test_a_replay_without_a_trace_knows_of_none(tmp_path: Path) -> None:
    assert run(job(tmp_path, SPEC), asks(HELLO)).recording is None


@pytest.mark.parametrize(
    ("reply", "recorded", "version"),
    [
        pytest.param("Hello", "2026-11-30T09:00:00Z", __version__, id="kept"),
        pytest.param("Bye", "", "", id="not kept"),
    ],
)
def test_a_recording_says_who_answered(
    tmp_path: Path, reply: str, recorded: str, version: str
) -> None:
    body = {**completion(reply), "model": "gpt-4o-2026-08-06"}
    with FakeUpstream(chat(body)) as upstream:
        environ = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        record = run(job(tmp_path, phase="record"), asks(HELLO), environ)
    assert record.recording == Recording(recorded, version, ("gpt-4o-2026-08-06",))


def test_a_recording_that_nobody_answered(tmp_path: Path) -> None:
    environ = {"FLOWPROOF_AGENT_UPSTREAM": refusing_url()}
    record = run(job(tmp_path, phase="record"), asks(HELLO), environ)
    assert record.recording in (None, Recording())
