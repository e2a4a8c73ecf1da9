"""Whom flowproof itself speaks to: the upstream at record, nobody at replay."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.model import model, saying
from tests.e2e.project import PLAIN_PLAN, Project

# Python imports this by itself at its start; it notes what the process asks of the network.
WATCHER = """
import json, os, sys

WATCHED = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
           "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo",
           "urllib.Request", "http.client.connect"}

def note(event, arguments):
    # What is sent to no address goes where a connection was made, and that is noted.
    if event == "socket.sendmsg" and arguments[1] is None:
        return
    if event in WATCHED and "-m" in sys.orig_argv and "flowproof" in sys.orig_argv:
        with open(os.environ["WATCHED_TO"], "a") as file:
            file.write(json.dumps([event, repr(arguments[1:])]) + "\\n")

sys.addaudithook(note)
"""


def contacts(project: Project, env: dict[str, str], *arguments: str) -> tuple[int, list[list[str]]]:
    """The exit code of a command, and what its process asked of the network."""
    watcher = project.write("watch/sitecustomize.py", WATCHER)
    log = project.folder / "contacts.jsonl"
    log.write_text("", "utf-8")
    watching = {"PYTHONPATH": str(watcher.parent), "WATCHED_TO": str(log), **env}
    ran = project.flowproof(*arguments, plan=PLAIN_PLAN[:1], env=watching)
    return ran.code, [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def test_replay_contacts_nobody(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml")
    assert contacts(project, {}, "run", "a.flow.yaml") == (0, [])
    assert contacts(project, {}, "suite", "run", ".") == (0, [])


def test_record_contacts_the_upstream_alone(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml")
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        code, asked = contacts(project, env, "record", "a.flow.yaml")
        port = upstream.url.removesuffix("/v1").rpartition(":")[2]
    assert code == 0
    assert asked, "the watcher sees what there is"
    assert {text for _, text in asked} == {f"(('127.0.0.1', {port}),)"}
