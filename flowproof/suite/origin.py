"""Who runs flowproof and on what: the service that runs it says so in its environment, the
operating system says the rest. `services` knows the services; `source` asks git.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from contextlib import suppress
from pathlib import Path

from flowproof.model.origin import Origin
from flowproof.model.web_address import web_address
from flowproof.report.text import one_line
from flowproof.suite.services import NONE, WORDS, Environ, first_set, service_of


def origin(environ: Environ) -> Origin:
    """Who runs this and on what, as far as the environment and the system say."""
    service = service_of(environ) or NONE
    return Origin(
        actor=first_set(environ, service.actor) or one_line(_user(environ), WORDS),
        trigger=first_set(environ, service.trigger),
        ci=service.name,
        url=web_address(service.url(environ)),
        system=one_line(_system(), WORDS),
        kernel=one_line(f"{platform.system()} {platform.release()}", WORDS),
        distribution=distribution_digest(),
    )


def _user(environ: Environ) -> str:
    """The user of the operating system."""
    if sys.platform != "win32":
        import pwd

        with suppress(KeyError):
            return pwd.getpwuid(os.getuid()).pw_name
    return environ.get("USERNAME") or environ.get("USER") or ""


def _system() -> str:
    if sys.platform == "linux":
        with suppress(OSError):
            return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return f"{platform.system()} {platform.version()}"


def distribution_digest(package: Path = Path(__file__).parents[1]) -> str:
    """The SHA-256 over the Python files of a package, by default flowproof's own: of each, in the
    order of its path from there, the path and its bytes with their lengths. Two installations of
    the same files agree wherever they lie. Empty where one cannot be read."""
    top = str(package)
    digest = hashlib.sha256()
    try:
        for path in sorted(_modules(top)):
            name = path[len(top) + 1 :].replace(os.sep, "/").encode("utf-8", "surrogateescape")
            content = _content(path)
            digest.update(b"%d:%b %d:" % (len(name), name, len(content)))
            digest.update(content)
    except OSError:
        return ""
    return digest.hexdigest()


def _modules(top: str) -> list[str]:
    found: list[str] = []
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(entry.path)
                elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return found


def _content(path: str) -> bytes:
    # A file object for each of some hundred files would take longer than to read them.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        content = b""
        while piece := os.read(descriptor, 1 << 20):
            content += piece
        return content
    finally:
        os.close(descriptor)
