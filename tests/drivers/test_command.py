"""How an agent is started, what it finds around itself, and how its end is told."""

from __future__ import annotations

import errno
import os
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flowproof.drivers.command import CommandDriver, Stream, platform_trees
from flowproof.drivers.interface import Launch
from flowproof.drivers.tree import Trees
from flowproof.errors import WorldError

from .conftest import linux_only
from .processes import REPOSITORY, Kit

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("script", "status"),
    [
        pytest.param("exit 0", 0, id="success"),
        pytest.param("exit 3", 3, id="failure"),
        pytest.param("kill -SEGV $$", -11, id="fault"),
        pytest.param("kill -TERM $$", -15, id="terminated"),
    ],
)
async def test_status(any_kit: Kit, script: str, status: int) -> None:
    result = await any_kit.run(any_kit.shell(f"echo out; echo err >&2; {script}"))
    assert (result.status, result.timed_out, result.error) == (status, False, "")
    assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")
    assert result.survivors == ()


async def test_the_agent_gets_exactly_its_environment(
    any_kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    env = {"A": "", "B": "x=y\nz", "C": "ä😀", "D": os.fsdecode(b"\xff\xfe")}
    launch = any_kit.launch("/bin/cat", "/proc/self/environ", env=env)
    seen: list[bytes] = []
    driver = any_kit.driver(on_output=lambda stream, chunk: seen.append(chunk))
    await driver.run(launch)
    entries = b"".join(seen).split(b"\0")[:-1]
    assert sorted(entries) == sorted(os.fsencode(f"{k}={v}") for k, v in env.items())


async def test_arguments_arrive_unchanged(any_kit: Kit) -> None:
    words = ("a b", "", "ä", "$HOME", "'", "\n")
    result = await any_kit.run(any_kit.launch("/usr/bin/printf", "%s|", *words))
    assert result.stdout.text == "a b||ä|$HOME|'|\n|"


async def test_the_agent_has_three_descriptors_and_no_input(any_kit: Kit) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    script = (
        "import os\n"
        "def is_open(n):\n"
        "    try: os.fstat(n)\n"
        "    except OSError: return False\n"
        "    return True\n"
        "print([n for n in range(1024) if is_open(n)], os.readlink('/proc/self/fd/0'))"
    )
    try:
        result = await any_kit.run(any_kit.python(script))
    finally:
        os.close(reader)
        os.close(writer)
    assert result.stdout.text == "[0, 1, 2] /dev/null\n"


async def test_the_agent_leads_a_session_of_its_own_in_its_folder(any_kit: Kit) -> None:
    script = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0), os.getcwd())"
    result = await any_kit.run(any_kit.python(script))
    assert result.stdout.text == f"True {any_kit.folder}\n"


@linux_only
async def test_signal_dispositions_are_default_whatever_flowproof_inherited(kit: Kit) -> None:
    script = (
        "import anyio, signal, sys\n"
        "from flowproof.drivers.command import CommandDriver\n"
        "from flowproof.drivers.interface import Launch\n"
        "from flowproof.model.clock import SystemClock\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD])\n"
        "launch = Launch(('/bin/cat', '/proc/self/status'), '/', {}, 30)\n"
        "result = anyio.run(CommandDriver(clock=SystemClock()).run, launch)\n"
        "print(result.stdout.text)\n"
    )
    env = {"PYTHONPATH": str(REPOSITORY), **kit.env}
    wrapped = "trap '' INT HUP QUIT TERM USR2; exec \"$@\""
    launch = kit.launch("/bin/sh", "-c", wrapped, "sh", sys.executable, "-c", script, env=env)
    result = await kit.run(launch)
    fields = dict(line.split(":\t") for line in result.stdout.text.splitlines() if ":\t" in line)
    # glibc keeps two signals from programs; a child of `make` has them ignored for good.
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    assert [int(fields[name], 16) & ours for name in ("SigBlk", "SigIgn", "SigCgt")] == [0, 0, 0]


