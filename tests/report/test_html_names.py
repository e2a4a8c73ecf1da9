"""Names of pages: unique, plain, and the same however the record is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.report.html_names import LIMIT, PageNames, page_names
from tests.report.fixtures import flow_record


def named(*paths: str) -> list[str]:
    names = PageNames()
    return [names.page(path) for path in paths]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("smoke/booking.flow.yaml", "smoke.booking", id="usual"),
        pytest.param("./a.flow.yaml", "a", id="here"),
        pytest.param("a/b c/d&é.flow.yaml", "a.b-c.d-", id="other-letters"),
        pytest.param("../up/x.flow.yaml", "up.x", id="parent"),
        pytest.param(".hidden/x.flow.yaml", "hidden.x", id="dot"),
        pytest.param("--out.flow.yaml", "out", id="option"),
        pytest.param("x.yaml", "x.yaml", id="other-ending"),
        pytest.param("", "flow", id="nothing"),
        pytest.param("…/…", "flow", id="no-letters"),
        pytest.param("</a>\0\u202e.flow.yaml", "a-", id="hostile"),
    ],
)
def test_a_page_is_called_as_its_flow(path: str, name: str) -> None:
    assert named(path) == [name]


def test_the_second_of_a_name_is_numbered_whatever_its_case() -> None:
    paths = ("a.flow.yaml", "A.flow.yaml", "a-2.flow.yaml", "a.flow.yaml", "a.flow.yaml")
    assert named(*paths) == ["a", "A-2", "a-2-2", "a-3", "a-4"]


def test_a_long_name_keeps_its_limit_with_a_number() -> None:
    first, second = named("x" * 5_000, "x" * 5_000)
    assert first == "x" * LIMIT
    assert second == "x" * (LIMIT - 2) + "-2"


def test_very_many_flows_of_one_name_take_no_longer_each() -> None:
    names = named(*["a.flow.yaml"] * 20_000)
    assert len(set(names)) == 20_000


@given(st.lists(st.text(max_size=12) | st.sampled_from(["a", "A", "a-2", "a-3"]), max_size=30))
def test_names_are_unique_and_plain(paths: list[str]) -> None:
    names = named(*paths)
    assert len({name.lower() for name in names}) == len(paths)
    for name in names:
        assert 0 < len(name) <= LIMIT
        assert name.isascii()
        assert not set(name) - set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
        )
        assert not name.startswith((".", "-"))


def test_pages_of_flows() -> None:
    flow = flow_record()
    flows = (flow, replace(flow, path="x.flow.yaml"), flow)
    assert list(page_names(flows)) == [
        "flows/smoke.booking.html",
        "flows/x.html",
        "flows/smoke.booking-2.html",
    ]
