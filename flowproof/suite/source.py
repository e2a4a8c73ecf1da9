"""What git says of the repository that a suite lies in: which commit ran, and what differed.

It is asked beside the flows, and given up after some seconds; `origin` tells who ran it,
`work_tree` what differs from the commit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio

from flowproof.model.origin import Source
from flowproof.report.text import one_line
from flowproof.suite.git import TooMuch, git_of
from flowproof.suite.services import WORDS, branch_of
from flowproof.suite.work_tree import difference, digest_of, status_of

_ORIGIN = ("config", "--get", "remote.origin.url")
_SCP = re.compile(r"(?:([^@/:\s]{1,200})(?::[^@/\s]{0,500})?@)?([^@:/\s]{1,300}):(?!//)(\S{1,700})")


async def source(top: Path, environ: Mapping[str, str], seconds: float) -> Source | None:
    """The state of the repository whose work tree has this top; None in one without a commit, and
    where there is no git, or it does not name the commit within so many seconds. What it does not
    tell by then is unknown.

    Cancelling the call ends what it started before it returns.
    """
    found: Source | None = None
    with anyio.move_on_after(seconds):
        try:
            git = await git_of(top, environ)
            status = await status_of(git)
        except (OSError, TooMuch):
            return None
        if status is None:
            return None
        branch = one_line(status.branch, WORDS) or branch_of(environ)
        found = Source("", status.commit, branch, status.changed or None)
        with suppress(OSError, TooMuch):
            told = os.fsdecode(await git.printed(_ORIGIN, 64 * 1024))
            found = replace(found, repository=address(told.strip()))
        differs = await difference(git, status)
        found = replace(found, changed=differs.changed)
        if differs.changed:
            found = replace(found, changes=await digest_of(git, status, differs))
    return found


def address(text: str) -> str:
    """The address of a repository without credentials, query and fragment; empty where it is a
    folder of this machine, which is nowhere else, or nothing that git should be given, or where it
    is not plain what of it may be a password."""
    if len(text) > 1000 or not text.isprintable() or "\\" in text:
        return ""
    return _url(text) if "://" in text else _scp(text)


def _scp(text: str) -> str:
    """`user@host:path`, as SSH is told."""
    found = _SCP.fullmatch(text)
    if found is None or "::" in text or "@" in found[3]:  # the name of a helper; a password
        return ""
    # A drive, an alias that only this machine knows, or a scheme that is none of git's.
    if "." not in found[2] and not (found[1] and len(found[2]) > 1):
        return ""
    user = f"{found[1]}@" if found[1] else ""
    return f"{user}{found[2]}:{found[3].partition('?')[0].partition('#')[0]}"


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        user = parts.username or ""
        port = parts.port  # raises if it is no number
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https", "ssh", "git", "git+ssh", "ssh+git"):
        return ""
    host = parts.netloc.rpartition("@")[2]
    if not parts.hostname or (port is None and host.endswith(":")):
        return ""
    if "@" in f"{user}{parts.path}{parts.query}{parts.fragment}":
        return ""
    # A name before an `https` host may be a token; before one of SSH it is a name.
    kept = f"{user}@" if user and "ssh" in parts.scheme else ""
    return f"{parts.scheme}://{kept}{host}{parts.path}"
