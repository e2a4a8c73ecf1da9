"""What is asked of every client: recorded once, replayed without a model, caught when it changes.

The tests beside this run it over their tables of cases, and make the rows of docs/clients.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.e2e.clients.cases import Case
from tests.e2e.clients.matrix import Row
from tests.e2e.project import Project, Ran, flow
from tests.support.wire.serving import endpoint

SPEC = "weather.flow.yaml"


def prove(project: Project, case: Case, command: str, env: Mapping[str, str] | None = None) -> None:
    """Record the agent that a command starts, replay it in each way, and make its change.

    `env` is for the agent alone. Between recording and replay the endpoint is closed.
    """
    project.write(SPEC, flow(command, *case.steps, agent={"env": dict(env or {})}))
    once = _recorded(project, case)
    for way in case.ways:
        ran = project.replay(SPEC, **_agent(way))
        assert ran.code == 0, f"{way}: {_told(ran)}"
        assert ran.flow["agent"]["stdout"]["text"] == once["agent"]["stdout"]["text"]
        assert ran.flow["traffic"]["served"] == len(case.turns)
        assert ran.flow["assertions"] == once["assertions"]
    ran = project.replay(SPEC, **_agent(case.ways[-1], case.change.what))
    assert (ran.code, ran.flow["verdict"]) == (1, "fail"), _told(ran)
    found = ran.flow["divergence"]
    assert (found["kind"], found["path"]) == (case.change.kind, case.change.path)
    # The client was told so at once, in an error that it reads, and did not try again. What it
    # asks beside a conversation has a number too, and is no model request.
    assert ran.flow["traffic"]["requests"] <= found["request"]
    assert found["message"] in ran.flow["agent"]["stderr"]["text"]


def rows(cases: Iterable[Case], versions: Callable[[Case], Sequence[str]]) -> list[Row]:
    """The table of these cases: one row for each client and API."""
    kept: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        kept.setdefault((case.client, case.api.name), []).append(case)
    return [
        Row(
            client,
            ", ".join(versions(same[0])),
            api,
            "; ".join(dict.fromkeys(f"{case.ways[0]} → {', '.join(case.ways)}" for case in same)),
            "; ".join(f"{case.change.kind} `{case.change.path}`" for case in same),
        )
        for (client, api), same in kept.items()
    ]


def _recorded(project: Project, case: Case) -> dict[str, Any]:
    """The flow of the recording."""
    with endpoint(*case.turns) as upstream:
        ran = project.record(SPEC, upstream.url, **_agent(case.ways[0]))
    assert ran.code == 0, _told(ran)
    trace = json.loads(project.trace(SPEC).read_text("utf-8"))
    assert {turn["dialect"] for turn in trace["turns"]} == case.api.dialects
    assert ran.flow["traffic"]["recorded"] == len(case.turns)
    assert all(one["outcome"]["kind"] == "passed" for one in ran.flow["assertions"])
    return ran.flow


def _agent(way: str, change: str = "") -> dict[str, str]:
    """The variables that tell an agent how to behave."""
    return {"AGENT_STREAM": str(int(way == "stream")), "AGENT_CHANGE": change}


def _told(ran: Ran) -> str:
    """What a test shows of a run that surprises it."""
    [flow] = ran.record.get("flows") or [{}]
    agent = flow.get("agent") or {"stderr": {"text": ran.stdout}}
    return f"{flow.get('reason')}\n{agent['stderr']['text']}\n{ran.stderr}"
