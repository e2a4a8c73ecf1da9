"""The HTML page: self-contained, well-formed, and unmoved by hostile text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from flowproof.assets import asset
from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, RunRecord, TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.model.trajectory import Message, Trajectory
from flowproof.report.html import BODY_LIMIT, render
from flowproof.report.html_view import flow_shown
from tests.report.fixtures import diverged, flow_record, run_of, sample_run, tool_call
from tests.report.hostile import hostile_run

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Every element of a page and its text; fails on an end tag that closes nothing."""

    def __init__(self, record: RunRecord) -> None:
        super().__init__()
        source = "".join(dict(render(record))["index.html"])
        source.encode()
        self.source = source
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: dict[str, list[str]] = {}
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)

    def words(self) -> str:
        """All text but the style, with blanks folded."""
        parts = (part for tag, texts in self.text.items() if tag != "style" for part in texts)
        return " ".join(" ".join(parts).split())


RECORDS = [
    pytest.param(sample_run(), id="every-verdict"),
    pytest.param(run_of(), id="no-flows"),
    pytest.param(hostile_run(), id="hostile"),
    pytest.param(replace(sample_run(), phase="record", partial=True, suite=""), id="record"),
]


@pytest.mark.parametrize("record", RECORDS)
def test_the_page_is_self_contained(record: RunRecord) -> None:
    page = Page(record)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "form", "base"}
    for _, attrs in page.elements:
        assert not any(name.startswith("on") or name in ("style", "src") for name in attrs)
        assert (attrs.get("href") or "#").startswith("#")


@pytest.mark.parametrize("record", RECORDS)
def test_ids_are_unique_and_every_reference_resolves(record: RunRecord) -> None:
    page = Page(record)
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(set(ids)) == len(ids)
    for _, attrs in page.elements:
        assert (attrs.get("href") or "#flows").removeprefix("#") in ids
        assert (attrs.get("aria-labelledby") or "flows") in ids


