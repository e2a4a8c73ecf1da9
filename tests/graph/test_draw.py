"""Drawings: what people read, and ids that try to break out of each format."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.errors import CapabilityError
from flowproof.graph.draw import as_dot, as_mermaid, as_svg, as_text
from flowproof.graph.task import Graph
from tests.graph.tools import graph, node

PLAIN = graph(
    *(node("resolve_env"), node("proxy", "resolve_env"), node("mcp:files", "resolve_env")),
    *(node("agent", "proxy", "mcp:files", timeout=2.5), node("report", "agent", always=True)),
)
HOSTILE = graph(node('a"]; b-->c\n<b>`&amp;\\N'), node("\x1b[2J", 'a"]; b-->c\n<b>`&amp;\\N'))


def test_text_shows_layers_needs_limits_and_always() -> None:
    assert as_text(PLAIN, "replay") == (
        "replay\n"
        "1  resolve_env\n"
        "2  proxy        needs resolve_env\n"
        "   mcp:files    needs resolve_env\n"
        "3  agent        needs proxy, mcp:files; at most 2.5 s\n"
        "4  report       always, after agent\n"
    )


def test_text_tells_what_merely_comes_before_from_a_need() -> None:
    two = graph(node("a"), node("b"), replace(node("c", "a", "b"), after=frozenset({"b"})))
    assert as_text(two).splitlines()[-1] == "2  c  needs a; after b"


def test_text_of_an_empty_graph_and_of_a_lone_always_task() -> None:
    assert as_text(graph()) == "\n"
    assert as_text(graph(node("z", always=True))) == "1  z  always\n"


def test_text_keeps_control_characters_from_the_terminal() -> None:
    shown = as_text(HOSTILE, "a\nb")
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown
    assert len(shown.splitlines()) == 3


def test_mermaid() -> None:
    assert as_mermaid(PLAIN, 'the "replay"') == (
        "---\n"
        'title: "the \\"replay\\""\n'
        "---\n"
        "flowchart LR\n"
        '    t0["resolve_env"]\n'
        '    t1["proxy"]\n'
        '    t2["mcp:files"]\n'
        '    t3["agent<br>at most 2.5 s"]\n'
        '    t4(["report"])\n'
        "    t0 --> t1\n"
        "    t0 --> t2\n"
        "    t1 --> t3\n"
        "    t2 --> t3\n"
        "    t3 -.-> t4\n"
    )


def test_mermaid_escapes_ids() -> None:
    label = as_mermaid(HOSTILE).splitlines()[1]
    assert label.startswith('    t0["a#34;#93;#59; b--#62;c#92;n#60;b#62;#96;#38;amp#59;#92;N')
    assert label.count('"') == 2


def test_dot() -> None:
    assert as_dot(PLAIN, "replay") == (
        "digraph flowproof {\n"
        "    rankdir=LR;\n"
        "    node [shape=box];\n"
        '    label="replay"; labelloc=t;\n'
        '    t0 [label="resolve_env"];\n'
        '    t1 [label="proxy"];\n'
        '    t2 [label="mcp:files"];\n'
        '    t3 [label="agent\\nat most 2.5 s"];\n'
        '    t4 [label="report", style=rounded];\n'
        "    t0 -> t1;\n"
        "    t0 -> t2;\n"
        "    t1 -> t3;\n"
        "    t2 -> t3;\n"
        "    t3 -> t4 [style=dashed];\n"
        "}\n"
    )


def test_dot_escapes_ids() -> None:
    assert as_dot(HOSTILE).splitlines()[3] == (
        '    t0 [label="a\\"]; b-->c\\\\n<b>`&amp;amp;\\\\N"];'
    )


@pytest.mark.parametrize("draw", [as_text, as_mermaid, as_dot])
def test_a_drawing_without_a_title_has_none(draw: Callable[[Graph], str]) -> None:
    assert "title" not in draw(PLAIN)
    assert "labelloc" not in draw(PLAIN)


def program(folder: Path, script: str) -> Callable[[str], str | None]:
    """A stand-in for Graphviz that is found under any name."""
    path = folder / "dot"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return lambda name: str(path)


def test_svg_is_what_dot_makes_of_the_dot_text(tmp_path: Path) -> None:
    which = program(tmp_path, 'echo "<svg $1>"; cat')
    assert as_svg(PLAIN, "t", which=which) == "<svg -Tsvg>\n" + as_dot(PLAIN, "t")


def test_svg_without_graphviz_names_the_package() -> None:
    with pytest.raises(CapabilityError, match="install the package graphviz"):
        as_svg(PLAIN, which=lambda name: None)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param("echo no font >&2; exit 3", "failed with status 3: no font", id="fails"),
        pytest.param("exec sleep 30", "drew for more than 0.2 s", id="hangs"),
    ],
)
def test_graphviz_that_does_not_do_its_work(tmp_path: Path, script: str, said: str) -> None:
    with pytest.raises(CapabilityError, match=said):
        as_svg(PLAIN, which=program(tmp_path, script), timeout=0.2 if "sleep" in script else 30)


def test_graphviz_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match="cannot be started"):
        as_svg(PLAIN, which=lambda name: str(tmp_path / "gone"))
