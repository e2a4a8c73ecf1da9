"""Figures of HTML reports: what the pages of many flows, and of long ones, cost to make and to
open. Each is made in a process of its own, so that its memory is its own too.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, LazyFlows, RunRecord
from flowproof.model.trajectory import Message, Trajectory, TurnView
from flowproof.report.write import Content
from tests.benchmarks.measure import Command, run
from tests.report.fixtures import diverged, flow_record, run_of, tool_call

FLOWS, FAILED = 10_000, 50
SLOTS = 8
TURNS = 500
LONG = 10_000_000
"""Characters of the texts of a very long trajectory."""
PAGE = "flows/smoke.booking.html"


def pages(folder: Path, env: Mapping[str, str]) -> None:
    """Print all of them. `folder` has room for the pages; the environment is that of commands."""
    many_flows(folder / "many", env)
    many_turns()
    long_page(folder / "long")


def many_flows(folder: Path, env: Mapping[str, str]) -> None:
    folder.mkdir()
    root = Path(__file__).parents[2]
    found = run(Command([sys.executable, "-m", __name__, str(folder)], env, root))
    size = (folder / "index.html").stat().st_size
    index = float((folder / "seconds").read_text("utf-8"))
    print(
        f"pages of 10,000 flows        {found.wall:5.1f} s, {found.cpu / FLOWS * 1000:.1f} ms CPU "
        f"a flow (aim 2.0), peak {found.peak / 1e6:.0f} MB (aim 500)\n"
        f"  their index                {index:5.1f} s (aim 15), {size / 1e6:.1f} MB (aim 8)"
    )


def many_turns() -> None:
    from flowproof.report import html

    record = run_of(replace(flow_record(), trajectory=Trajectory(_turns(TURNS, 2000))))
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        size = len(_whole(next(iter(html.render(record)))[1]))
        seconds.append(time.perf_counter() - began)
    print(
        f"page of {TURNS} turns            {statistics.median(seconds):5.2f} s (aim 1), "
        f"{size / 1e6:.1f} MB"
    )


def long_page(folder: Path) -> None:
    from flowproof.report import html
    from flowproof.report.write import write_files
    from tests.browser import chromium

    turns = _turns(100, LONG // 100)
    record = run_of(replace(flow_record(), trajectory=Trajectory(turns)))
    write_files(folder, html.render(record))
    size = (folder / PAGE).stat().st_size
    executable = chromium.found()
    if executable is None:
        print(f"page of 10 MB of texts       {size / 1e6:.1f} MB; {chromium.MISSING}")
        return
    with chromium.started(executable) as browser:
        seconds = []
        for _ in range(3):
            page = browser.new_page()
            began = time.perf_counter()
            page.goto((folder / PAGE).as_uri(), wait_until="domcontentloaded")
            seconds.append(time.perf_counter() - began)
            page.close()
    print(
        f"page of 10 MB of texts       {statistics.median(seconds):5.2f} s until a browser has "
        f"it (aim 1), {size / 1e6:.1f} MB"
    )


def _turns(count: int, length: int) -> tuple[TurnView, ...]:
    """A conversation in which each turn calls a tool, and is told `length` characters by it."""
    first, second = flow_record().trajectory.turns
    line = "KQ311 leaves Nairobi at 08:45 and is <full>. "
    turns = [first]
    for number in range(2, count + 1):
        call = tool_call("search_flights", {"to": "LHR", "page": number}, f"call_{number}")
        last = turns[-1].answers[0].tool_calls[0]
        text = (line * (length // len(line) + 1))[:length]
        result = Message("tool", text, call_id=last.id, tool="search_flights")
        turns.append(
            replace(
                second,
                number=number,
                base=number - 1,
                kept=2 * number - 2,
                added=(turns[-1].answers[0], result),
                answers=(Message("assistant", f"Searching page {number}.", (call,)),),
                continues=True,
            )
        )
    return tuple(turns)


def _many() -> RunRecord:
    """Flows that are made as they are read, of which some failed, as a large run has them."""
    green, red = flow_record(), diverged()
    step = FLOWS // FAILED

    def read(number: int) -> FlowRecord:
        return replace(
            red if number % step == 0 else green,
            id=f"flow {number}",
            name=f"Books a flight to place {number}",
            path=f"area{number % 40}/book_{number}.flow.yaml",
            tags=("booking", f"area{number % 40}"),
            duration=0.4,
            offset=0.5 * (number // SLOTS),
            slot=number % SLOTS + 1,
            needs=(f"flow {number - 1}",) if number % 100 == 1 else (),
        )

    verdicts = [Verdict.PASS if number % step else Verdict.FAIL for number in range(FLOWS)]
    flows = LazyFlows(verdicts, read)
    return replace(run_of(red), flows=flows, slots=SLOTS, duration=0.5 * FLOWS / SLOTS)


def _write(folder: Path) -> None:
    """The pages of many flows, and how long the index alone took; pages are counted, not kept."""
    from flowproof.report import html

    began = time.perf_counter()
    for name, content in html.render(_many()):
        data = _whole(content)
        if name == html.FILE_NAME:
            (folder / name).write_bytes(data)
            (folder / "seconds").write_text(str(time.perf_counter() - began), "utf-8")
        began = time.perf_counter()


def _whole(content: Content) -> bytes:
    text = content if isinstance(content, str | bytes) else "".join(content)
    return text if isinstance(text, bytes) else text.encode()


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
