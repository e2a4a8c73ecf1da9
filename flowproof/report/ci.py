"""Services that run flowproof unattended: which one it is, what its log understands as commands,
and how text that an agent wrote is kept from being one. What GitHub is told is in `github`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

_LINE_COMMAND = re.compile(r"^([^\w\n]*?):(?=:)", re.MULTILINE)
_ANYWHERE_COMMAND = re.compile(r"#(?=#\w{0,40}\[)")


def on_github(environ: Mapping[str, str]) -> bool:
    """Whether a step of GitHub Actions runs us, or of a service that works in the same way."""
    return environ.get("GITHUB_ACTIONS") == "true"


def on_gitlab(environ: Mapping[str, str]) -> bool:
    """Whether a job of GitLab runs us."""
    return environ.get("GITLAB_CI") == "true"


def obeys_its_log(environ: Mapping[str, str]) -> bool:
    """Whether what we print is searched for commands: on GitHub Actions, Azure, TeamCity."""
    return on_github(environ) or any(environ.get(n) for n in ("TF_BUILD", "TEAMCITY_VERSION"))


def defused(text: str) -> str:
    """The text with a blank in all that such a service would take for a command.

    GitHub obeys a line that begins with `::`, after blanks or not, and `##[` anywhere in it;
    Azure `##vso[`, TeamCity `##teamcity[`.
    """
    return _ANYWHERE_COMMAND.sub("# ", _LINE_COMMAND.sub(r"\1: ", text))


def defused_json(text: str) -> str:
    """The same JSON value in a text without such commands: `#` is only ever in strings, and no
    line begins with one."""
    return text.replace("##", "\\u0023#")


def gitlab_section(name: str, title: str, now: datetime) -> str:
    """What begins a part of the log that a reader can fold."""
    return f"\x1b[0Ksection_start:{int(now.timestamp())}:{name}\r\x1b[0K{title}"


def gitlab_section_end(name: str, now: datetime) -> str:
    """What ends that part."""
    return f"\x1b[0Ksection_end:{int(now.timestamp())}:{name}\r\x1b[0K"
