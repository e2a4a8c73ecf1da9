"""The drawings as HTML: harmless whatever the text, and readable without seeing them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
from jinja2 import Environment, FunctionLoader, StrictUndefined

from flowproof.assets import asset
from flowproof.model.run_record import TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.report.diagram.dag import suite, tasks
from flowproof.report.diagram.timeline import task_timeline, timeline
from flowproof.report.text import readable
from tests.report.diagram.rows import FAILED, Row
from tests.report.diagram.test_dag import TASKS
from tests.report.diagram.test_timeline import large
from tests.report.fixtures import flow_record
from tests.report.hostile import EVIL, LONG_LINE

CSS = asset("templates", "report/diagram.css").read_text(encoding="utf-8")
PAGE = asset("templates", "report/page.css").read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    def source(name: str) -> str:
        return asset("templates", name).read_text(encoding="utf-8")

    def shown(value: object) -> object:
        plain = isinstance(value, str) and not hasattr(value, "__html__")
        return readable(str(value)) if plain else value

    return Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def html(macro: str, view: object) -> str:
    module = environment().get_template("report/diagram.html.j2").module
    return str(getattr(module, macro)(view))


class Read(HTMLParser):
    """What a drawing holds: its elements, each with whether it lies in a hidden one."""

    VOID = ("path", "rect", "meta")

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], bool]] = []
        self._hidden: list[bool] = []
        self.told = ""
        self.feed(source)
        assert not self._hidden, "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        hidden = found.get("aria-hidden") == "true" or (bool(self._hidden) and self._hidden[-1])
        self.elements.append((tag, found, hidden))
        self._hidden.append(hidden)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._hidden.pop()

    def handle_endtag(self, tag: str) -> None:
        self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden or not self._hidden[-1]:
            self.told += data

    def links(self, hidden: bool) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs, inside in self.elements if tag == "a" and inside == hidden]


def evil(id: str, **more: str) -> Row:
    return Row(id, FAILED, needs=(EVIL + "0",), locks=(EVIL,), offset=1.0, slot=1, title=EVIL)


def hostile() -> list[tuple[str, object]]:
    rows = [evil(f"{EVIL}{number}") for number in range(4)]
    rows.append(replace(rows[0], id=LONG_LINE, title=LONG_LINE, host=EVIL, duration=9.0))
    records = tuple(
        replace(task, id=text, cause=EVIL, needs=(EVIL,))
        for task, text in zip(TASKS, (EVIL, LONG_LINE, "", EVIL), strict=True)
    )
    flow = replace(flow_record(), tasks=records)
    hooks = [TaskRecord(EVIL, TaskState.DONE, 0.0, 1.0, EVIL)]
    return [
        ("graph", suite(rows, hooks)),
        ("graph", tasks(flow)),
        ("timeline", timeline(rows, 3.0, hooks)),
        ("timeline", task_timeline(flow)),
    ]


@pytest.mark.parametrize(
    ("macro", "view"),
    [
        pytest.param(*one, id=name)
        for one, name in zip(hostile(), ("suite", "tasks", "times", "task-times"), strict=True)
    ],
)
def test_hostile_text_is_shown_and_does_nothing(macro: str, view: object) -> None:
    source = html(macro, view)
    read = Read(source)
    assert {tag for tag, _, _ in read.elements} <= {
        *("figure", "div", "svg", "path", "rect", "text", "title", "g", "a", "figcaption"),
        *("details", "summary", "table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li"),
        *("b", "bdi"),
    }
    for _, attrs, _ in read.elements:
        assert not any(name.startswith("on") or name == "style" for name in attrs)
    assert "&lt;img src=x" in source
    assert "{{ 7*7 }}" in source
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", source)


def test_a_drawing_is_hidden_from_the_keyboard_and_its_table_is_not() -> None:
    rows = [Row("a", offset=0.0, duration=1.0), Row("b", needs=("a",), offset=1.0, duration=1.0)]
    for macro, view in (("graph", suite(rows)), ("timeline", timeline(rows, 2.0))):
        read = Read(html(macro, view))
        drawn, told = read.links(hidden=True), read.links(hidden=False)
        assert [link["tabindex"] for link in drawn] == ["-1", "-1"]
        assert {link["href"] for link in drawn} == {link["href"] for link in told}
        assert all("tabindex" not in link for link in told)
        for word in ("Flow a", "Flow b", "passed"):
            assert word in read.told
        frames = [attrs for tag, attrs, _ in read.elements if attrs.get("class") == "frame"]
        assert all(frame["tabindex"] == "0" and frame["aria-label"] for frame in frames)


def test_a_failed_task_is_marked_by_more_than_its_colour() -> None:
    source = html("graph", tasks(replace(flow_record(), tasks=TASKS)))
    [box] = re.findall(r'<svg class="box tone-bad loud".*?</svg>', source)
    assert ">✗<" in box
    assert ">failed · 310 ms<" in box
    [unrun] = re.findall(r'<svg class="box tone-quiet open".*?</svg>', source)
    assert ">did not run<" in unrun


def test_what_failed_stands_out_of_its_lane() -> None:
    rows = [
        Row("a", offset=0.0, duration=1.0, slot=1),
        Row("b", FAILED, offset=1.0, duration=1.0, slot=1),
    ]
    source = html("timeline", timeline(rows, 2.0))
    passed, failed = re.findall(r'<rect [^>]*height="(\d+)"', source)
    assert int(failed) > int(passed)


def test_a_graph_that_is_not_drawn_still_tells() -> None:
    rows = [Row(str(n), after=(str(n - 1),) if n else ()) for n in range(300)]
    read = Read(html("graph", suite(rows)))
    assert "svg" not in {tag for tag, _, _ in read.elements}
    assert "300 boxes, too many to read" in read.told
    assert "100 more rows are not listed." in read.told


def test_a_timeline_of_ten_thousand_flows_is_small() -> None:
    assert len(html("timeline", timeline(large(10_000), 130)).encode()) < 1_000_000


def test_the_style_takes_its_colours_from_the_page() -> None:
    used = set(re.findall(r"var\((--[a-z-]+)\)", CSS))
    assert used <= set(re.findall(r"(--[a-z-]+):", PAGE))
    assert not re.search("#[0-9a-f]{3}", CSS)
    assert "url(" not in CSS


def test_every_class_of_the_drawings_has_a_rule() -> None:
    rows = [Row("a", FAILED, offset=0.0, duration=1.0), Row("b", after=("a",), locks=("x",))]
    rows += [Row("c", locks=("x",), needs=("b",))]
    source = html("graph", suite(rows)) + html("timeline", timeline(large(3_000), 50))
    classes = {name for found in re.findall(r'class="([^"]*)"', source) for name in found.split()}
    general = {"aside", "needs", "fit"} | {f"tone-{tone}" for tone in ("good", "bad", "warn")}
    assert {name for name in classes if f".{name}" not in CSS} <= general | {"tone-quiet"}
