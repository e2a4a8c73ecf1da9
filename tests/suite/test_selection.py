"""Which flows a run is about: by name, tag, failure, shard and line, in which order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowproof.errors import UsageError
from flowproof.suite.durations import read_durations, write_durations
from flowproof.suite.expression import parse_expression
from flowproof.suite.last_failed import note_failed, read_failed
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.selection import Selection, select, without_line
from flowproof.suite.sharding import Shard

FLOWS = {
    "book": ("Books a flight", "[smoke, booking]"),
    "refund": ("Refuses a refund", "[guard]"),
    "sub/slow": ("Books ten flights", "[booking, slow]"),
}


@pytest.fixture
def specs(tmp_path: Path) -> list[Path]:
    found = []
    for name, (title, tags) in FLOWS.items():
        path = tmp_path / f"{name}.flow.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"name: {title}\ntags: {tags}\nagent: {{command: x}}\nsteps: [{{prompt: go}}]\n",
            "utf-8",
        )
        found.append(path)
    return found


def chosen(specs: list[Path], selection: Selection) -> list[str]:
    folder = min((path.parent for path in specs), key=lambda folder: len(folder.parts))
    project = Project(folder, JobOptions("replay"))
    found = select(specs, selection, project, folder)
    return [str(path.relative_to(folder)).removesuffix(".flow.yaml") for path in found]


def by_name(text: str) -> Selection:
    return Selection(names=parse_expression(text, "-k"))


def by_tag(text: str) -> Selection:
    return Selection(tags=parse_expression(text, "--tag"))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param(Selection(), [*FLOWS], id="all"),
        pytest.param(by_name("books"), ["book", "sub/slow"], id="name in any case"),
        pytest.param(by_name("sub/ or refund"), ["refund", "sub/slow"], id="path"),
        pytest.param(by_name("yaml"), [], id="what all paths end in"),
        pytest.param(by_name("flow"), [], id="what all files are called"),
        pytest.param(by_name("slow.flow.yaml"), ["sub/slow"], id="a whole file name"),
        pytest.param(by_name("w.FLOW"), ["sub/slow"], id="the end of a file name"),
        pytest.param(by_name("books and not ten"), ["book"], id="and not"),
        pytest.param(by_tag("booking and not slow"), ["book"], id="tags"),
        pytest.param(by_tag("book"), [], id="a tag is matched whole"),
        pytest.param(Selection(failed=frozenset(["refund.flow.yaml"])), ["refund"], id="failed"),
        pytest.param(Selection(failed=frozenset()), [], id="nothing failed"),
        pytest.param(Selection(shard=Shard(1, 2)), ["book", "sub/slow"], id="shard"),
    ],
)
def test_selected(specs: list[Path], selection: Selection, expected: list[str]) -> None:
    assert chosen(specs, selection) == expected


def test_a_selection_is_partial_and_an_order_is_not() -> None:
    assert by_name("a").partial and Selection(shard=Shard(1, 1)).partial
    assert not Selection().partial and not Selection(seed="1").partial


def test_a_flow_that_cannot_be_read_is_selected_by_any_name_or_tag(specs: list[Path]) -> None:
    specs[1].write_text("name: [", "utf-8")
    assert chosen(specs, by_tag("smoke")) == ["book", "refund"]
    assert chosen(specs, by_name("ten")) == ["refund", "sub/slow"]


def test_a_seed_decides_the_order(specs: list[Path]) -> None:
    orders = {tuple(chosen(specs, Selection(seed=str(seed)))) for seed in range(30)}
    assert len(orders) == 6
    assert chosen(specs, Selection(seed="7")) == chosen(specs[::-1], Selection(seed="7"))


def test_a_line_behind_a_path(specs: list[Path]) -> None:
    assert without_line(Path(f"{specs[0]}:3")) == specs[0]
    assert without_line(specs[0]) == specs[0]
    with pytest.raises(UsageError, match="the file has 5 lines"):
        without_line(Path(f"{specs[0]}:90"))


def test_what_failed_is_remembered_until_it_passes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no earlier run is known"):
        read_failed(tmp_path)
    note_failed(tmp_path, ran=["a", "b"], failed=["a", "b"])
    note_failed(tmp_path, ran=["b", "c"], failed=["c"])
    assert read_failed(tmp_path) == {"a", "c"}


@pytest.mark.parametrize("text", ["{", "{}", '"a"'])
def test_a_spoilt_list_of_failures_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "last-failed.json").write_text(text, "utf-8")
    with pytest.raises(UsageError, match="delete it"):
        read_failed(tmp_path)
    note_failed(tmp_path, ran=["a"], failed=["a"])
    assert read_failed(tmp_path) == {"a"}


def test_durations_survive_the_way_to_disk(tmp_path: Path) -> None:
    write_durations(tmp_path / "d.json", {"b": 1.23456, "a": 0.5})
    assert read_durations(tmp_path / "d.json") == {"a": 0.5, "b": 1.235}
    assert list(json.loads((tmp_path / "d.json").read_text("utf-8"))) == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"a": "1"}',
        '{"a": -1}',
        '{"a": 1e999}',
        '{"a": true}',
        '{"a": 1' + "0" * 400 + "}",
    ],
    ids=["empty", "list", "text", "negative", "endless", "boolean", "huge"],
)
def test_durations_of_another_shape_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.json").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"d\.json"):
        read_durations(tmp_path / "d.json")
