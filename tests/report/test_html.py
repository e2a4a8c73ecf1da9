"""All HTML pages: self-contained, well-formed, linked both ways, and unmoved by hostile text."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from flowproof.assets import asset
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, LazyFlows, RunRecord
from flowproof.report.html import BODY_LIMIT, render
from flowproof.report.html_names import PAGE_MARK
from flowproof.report.write import remove_stale_pages, write_files
from tests.report.fixtures import diverged, flow_record, run_of, sample_run
from tests.report.hostile import hostile_run
from tests.report.pages import index, pages, sources

RECORDS = [
    pytest.param(sample_run(), id="every-verdict"),
    pytest.param(run_of(), id="no-flows"),
    pytest.param(hostile_run(), id="hostile"),
    pytest.param(replace(sample_run(), phase="record", partial=True, suite=""), id="record"),
]


@pytest.mark.parametrize("record", RECORDS)
def test_pages_are_self_contained(record: RunRecord) -> None:
    for name, page in pages(record).items():
        tags = {tag for tag, _ in page.elements}
        assert not tags & {"img", "link", "iframe", "object", "embed", "base", "audio", "video"}
        assert sum(tag == "script" for tag, _ in page.elements) == 1
        for _, attrs in page.elements:
            assert not any(key.startswith("on") or key in ("style", "src") for key in attrs)
        for link in page.links():
            assert re.fullmatch(r"[\w./-]*(#[\w.-]+)?", link, re.ASCII), f"{name}: {link}"


@pytest.mark.parametrize("record", RECORDS)
def test_every_link_leads_somewhere(record: RunRecord) -> None:
    held = pages(record)
    ids = {name: page.ids() for name, page in held.items()}
    for name, page in held.items():
        assert len(set(ids[name])) == len(ids[name])
        for link in page.links():
            to, at = urlsplit(link).path, urlsplit(link).fragment
            folder = "flows/" if name.startswith("flows/") else ""
            target = name if not to else to[3:] if to.startswith("../") else folder + to
            assert target in held, f"{name}: {link}"
            assert not at or at in ids[target], f"{name}: {link}"
        for _, attrs in page.elements:
            assert {*(attrs.get("aria-labelledby") or "").split()} <= set(ids[name])


def test_the_index_leads_to_every_page_and_back() -> None:
    held = pages(sample_run())
    top = held.pop("index.html")
    assert set(held) <= set(top.links())
    for name, page in held.items():
        anchor = f"flow-{name.removeprefix('flows/').removesuffix('.html')}"
        assert f"../index.html#{anchor}" in page.links()
        assert anchor in top.ids()


def test_pages_of_flows_lead_to_their_neighbours() -> None:
    held = pages(sample_run())
    names = [name.removeprefix("flows/") for name in held if name != "index.html"]
    found = [
        {
            attrs.get("rel"): attrs.get("href")
            for _, attrs in held[f"flows/{name}"].elements
            if attrs.get("rel") in ("prev", "next")
        }
        for name in names
    ]
    assert [one.get("next") for one in found] == [*names[1:], None]
    assert [one.get("prev") for one in found] == [None, *names[:-1]]


@pytest.mark.parametrize("record", RECORDS)
def test_the_policy_allows_this_style_and_script_and_nothing_else(record: RunRecord) -> None:
    for page in pages(record).values():
        [style], [script] = page.text["style"], page.text["script"]
        policies = [
            attrs["content"]
            for _, attrs in page.elements
            if attrs.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policies == [
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ]


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_the_mark_of_a_page_comes_early() -> None:
    for source in sources(hostile_run()).values():
        assert PAGE_MARK in source[:2000]


def test_hostile_text_is_shown_and_does_nothing() -> None:
    for page in pages(hostile_run()).values():
        body = page.body()
        assert "<img" not in body
        assert "&lt;img src=x onerror=alert(1)&gt;" in body
        assert "{{ 7*7 }}" in body
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", body)
        for mark in ("␛[2J", "␀", "⟨U+202E⟩", "⟨U+2066⟩", "⟨U+200B⟩", "\ufffd"):
            assert mark in body


def test_long_texts_are_bounded() -> None:
    for name, source in sources(hostile_run()).items():
        assert "x" * (BODY_LIMIT // 2 + 1) not in source, name
        assert len(source) < 5 * BODY_LIMIT


def test_each_flow_is_read_once() -> None:
    read: list[int] = []

    def flow(at: int) -> FlowRecord:
        read.append(at)
        return replace(diverged() if at == 3 else flow_record(), path=f"{at}.flow.yaml")

    verdicts = [Verdict.FAIL if at == 3 else Verdict.PASS for at in range(8)]
    record = replace(run_of(), flows=LazyFlows(verdicts, flow))
    names = [name for name, content in render(record) if list(content)]
    # One more is asked for, and there is none.
    assert read[:8] == list(range(8))
    assert len(read) == 8
    assert names == [*(f"flows/{at}.html" for at in range(8)), "index.html"]


def test_the_same_record_gives_the_same_pages() -> None:
    assert sources(sample_run()) == sources(sample_run())


def test_a_run_of_repeated_flows_has_a_page_for_each() -> None:
    held = pages(run_of(flow_record(), flow_record()))
    assert set(held) == {
        "flows/smoke.booking.html",
        "flows/smoke.booking-2.html",
        "index.html",
    }


@pytest.fixture
def reports(tmp_path: Path) -> Iterator[Path]:
    """A folder with the reports of a run."""
    write_files(tmp_path / "reports", render(sample_run()))
    yield tmp_path / "reports"


def test_pages_of_an_earlier_run_do_not_stay(reports: Path) -> None:
    foreign = [reports / "flows/mine.html", reports / "flows/notes.txt", reports / "other.html"]
    for path in foreign:
        path.write_text("<!doctype html><p>mine", "utf-8")
    late = reports / "flows/late.html"
    late.write_text(" " * 2048 + PAGE_MARK, "utf-8")
    deep = reports / "flows/deep"
    deep.mkdir()
    (deep / "page.html").write_text(PAGE_MARK, "utf-8")
    elsewhere = reports / "elsewhere.html"
    elsewhere.write_text(PAGE_MARK, "utf-8")
    (reports / "flows/link.html").symlink_to(elsewhere)
    written = write_files(reports, render(run_of(flow_record())))
    remove_stale_pages(reports, written)
    left = {path.name for path in (reports / "flows").iterdir()}
    assert left == {
        *("smoke.booking.html", "mine.html", "notes.txt", "late.html", "deep", "link.html")
    }
    assert (deep / "page.html").exists()
    assert elsewhere.exists()


def test_a_run_without_flows_leaves_no_page(reports: Path) -> None:
    remove_stale_pages(reports, write_files(reports, render(run_of())))
    assert list((reports / "flows").iterdir()) == []


def test_pages_behind_a_link_stay(reports: Path, tmp_path: Path) -> None:
    (reports / "flows").rename(tmp_path / "flows")
    (reports / "flows").symlink_to(tmp_path / "flows")
    held = sorted((tmp_path / "flows").iterdir())
    remove_stale_pages(reports, ())
    assert sorted((tmp_path / "flows").iterdir()) == held != []


def test_nothing_is_removed_where_nothing_is(tmp_path: Path) -> None:
    remove_stale_pages(tmp_path / "none", ())
    assert list(tmp_path.iterdir()) == []


def test_the_title_names_the_verdict() -> None:
    held = pages(sample_run())
    assert "1 of 7 flows failed" in "".join(held["index.html"].text["title"])
    assert "✗ Refund asks" in "".join(held["flows/refunds.approval.html"].text["title"])
    assert "support-bot" in index(sample_run()).words()


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
        (text, ground, 4.5)
        for text in ("ink", "soft")
        for ground in ("paper", "sheet", "well", "quiet-wash")
    ]
    pairs += [
        (tone, ground, 4.5)
        for tone in ("good", "bad", "warn", "quiet")
        for ground in (f"{tone}-wash", "paper", "sheet")
    ]
    pairs += [("ink", "bad-wash", 4.5), ("ink", "warn-wash", 4.5), ("link", "paper", 4.5)]
    pairs += [("bad", "well", 4.5), ("paper", "ink", 4.5)]
    # Edges of what can be used, and the line around what has the focus.
    pairs += [(edge, ground, 3.0) for edge in ("edge", "focus") for ground in ("paper", "sheet")]
    found = {pair[:2]: contrast(colors[pair[0]], colors[pair[1]]) for pair in pairs}
    assert {pair[:2]: found[pair[:2]] for pair in pairs if found[pair[:2]] < pair[2]} == {}
