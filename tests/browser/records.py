"""Run records whose pages are opened: every verdict, none, many, wide ones, a long conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from flowproof.errors import ExitCode
from flowproof.model.flow_spec import Control
from flowproof.model.origin import Origin, Population, Source
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FileDigest, FlowRecord, RunRecord, TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.model.traffic import ModelTraffic, Unserved
from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView
from tests.report.fixtures import diverged, flow_record, run_of, sample_run, tool_call

TASKS = (
    TaskRecord("resolve_env", TaskState.DONE, 0.0, 0.0004),
    TaskRecord("read_trace", TaskState.DONE, 0.0006, 0.0012),
    TaskRecord(
        "start_model_proxy", TaskState.DONE, 0.002, 0.36, needs=("read_trace", "resolve_env")
    ),
    TaskRecord("launch_agent", TaskState.DONE, 0.0131, 0.31, needs=("start_model_proxy",)),
    TaskRecord("collect_lanes", TaskState.DONE, 0.324, 0.0003, needs=("launch_agent",)),
    TaskRecord("check", TaskState.DONE, 0.3301, 0.0032, needs=("collect_lanes",)),
    TaskRecord("report", TaskState.DONE, 0.334, 0.0011, needs=("check",)),
)


def every() -> RunRecord:
    """Every verdict, with all that a record may say about where it comes from."""
    flaky = replace(
        flow_record("Cancels a booking"),
        path="smoke/cancel.flow.yaml",
        verdict=Verdict.FLAKY,
        attempts=(
            AttemptRecord(Verdict.FAIL, ExitCode.FLOW_FAILED, 0.9, "the agent exited with 1"),
        ),
    )
    return _as_run((*sample_run().flows, flaky))


def empty() -> RunRecord:
    """A run in which nothing ran."""
    return run_of()


def recorded() -> RunRecord:
    """A recording of one flow, without a suite around it."""
    flow = replace(flow_record(), phase="record", tasks=TASKS)
    return replace(run_of(flow), phase="record", partial=True, suite="")


def crowd() -> RunRecord:
    """60 flows, of which each may need two others, on three slots of two hosts."""
    flows = []
    for number in range(60):
        flow = diverged() if number % 20 == 9 else flow_record()
        flows.append(
            replace(
                flow,
                name=f"Books a flight to place {number}",
                path=f"area{number % 7}/book_{number}.flow.yaml",
                tags=("booking", f"area{number % 7}"),
                control=Control(f"ac.area.{number % 7}", f"Area {number % 7} is safe"),
                duration=0.2 + (number * 37 % 100) / 40,
            )
        )
    return _as_run(tuple(flows))


def wide() -> RunRecord:
    """Words that no line can hold, wherever a person may write one."""
    word = "supercalifragilistic" * 20
    path = f"{'deep-folder/' * 30}{word[:120]}.flow.yaml"
    call = tool_call(word, {word: word, "list": [word] * 3})
    first, second = flow_record().trajectory.turns
    turn = replace(
        first, dialect=word, model=word, system=word, answers=(Message("assistant", word, (call,)),)
    )
    flow = replace(
        diverged(),
        name=word,
        path=path,
        reason=word,
        command=word,
        description=word,
        tags=(word, *(f"tag{number}" for number in range(40))),
        control=Control(word, word, word, (word,), word),
        warnings=(word,),
        trajectory=Trajectory((turn, second)),
        environment=(word,),
        tasks=tuple(replace(task, id=f"{task.id}-{word}", needs=()) for task in TASKS),
        spec=FileDigest(path, "5f" * 32),
        host=word,
    )
    record = _as_run((flow, replace(flow, path=f"2{path}")))
    return replace(record, suite=word, command=word, host=word, errors=(word,), warnings=(word,))


def conversation() -> RunRecord:
    """One flow of 30 turns: tool calls of each kind, choices, errors, long bodies, two threads."""
    turns: list[TurnView] = []
    for number in range(1, 31):
        turns.append(_turn(number, turns[-2] if number > 2 else None))
    unserved = (Unserved("POST", "/v2/rerank", 3),)
    flow = replace(
        flow_record("Talks at length"),
        tasks=TASKS,
        trajectory=Trajectory(tuple(turns)),
        traffic=ModelTraffic(30, 30, 30, 2, unserved, 3, 2),
    )
    return _as_run((flow, diverged()))


RECORDS: Mapping[str, Callable[[], RunRecord]] = {
    "every": every,
    "empty": empty,
    "recorded": recorded,
    "crowd": crowd,
    "wide": wide,
    "conversation": conversation,
}


def _turn(number: int, base: TurnView | None) -> TurnView:
    """Two conversations take turns; each continues its own."""
    call = tool_call("search_flights", {"to": "LHR", "page": number}, f"call_{number}")
    if number % 7 == 0:
        call = replace(call, served=True)
    if number % 11 == 0:
        call = ToolCall(f"call_{number}", "search_flights", '{"to": ', None, malformed=True)
    answers: tuple[Message, ...] = (Message("assistant", f"Searching, step {number}.", (call,)),)
    if number % 10 == 0:
        answers = (*answers, Message("assistant", "Or shall I wait?"))
    failed = number % 13 == 0
    result = (
        '{"flights":[' + ",".join('{"id":"KQ311","price":412.50}' for _ in range(number)) + "]}"
    )
    added = (
        Message("system", "You book flights."),
        Message("user", "Find me a flight.", attachments=("image/png, 12 kB",)),
    )
    if base is not None:
        asked = tuple(one for answer in base.answers for one in answer.asks)
        results = (
            Message("tool", result, call_id=one.id, tool="search_flights") for one in asked[:1]
        )
        added = (*base.answers[:1], *results)  # type: ignore[assignment]
    return TurnView(
        number,
        "anthropic.messages" if number % 2 else "openai.chat",
        "a-model-of-some-kind",
        "You book flights.",
        base.number if base else None,
        2 * number if base else 0,
        added,
        100 * number,
        ("search_flights", "create_booking"),
        529 if failed else 200,
        () if failed else answers,
        continues=base is not None,
        mocked=("search_flights",) if number % 3 else (),
        tokens=(211 * number, 24),
    )


def _as_run(flows: tuple[FlowRecord, ...]) -> RunRecord:
    """These flows one after another on three slots, the last ones after some before them."""
    slots, free, placed = 3, [0.4, 0.4, 0.4], list[FlowRecord]()
    for number, flow in enumerate(flows):
        slot = min(range(slots), key=free.__getitem__)
        ran = flow.verdict is not Verdict.SKIPPED
        earlier = tuple(
            f"flow {other}" for other in (number - 3, number // 2) if 0 < other < number
        )
        placed.append(
            replace(
                flow,
                id=f"flow {number}",
                needs=earlier[:1],
                after=earlier[1:],
                locks=("port 4646",) if number % 5 == 0 else (),
                offset=free[slot] if ran else None,
                slot=slot + 1 if ran else 0,
                host="builder-8" if slot == 2 else "",
                usual=flow.duration * (0.4 if number % 4 == 0 else 1),
                tasks=TASKS if flow.tasks and flow.verdict.green else flow.tasks,
                inputs=(FileDigest("smoke/suite.yaml", "9e" * 32),),
            )
        )
        free[slot] += flow.duration if ran else 0
    counted = len(flows)
    return replace(
        run_of(*placed),
        duration=max(free) + 0.3,
        slots=slots,
        tasks=(
            TaskRecord("before_all", TaskState.DONE, 0.0, 0.38),
            TaskRecord("after_all", TaskState.DONE, max(free), 0.2),
        ),
        inputs=(FileDigest("uv.lock", "ab" * 32),),
        origin=Origin(
            "casey",
            "push",
            "GitHub Actions",
            "https://ci.example/runs/17",
            "Debian 12",
            "6.1.0",
            "d1" * 32,
        ),
        source=Source("https://git.example/bot.git", "c0" * 20, "main", True, "e2" * 32),
        population=Population(counted + 4, counted, (("tag", "smoke and not slow"),)),
    )