async def test_the_command_is_looked_up_in_the_agents_path(
    any_kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, answer in (("ours", "flowproof's"), ("theirs", "the agent's")):
        script = any_kit.folder / folder / "agent"
        script.parent.mkdir()
        script.write_text(f"#!/bin/sh\necho {answer!r}\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(any_kit.folder / "ours"), prepend=":")
    env = {"PATH": str(any_kit.folder / "theirs")}
    result = await any_kit.run(any_kit.launch("agent", env=env))
    assert result.stdout.text.strip() == "the agent's"


def file_at(path: Path, text: str, mode: int) -> None:
    path.write_text(text)
    path.chmod(mode)


async def test_why_a_command_was_not_started(any_kit: Kit) -> None:
    folder = any_kit.folder
    file_at(folder / "plain", "echo hi", 0o755)
    file_at(folder / "forbidden", "#!/bin/sh\n", 0o644)
    file_at(folder / "orphan", "#!/no/such/python\n", 0o755)
    file_at(folder / "windows", "#!/bin/sh\r\n", 0o755)
    expected = {
        "no-such-agent": "of the agent's PATH; install it, or give its path",
        "./missing.py": f"`./missing.py` was not found from {folder}",
        "plain": f"a file of that name is in {folder}: write `./plain`",
        "KEY=1": "set variables in `agent.env`, or use `shell: true`",
        "./plain": "neither a program for this machine nor a script",
        "./forbidden": "`./forbidden` is not executable",
        "/tmp": "`/tmp` is a folder, not a program",
        "./orphan": "the interpreter that it needs does not; see its #! line: #!/no/such/python",
        "./windows": "carriage return",
        "nul\0": "the command holds a NUL character",
        "\ud800": "the command holds U+D800, which utf-8 cannot express",
    }
    for command, message in expected.items():
        result = await any_kit.run(any_kit.launch(command))
        assert message in result.error
        assert (result.status, result.timed_out, result.survivors) == (None, False, ())
        assert (result.stdout.total, result.stderr.total) == (0, 0)


async def test_why_a_command_was_not_started_names_no_place_of_this_machine(any_kit: Kit) -> None:
    folder = any_kit.folder
    (folder / "bin").mkdir()
    file_at(folder / "bin/forbidden", "#!/bin/sh\n", 0o644)
    file_at(folder / "bin/orphan", "#!python-that-is-not\n", 0o755)
    env = {"PATH": f"{folder}/bin:{folder}/sbin"}
    expected = {
        "gone": "`gone` was not found in the 2 folders of the agent's PATH; install it",
        "./gone": "`./gone` was not found from the folder of the run; check",
        f"{folder}/gone": "`gone` was not found from the folder of the run; check",
        f"{folder}x/gone": "`…/gone` was not found from the folder of the run; check",
        "forbidden": "`forbidden` on the agent's PATH is not executable; allow",
        str(folder / "bin"): "`bin` is a folder, not a program",
        "orphan": "`orphan` exists on the agent's PATH, but the interpreter",
    }
    for command, message in expected.items():
        launch = replace(any_kit.launch(command, env=env), seen_from=str(folder))
        result = await any_kit.run(launch)
        assert message in result.error
        assert str(folder) not in result.error
    launch = Launch(("true",), f"{folder}/no", env, 30, seen_from=f"{folder}/other")
    assert "the working directory ../no does not exist" in (await any_kit.run(launch)).error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("missing", "does not exist; `agent.cwd` sets it", id="missing"),
        pytest.param("file", "is not a folder", id="file"),
    ],
)
async def test_a_bad_working_directory(any_kit: Kit, name: str, message: str) -> None:
    (any_kit.folder / "file").touch()
    cwd = str(any_kit.folder / name)
    result = await any_kit.run(Launch(("true",), cwd, any_kit.env, 30))
    assert result.status is None
    assert cwd in result.error
    assert message in result.error


async def test_too_long_an_environment_is_explained(any_kit: Kit) -> None:
    env = {"FLOWPROOF_PROMPT": "x" * 200_000}
    result = await any_kit.run(any_kit.launch("/bin/true", env=env))
    assert "200,009 bytes" in result.error
    assert "128 KiB in one value" in result.error


@pytest.mark.parametrize(
    ("env", "message"),
    [
        pytest.param({"A=B": "x"}, "`A=B` is no name for an environment variable", id="equals"),
        pytest.param({"": "x"}, "`` is no name", id="empty"),
        pytest.param({"A": "\0"}, "the environment variable A holds a NUL", id="nul"),
        pytest.param({"A": "\ud800"}, "the environment variable A holds U+D800", id="surrogate"),
    ],
)
async def test_an_environment_that_cannot_be_passed(
    any_kit: Kit, env: dict[str, str], message: str
) -> None:
    result = await any_kit.run(any_kit.launch("/bin/true", env=env))
    assert message in result.error


async def test_no_words(any_kit: Kit) -> None:
    assert (await any_kit.run(any_kit.launch())).error == "the command has no words"


async def test_output_is_seen_as_it_arrives(any_kit: Kit) -> None:
    seen: list[tuple[Stream, bytes]] = []
    driver = any_kit.driver(on_output=lambda stream, chunk: seen.append((stream, chunk)))
    await driver.run(any_kit.shell("echo a; sleep 0.1; echo b >&2; sleep 0.1; echo c"))
    assert seen == [("stdout", b"a\n"), ("stderr", b"b\n"), ("stdout", b"c\n")]


async def test_an_observer_that_fails_ends_the_agent(any_kit: Kit) -> None:
    def fail(stream: Stream, chunk: bytes) -> None:
        raise RuntimeError("observer")

    with pytest.RaisesGroup(RuntimeError):
        await any_kit.driver(on_output=fail).run(any_kit.shell("echo a; sleep 60"))


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        pytest.param(errno.EAGAIN, "run fewer flows at once", id="processes"),
        pytest.param(errno.EMFILE, "raise the limit on open files", id="descriptors"),
    ],
)
async def test_a_system_with_nothing_left_is_no_fault_of_a_command(
    any_kit: Kit, number: int, advice: str
) -> None:
    def refuse() -> Trees:
        raise OSError(number, os.strerror(number))

    any_kit.new_trees = refuse
    driver = any_kit.driver()
    with driver.prestart(), pytest.raises(WorldError) as caught:
        await driver.run(any_kit.shell("true"))
    assert "no process could be made for `/bin/sh`" in str(caught.value)
    assert advice in str(caught.value)


async def test_duration_comes_from_the_clock(any_kit: Kit) -> None:
    class Steps:
        def __init__(self) -> None:
            self.time = 0.0

        def now(self) -> datetime:
            return datetime(2026, 1, 1, tzinfo=UTC)

        def monotonic(self) -> float:
            self.time += 2.5
            return self.time

    driver = CommandDriver(clock=Steps(), new_trees=any_kit.new_trees)
    assert (await driver.run(any_kit.shell("true"))).duration == 2.5


@linux_only
async def test_linux_gets_the_guard() -> None:
    trees = platform_trees()
    trees.close()
    assert type(trees).__name__ == "Guards"
