"""Where boxes and lines stand: whatever the graph, it can be read and is drawn the same."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.report.diagram.layers import TALLEST, not_implied, without_circles
from flowproof.report.diagram.layout import (
    MAX_BOXES,
    MAX_LINES,
    PAGE_WIDTH,
    Box,
    Drawing,
    Edge,
    Kind,
    Node,
    laid_out,
)
from tests.report.hostile import EVIL, LONG_LINE

KINDS: Sequence[Kind] = ("needs", "after")
numbers = st.integers(0, 24)
graphs = st.tuples(
    st.integers(0, 25),
    st.lists(st.tuples(numbers, numbers, st.sampled_from(KINDS)), max_size=60),
)


def nodes(count: int, note: str = "") -> list[Node]:
    return [Node(str(number), f"flow {number}", note) for number in range(count)]


def edges(*pairs: tuple[int, int]) -> list[Edge]:
    return [Edge(str(first), str(then)) for first, then in pairs]


def drawn(boxes: Sequence[Node], lines: Sequence[Edge]) -> Drawing:
    drawing = laid_out(boxes, lines)
    assert drawing is not None
    return drawing


def at(drawing: Drawing, id: str) -> Box:
    return next(box for box in drawing.boxes if box.node.id == id)


def apart(one: Box, other: Box) -> bool:
    beside = one.x + one.width < other.x or other.x + other.width < one.x
    return beside or one.y + one.height < other.y or other.y + other.height < one.y


@given(graphs)
@settings(max_examples=150, deadline=None)
def test_every_node_is_placed_and_nothing_overlaps(
    graph: tuple[int, list[tuple[int, int, Kind]]],
) -> None:
    count, pairs = graph
    lines = [Edge(str(first), str(then), kind) for first, then, kind in pairs]
    drawing = drawn(nodes(count), lines)
    assert sorted(int(box.node.id) for box in drawing.boxes) == list(range(count))
    assert all(apart(one, other) for one, other in combinations(drawing.boxes, 2))
    for box in drawing.boxes:
        assert box.x >= 0 and box.x + box.width <= drawing.width
        assert box.y >= 0 and box.y + box.height <= drawing.height
    assert drawing == drawn(nodes(count), lines)


@given(graphs)
@settings(max_examples=150, deadline=None)
def test_lines_go_right_and_stay_in_the_drawing(
    graph: tuple[int, list[tuple[int, int, Kind]]],
) -> None:
    count, pairs = graph
    lines = [Edge(str(first), str(then), kind) for first, then, kind in pairs]
    drawing = drawn(nodes(count), lines)
    for line in drawing.lines:
        places = [int(number) for number in re.findall(r"-?\d+", line.path)]
        xs = [places[0], places[-1]] if "H" in line.path else places[::2]
        assert xs == sorted(xs)
        assert xs[0] >= 0 and xs[-1] <= drawing.width
        ys = [places[1]] if "H" in line.path else places[1::2]
        assert all(0 <= y <= drawing.height for y in ys)
    known = {(int(e.first), int(e.then)): e.kind == "after" for e in lines if e.first != e.then}
    known = {pair: kind for pair, kind in known.items() if max(pair) < count}
    kept, _ = without_circles(count, known)
    for first, then in not_implied(count, kept):
        one, other = at(drawing, str(first)), at(drawing, str(then))
        assert one.x + one.width < other.x


@given(graphs)
@settings(max_examples=150, deadline=None)
def test_what_is_not_drawn_follows_from_what_is(
    graph: tuple[int, list[tuple[int, int, Kind]]],
) -> None:
    count, pairs = graph
    all_lines = {
        (first, then): kind == "after"
        for first, then, kind in pairs
        if first < then < count  # no circle
    }
    kept = not_implied(count, all_lines)

    def reached(lines: dict[tuple[int, int], bool], merely: bool) -> set[tuple[int, int]]:
        pairs = {pair for pair, kind in lines.items() if merely or not kind}
        for middle in range(count):
            into = [first for first, then in pairs if then == middle]
            out = [then for first, then in pairs if first == middle]
            pairs |= {(first, then) for first in into for then in out}
        return pairs

    for merely in (False, True):
        assert reached(kept, merely) == reached(all_lines, merely)


def test_a_chain_stands_in_one_row() -> None:
    drawing = drawn(nodes(4), edges((0, 1), (1, 2), (2, 3)))
    assert len({box.y for box in drawing.boxes}) == 1
    assert [box.node.id for box in sorted(drawing.boxes, key=lambda box: box.x)] == list("0123")
    assert len(drawing.lines) == 3
    assert all(line.head for line in drawing.lines)


def test_what_follows_from_other_lines_is_counted() -> None:
    drawing = drawn(nodes(3), edges((0, 1), (1, 2), (0, 2)))
    assert len(drawing.lines) == 2
    assert (drawing.implied, drawing.circular) == (1, 0)


def test_a_need_does_not_follow_from_an_order() -> None:
    lines = [Edge("0", "1", "after"), Edge("1", "2"), Edge("0", "2")]
    drawing = drawn(nodes(3), lines)
    assert drawing.implied == 0
    assert sum(bool(line.head) for line in drawing.lines) == 3


def test_circles_are_broken_and_counted() -> None:
    drawing = drawn(nodes(3), edges((0, 1), (1, 2), (2, 0), (1, 1)))
    assert len(drawing.boxes) == 3
    assert drawing.circular == 1


def test_a_wide_column_is_spread() -> None:
    count = 4 * TALLEST
    drawing = drawn(nodes(count + 1), edges(*((count, number) for number in range(count))))
    columns = [box.x for box in drawing.boxes]
    assert max(columns.count(x) for x in set(columns)) == TALLEST
    assert sum(bool(line.head) for line in drawing.lines) == count


def test_lines_that_share_their_way_are_drawn_once() -> None:
    # Two boxes that two others wait for, over one column in between.
    lines = edges((0, 1), (1, 2), (0, 3), (3, 4), (4, 2), (5, 4), (5, 6))
    paths = [line.path for line in drawn(nodes(7), lines).lines]
    assert len(paths) == len(set(paths))


def test_lines_do_not_cross_where_they_need_not() -> None:
    ends = ((1, 6), (2, 5), (3, 4))
    drawing = drawn(nodes(7), edges((0, 1), (0, 2), (0, 3), *ends))
    pairs = [(at(drawing, str(first)).y, at(drawing, str(then)).y) for first, then in ends]
    assert [then for _, then in sorted(pairs)] == sorted(then for _, then in pairs)


def test_parts_that_do_not_hang_together_fill_the_width() -> None:
    drawing = drawn(nodes(40), [])
    assert drawing.width <= PAGE_WIDTH + 2
    assert len({box.y for box in drawing.boxes}) < 10


@pytest.mark.parametrize(
    ("boxes", "lines"),
    [
        pytest.param(nodes(MAX_BOXES + 1), [], id="boxes"),
        pytest.param(
            nodes(80),
            edges(*((first, 40 + then) for first in range(40) for then in range(40))),
            id="lines",
        ),
    ],
)
def test_what_is_too_large_to_read_is_not_drawn(boxes: list[Node], lines: list[Edge]) -> None:
    assert laid_out(boxes, lines) is None


def test_what_is_just_small_enough_is_drawn() -> None:
    lines = edges(*((first, 25 + then) for first in range(25) for then in range(40)))
    assert len(lines) == MAX_LINES
    assert len(drawn(nodes(65), lines).boxes) == 65
    assert len(drawn(nodes(MAX_BOXES), []).boxes) == MAX_BOXES


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(edges(*((a, b) for a in range(200) for b in range(200))), id="everything"),
        pytest.param(edges(*pairwise(range(200))), id="chain"),
        pytest.param(
            edges(
                *pairwise(range(100)),
                *((0, 100 + leaf) for leaf in range(100)),
                *((100 + leaf, 90 + leaf % 10) for leaf in range(100)),
            ),
            id="long-lines",
        ),
    ],
)
def test_the_largest_graphs_are_laid_out_at_once(lines: list[Edge]) -> None:
    begun = time.process_time()
    assert len(drawn(nodes(MAX_BOXES), lines).boxes) == MAX_BOXES
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(EVIL, id="evil"),
        pytest.param(LONG_LINE, id="long"),
        pytest.param("日本語" * 50, id="wide"),
        pytest.param("e\u0301" * 80, id="combining"),
        pytest.param("مرحبا " * 30, id="right-to-left"),
        pytest.param("two\nlines\tand a tab", id="lines"),
    ],
)
def test_labels_are_cut_to_their_box(text: str) -> None:
    box = drawn([Node(text, text, text, symbol="✗", title=text)], edges((0, 0))).boxes[0]
    assert box.width <= 240
    assert len(box.label) <= 200
    assert not re.search("[\x00-\x1f\u202a-\u202e\ud800-\udfff]", box.label + box.note)


def test_short_labels_stay_whole() -> None:
    box = drawn([Node("a", "start_model_proxy", "12 ms", symbol="✓")], []).boxes[0]
    assert (box.label, box.note) == ("start_model_proxy", "12 ms")


def test_nodes_of_one_id_are_all_placed() -> None:
    drawing = drawn([Node("a", "one"), Node("a", "two"), Node("b", "b")], [Edge("a", "b")])
    assert len(drawing.boxes) == 3
    assert len(drawing.lines) == 1


def test_a_graph_of_nothing_is_nothing() -> None:
    assert drawn([], []) == Drawing(0, 0, (), ())
