"""What people see of a suite while it runs and after: on a real terminal, and on GitHub and GitLab.

Each command line is a process with an agent of its own; nothing is read but what it printed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.upstream import FakeUpstream, chat, completion

AGENT = """\
import json, os, time, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Greet"}]}).encode()
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
time.sleep(float(os.environ.get("NAP", "0")))
urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"}))
"""
EVIL = "::add-mask::a ##[error]b"


@dataclass(frozen=True, slots=True)
class Told:
    """How a process ended."""

    code: int
    out: str
    err: str


class Suite:
    """A folder with an agent, and flows that replay one recording of it."""

    def __init__(self, folder: Path, recording: Path | None = None) -> None:
        self.folder = folder
        (folder / "agent.py").write_text(AGENT, "utf-8")
        self._recording = recording

    def add(self, name: str, *, reply: str = "Hello", trace: bool = True) -> None:
        """A flow that passes if the `reply`, which is `Hello!`, contains this."""
        agent = {
            "command": shlex.join([sys.executable, "-S", "agent.py"]),
            "env": {"NAP": "${NAP}"},
        }
        steps = [{"prompt": "Greet"}, {"assert": f"reply contains {reply}"}]
        path = self.folder / f"{name}.flow.yaml"
        path.write_text(json.dumps({"name": name, "agent": agent, "steps": steps}), "utf-8")
        if trace and self._recording is not None:
            shutil.copy(self._recording, self.folder / f"{name}.trace.json")

    def environ(self, **more: str) -> dict[str, str]:
        home = {"PATH": os.defpath, "HOME": str(self.folder), "NAP": "0", "LANG": "C.UTF-8"}
        return {**home, **more}

    def __call__(self, *arguments: str, **environ: str) -> Told:
        done = subprocess.run(
            [sys.executable, "-m", "flowproof", *arguments],
            cwd=self.folder,
            env=self.environ(**environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
        return Told(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of one turn, answered with `Hello!`."""
    suite = Suite(tmp_path_factory.mktemp("recorded"))
    suite.add("a", trace=False)
    with FakeUpstream(chat(completion("Hello!"))) as upstream:
        assert suite("record", "a.flow.yaml", FLOWPROOF_AGENT_UPSTREAM=upstream.url).code == 0
    return suite.folder / "a.trace.json"


@pytest.fixture
def suite(tmp_path: Path, recording: Path) -> Suite:
    """Two flows that pass and one that fails."""
    suite = Suite(tmp_path, recording)
    suite.add("first")
    suite.add("second")
    suite.add("third", reply=f"'{EVIL}'")
    return suite


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal of 80 columns and 24 lines."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    yield ours, theirs
    os.close(ours)


def on_terminal(suite: Suite, ends: tuple[int, int], *arguments: str) -> subprocess.Popen[bytes]:
    _, theirs = ends
    process = subprocess.Popen(
        [sys.executable, "-m", "flowproof", *arguments],
        cwd=suite.folder,
        env=suite.environ(TERM="xterm-256color", NAP="0.7"),
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    return process


def read_until(ours: int, text: str | None) -> str:
    """What was printed, up to this text or to the end."""
    seen = b""
    while text is None or text.encode() not in seen:
        ready, _, _ = select.select([ours], [], [], 30)
        assert ready, f"nothing more came after {seen[-500:]!r}"
        try:
            piece = os.read(ours, 65536)
        except OSError:
            piece = b""
        if not piece:
            assert text is None, f"{text!r} is not in {seen!r}"
            break
        seen += piece
    return seen.decode()


def uncoloured(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_a_terminal_has_a_live_view(suite: Suite, terminal: tuple[int, int]) -> None:
    process = on_terminal(suite, terminal, "suite", "run", "--no-reports", "-j", "2")
    written = uncoloured(read_until(terminal[0], None))
    assert process.wait(30) == 1
    assert re.search(r"… first  \d+ ms", written)
    assert re.search(r"0 of 3 done, [12] running", written)
    assert "✓ pass" in written and "✗ fail" in written
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")
    # The view is gone in the end, and the summary stands alone.
    assert "1 of 3 flows failed." in written.rpartition("\x1b[?25h")[2]
    assert "running" not in written.rpartition("\x1b[?25h")[2]


def test_a_second_run_estimates_from_the_first(suite: Suite, terminal: tuple[int, int]) -> None:
    state = suite.folder / ".flowproof"
    state.mkdir()
    seconds = {f"{name}.flow.yaml": 40 for name in ("first", "second", "third")}
    (state / "durations.json").write_text(json.dumps(seconds), "utf-8")
    process = on_terminal(suite, terminal, "suite", "run", "--no-reports", "-j", "1")
    written = read_until(terminal[0], None)
    assert process.wait(30) == 1
    assert re.search(r"ms of about 40\.0 s", written)
    assert "1 running, about 2 min left" in written


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_view_gives_the_cursor_back(
    suite: Suite, terminal: tuple[int, int], times: int
) -> None:
    process = on_terminal(suite, terminal, "suite", "run", "--no-reports", "-j", "1")
    written = read_until(terminal[0], " first  ")
    for _ in range(times):
        process.send_signal(signal.SIGINT)
    written += read_until(terminal[0], None)
    assert process.wait(30) == 130 if times == 1 else process.wait(30) in (-signal.SIGINT, 130)
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({"CI": "true"}, id="in ci"),
        pytest.param({"TERM": "dumb"}, id="on a dumb terminal"),
        pytest.param({}, id="in a pipe"),
    ],
)
def test_elsewhere_a_line_for_each_flow_and_no_cursor(
    suite: Suite, environ: dict[str, str]
) -> None:
    told = suite("suite", "run", "--no-reports", **environ)
    assert told.code == 1
    lines = told.err.splitlines()
    assert len([line for line in lines if re.match("[✓✗] (pass|fail) ", line)]) == 3
    assert "\x1b" not in told.err and "\r" not in told.err


