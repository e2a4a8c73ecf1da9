"""Records of flows come back as they were given, from memory or from a file without a name."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord
from flowproof.report.run_json import dump, load
from flowproof.suite.flow_store import FlowStore
from tests.report.fixtures import run_of, sample_run


def files() -> set[str]:
    """What this process has open that is a file no name leads to."""
    names = set()
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own
            names.add(str(one.readlink()))
    return {one for one in names if one.endswith("(deleted)") and "flowproof-" in one}


def records(count: int) -> dict[str, FlowRecord]:
    kinds = sample_run().flows
    return {f"id {at}": replace(kinds[at % len(kinds)], name=f"flow {at}") for at in range(count)}


@pytest.mark.parametrize("room", [0, 20_000, 1 << 30], ids=["on disk", "both", "in memory"])
def test_records_come_back_in_any_order(room: int) -> None:
    store, given = FlowStore(room), records(40)
    for id, record in given.items():
        store.put(id, record)
    order = [*reversed(given)]
    flows = store.in_order(order)
    assert list(flows) == [given[id] for id in order]
    assert (flows[0], flows[-1]) == (given["id 39"], given["id 0"])
    assert flows[1:3] == (given["id 38"], given["id 37"])
    assert len(flows) == 40
    assert list(flows.verdicts) == [flow.verdict for flow in flows]
    with pytest.raises(IndexError):
        flows[40]


def test_what_has_not_ended_is_not_there() -> None:
    store = FlowStore()
    assert store.verdict("a") is None
    with pytest.raises(KeyError):
        store.in_order(["a"])


def test_the_later_record_of_a_flow_counts() -> None:
    store, given = FlowStore(0), list(records(2).values())
    for record in given:
        store.put("a", record)
    assert store.verdict("a") is given[1].verdict
    assert store.get("a") == given[1]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_file_has_no_name_and_goes_with_its_store() -> None:
    gc.collect()
    store, before = FlowStore(0), files()
    store.put("a", records(1)["id 0"])
    assert len(files()) == len(before) + 1
    flows = store.in_order(["a"])
    del store
    gc.collect()
    assert len(flows[0].name) > 0
    del flows
    gc.collect()
    assert files() == before


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes: as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # Python would cut it short
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = compiles


@pytest.mark.parametrize("size", [0, 100, 6000], ids=lambda size: f"{size} bytes left")
def test_a_full_disk_loses_nothing(size: int) -> None:
    store, given = FlowStore(0), records(6)
    ids = list(given)
    with largest_file(size):
        for id in ids[:4]:
            store.put(id, given[id])
    for id in ids[4:]:
        store.put(id, given[id])
    assert list(store.in_order(ids)) == list(given.values())


def test_a_run_of_them_counts_and_renders_as_one_of_a_tuple() -> None:
    store, given = FlowStore(0), records(12)
    for id, record in given.items():
        store.put(id, record)
    plain = run_of(*given.values())
    lazy = replace(plain, flows=store.in_order(given))
    assert lazy.counts() == plain.counts()
    assert sum(lazy.counts().values()) == 12
    assert lazy.counts()[Verdict.PASS] > 0
    assert dump(lazy) == dump(plain)
    assert load(dump(lazy)) == plain
