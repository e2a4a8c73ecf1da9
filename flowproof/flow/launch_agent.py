"""Starts the agent with the proxy in its environment, and waits for its end. Before, it notes
which files the command names, and which variables there are: they decide what the agent does."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from flowproof.drivers.arguments import split_command
from flowproof.drivers.interface import Driver, Launch
from flowproof.files import Digests
from flowproof.flow import handles
from flowproof.flow.agent_environment import Handles, agent_environment
from flowproof.flow.job import FlowJob, relative
from flowproof.flow.resolve_env import Prepared
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Agent
from flowproof.spec.variables import resolve

MOST_NAMES = 1000
_LONGEST_NAME = 200
MOST_FILES = 20
LARGEST = 16 * 1024 * 1024
"""So many files that a command names are noted, of so many bytes each."""
_AT_ONCE = 1024 * 1024
"""A file of so many bytes is read before a thread for it would have started."""
_WORDS = 1000
_LONE = re.compile("[\ud800-\udfff]")
_OPERATORS = re.compile(r"[;|&()<>\n]")


async def launch_agent(
    agent: Agent,
    prepared: Prepared,
    places: Handles,
    driver: Driver,
    cut: Callable[[AgentExit], None] | None = None,
    ready: Callable[[Launch], Awaitable[None]] | None = None,
    seen_from: str = "",
) -> AgentExit:
    """Run the agent to its end; `cut` and `seen_from` are as in `Launch`, and `ready` is waited
    for before it starts.

    :raises WorldError: if the system has nothing left to start it with.
    """
    known = places.values()
    declared = {
        name: prepared.resolve(handles.fill(value, known)) for name, value in prepared.env.items()
    }
    launch = Launch(
        argv=_argv(agent, prepared, known),
        cwd=str(prepared.cwd),
        env=agent_environment(prepared.inherited, places, prepared.task, declared),
        timeout=agent.timeout,
        cut=cut,
        seen_from=seen_from,
    )
    if ready is not None:
        await ready(launch)
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


def variable_names(environment: Iterable[str]) -> tuple[str, ...]:
    """The names of these variables, sorted, without what no text can hold. A long one is cut, and
    the last says how many more than `MOST_NAMES` there are."""
    names = sorted(_LONE.sub("\ufffd", name) for name in environment)
    shown = [one if len(one) <= _LONGEST_NAME else f"{one[:_LONGEST_NAME]}…" for one in names]
    more = len(names) - MOST_NAMES
    return (*shown[:MOST_NAMES], f"… and {more} more") if more > 0 else tuple(shown)


async def named_files(launch: Launch, job: FlowJob, digests: Digests) -> list[tuple[str, str]]:
    """The regular files that the words of a command name, as they are now: the path of each
    relative to the run's folder, with the SHA-256 of its bytes in hex.

    A file counts if it lies in the run's folder or the suite's, also behind a symbolic link. At
    most `MOST_FILES` of at most `LARGEST` bytes are looked at; what cannot be read is left out.
    """
    found: list[tuple[str, str]] = []
    for shown, path, facts in _files(launch, job):
        with suppress(OSError):
            digest = digests.known(path, facts) or await _digest(digests, path, facts.st_size)
            found += [] if digest is None else [(shown, digest)]
    return found


def _files(launch: Launch, job: FlowJob) -> list[tuple[str, str, os.stat_result]]:
    """The files by the path to show, with the one to read and what the system says of it."""
    roots = tuple({str(job.folder), str(job.working_folder)})
    real_roots = tuple(map(_real, roots))
    here = Path(_real(str(job.folder)))
    found: dict[str, tuple[str, str, os.stat_result]] = {}
    for path in _named(launch, job.spec.agent, roots):
        with suppress(OSError, ValueError):  # a NUL, which no name has
            facts = os.stat(path)  # noqa: PTH116 (a path for each word would take longer)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
                continue
            real = os.path.realpath(path)
            if any(_inside(real, root) for root in real_roots):
                found[real] = relative(Path(real), here), real, facts
        if len(found) == MOST_FILES:
            break
    return [*found.values()]


async def _digest(digests: Digests, path: str, size: int) -> str | None:
    if size <= _AT_ONCE:
        return digests.of(path, LARGEST)
    import anyio.to_thread

    return await anyio.to_thread.run_sync(digests.of, path, LARGEST)


def _named(launch: Launch, agent: Agent, roots: tuple[str, ...]) -> Iterator[str]:
    """The paths below the roots that words of a command would name. A command without a slash
    is looked for on the PATH, and names no file."""
    words = _of_shell(launch.argv[-1]) if agent.shell else launch.argv
    for at, word in enumerate(words[:_WORDS]):
        if not word or word.startswith("-") or (at == 0 and "/" not in word and not agent.shell):
            continue
        path = os.path.normpath(os.path.join(launch.cwd, word))  # noqa: PTH118
        if any(_inside(path, root) for root in roots):
            yield path


def _of_shell(text: str) -> tuple[str, ...]:
    plain = _OPERATORS.sub(" ", text)
    try:
        return split_command(plain, shell=False)
    except ValueError:
        return tuple(plain.split())


@lru_cache(maxsize=64)
def _real(folder: str) -> str:
    """A folder that flows of this run share, without symbolic links."""
    return os.path.realpath(folder)


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith("/") else f"{folder}/")
