"""YAML text to nodes: places, styles, and everything that is refused before a key is looked at."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from flowproof.spec.source import Refused, Report
from flowproof.spec.yaml_nodes import (
    LOADER,
    MAX_ALIASED,
    MAX_DEPTH,
    MAX_NODES,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    flow_text,
    read_nodes,
)

LOADERS = [pytest.param(LOADER, id="preferred"), pytest.param(yaml.SafeLoader, id="python")]


def read(text: str, loader: Any = LOADER) -> tuple[Node | None, list[str]]:
    report = Report("f.yaml", text)
    try:
        node = read_nodes(text, report, loader=loader)
    except Refused:
        node = None
    return node, [f"{p.line}:{p.column}: {p.message}" for p in report.problems]


def plain(node: Node | None) -> Any:
    match node:
        case ScalarNode(text=text, style=style):
            return (style, text) if style else text
        case SequenceNode(items=items):
            return [plain(item) for item in items]
        case MappingNode(entries=entries):
            return {entry.key.text: plain(entry.value) for entry in entries}
        case None:
            return None


@pytest.mark.parametrize("loader", LOADERS)
def test_scalars_keep_their_text_and_style(loader: Any) -> None:
    text = "a: 1.10\nb: 12:30\nc: yes\nd: '1'\ne: \"x\\ty\"\nf: |\n  z\ng:\n1: 2026-01-01\n"
    node, problems = read(text, loader)
    assert problems == []
    assert plain(node) == {
        "a": "1.10",
        "b": "12:30",
        "c": "yes",
        "d": ("'", "1"),
        "e": ('"', "x\ty"),
        "f": ("|", "z\n"),
        "g": "",
        "1": "2026-01-01",
    }


@pytest.mark.parametrize("loader", LOADERS)
def test_places_count_from_one_in_characters(loader: Any) -> None:
    node, _ = read("é: [😀, b]\n", loader)
    assert isinstance(node, MappingNode)
    items = node.entries[0].value
    assert isinstance(items, SequenceNode)
    assert [(i.mark.line, i.mark.column) for i in items.items] == [(1, 5), (1, 8)]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "1:1: the file is empty", id="empty"),
        pytest.param("# only a comment\n", "1:1: the file is empty", id="comment-only"),
        pytest.param("---\n", "1:1: the file is empty", id="marker-only"),
        pytest.param("a: 1\n---\nb: 2\n", "2:1: a second document begins here", id="two-documents"),
        pytest.param("a: 1\na: 2\n", "2:1: the key `a` was given already, in line 1", id="twice"),
        pytest.param(
            "{a: 1, 'a': 2}", "1:8: the key `a` was given already, in line 1", id="quoted"
        ),
        pytest.param(
            "a: !!int 1", "1:4: the tag `tag:yaml.org,2002:int` is not accepted", id="tag"
        ),
        pytest.param(
            "a: !!python/object:os.system x",
            "1:4: the tag `tag:yaml.org,2002:python/object:os.system` is not accepted",
            id="python-tag",
        ),
        pytest.param("a: ! x", "1:4: the tag `!` is not accepted", id="bare-tag"),
        pytest.param(
            "a: &x {b: 1}\nc: {<<: *x}\n", "2:5: merge keys (`<<`) are not accepted", id="merge"
        ),
        pytest.param("? [a]\n: 1\n", "1:3: a list cannot be a key", id="list-as-key"),
        pytest.param("?\n: 1\n", "1:2: a key is missing before the colon", id="no-key"),
        pytest.param("a: *b\n", "1:4: `*b` names no anchor above it", id="unknown-alias"),
        pytest.param("a: &b [*b]\n", "1:8: `*b` stands inside its own anchor", id="recursive"),
        pytest.param("a:\n\tb: 1\n", "2:1: a tab is used for indentation", id="tab"),
        pytest.param("a: b\n\x07", "2:1: control character U+0007 in the file", id="bell"),
        pytest.param("a\r\n\x00", "2:1: control character U+0000 in the file", id="nul"),
        pytest.param('a: "x\\0y"', "1:4: character U+0000 cannot be used", id="escaped-nul"),
    ],
)
def test_refused(text: str, expected: str, loader: Any) -> None:
    assert expected in read(text, loader)[1]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: b: c", id="colon"),
        pytest.param("a: [1", id="open-list"),
        pytest.param("a: 'x", id="open-quote"),
        pytest.param('a: "\\q"', id="escape"),
        pytest.param("a: @x", id="reserved"),
        pytest.param("- a\nb: c", id="mixed"),
        pytest.param('a: "\\ud800"', id="surrogate"),
        pytest.param('a: "\\UFFFFFFFF"', id="beyond-unicode"),
        pytest.param("%YAML 7.0\n---\na: b", id="version"),
    ],
)
def test_a_syntax_error_is_one_problem(text: str, loader: Any) -> None:
    _, problems = read(text, loader)
    assert len(problems) <= 1


@pytest.mark.parametrize("loader", LOADERS)
def test_aliases_repeat_a_value(loader: Any) -> None:
    node, problems = read("a: &x [1, 2]\nb: *x\n&k c: *k\n", loader)
    assert problems == []
    assert plain(node) == {"a": ["1", "2"], "b": ["1", "2"], "c": "c"}


def test_alias_bomb_is_refused_and_a_modest_use_is_not() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    _, problems = read("\n".join(lines))
    assert any(f"repeat more than {MAX_ALIASED} values" in problem for problem in problems)
    assert read("\n".join(lines[:3]))[1] == []


def test_the_number_of_values_is_bounded() -> None:
    assert read("- a\n" * 1000)[1] == []
    assert "holds more than" in read("- a\n" * (MAX_NODES + 1))[1][0]


def test_depth_is_bounded_also_through_aliases() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert read(deep)[1] == []
    assert "nested deeper" in read(f"[{deep}]")[1][0]
    half = MAX_DEPTH // 2
    nested = "[" * half + "]" * half
    wrapped = f"- &x {nested}\n- {'[' * half}*x{']' * half}\n"
    assert "nested deeper" in read(wrapped)[1][0]
    assert len(read("[" * 500_000)[1]) == 1


def test_flow_text_shows_a_value_in_one_line() -> None:
    node, _ = read("{tool: x, args: {a.b: KQ 311, n: '1', q: 'say \"x\"'}, l: [1, two]}")
    assert node is not None
    assert flow_text(node) == (
        '{tool: x, args: {a.b: KQ 311, n: "1", q: \'say "x"\'}, l: [1, two]}'
    )
