"""Starts the agent with the proxy in its environment, and waits for its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from flowproof.drivers.arguments import split_command
from flowproof.drivers.interface import Driver, Launch
from flowproof.flow import handles
from flowproof.flow.agent_environment import Handles, agent_environment
from flowproof.flow.resolve_env import Prepared
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Agent
from flowproof.spec.variables import resolve


async def launch_agent(
    agent: Agent, prepared: Prepared, places: Handles, driver: Driver
) -> AgentExit:
    """Run the agent to its end."""
    known = places.values()
    declared = {
        name: prepared.resolve(handles.fill(value, known)) for name, value in prepared.env.items()
    }
    launch = Launch(
        argv=_argv(agent, prepared, known),
        cwd=str(prepared.cwd),
        env=agent_environment(prepared.inherited, places, prepared.task, declared),
        timeout=agent.timeout,
    )
    return await driver.run(launch)


def _argv(agent: Agent, prepared: Prepared, known: Mapping[str, str]) -> tuple[str, ...]:
    """The words of the command. Variables are put into words after splitting, so that a value
    with blanks stays one word; a shell resolves its own, from the environment, and is given
    what `$${` escapes."""
    words = split_command(prepared.command, shell=agent.shell)
    filled = tuple(handles.fill(word, known) for word in words)
    if agent.shell:
        return tuple(resolve(word, lambda name: f"${{{name}}}") for word in filled)
    return tuple(map(prepared.resolve, filled))


def without_keys(ended: AgentExit, remove: Callable[[str], str]) -> AgentExit:
    """What the agent printed, with real keys removed: it has none, but an upstream may tell it."""
    return replace(
        ended,
        stdout=replace(ended.stdout, text=remove(ended.stdout.text)),
        stderr=replace(ended.stderr, text=remove(ended.stderr.text)),
    )
