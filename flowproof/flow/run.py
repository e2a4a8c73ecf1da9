"""Runs one flow through its graph and says how it ended. The suite and the commands call this."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeVar, cast

import anyio

from flowproof.drivers.interface import Launch
from flowproof.flow.agent_environment import key_remover
from flowproof.flow.boundary import Lanes, ModelBoundary
from flowproof.flow.compile import compile_flow
from flowproof.flow.job import FlowJob, World
from flowproof.flow.launch_agent import (
    launch_agent,
    named_files,
    variable_names,
    without_keys,
)
from flowproof.flow.read_trace import read_trace
from flowproof.flow.resolve_env import Prepared, resolve_env
from flowproof.flow.settings import limits_from
from flowproof.graph.result import TaskEnd
from flowproof.graph.scheduler import TaskContext, TaskFunction, run_graph
from flowproof.graph.task import Graph, TaskNode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.clock import utc_text
from flowproof.model.flow_spec import FlowSpec
from flowproof.trace.document import Trace

if TYPE_CHECKING:
    from flowproof.flow.check import Checked
    from flowproof.flow.mcp import McpBoundary
    from flowproof.model.run_record import FlowRecord

# What a task needs is imported in it: an agent is launched before what judges it is loaded.

T = TypeVar("T")


async def run_flow(
    job: FlowJob, world: World, cut: Callable[[FlowRecord], None] | None = None
) -> FlowRecord:
    """Record or replay one flow. What goes wrong is in the record; only cancellation escapes,
    after everything that was started is gone. `cut` is told before how far the flow had come."""
    tasks = _Tasks(job, world, utc_text(world.clock.now()))
    if reason := reason_to_skip(job.spec, world.environ):
        return tasks.skipped(reason)
    begun = world.clock.monotonic()
    graph = compile_flow(job.spec, job.phase)
    ends: dict[str, TaskEnd] = {}
    try:
        await run_graph(graph, tasks.by_kind(), clock=world.clock, observer=tasks, ends=ends)
    except anyio.get_cancelled_exc_class():
        if cut is not None:
            cut(_timed(tasks.cut_off(), graph, ends, world.clock.monotonic() - begun))
        raise
    from flowproof.model.run_record import FlowRecord

    end = ends["report"]
    if not isinstance(end.value, FlowRecord):
        raise end.error or RuntimeError("the flow left no record")
    record = tasks.with_inputs(end.value)
    return _timed(record, graph, ends, world.clock.monotonic() - begun)


def _timed(
    record: FlowRecord, graph: Graph, ends: Mapping[str, TaskEnd], duration: float
) -> FlowRecord:
    from flowproof.model.run_record import TaskRecord

    tasks = tuple(
        TaskRecord(id, end.state, end.started, end.duration, end.cause, graph.tasks[id].needs)
        for id, end in sorted(ends.items(), key=_start)
    )
    return dataclasses.replace(record, duration=duration, tasks=tasks)


def reason_to_skip(spec: FlowSpec, environ: Mapping[str, str]) -> str:
    """Why a flow asks not to be run here; empty if it does not."""
    missing = [name for name in spec.skip_unless_env if not environ.get(name)]
    return f"skip_unless_env: {', '.join(missing)} is not set" if missing else ""


class _Tasks:
    """The tasks of one flow. It also observes how they end, which the last one reports."""

    def __init__(self, job: FlowJob, world: World, started: str) -> None:
        self._job = job
        self._world = world
        self._started = started
        # Mutable: filled by the scheduler as tasks end.
        self._ends: dict[str, TaskEnd] = {}
        self._boundary: ModelBoundary | None = None
        self._mcp: list[McpBoundary] = []
        self._cut: AgentExit | None = None
        self._inputs: list[tuple[str, str]] = []
        self._environment: tuple[str, ...] = ()

    def started(self, node: TaskNode, at: float) -> None:
        """A task begins."""

    def ended(self, node: TaskNode, end: TaskEnd) -> None:
        """A task has ended."""
        self._ends[node.id] = end

    def by_kind(self) -> Mapping[str, TaskFunction]:
        """Every task of both phases by the kind that the graphs name."""
        return {
            "resolve_env": self._resolve_env,
            "read_trace": self._read_trace,
            "start_model_proxy": self._start_model_proxy,
            "start_mcp": self._start_mcp,
            "launch_agent": self._launch_agent,
            "collect_lanes": self._collect_lanes,
            "check": self._check,
            "write_trace": self._write_trace,
            "report": self._report,
        }

    def skipped(self, reason: str) -> FlowRecord:
        """The record of a flow that is not run at all."""
        from flowproof.flow.report import skipped

        return skipped(self._job, self._started, reason)

    def cut_off(self) -> FlowRecord:
        """The record of a flow whose run was cancelled, with what its agent did until then."""
        from flowproof.flow.report import Ends, first_divergence, report, servers_of

        record = report(self._job, Ends(self._ends), self._started, debug=self._world.debug)
        record = self.with_inputs(record)
        if self._boundary is None or self._cut is None:
            return record
        from flowproof.flow.trajectory import trajectory_of

        crossed = tuple(server.so_far() for server in self._mcp)
        lanes = dataclasses.replace(self._boundary.so_far(), mcp=crossed)
        trajectory = trajectory_of(lanes.turns)
        return dataclasses.replace(
            record,
            agent=self._cut,
            divergence=first_divergence(lanes),
            traffic=lanes.traffic,
            trajectory=trajectory,
            mcp=servers_of(lanes, trajectory),
        )

    def with_inputs(self, record: FlowRecord) -> FlowRecord:
        """The record, with the files that the agent's command named as it was launched, and the
        names of the variables that it was given."""
        from flowproof.model.run_record import FileDigest

        inputs = tuple(FileDigest(path, digest) for path, digest in self._inputs)
        return dataclasses.replace(record, inputs=inputs, environment=self._environment)

    async def _resolve_env(self, context: TaskContext) -> Prepared:
        return resolve_env(self._job, self._world.environ)

    async def _read_trace(self, context: TaskContext) -> Trace:
        return read_trace(self._job)

    def _start_model_proxy(
        self, context: TaskContext
    ) -> AbstractAsyncContextManager[ModelBoundary]:
        prepared = _value(context, "resolve_env", Prepared)
        limits = limits_from(self._world.environ)
        agent = self._job.spec.agent
        port = agent.proxy_port or 0
        if self._job.phase == "replay":
            from flowproof.flow.replay import open_replay

            trace = _value(context, "read_trace", Trace)
            return open_replay(prepared, trace, port=port, max_body=limits.max_body)
        from flowproof.flow.record import open_record

        return open_record(
            prepared,
            self._world.environ,
            limits,
            port=port,
            keep_retries=agent.keep_retries,
            grace=self._world.in_flight_grace,
        )

    def _start_mcp(self, context: TaskContext) -> AbstractAsyncContextManager[McpBoundary]:
        from flowproof.flow.mcp import open_mcp

        prepared = _value(context, "resolve_env", Prepared)
        server = prepared.servers[context.node.item or ""]
        limits = limits_from(self._world.environ)
        if self._job.phase == "replay":
            trace = _value(context, "read_trace", Trace)
            return open_mcp(server, prepared, trace.mcp[server.name].lane, limits)
        return open_mcp(server, prepared, None, limits)

    async def _launch_agent(self, context: TaskContext) -> AgentExit:
        boundary = _boundary(context)
        prepared = _value(context, "resolve_env", Prepared)
        agent, driver = self._job.spec.agent, self._world.driver
        boundary.begin()
        self._boundary = boundary
        remove = key_remover(self._world.environ)

        def cut(ended: AgentExit) -> None:
            self._cut = without_keys(ended, remove)

        async def ready(launch: Launch) -> None:
            self._environment = variable_names(launch.env)
            self._inputs = await named_files(launch, self._job, self._world.digests)

        places = boundary.handles
        self._mcp = _servers(context)
        for server in self._mcp:
            places = server.told(places)
        seen_from = str(self._job.folder)
        ended = await launch_agent(agent, prepared, places, driver, cut, ready, seen_from)
        return without_keys(ended, remove)

    async def _collect_lanes(self, context: TaskContext) -> Lanes:
        boundary = _boundary(context)
        # A server that still runs may yet ask the model.
        crossed = [await server.collect() for server in _servers(context)]
        lanes = await boundary.collect(_value(context, "launch_agent", AgentExit))
        return dataclasses.replace(lanes, mcp=tuple(crossed)) if crossed else lanes

    async def _check(self, context: TaskContext) -> Checked:
        from flowproof.flow.check import check

        return check(
            self._job,
            _value(context, "resolve_env", Prepared),
            _value(context, "launch_agent", AgentExit),
            _value(context, "collect_lanes", Lanes),
        )

    async def _write_trace(self, context: TaskContext) -> Trace:
        from flowproof.flow.write_trace import write_trace

        lanes = _value(context, "collect_lanes", Lanes)
        return write_trace(self._job, lanes, self._world.clock, self._world.environ)

    async def _report(self, context: TaskContext) -> FlowRecord:
        from flowproof.flow.report import Ends, report

        return report(self._job, Ends(self._ends), self._started, debug=self._world.debug)


def _start(task: tuple[str, TaskEnd]) -> float:
    started = task[1].started
    return math.inf if started is None else started


def _value(context: TaskContext, task: str, kind: type[T]) -> T:
    value = context.value(task)
    if not isinstance(value, kind):
        raise TypeError(f"task `{task}` left a {type(value).__name__}, not a {kind.__name__}")
    return value


def _servers(context: TaskContext) -> list[McpBoundary]:
    """The open boundaries to MCP servers, in the order of the spec."""
    return cast("list[McpBoundary]", [*context.values("start_mcp").values()])


def _boundary(context: TaskContext) -> ModelBoundary:
    value = context.value("start_model_proxy")
    if not isinstance(value, ModelBoundary):
        raise TypeError(f"start_model_proxy left a {type(value).__name__}")
    return value
