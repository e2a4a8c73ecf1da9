"""The page of one flow: everything that was judged and seen, in words and with links."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from flowproof.errors import ExitCode
from flowproof.model.origin import Recording
from flowproof.model.outcome import AssertionResult, Failed, Passed, Unjudged, Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import AttemptRecord, FileDigest, FlowRecord
from flowproof.model.traffic import ModelTraffic, Unserved
from flowproof.model.trajectory import Message, Trajectory, TurnView
from flowproof.report.html_flow import MOST, flow_shown
from tests.report.fixtures import agent_exit, diverged, flow_record, run_of, tool_call
from tests.report.hostile import LONG_LINE, hostile_run
from tests.report.pages import Page, pages, sources

NAME = "flows/smoke.booking.html"


def page(flow: FlowRecord) -> Page:
    [found] = [made for name, made in pages(run_of(flow)).items() if name.startswith("flows/")]
    return found


def test_everything_about_a_failed_flow_is_there() -> None:
    words = page(diverged()).words()
    for part in (
        "✗ Failed in 421 ms",
        "refunds/approval.flow.yaml:1",
        "the text of message 2 (user) changed",
        "does not hold",
        "refunds/approval.flow.yaml:12",
        "amount equals 40",
        "$.messages[1].content",
        "polite",
        "`issue_refund` is forbidden here",
        "openai.BadRequestError",
        "The agent exited with status 1. It ran for 310 ms.",
        "1 of 2 recorded turns served",
        "0c" * 32,
        "OPENAI_BASE_URL",
        "search_flights",
        "mocked",
        '"max": 1.10',
        "412.50",
        "start_model_proxy",
        "Containment: not contained",
        "neither limited nor watched",
        "if this change is meant, record it again",
        "What this flow proves",
        "no model was asked",
    ):
        assert part in words, part


def test_a_green_page_says_so() -> None:
    words = page(flow_record()).words()
    assert "✓ Passed in 421 ms" in words
    assert "Both hold." in words
    assert "Where it diverged" not in words
    assert "fail" not in words.lower()


def test_links_go_both_ways_and_all_of_them_resolve() -> None:
    told = AssertionResult("a", 3, Failed("no call matches", "a", "search_flights({}) in turn 1"))
    flow = replace(diverged(), assertions=(told,))
    made = pages(run_of(flow_record(), flow, flow_record("Another")))
    shown = made["flows/refunds.approval.html"]
    links = list(shown.links())
    assert "../index.html#flow-refunds.approval" in links
    assert "smoke.booking.html" in links
    assert "smoke.booking-2.html" in links
    # An assertion and the turn that it speaks of know each other; so do divergence and turns.
    for target in ("turn-1", "turn-2", "assertion-1", "divergence", "diverged"):
        assert f"#{target}" in links
        assert target in shown.ids()
    for name, one in made.items():
        if name == "index.html":
            continue
        assert len(set(one.ids())) == len(one.ids())
        for link in one.links():
            path, _, anchor = link.partition("#")
            if not path:
                assert anchor in one.ids(), link
            else:
                target = "index.html" if path == "../index.html" else f"flows/{path}"
                assert not anchor or anchor in made[target].ids(), link


@pytest.mark.parametrize(
    ("outcome", "turns"),
    [
        pytest.param(Failed("no", "a", "f({}) in turn 2"), (2,), id="one"),
        pytest.param(Failed("no", "a", "f() in turn 2, f() in turn 1"), (2, 1), id="two"),
        pytest.param(Failed("no", "a", "f() in turn 9"), (), id="not-on-the-page"),
        pytest.param(Unjudged("turn 1 holds an answer that"), (1,), id="unreadable"),
        pytest.param(Failed("in return 1 we trust"), (), id="other-words"),
        pytest.param(Passed(), (), id="nothing-told"),
    ],
)
def test_the_turns_that_an_assertion_speaks_of(
    outcome: Passed | Failed | Unjudged, turns: tuple[int, ...]
) -> None:
    flow = replace(flow_record(), assertions=(AssertionResult("a", 1, outcome),))
    view = flow_shown(flow)
    assert view.assertions[0].turns == turns
    spoken = {turn.number: turn.spoken for talk in view.talks.talks for turn in talk.turns}
    assert {number for number, numbers in spoken.items() if numbers} == set(turns)


@pytest.mark.parametrize(
    ("verdict", "says", "never"),
    [
        pytest.param(Verdict.PASS, "every answer of the model came from the", "Nothing", id="pass"),
        pytest.param(Verdict.PASS_NOTHING_ASSERTED, "only the requests", "Nothing:", id="bare"),
        pytest.param(Verdict.SKIPPED, "Nothing: this flow did not run.", "recording", id="skipped"),
        pytest.param(Verdict.ERROR, "Nothing: this flow could not be judged", "model", id="error"),
    ],
)
def test_what_a_flow_proves_depends_on_its_verdict(verdict: Verdict, says: str, never: str) -> None:
    told = " ".join(flow_shown(replace(flow_record(), verdict=verdict)).proves)
    assert says in told
    assert never not in told
    recorded = replace(flow_record(), phase="record")
    assert "against the real model" in flow_shown(recorded).proves[0]


def test_earlier_tries_are_told_with_what_their_agents_printed() -> None:
    failed = AttemptRecord(
        Verdict.FAIL,
        ExitCode.FLOW_FAILED,
        1.25,
        "it crashed",
        agent_exit(1, stderr="KeyError: x\n"),
    )
    bare = AttemptRecord(Verdict.ERROR, ExitCode.WORLD_ERROR, 0.5)
    flow = replace(flow_record(), verdict=Verdict.FLAKY, attempts=(failed, bare))
    words = page(flow).words()
    assert "≈ Passed only after a retry in 421 ms, in try 3" in words
    assert "Try 1 ✗ failed 1.25 s it crashed The agent exited with status 1." in words
    assert "KeyError: x" in words
    assert "Try 2 ! could not be judged 500 ms" in words


def test_inputs_are_there_with_their_digests() -> None:
    flow = replace(
        flow_record(),
        inputs=(FileDigest("suite.yaml", "ab" * 32), FileDigest("assistant.py", "cd" * 32)),
        needs=("login.flow.yaml",),
        locks=("port 4646",),
        slot=2,
        host="builder-9",
        offset=1.5,
        usual=0.4,
    )
    words = page(flow).words()
    for part in (
        "ab" * 32,
        "cd" * 32,
        "5f" * 32,
        "a1" * 32,
        "assistant.py",
        "Had to pass before login.flow.yaml",
        "Nobody else used port 4646",
        "Slot 2",
        "Host builder-9",
        "After the start of the run 1.50 s",
        "Usually 400 ms",
        "replayed from its trace",
        "30 November 2026, 09:00:00 UTC",
    ):
        assert part in words, part


DATED = "2026-11-02T10:15:00Z"


@pytest.mark.parametrize(
    ("phase", "recording", "says"),
    [
        pytest.param(
            "replay",
            Recording(DATED, "0.1.0", ("gpt-4o", "<b>")),
            "Replayed from a recording of 2 November 2026 of gpt-4o, <b>.",
            id="all",
        ),
        pytest.param(
            "replay",
            Recording(DATED, "0.1.0"),
            "Replayed from a recording of 2 November 2026.",
            id="no model",
        ),
        pytest.param(
            "replay",
            Recording("", "0.23"),
            "Replayed from a recording by flowproof 0.23, which tells neither",
            id="old",
        ),
        pytest.param(
            "record",
            Recording(DATED, "0.1.0", tuple("abcde")),
            "Recorded against a, b, c and 2 more.",
            id="recorded",
        ),
    ],
)
def test_where_its_answers_come_from(phase: Phase, recording: Recording, says: str) -> None:
    made = page(replace(flow_record(), phase=phase, recording=recording))
    assert says in made.words()
    assert made.words().index(says) < made.words().index("What went in")


@pytest.mark.parametrize(
    ("phase", "recording"), [("replay", None), ("record", Recording())], ids=["none", "nobody"]
)
def test_where_nobody_answered_nobody_is_named(phase: Phase, recording: Recording | None) -> None:
    words = page(replace(flow_record(), phase=phase, recording=recording)).words()
    assert "Recorded against" not in words and "from a recording" not in words


def test_what_crossed_the_boundary_is_told() -> None:
    traffic = ModelTraffic(
        requests=3,
        served=2,
        recorded=2,
        unserved=(Unserved("POST", "/v2/rerank", 2),),
        side_calls=4,
        side_recorded=1,
    )
    facts = flow_shown(replace(flow_record(), traffic=traffic)).facts
    assert facts == (
        ("Model traffic", "3 requests and 4 side calls; 2 of 2 recorded turns served"),
        ("Beside the conversation", "4 side calls; the trace holds 1 different"),
        ("Asked for and not served", "POST /v2/rerank, 2 times"),
    )
    recorded = ModelTraffic(requests=3, recorded=2, retries_dropped=1)
    facts = flow_shown(replace(flow_record(), phase="record", traffic=recorded)).facts
    assert facts == (
        ("Model traffic", "3 requests; 2 turns recorded; 1 transient failure left out"),
    )


def test_output_loses_its_colours_and_shows_its_controls() -> None:
    agent = replace(
        agent_exit(stdout="\x1b[31mred\x1b[0m \x1b[2Jbell\x07\n"), survivors=("sleep 60 (pid 7)",)
    )
    body = page(replace(flow_record(), agent=agent)).section("output")
    assert "red ␛[2Jbell␇" in body
    assert "sleep 60 (pid 7)" in body
    assert "It printed nothing." in page(replace(flow_record(), agent=agent_exit())).words()
    assert "Output of the agent" not in page(replace(flow_record(), agent=None)).words()


def test_of_very_many_assertions_the_first_are_shown() -> None:
    held = AssertionResult("a", 1, Passed())
    view = flow_shown(replace(flow_record(), assertions=(held,) * (MOST + 2)))
    assert len(view.assertions) == MOST
    assert view.held == "The first 1,000 of 1,002; the run record has the others."
    assert flow_shown(replace(flow_record(), assertions=())).held == "This flow asserts nothing."
    assert flow_shown(diverged()).held == "1 does not hold, 1 holds."
    none = AssertionResult("a", 1, Failed("no"))
    assert flow_shown(replace(flow_record(), assertions=(none,) * 3)).held == "3 do not hold."


def test_hostile_text_is_shown_and_does_nothing() -> None:
    record = hostile_run()
    [source] = [text for name, text in sources(record).items() if name.startswith("flows/")]
    body = Page(source).body()
    assert "<img" not in body
    assert "&lt;img src=x onerror=alert(1)&gt;" in body
    assert "{{ 7*7 }}" in body
    for mark in ("␛[2J", "␀", "⟨U+202E⟩", "⟨U+2066⟩", "⟨U+200B⟩", "\ufffd"):
        assert mark in body
    assert LONG_LINE[:100_001] not in source
    assert "bytes left out; the run record has the whole text …]" in source
    assert len(source) < 1_000_000


def test_pictures_are_described_and_never_loaded() -> None:
    first, second = flow_record().trajectory.turns
    url = "data:image/svg+xml;base64," + "QUJD" * 2_000
    asked = Message("user", url, attachments=("image/png, 18321 bytes",))
    trajectory = Trajectory((replace(first, added=(asked,)), second))
    shown = page(replace(flow_record(), trajectory=trajectory))
    assert "Attached image/png, 18321 bytes" in shown.words()
    tags = {tag for tag, _ in shown.elements}
    assert not tags & {"img", "iframe", "object", "embed", "link", "image"}
    assert not any("src" in attrs for _, attrs in shown.elements)


def conversation(turns: int, size: int) -> FlowRecord:
    """A flow that calls a tool in every turn, which returns `size` bytes of JSON."""
    result = "[" + ",".join(['{"id":"KQ311","note":"in the morning"}'] * (size // 40)) + "]"
    made: list[TurnView] = []
    for n in range(1, turns + 1):
        answer = Message("assistant", "I look.", (tool_call("search", {"n": n}, f"c{n}"),))
        told = Message("tool", result, call_id=f"c{n - 1}", tool="search")
        added = (made[-1].answers[0], told) if made else (Message("user", "go"),)
        base = n - 1 or None
        made.append(
            TurnView(
                n, "openai.chat", "m", "s", base, 0, added, 0, (), 200, (answer,), continues=n > 1
            )
        )
    return replace(flow_record(), trajectory=Trajectory(tuple(made)))


@pytest.mark.parametrize(
    ("turns", "size", "seconds", "megabytes"),
    [
        pytest.param(500, 400, 1.0, 2, id="500-turns"),
        pytest.param(500, 20_000, 2.5, 9, id="ten-megabytes"),
    ],
)
def test_a_long_conversation_is_quick_and_bounded(
    turns: int, size: int, seconds: float, megabytes: int
) -> None:
    record = run_of(conversation(turns, size))
    sources(run_of(flow_record()))  # what is loaded and compiled once
    before = time.process_time()
    source = sources(record)[NAME]
    assert time.process_time() - before < seconds
    assert len(source.encode()) < megabytes * 1_000_000
    assert f'id="turn-{turns}"' in source
