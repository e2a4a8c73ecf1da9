"""Runs what a suite declares beside its flows: `env_from`, and the hooks around one and all.

Each is a command for `sh -c` in the suite's folder. It is ended with its whole process tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from flowproof.drivers.interface import Driver, Launch
from flowproof.errors import WorldError
from flowproof.flow.agent_environment import key_remover
from flowproof.flow.resolve_env import suite_values
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import SuiteSpec
from flowproof.model.visible import visible
from flowproof.spec.variables import resolve

TIMEOUT = 300.0
"""Seconds that each of these commands may take."""

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SHOWN = 200


class HookFailed(WorldError):
    """A command of a suite did not end well; the message says which and how."""


@dataclass(slots=True)
class SuiteCommands:
    """The commands of one suite in one run. Those beside all flows run within a `watch` of their
    name."""

    suite: SuiteSpec
    driver: Driver
    environ: Mapping[str, str]
    watch: Callable[[str], AbstractContextManager[object]] = nullcontext
    # Mutable: what `env_from` printed, once it has.
    minted: dict[str, str] = field(default_factory=dict)

    async def before_all(self) -> None:
        """Mint what flows need, then prepare for all of them.

        :raises HookFailed: if `env_from` or `before_all` fails.
        """
        if self.suite.env_from is not None:
            with self.watch("env_from"):
                printed = await self._run("env_from", self.suite.env_from)
                self.minted.update(assignments(printed))
        with self.watch("before_all"):
            await self._hook("before_all", self.suite.before_all)

    async def after_all(self) -> None:
        """Clean up after all flows.

        :raises HookFailed: if `after_all` fails.
        """
        with self.watch("after_all"):
            await self._hook("after_all", self.suite.after_all)

    async def before_each(self, spec: str) -> None:
        """Prepare for one flow, given by the path of its spec.

        :raises HookFailed: if `before_each` fails.
        """
        await self._hook("before_each", self.suite.before_each, FLOWPROOF_SPEC=spec)

    async def after_each(self, spec: str) -> None:
        """Clean up after one flow.

        :raises HookFailed: if `after_each` fails.
        """
        await self._hook("after_each", self.suite.after_each, FLOWPROOF_SPEC=spec)

    async def _hook(self, name: str, command: str | None, **more: str) -> None:
        if command is not None:
            await self._run(name, command, **more)

    async def _run(self, name: str, command: str, **more: str) -> str:
        """What the command printed."""
        declared, _ = suite_values(self.suite.env, self.environ)
        without_keys = key_remover(self.environ, declared)
        known = {**self.environ, **declared}
        environment = {name: without_keys(value) for name, value in known.items()}
        launch = Launch(
            # The shell resolves variables, from its environment; only our escape is undone.
            argv=("sh", "-c", resolve(command, lambda name: f"${{{name}}}")),
            cwd=self.suite.folder,
            env={**environment, **self.minted, **more},
            timeout=TIMEOUT,
        )
        try:
            ended = await self.driver.run(launch)
        except WorldError as error:
            raise HookFailed(f"{name} could not be started: {error}") from error
        if ended.error or ended.timed_out or ended.status:
            raise HookFailed(f"{name} {_how(ended)}{_last(ended)}")
        if name == "env_from" and ended.stdout.total > len(ended.stdout.text.encode()):
            raise HookFailed("env_from printed more than is read")
        return ended.stdout.text


def _how(ended: AgentExit) -> str:
    if ended.error:
        return f"could not be started: {ended.error}"
    if ended.timed_out:
        return f"was still running after {TIMEOUT:g} s and was ended"
    if ended.status is not None and ended.status < 0:
        return f"was ended by signal {-ended.status}"
    return f"exited with status {ended.status}"


def _last(ended: AgentExit) -> str:
    """The last line of its stderr. What it printed is not shown: it may be secrets."""
    said = ended.stderr.text.strip()
    return f": {visible(said.splitlines()[-1][:_SHOWN])}" if said else ""


def assignments(text: str) -> dict[str, str]:
    """The variables in lines of the form KEY=VALUE; blank lines and `#` comments are passed over.
    A value is all that follows the first `=`, without quotes around it.

    :raises HookFailed: at any other line, whose text is not shown: it may be a secret.
    """
    found: dict[str, str] = {}
    # Not `splitlines`: a form feed, or U+0085, in a value must not begin another variable.
    for number, ended in enumerate(text.split("\n"), 1):
        line = ended.removesuffix("\r")
        if "\ufffd" in line:
            raise HookFailed(f"env_from: line {number} of what it printed is not UTF-8")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = _ASSIGNMENT.fullmatch(line.strip(" \t").removeprefix("export "))
        if parts is None or "\0" in line:
            raise HookFailed(f"env_from: line {number} of what it printed is not KEY=VALUE")
        name, value = parts.groups()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found[name] = value
    return found
