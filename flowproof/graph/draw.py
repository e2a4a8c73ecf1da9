"""Draws a graph as text, Mermaid, DOT or SVG. Pure functions; only SVG runs a program."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence

from flowproof.errors import CapabilityError
from flowproof.graph.task import Graph, TaskNode

_NAMED = 8
"""So many tasks that one waits for are named on a line of text."""


def as_text(graph: Graph, title: str = "") -> str:
    """A table for a terminal, one task per line: its layer, its id, what it waits for.

    A task stands one layer below the lowest task that it waits for.
    """
    lines = [_visible(title)] if title else []
    layers: dict[str, int] = {}
    for node in graph.order():
        layers[node.id] = 1 + max((layers[need] for need in node.needs), default=0)
    nodes = sorted(graph.order(), key=lambda node: layers[node.id])
    names = [_visible(node.id) for node in nodes]
    wide = max(map(len, names), default=0)
    digits = len(str(max(layers.values(), default=0)))
    last = 0
    for node, name in zip(nodes, names, strict=True):
        layer = layers[node.id]
        number = str(layer) if layer != last else ""
        last = layer
        lines.append(f"{number:>{digits}}  {name:<{wide}}  {_remarks(node)}".rstrip())
    return "\n".join(lines) + "\n"


def as_mermaid(graph: Graph, title: str = "") -> str:
    """A Mermaid flowchart; an `always` task is rounded. Edges that merely order are dotted."""
    lines = ["---", f"title: {json.dumps(_visible(title))}", "---"] if title else []
    lines.append("flowchart LR")
    number = {id: f"t{at}" for at, id in enumerate(graph.tasks)}
    for node in graph.tasks.values():
        label = _mermaid_label(node)
        shape = f'(["{label}"])' if node.always else f'["{label}"]'
        lines.append(f"    {number[node.id]}{shape}")
    for node in graph.tasks.values():
        for need in node.needs:
            arrow = "-.->" if node.always or need in node.after else "-->"
            lines.append(f"    {number[need]} {arrow} {number[node.id]}")
    return "\n".join(lines) + "\n"


def as_dot(graph: Graph, title: str = "") -> str:
    """A digraph for Graphviz; an `always` task is rounded. Edges that merely order are dashed."""
    lines = ["digraph flowproof {", "    rankdir=LR;", "    node [shape=box];"]
    if title:
        lines.append(f'    label="{_dot_text(title)}"; labelloc=t;')
    number = {id: f"t{at}" for at, id in enumerate(graph.tasks)}
    for node in graph.tasks.values():
        rounded = ", style=rounded" if node.always else ""
        lines.append(f'    {number[node.id]} [label="{_dot_label(node)}"{rounded}];')
    for node in graph.tasks.values():
        for need in node.needs:
            dashed = " [style=dashed]" if node.always or need in node.after else ""
            lines.append(f"    {number[need]} -> {number[node.id]}{dashed};")
    return "\n".join([*lines, "}"]) + "\n"


def as_svg(
    graph: Graph,
    title: str = "",
    *,
    which: Callable[[str], str | None] = shutil.which,
    timeout: float = 30.0,
) -> str:
    """An SVG image, made by Graphviz within `timeout` seconds.

    :raises CapabilityError: if Graphviz is not installed, fails, or takes too long.
    """
    program = which("dot")
    if program is None:
        raise CapabilityError(
            "drawing SVG takes the program `dot`, which is not on PATH; install the package"
            " graphviz, or choose the format text, mermaid or dot"
        )
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=as_dot(graph, title).encode(),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CapabilityError(f"`dot` drew for more than {timeout:g} s and was ended") from None
    except OSError as error:
        raise CapabilityError(f"`dot` cannot be started: {error}") from error
    if done.returncode != 0:
        said = _visible(done.stderr.decode(errors="replace").strip()[:500])
        raise CapabilityError(f"`dot` failed with status {done.returncode}: {said}")
    return done.stdout.decode(errors="replace")


def _remarks(node: TaskNode) -> str:
    remarks = []
    if node.always:
        before = _listed(node.needs)
        remarks.append(f"always, after {before}" if before else "always")
    else:
        needs = [need for need in node.needs if need not in node.after]
        after = [need for need in node.needs if need in node.after]
        remarks += [f"needs {_listed(needs)}"] if needs else []
        remarks += [f"after {_listed(after)}"] if after else []
    return "; ".join([*remarks, *_limits(node)])


def _listed(ids: Sequence[str]) -> str:
    named = ", ".join(map(_visible, ids[:_NAMED]))
    more = len(ids) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _limits(node: TaskNode) -> list[str]:
    limits = [] if node.timeout is None else [f"at most {node.timeout:g} s"]
    return [*limits, _visible(node.note)] if node.note else limits


def _visible(text: str) -> str:
    """The text on one line, with what cannot be printed written as an escape."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _mermaid_label(node: TaskNode) -> str:
    # Mermaid reads `#name;` as an entity, and Markdown and HTML inside a quoted label.
    lines = (_visible(line) for line in (node.id, *_limits(node)))
    return "<br>".join(
        "".join(char if char.isalnum() or char in " :._-/" else f"#{ord(char)};" for char in line)
        for line in lines
    )


def _dot_label(node: TaskNode) -> str:
    return "\\n".join(_dot_text(line) for line in (node.id, *_limits(node)))


def _dot_text(text: str) -> str:
    # A label is quoted text in which Graphviz also reads backslash escapes and HTML entities.
    shown = _visible(text).replace("\\", "\\\\").replace('"', '\\"')
    return shown.replace("&", "&amp;")
