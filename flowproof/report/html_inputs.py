"""What went into a flow, as its page tells it: where it ran and when, and its files by digest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowproof.model.origin import Recording
from flowproof.model.run_record import FlowRecord
from flowproof.report.html_facts import Fact, day, moment
from flowproof.report.text import shortened
from flowproof.report.words import EXIT_MEANS, seconds

_MOST = 1_000
_LINE = 2_000
_NAMED = 3


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that decides what a flow does, with what it is (`kind`) and the SHA-256 of its
    bytes."""

    kind: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class InputsShown:
    """Facts of the run of one flow, its files, and the names in its agent's environment."""

    facts: tuple[Fact, ...]
    files: tuple[InputFile, ...]
    environment: tuple[str, ...]
    more_names: int


def inputs_shown(flow: FlowRecord) -> InputsShown:
    """The view of what the record holds of a flow's inputs."""
    return InputsShown(
        facts=tuple(_facts(flow)),
        files=tuple(_files(flow)),
        environment=flow.environment[:_MOST],
        more_names=max(0, len(flow.environment) - _MOST),
    )


def answered_by(flow: FlowRecord) -> str:
    """Where the answers of a flow come from, as one sentence; empty where there were none."""
    found = flow.recording
    if found is None or (flow.phase == "record" and not found.models):
        return ""
    models = ", ".join(shortened(one, 100) for one in found.models[:_NAMED])
    if (more := len(found.models) - _NAMED) > 0:
        models += f" and {more} more"
    if flow.phase == "record":
        return f"Recorded against {models}."
    told = (
        f" of {shortened(day(found.recorded), 100)}" if found.recorded else "",
        f" of {models}" if models else "",
    )
    if not any(told):
        return (
            f"Replayed from a recording by flowproof {shortened(found.flowproof, 100)}, which "
            "tells neither when it was made nor which model answered."
        )
    return f"Replayed from a recording{''.join(told)}."


def _recording(found: Recording) -> Iterator[Fact]:
    if found.models:
        yield Fact("Models that answered", shortened(", ".join(found.models), _LINE), "code")
    else:
        yield Fact("Models that answered", "no answer tells")
    if found.recorded:
        yield Fact("Recorded", shortened(moment(found.recorded), _LINE))
    if found.flowproof:
        yield Fact("Recorded by", f"flowproof {shortened(found.flowproof, 100)}")


def _files(flow: FlowRecord) -> Iterator[InputFile]:
    if flow.spec:
        yield InputFile("Spec", flow.spec.path, flow.spec.sha256)
    if flow.trace:
        yield InputFile("Trace", flow.trace.path, flow.trace.sha256)
    for file in flow.inputs[:_MOST]:
        yield InputFile("Beside them", file.path, file.sha256)


def _facts(flow: FlowRecord) -> Iterator[Fact]:
    replayed = flow.phase == "replay"
    yield Fact("Phase", "replayed from its trace" if replayed else "recorded against the model")
    if flow.recording:
        yield from _recording(flow.recording)
    if flow.started:
        yield Fact("Started", moment(flow.started))
    if flow.offset is not None:
        yield Fact("After the start of the run", seconds(flow.offset))
    yield Fact("Duration", seconds(flow.duration))
    if flow.usual is not None:
        yield Fact("Usually", seconds(flow.usual))
    if flow.driver:
        yield Fact("Driver", flow.driver)
    if flow.command:
        yield Fact("Agent", shortened(flow.command, _LINE), "code")
    if flow.host:
        yield Fact("Host", flow.host)
    if flow.slot:
        yield Fact("Slot", str(flow.slot))
    for label, names in (
        ("Had to pass before", flow.needs),
        ("Had to end before", flow.after),
        ("Nobody else used", flow.locks),
    ):
        if names:
            yield Fact(label, shortened(", ".join(names[:_MOST]), _LINE))
    yield Fact("Exit code", f"{int(flow.exit_code)}: {EXIT_MEANS[flow.exit_code]}")