def test_the_policy_allows_this_style_and_nothing_else() -> None:
    page = Page(sample_run())
    [style] = page.text["style"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    [policy] = [
        attrs["content"]
        for _, attrs in page.elements
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style
    assert "@import" not in style


def test_hostile_text_is_shown_and_does_nothing() -> None:
    page = Page(hostile_run())
    body = page.source.partition("</style>")[2]
    assert "<img" not in body
    assert "&lt;img src=x onerror=alert(1)&gt;" in body
    assert "{{ 7*7 }}" in body
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", body)
    for mark in ("␛[2J", "␀", "⟨U+202E⟩", "⟨U+2066⟩", "⟨U+200B⟩", "\ufffd"):
        assert mark in body


def test_long_bodies_are_bounded_and_say_so() -> None:
    page = Page(hostile_run())
    assert "bytes left out; the run record has the whole text …]" in page.source
    assert "x" * (BODY_LIMIT // 2 + 1) not in page.source
    assert len(page.source) < 5 * BODY_LIMIT


def test_the_verdict_comes_first_and_counts_add_up() -> None:
    page = Page(sample_run())
    words = page.words()
    assert "1 of 7 flows failed and 2 could not be judged." in "".join(page.text["h1"])
    shares = [attrs for tag, attrs in page.elements if tag == "rect" and attrs.get("height") == "1"]
    assert sum(int(attrs["width"] or 0) for attrs in shares) == 7
    [label] = [attrs["aria-label"] for _, attrs in page.elements if attrs.get("class") == "share"]
    assert label == "7 flows: 2 pass, 1 pass*, 1 fail, 1 error, 1 capability-error, 1 skipped"
    assert "It says nothing about the quality of the model" in words
    # Red flows come before green ones.
    assert page.source.index("Refund asks") < page.source.index("Booking assistant")


def test_everything_about_a_failed_flow_is_there() -> None:
    words = Page(run_of(diverged())).words()
    for part in (
        "does not hold",
        "refunds/approval.flow.yaml:12",
        "amount equals 40",
        "$.messages[1].content",
        "the customer asked politely.·",
        "`issue_refund` is forbidden here",
        "openai.BadRequestError",
        "exited with status 1",
        "1 of 2 recorded turns served",
        "0c" * 32,
        "OPENAI_BASE_URL",
        "search_flights",
        "mocked",
        '"max": 1.10',
        "412.50",
        "start_model_proxy",
        "not contained",
    ):
        assert part in words, part


def test_a_green_page_says_so() -> None:
    page = Page(run_of(flow_record()))
    assert "The flow passed." in "".join(page.text["h1"])
    assert "fail" not in page.words()


@pytest.mark.parametrize(
    ("flows", "code", "headline"),
    [
        pytest.param((), None, "Nothing ran.", id="nothing"),
        pytest.param(
            (flow_record(),), ExitCode.INTERRUPTED, "Interrupted: the flow passed.", id="interrupt"
        ),
        pytest.param((flow_record(),) * 3, None, "All 3 flows passed.", id="all"),
        pytest.param(
            (flow_record(), replace(flow_record(), verdict=Verdict.SKIPPED)),
            None,
            "1 of 2 flows passed and 1 was skipped.",
            id="skipped",
        ),
    ],
)
def test_headlines(flows: tuple[FlowRecord, ...], code: ExitCode | None, headline: str) -> None:
    record = run_of(*flows)
    page = Page(record if code is None else replace(record, exit_code=code))
    assert headline in "".join(page.text["h1"])


def test_an_answer_that_the_agent_sends_back_is_shown_once() -> None:
    shown = flow_shown(flow_record(), 1)
    roles = [[message.role for message in turn.messages] for turn in shown.turns]
    assert roles == [["system", "user", "assistant"], ["tool", "assistant"]]


def test_an_answer_that_the_agent_changed_is_shown_again() -> None:
    first, second = flow_record().trajectory.turns
    altered = Message("assistant", None, (tool_call("search_flights", {"from": "LHR"}),))
    trajectory = Trajectory((first, replace(second, added=(altered, *second.added[1:]))))
    shown = flow_shown(replace(flow_record(), trajectory=trajectory), 1)
    assert shown.turns[1].messages[0].note == "sent by the agent"


def test_who_ran_a_tool_is_told_and_what_only_an_api_shows_is_no_change() -> None:
    flow = flow_record()
    first, second = flow.trajectory.turns
    served = replace(tool_call("google_search", {"queries": ["q"]}), served=True)
    (answer,) = first.answers
    shown = replace(answer, tool_calls=(served, *answer.tool_calls))
    turns = (replace(first, answers=(shown,)), second)
    page = Page(run_of(replace(flow, trajectory=Trajectory(turns))))
    called = re.findall(r"calls <code>(\w+)</code>(.*)", page.source)
    by = [(name, "<span>(run by the provider)</span>" in rest) for name, rest in called]
    assert by == [("google_search", True), ("search_flights", False)]
    # The agent sent the rest of that answer back as it was.
    assert "sent by the agent" not in page.words()
    untold = replace(served, text="", arguments=None, malformed=True)
    turns = (replace(first, answers=(replace(shown, tool_calls=(untold,)),)), second)
    page = Page(run_of(replace(flow, trajectory=Trajectory(turns))))
    assert "these arguments are not told by the provider" in page.words()


def test_a_system_text_outside_the_messages_is_shown_where_it_changes() -> None:
    first, second = flow_record().trajectory.turns
    first = replace(first, added=first.added[1:])
    same = flow_shown(replace(flow_record(), trajectory=Trajectory((first, second))), 1)
    assert [turn.messages[0].role for turn in same.turns] == ["system", "tool"]
    other = Trajectory((first, replace(second, system="Be brief.")))
    changed = flow_shown(replace(flow_record(), trajectory=other), 1)
    assert changed.turns[1].messages[0].text == "Be brief."


def test_bars_of_tasks_stay_inside_their_row() -> None:
    tasks = (
        TaskRecord("late", TaskState.DONE, 9.0, 5.0),
        TaskRecord("brief", TaskState.DONE, 14.0, 0.0),
        TaskRecord("never", TaskState.NOT_RUN),
    )
    shown = flow_shown(replace(flow_record(), duration=1.0, tasks=tasks), 1).tasks
    assert all(task.left + task.width <= 1000 for task in shown)
    assert [task.width > 0 for task in shown] == [True, True, False]


def luminance(color: str) -> float:
    parts = [int(color[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_enough_contrast(scheme: int) -> None:
    css = asset("templates", "report/page.css").read_text(encoding="utf-8")
    block = css.split(":root {")[1 + scheme].partition("}")[0]
    colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
    pairs = [
        (text, ground)
        for text in ("ink", "soft")
        for ground in ("paper", "sheet", "well", "quiet-wash")
    ]
    pairs += [(tone, f"{tone}-wash") for tone in ("good", "bad", "warn", "quiet")]
    pairs += [("ink", "bad-wash"), ("ink", "warn-wash"), ("link", "paper"), ("bad", "well")]
    assert {
        pair: contrast(colors[pair[0]], colors[pair[1]])
        for pair in pairs
        if contrast(colors[pair[0]], colors[pair[1]]) < 4.5
    } == {}
