"""The files that an agent's command names are in the record as they were when it was launched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

from flowproof.drivers.interface import Launch
from flowproof.files import Digests
from flowproof.flow.job import FlowJob
from flowproof.flow.launch_agent import LARGEST, MOST_FILES, named_files
from flowproof.model.agent_exit import AgentExit
from flowproof.model.run_record import FileDigest
from tests.flow.support import Agent, asking, ended, job, run, saying, send, turn

SHELL = """\
name: Greeter
agent: {command: "%s", shell: true}
steps:
  - prompt: Say hello
"""


def found(
    folder: Path, *words: str, flow: FlowJob | None = None, cwd: Path | None = None
) -> list[str]:
    """The paths of the files that a command of these words names."""
    launch = Launch(words, str(cwd or folder), {}, 1.0)
    return [path for path, _ in noted(launch, flow or job(folder), Digests())]


def noted(launch: Launch, flow: FlowJob, digests: Digests) -> Sequence[tuple[str, str]]:
    return anyio.run(named_files, launch, flow, digests)


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_script_and_its_settings(tmp_path: Path) -> None:
    write(tmp_path / "agent.py", "print()")
    write(tmp_path / "conf/a.toml")
    (tmp_path / "folder").mkdir()
    words = (
        "python",
        "-S",
        "agent.py",
        "--config",
        "conf/a.toml",
        "folder",
        "not-there",
        "",
        "a\0b",
    )
    assert found(tmp_path, *words) == ["agent.py", "conf/a.toml"]


def test_the_digest_is_of_the_bytes(tmp_path: Path) -> None:
    write(tmp_path / "agent.py", "print()")
    launch = Launch(("python", "agent.py"), str(tmp_path), {}, 1.0)
    digest = sha256(b"print()").hexdigest()
    assert noted(launch, job(tmp_path), Digests()) == [("agent.py", digest)]


def test_a_file_is_named_once_and_as_it_is_reached_from_the_runs_folder(tmp_path: Path) -> None:
    write(tmp_path / "bots/agent.py")
    words = ("python", "agent.py", "./agent.py", str(tmp_path / "bots/agent.py"))
    assert found(tmp_path, *words, cwd=tmp_path / "bots") == ["bots/agent.py"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(("python", "x"), [], id="one on the PATH"),
        pytest.param(("./python", "x"), ["python"], id="one with a slash"),
        pytest.param(("env", "python"), ["python"], id="a later word"),
    ],
)
def test_a_command_is_a_file_only_with_a_slash(
    tmp_path: Path, words: tuple[str, ...], names: list[str]
) -> None:
    write(tmp_path / "python")
    assert found(tmp_path, *words) == names


def test_what_lies_outside_is_not_looked_at(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", write(tmp_path / "secret.txt")
    inside.mkdir()
    (inside / "link.txt").symlink_to(outside)
    (inside / "up").symlink_to(tmp_path)
    write(inside / "own.txt")
    (inside / "alias.txt").symlink_to("own.txt")
    words = ("cat", "../secret.txt", str(outside), "link.txt", "up/secret.txt", "/etc/passwd")
    assert found(inside, *words) == []
    assert found(inside, "cat", "alias.txt") == ["own.txt"]


def test_a_folder_whose_name_begins_like_the_runs_is_outside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "inner/a.txt")
    assert found(tmp_path / "in", "cat", "../inner/a.txt") == []


def test_the_suites_folder_counts_too(tmp_path: Path) -> None:
    here, suite = tmp_path / "here", tmp_path / "suite"
    here.mkdir()
    write(suite / "agent.py")
    flow = replace(job(here), working_folder=suite)
    assert found(here, "python", "agent.py", flow=flow, cwd=suite) == ["../suite/agent.py"]


def test_a_pipe_and_a_huge_file_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    with (tmp_path / "fits").open("wb") as file:
        file.truncate(LARGEST)
    assert found(tmp_path, "cat", "pipe", "large", "fits") == ["fits"]


def test_no_more_than_so_many_are_named(tmp_path: Path) -> None:
    names = [f"f{at}" for at in range(MOST_FILES + 5)]
    for name in names:
        write(tmp_path / name)
    assert found(tmp_path, "cat", *names) == names[:MOST_FILES]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("cd . && python agent.py | tee log;cat a.txt>out", id="operators"),
        pytest.param("python agent.py 'a.txt", id="a quote that does not end"),
        pytest.param("X=1 python agent.py\\ncat a.txt", id="lines"),
    ],
)
def test_words_of_a_shell(tmp_path: Path, command: str) -> None:
    write(tmp_path / "agent.py")
    if "'" not in command:
        write(tmp_path / "a.txt")
    flow = job(tmp_path, SHELL % "true")
    text = command.replace("\\n", "\n")
    names = found(tmp_path, "/bin/sh", "-c", text, flow=flow)
    assert names == (["agent.py"] if "'" in command else ["agent.py", "a.txt"])


def test_one_that_many_flows_share_is_read_once(tmp_path: Path) -> None:
    script = write(tmp_path / "agent.py", "one")
    launch = Launch(("python", "agent.py"), str(tmp_path), {}, 1.0)
    digests, flow = Digests(), job(tmp_path)
    first = noted(launch, flow, digests)
    facts = script.stat()
    # Other bytes of the same size and time would only be seen by whoever reads them.
    script.write_text("two", "utf-8")
    os.utime(script, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert noted(launch, flow, digests) == first
    script.write_text("three", "utf-8")
    assert noted(launch, flow, digests) == [("agent.py", sha256(b"three").hexdigest())]


def test_an_agent_that_writes_to_a_file_it_was_given(tmp_path: Path) -> None:
    state = write(tmp_path / "state.txt", "before")
    spec = "name: G\nagent: {command: python state.txt}\nsteps:\n  - prompt: Say hello\n"
    request = asking("Say hello")

    def act(launch: Launch) -> AgentExit:
        state.write_text("after", "utf-8")
        send(launch.env["OPENAI_BASE_URL"] + "/chat/completions", request)
        return ended()

    record = run(job(tmp_path, spec, turn(request, saying("Hello"))), Agent(act))
    assert record.inputs == (FileDigest("state.txt", sha256(b"before").hexdigest()),)


def test_tasks_say_what_they_waited_for(tmp_path: Path) -> None:
    record = run(job(tmp_path), Agent(lambda launch: ended()))
    needs = {task.id: task.needs for task in record.tasks}
    assert needs["resolve_env"] == ()
    assert needs["read_trace"] == ("resolve_env",)
    assert "launch_agent" in needs["collect_lanes"]
    assert set().union(*needs.values()) <= set(needs)
