"""One flow, one name: suites behind links, shards, last failures, and what logs may obey."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.support import SPEC, Shell

FAILING = SPEC.replace("contains Hello", "contains NOPE")


def flows(shell: Shell, *arguments: str) -> list[str]:
    return [flow["path"] for flow in shell("suite", "list", "--json", *arguments).json["flows"]]


@pytest.mark.parametrize("given", ["link", "real", "real/../real", "."])
def test_shards_of_any_spelling_run_each_flow_once(shell: Shell, given: str) -> None:
    for name in "abcd":
        shell.write(f"real/{name}.flow.yaml")
    shell.write("real/suite.yaml", "flows: {a.flow.yaml: {needs: [c.flow.yaml]}}\n")
    (shell.folder / "link").symlink_to("real")
    parts = [flows(shell, given, "--shard", f"{at}/2") for at in (1, 2)]
    assert sorted(parts[0] + parts[1]) == [f"real/{name}.flow.yaml" for name in "abcd"]


def test_a_flow_kept_back_by_a_failure_is_among_the_last_failed(shell: Shell) -> None:
    for name in "abc":
        shell.write(f"{name}.flow.yaml", FAILING if name == "a" else SPEC)
        shell.trace(f"{name}.trace.json")
    shell.write("suite.yaml", "flows: {b.flow.yaml: {needs: [a.flow.yaml]}}\n")
    state = shell.folder / ".flowproof"
    state.mkdir()
    shell("suite", "run", "--no-reports")
    failed = flows(shell, "--last-failed")
    assert "a.flow.yaml" in failed and "b.flow.yaml" in failed


def test_a_broken_suite_teaches_nothing_about_its_flows(shell: Shell) -> None:
    for name in "ab":
        shell.write(f"{name}.flow.yaml")
        shell.trace(f"{name}.trace.json")
    (shell.folder / ".flowproof").mkdir()
    shell.write(".flowproof/last-failed.json", '["a.flow.yaml"]')
    shell.write("suite.yaml", "nam: x\n")
    assert shell("suite", "run", "--no-reports").code == 2
    assert flows(shell, "--last-failed") == ["a.flow.yaml"]


@pytest.mark.parametrize("leads", ["away", "nowhere", "here"])
def test_a_merge_keeps_nothing_in_a_folder_elsewhere(shell: Shell, leads: str) -> None:
    shell.write("here/s/a.flow.yaml")
    shell.write("here/s/suite.yaml", "name: s\n")
    assert shell("suite", "run", "here/s", "--report", "blob=blobs").code == 5
    [blob] = (shell.folder / "blobs").iterdir()
    first, rest = blob.read_bytes().split(b"\n", 1)
    (shell.folder / "away").symlink_to(shell.folder.parent)
    if leads != "here":
        first = first.replace(b'"folder":"here/s"', b'"folder":"%b"' % leads.encode())
        first = first.replace(b'"folder": "here/s"', b'"folder": "%b"' % leads.encode())
    blob.write_bytes(first + b"\n" + rest)
    told = shell("report", "merge", "blobs")
    assert told.code == (0 if leads == "here" else 2)
    assert ("no folder below this one" in told.err) is (leads != "here")
    assert not (shell.folder.parent / ".flowproof").exists()


@pytest.mark.parametrize("name", ["last-failed.json", "durations.json"])
def test_a_pipe_in_the_state_hangs_nothing(shell: Shell, name: str) -> None:
    shell.write("a.flow.yaml")
    shell.trace("a.trace.json")
    (shell.folder / ".flowproof").mkdir()
    os.mkfifo(shell.folder / ".flowproof" / name)
    assert shell("suite", "list").code == 0
    told = shell("suite", "list", "--last-failed")
    assert told.code == 2
    assert ("no regular file" in told.err) is (name == "last-failed.json")


@pytest.mark.parametrize("github", [True, False], ids=["github", "elsewhere"])
def test_names_of_files_are_no_commands(
    shell: Shell, github: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true" if github else "")
    shell.write("::error::x.flow.yaml", "nam: x\n")
    told = shell("suite", "list").out + shell("check", ".").err
    assert any(line.startswith("::error::") for line in told.splitlines()) is not github


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP")
def test_a_terminal_that_goes_ends_the_run_in_order(shell: Shell) -> None:
    shell.write("a.flow.yaml", SPEC.replace("command: greet", "command: sleep 60"))
    shell.trace("a.trace.json")
    shell.write("suite.yaml", "before_all: touch begun; sleep 30\nafter_all: touch ended\n")
    process = shell.process("suite", "run", "--no-reports")
    _until_there(shell.folder / "begun")
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert (shell.folder / "ended").exists()


def _until_there(path: Path) -> None:
    from threading import Event

    for _ in range(600):
        if path.exists():
            return
        Event().wait(0.05)
    raise AssertionError(f"{path} did not appear")
