"""Keys that flowproof holds, where an agent has them too: in no trace, and in no record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.boundary.keys import PLACEHOLDER_KEY
from flowproof.errors import ExitCode, KeyInTrace
from flowproof.flow.held_keys import require_no_key, run_without_keys, without_keys
from flowproof.model.agent_exit import Captured
from flowproof.model.jsonvalue import JsonValue, parse
from flowproof.model.outcome import Divergence, Excerpt, Sides, Verdict
from flowproof.model.run_record import FileDigest, FlowRecord, RunRecord
from flowproof.model.traffic import Unserved
from flowproof.model.turn import Operation, Response, SideCall, Turn
from flowproof.report.run_json import dump_part
from flowproof.trace.document import RecordedMock, Trace
from tests.flow.support import CHAT, SPEC, asking, asks, ended, job, run, saying, trace, turn
from tests.support.upstream import FakeUpstream, chat, completion

KEY = "sk-live-s3cr3t-11-4bCdEfGh1jKlMn0p"
HELD = {"OPENAI_API_KEY": KEY}
HELLO = asking("Say hello")


def flow_record() -> FlowRecord:
    return FlowRecord("a", "a.flow.yaml", 1, "replay", Verdict.PASS, ExitCode.PASSED, 1.0)


def with_divergence(recorded: str, replayed: str, **more: object) -> FlowRecord:
    found = Divergence(
        "system text",
        "model request 1 differs",
        1,
        excerpt=(Excerpt("-", recorded), Excerpt("+", replayed)),
        sides=Sides(recorded, replayed),
    )
    return replace(flow_record(), divergence=found, **more)  # type: ignore[arg-type]


def with_request(request: JsonValue) -> Trace:
    return trace(Turn(CHAT, request, Response(200, parse("{}"))))


@pytest.mark.parametrize(
    ("held", "place"),
    [
        pytest.param(
            trace(turn(HELLO, saying("Hello")), turn(asking(f"key {KEY}"), saying("Hello"))),
            "the request of turn 2, at $.messages[0].content holds the key in OPENAI_API_KEY",
            id="request",
        ),
        pytest.param(
            trace(turn(HELLO, saying(f"Bearer {KEY}"))),
            "the answer of turn 1, at $.choices[0].message.content",
            id="answer",
        ),
        pytest.param(
            with_request({"a": {KEY: {"b": KEY}}}),
            f"the request of turn 1, at $.a holds the key in OPENAI_API_KEY\n"
            f'  the request of turn 1, at $.a["{PLACEHOLDER_KEY}"].b holds',
            id="name of a member",
        ),
        pytest.param(
            replace(
                trace(turn(HELLO, saying("Hello"))),
                side_calls=(
                    SideCall(
                        Operation("openai.models", f"/models?limit={KEY}"),
                        "GET",
                        None,
                        Response(200, parse("{}")),
                    ),
                ),
            ),
            "the path of side call 1 holds",
            id="side call",
        ),
        pytest.param(
            trace(turn(HELLO, saying("Hello")), mocks={"look": RecordedMock((KEY,), True)}),
            "the results of the mock of look, at $[0] holds",
            id="mock",
        ),
        pytest.param(
            replace(trace(turn(HELLO, saying("Hello"))), unserved=(Unserved("GET", f"/{KEY}", 1),)),
            "the path of a request that nobody served holds",
            id="unserved",
        ),
    ],
)
def test_a_trace_with_a_held_key_is_refused(held: Trace, place: str) -> None:
    with pytest.raises(KeyInTrace) as raised:
        require_no_key(held, HELD)
    assert place in str(raised.value)
    assert KEY not in str(raised.value)


def test_a_trace_with_many_held_keys_names_a_few() -> None:
    turns = [turn(asking(f"{number} {KEY}"), saying("Hello")) for number in range(100)]
    with pytest.raises(KeyInTrace, match="and more") as raised:
        require_no_key(trace(*turns), HELD)
    assert len(raised.value.found) == 5


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="no key is held"),
        pytest.param({"OPENAI_API_KEY": " "}, id="an empty one"),
        pytest.param({"OPENAI_API_KEY": "sk-another-0123456789"}, id="another is held"),
        pytest.param({"MY_KEY": KEY}, id="under a name that is no provider's"),
        pytest.param({"OPENAI_API_KEY": "hello"}, id="a word"),
    ],
)
def test_a_trace_without_a_held_key_is_not_refused(environ: dict[str, str]) -> None:
    require_no_key(trace(turn(asking(f"hello {KEY}"), saying("Hello"))), environ)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param(f"a {KEY} b", f"a {PLACEHOLDER_KEY} b", id="whole"),
        pytest.param(f'"a {KEY[:20]}"…', f'"a {PLACEHOLDER_KEY}"…', id="cut at its end"),
        pytest.param(f'…"{KEY[5:]} b"', f'…"{PLACEHOLDER_KEY} b"', id="cut at its beginning"),
        pytest.param(f'…"{KEY[5:25]}"…', f'…"{PLACEHOLDER_KEY}"…', id="cut at both ends"),
        pytest.param(f"a {KEY[:30]}", f"a {PLACEHOLDER_KEY}", id="cut without a mark"),
        pytest.param(
            f"a {KEY[:20]}\n[… 9 bytes left out …]\n{KEY[20:]}",
            f"a {PLACEHOLDER_KEY}\n[… 9 bytes left out …]\n{PLACEHOLDER_KEY}",
            id="captured output",
        ),
    ],
)
def test_no_record_holds_a_key_or_a_part_of_one(text: str, left: str) -> None:
    record = with_divergence(text, text, reason=text, warnings=(text,), agent=ended(0, error=text))
    clean = without_keys(record, HELD)
    assert clean.divergence is not None
    assert clean.divergence.sides == Sides(left, left)
    assert [one.text for one in clean.divergence.excerpt] == [left, left]
    assert (clean.reason, clean.warnings) == (left, (left,))
    assert clean.agent is not None
    assert clean.agent.error == left
    assert "s3cr3t-11" not in dump_part(clean)


def test_a_record_without_a_key_stays_the_same_object() -> None:
    record = with_divergence("a sk-live- b", "“sk-live-”", agent=ended(1))
    clean = without_keys(record, HELD)
    assert clean == record
    assert clean.divergence is record.divergence
    assert without_keys(record, {}) is record


def test_what_names_a_file_stays() -> None:
    digest = FileDigest(f"{KEY}.flow.yaml", "ab" * 32)
    record = replace(flow_record(), path=f"{KEY}.flow.yaml", spec=digest)
    assert without_keys(record, HELD) == record


def test_what_a_run_says_beside_its_flows_holds_no_key() -> None:
    record = RunRecord(
        *("r", "s", "suite run", "replay", "2026-11-30T09:00:00Z", 1.0, "0", "3", "linux", "h"),
        partial=False,
        exit_code=ExitCode.WORLD_ERROR,
        flows=(),
        errors=(f"after_all said {KEY}",),
    )
    assert run_without_keys(record, HELD).errors == (f"after_all said {PLACEHOLDER_KEY}",)
    assert run_without_keys(record, {}) is record


@pytest.mark.parametrize(
    ("said", "verdict", "code"),
    [
        pytest.param(f"Say hello, {KEY}", Verdict.ERROR, ExitCode.AUTHOR_ERROR, id="the key"),
        pytest.param("Say hello, sk-live-1", Verdict.PASS, ExitCode.PASSED, id="another"),
    ],
)
def test_a_recording_with_a_held_key_leaves_the_old_trace(
    said: str, verdict: Verdict, code: ExitCode, tmp_path: Path
) -> None:
    flow = job(tmp_path, SPEC, turn(HELLO, saying("old")), phase="record")
    old = flow.trace_path.read_bytes()
    with FakeUpstream(chat(completion("Hello"))) as upstream:
        record = run(flow, asks(asking(said)), {"FLOWPROOF_AGENT_UPSTREAM": upstream.url, **HELD})
    assert (record.verdict, record.exit_code) == (verdict, code), record.reason
    assert KEY not in record.reason
    assert (flow.trace_path.read_bytes() == old) == bool(code)
    assert not code or "turn 1, at $.messages[0].content" in record.reason


def test_output_with_a_key_is_clean_however_it_was_captured() -> None:
    out = Captured(f"{KEY}\n", 99)
    clean = without_keys(replace(flow_record(), agent=ended(0, stdout=out)), HELD)
    assert clean.agent is not None
    assert clean.agent.stdout.text == f"{PLACEHOLDER_KEY}\n"
