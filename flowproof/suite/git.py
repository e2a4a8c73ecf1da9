"""Asks git about a work tree without running anything that the repository names.

A repository may come from anybody, and its settings name commands: filters, helpers that fetch
what is missing, hooks. `source` makes sense of the answers.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import Process

# What git may start by itself, as the repository's settings say, is not wanted here; and so are
# locks that would get in the way of the author's own git.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")
_PLAIN = ("-c", "core.quotePath=true", "-c", "diff.suppressBlankEmpty=false")
_TOLD = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A part of the history that is missing stays missing: no protocol may fetch it, whatever the
    # settings allow, so that no helper and no `ssh` of theirs is run.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_SSH_COMMAND": "false",
}
_PASSED_ON = frozenset({"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "SYSTEMROOT", "USERPROFILE"})
_SETTINGS = re.compile(r"GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|(?:KEY|VALUE)_[0-9]{1,4})")
_FILTERS = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")
_NO_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}
_NAMES_LIMIT = 64 * 1024
_NONE_FOUND = 1
"""How `git config` exits where nothing matches."""


class TooMuch(Exception):
    """git prints more than is looked at."""


@dataclass(frozen=True, slots=True)
class Git:
    """Asks git about one work tree, which has this top. No file goes through any of these
    `filters`, nor through the others that are set: git compares the bytes as they are."""

    top: Path
    environ: Mapping[str, str]
    filters: frozenset[str] = frozenset()

    async def printed(self, arguments: tuple[str, ...], limit: int) -> bytes:
        """All that it prints.

        :raises OSError: if there is no git, or it fails.
        :raises TooMuch: if it prints more bytes than the limit.
        """
        return b"".join([piece async for piece in self.pieces(arguments, limit)])

    async def pieces(
        self, arguments: tuple[str, ...], limit: int, accepted: tuple[int, ...] = (0,)
    ) -> AsyncIterator[bytes]:
        """What it prints, piece by piece; raises as `printed` does. It fails where its status is
        none that is `accepted`."""
        async with self._asked(arguments) as process:
            assert process.stdout is not None  # it is a pipe
            async for piece in process.stdout:
                limit -= len(piece)
                if limit < 0:
                    raise TooMuch
                yield piece
            if await process.wait() not in accepted:
                raise OSError(f"git {arguments[0]} exited with status {process.returncode}")

    @asynccontextmanager
    async def _asked(self, arguments: tuple[str, ...]) -> AsyncIterator[Process]:
        with anyio.CancelScope(shield=True):  # one that is half open could not be ended
            process = await anyio.open_process(
                ["git", *_SAFE, *_PLAIN, *self._unfiltered(), *arguments],
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=DEVNULL,
                cwd=self.top,
                env=self.environ,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    _kill(process)
                await process.aclose()

    def _unfiltered(self) -> list[str]:
        return [
            part
            for name in sorted(self.filters)
            for key, value in _NO_FILTER.items()
            for part in ("-c", f"filter.{name}.{key}={value}")
        ]


async def git_of(top: Path, environ: Mapping[str, str]) -> Git:
    """A git that can be asked about the work tree with this top.

    :raises OSError: if there is no git, it fails, or a filter has a name that cannot be turned off.
    :raises TooMuch: if there are too many filters.
    """
    git = Git(top, told(environ))
    found = [piece async for piece in git.pieces(_FILTERS, _NAMES_LIMIT, (0, _NONE_FOUND))]
    keys = os.fsdecode(b"".join(found)).split("\0")
    names = frozenset(key.partition(".")[2].rpartition(".")[0] for key in keys if key)
    if any("=" in name for name in names):
        raise OSError("a filter of the repository has a name with `=`")
    return Git(top, git.environ, names)


def told(environ: Mapping[str, str]) -> dict[str, str]:
    """What git is told: no key, and nothing of the git that may have started us."""
    kept = {
        name: value
        for name, value in environ.items()
        if name.upper() in _PASSED_ON or _SETTINGS.fullmatch(name)
    }
    return {**kept, **_TOLD}


def _kill(process: Process) -> None:
    """End it with what it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
