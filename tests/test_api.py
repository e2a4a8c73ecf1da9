"""What `import flowproof` offers, used as its users use it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

import flowproof
from flowproof import Flow, RunResult, Suite, Verdict, errors
from flowproof.trace.file import write_trace
from tests.flow.support import asking, saying, trace, turn
from tests.support.upstream import FakeUpstream, chat, completion

AGENT = """\
import http.client, json, os
host, _, path = os.environ["OPENAI_BASE_URL"].removeprefix("http://").partition("/")
said = {"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]}
asked = {"model": "gpt-4o", "messages": [said]}
connection = http.client.HTTPConnection(host, timeout=20)
connection.request("POST", f"/{path}/chat/completions", json.dumps(asked))
connection.getresponse().read()
"""


def spec(name: str = "Greeter", reply: str = "Hello") -> str:
    command = shlex.join([sys.executable, "-S", "agent.py"])
    return json.dumps(
        {
            "name": name,
            "agent": {"command": command, "timeout": 30},
            "steps": [{"prompt": "Say hello"}, {"assert": f"reply contains {reply}"}],
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: an agent, its flow and a trace in which the model says hello."""
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(AGENT, "utf-8")
    Path("x.flow.yaml").write_text(spec(), "utf-8")
    write_trace(Path("x.trace.json"), trace(turn(asking("Say hello"), saying("Hello"))))
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_flow_in_a_test(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = files(folder)
    assert Flow("x.flow.yaml").run().passed
    assert files(folder) == before
    assert capfd.readouterr() == ("", "")


def test_what_a_result_holds() -> None:
    Path("x.flow.yaml").write_text(spec(reply="Bye"), "utf-8")
    result = Flow(Path("x.flow.yaml")).run()
    assert isinstance(result, RunResult)
    assert (result.passed, result.exit_code) == (False, 1)
    [flow] = result.flows
    assert (flow.name, flow.verdict) == ("Greeter", Verdict.FAIL)
    assert (result.record.partial, result.record.command) == (True, "run")
    assert repr(result) == (
        "<RunResult exit code 1; Greeter: fail 1 of 1 assertion failed: "
        'assert: "reply contains Bye">'
    )
    assert "x.flow.yaml" in str(result)
    assert "reply contains Bye" in str(result)
    assert "(exit 1" in str(result)


def test_recording(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeUpstream(chat(completion("Hello"), completion("Hello"))) as upstream:
        monkeypatch.setenv("FLOWPROOF_AGENT_UPSTREAM", upstream.url)
        assert Flow("x.flow.yaml").record(out="other.trace.json").passed
    assert "other.trace.json" in files(folder)
    assert Flow("x.flow.yaml").run(trace="other.trace.json").passed


def test_a_suite() -> None:
    Path("y.flow.yaml").write_text(spec("Other"), "utf-8")
    result = Suite().run()
    assert [str(flow.verdict) for flow in result.flows] == ["pass", "skipped"]
    assert result.passed
    assert not result.record.partial
    strict = Suite(".").run(strict=True)
    assert [str(flow.verdict) for flow in strict.flows] == ["pass", "error"]
    assert strict.exit_code == 2


def test_a_part_of_a_suite_is_partial() -> None:
    Path("suite.yaml").write_text("name: s\n", "utf-8")
    Path("sub").mkdir()
    Path("sub/y.flow.yaml").write_text(spec("Other"), "utf-8")
    assert Suite("sub").run(allow_empty=True).record.partial
    assert Suite("x.flow.yaml").run().record.partial
    assert not Suite(".").run().record.partial


def test_a_suite_in_which_nothing_ran(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert Suite("empty").run().exit_code == 5
    assert Suite("empty").run(allow_empty=True).passed


def test_some_flows_of_a_suite() -> None:
    Path("y.flow.yaml").write_text(spec("Other").replace('"steps"', '"tags": ["slow"], "steps"'))
    by_name = Suite().run(names="greeter", jobs=2, retries=1, timeout=20, global_timeout=60)
    assert [flow.name for flow in by_name.flows] == ["Greeter"]
    assert (by_name.passed, by_name.record.partial) == (True, True)
    assert [flow.name for flow in Suite().run(tags="slow").flows] == ["Other"]
    assert [flow.name for flow in Suite().run(tags="not slow", jobs="50%").flows] == ["Greeter"]


def test_a_suite_records_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("y.flow.yaml").write_text(spec("Other"), "utf-8")
    with FakeUpstream(chat(completion("Hello"))) as upstream:
        monkeypatch.setenv("FLOWPROOF_AGENT_UPSTREAM", upstream.url)
        result = Suite().run(record_missing=True)
    assert [(flow.name, flow.phase) for flow in result.flows] == [
        ("Greeter", "replay"),
        ("Other", "record"),
    ]
    assert result.passed
    assert Suite().run(strict=True).passed


def test_a_suite_ends_after_enough_failures() -> None:
    for name in "ab":
        Path(f"{name}.flow.yaml").write_text(spec(name, reply="Bye"), "utf-8")
        write_trace(Path(f"{name}.trace.json"), trace(turn(asking("Say hello"), saying("Hello"))))
    result = Suite().run(max_failures=1, jobs=1)
    assert [str(flow.verdict) for flow in result.flows] == ["fail", "skipped", "skipped"]
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("option", "text"),
    [
        pytest.param({"jobs": 0}, "jobs 0: a number from 1", id="jobs"),
        pytest.param({"jobs": "many"}, "jobs many", id="jobs in words"),
        pytest.param({"tags": "a and"}, "tags", id="tags"),
        pytest.param({"names": "("}, "names", id="names"),
        pytest.param({"timeout": 0}, "timeout is 0; it must be more than 0", id="timeout"),
        pytest.param({"max_failures": -1}, "max_failures is -1", id="max_failures"),
    ],
)
def test_an_option_of_a_suite_that_cannot_be_used(option: dict[str, Any], text: str) -> None:
    with pytest.raises(errors.UsageError, match=text):
        Suite().run(**option)


def test_a_spec_that_does_not_parse_is_in_the_result() -> None:
    Path("x.flow.yaml").write_text("nmae: x", "utf-8")
    result = Flow("x.flow.yaml").run()
    assert (result.passed, result.exit_code) == (False, 2)
    assert result.flows[0].reason.startswith("x.flow.yaml:1:1")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("gone.flow.yaml", "no such file", id="missing"),
        pytest.param("agent.py", "ends in .flow.yaml", id="of another kind"),
        pytest.param(".", "is a folder; its flows are run by Suite", id="a folder"),
    ],
)
def test_a_path_that_is_no_flow(path: str, text: str) -> None:
    with pytest.raises(errors.UsageError, match=text):
        Flow(path).run()


def test_in_a_running_event_loop() -> None:
    async def main() -> RunResult:
        return await anyio.to_thread.run_sync(Flow("x.flow.yaml").run)

    assert anyio.run(main).passed


def test_the_names() -> None:
    assert set(dir(flowproof)) == set(flowproof.__all__)
    for name in flowproof.__all__:
        assert getattr(flowproof, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Nope'"):
        flowproof.Nope  # noqa: B018


def test_the_import_loads_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import flowproof; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(flowproof.__file__).parent.parent,
    )
    assert done.stdout.split() == ["__future__", "flowproof", "flowproof.version"]


def test_what_the_system_refuses_is_an_error_of_ours() -> None:
    for question in (Flow("x" * 5000).run, Flow("x" * 5000).record, Suite("x" * 5000).run):
        with pytest.raises(errors.UsageError, match="File name too long"):
            question()