def test_github_gets_annotations_and_a_summary(suite: Suite, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# What another command wrote\n", "utf-8")
    environ = {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(tmp_path.parent),
    }
    told = suite("suite", "run", "--json", **environ)
    assert told.code == 1
    assert json.loads(told.out)["exit_code"] == 1
    commands = [line for line in told.err.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == 1
    place = f"file={tmp_path.name}/third.flow.yaml,line=1,title=third failed"
    assert commands[0].startswith(f"::error {place}::")
    # What the spec quotes is no command, in the text and in the JSON.
    assert "##[" not in told.err.replace(commands[0], "") and "##[" not in told.out
    assert EVIL in json.loads(told.out)["flows"][2]["assertions"][0]["source"]
    text = summary.read_text("utf-8")
    assert text.startswith("# What another command wrote\n## ✗ ")
    assert "1 of 3 flows failed" in text and "<b>third</b>" in text


def test_a_green_run_on_github_has_a_summary_and_no_annotation(
    suite: Suite, tmp_path: Path
) -> None:
    (suite.folder / "third.flow.yaml").unlink()
    summary = tmp_path / "summary.md"
    told = suite("suite", "run", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert (told.code, "::" in told.err) == (0, False)
    assert summary.read_text("utf-8").startswith("## ✓ ")


@pytest.mark.parametrize(
    ("options", "environ", "annotated"),
    [
        pytest.param(["--report", "github"], {}, True, id="asked for"),
        pytest.param(["--report", "junit"], {"GITHUB_ACTIONS": "true"}, False, id="not among"),
        pytest.param(["--no-reports"], {"GITHUB_ACTIONS": "true"}, False, id="no reports"),
        pytest.param([], {}, False, id="elsewhere"),
        pytest.param(["-q"], {"GITHUB_ACTIONS": "true"}, True, id="quiet"),
    ],
)
def test_when_github_is_told(
    suite: Suite, options: list[str], environ: dict[str, str], annotated: bool
) -> None:
    told = suite("suite", "run", *options, **environ)
    assert told.code == 1
    assert ("::error file=third.flow.yaml" in told.err) is annotated


@pytest.mark.parametrize(
    ("content", "warning"),
    [
        pytest.param(None, "cannot be written: ", id="a folder"),
        pytest.param("x" * 899_000, "is full", id="a full file"),
    ],
)
def test_a_summary_that_cannot_be_written_is_a_warning(
    suite: Suite, tmp_path: Path, content: str | None, warning: str
) -> None:
    file = tmp_path / "summary.md"
    if content is None:
        file.mkdir()
    else:
        file.write_text(content, "utf-8")
    (suite.folder / "third.flow.yaml").unlink()
    told = suite("suite", "run", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(file))
    assert told.code == 0
    assert f"warning: the summary of the step {warning}" in told.err
    if content is not None:
        assert file.read_text("utf-8") == content


def test_gitlab_can_fold_the_flows(suite: Suite) -> None:
    told = suite("suite", "run", "--no-reports", CI="true", GITLAB_CI="true")
    before, lines, after = re.split(r"\x1b\[0Ksection_\w+:\d+:flowproof_flows\r\x1b\[0K", told.err)
    assert before == ""
    assert lines.startswith("3 flows\n✓ pass") and "✗ fail" in lines
    assert "1 of 3 flows failed." in after


def test_the_slowest_flows_are_named(suite: Suite) -> None:
    told = suite("suite", "run", "--no-reports", "--durations", "2")
    _, _, after = told.err.partition("slowest:\n")
    assert len(re.findall(r"^ +[\d.]+ m?s  (first|second|third)  ", after, re.MULTILINE)) == 2


def test_a_folder_for_github_is_refused(suite: Suite) -> None:
    told = suite("suite", "run", "--report", "github=out")
    assert (told.code, "to no folder" in told.err) == (2, True)
