"""What a flow gets from the suite around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.errors import CapabilityError, ExitCode, SpecError, UsageError
from flowproof.model.phase import Phase
from flowproof.suite.order import ordered
from flowproof.suite.project import JobOptions, Project
from flowproof.version import __version__

SPEC = """\
name: Greeter
tags: [own, shared]
agent: {command: greet}
steps:
  - prompt: Say hello
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def project(here: Path, phase: Phase = "replay", trace: Path | None = None) -> Project:
    return Project(here, JobOptions(phase, trace))


def test_a_flow_without_a_suite(tmp_path: Path) -> None:
    spec = write(tmp_path / "deep/a.flow.yaml", SPEC)
    job = project(tmp_path).job(spec)
    assert (job.shown_path, job.shown_trace) == ("deep/a.flow.yaml", "deep/a.trace.json")
    assert (job.folder, job.working_folder) == (tmp_path, tmp_path)
    assert (job.strict, dict(job.suite_env), job.spec.tags) == (False, {}, ("own", "shared"))


def test_the_nearest_suite_governs(tmp_path: Path) -> None:
    write(tmp_path / "suite.yaml", "name: outer\nenv: {A: outer}\n")
    write(tmp_path / "in/suite.yaml", "name: inner\nenv: {A: inner}\nstrict: true\n")
    outer = project(tmp_path).job(write(tmp_path / "flows/a.flow.yaml", SPEC))
    inner = project(tmp_path).job(write(tmp_path / "in/deep/a.flow.yaml", SPEC))
    assert (outer.suite_env["A"], outer.strict, outer.working_folder) == ("outer", False, tmp_path)
    assert (inner.suite_env["A"], inner.strict) == ("inner", True)
    assert inner.working_folder == tmp_path / "in"
    assert inner.folder == tmp_path


def test_a_suite_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "suite.yaml", "name: s\n")
    made = project(tmp_path)
    first = made.suite_of(tmp_path)
    path.unlink()
    write(path, "name: other\n")
    assert made.suite_of(tmp_path / ".") is first


def test_strict_is_asked_for_by_either(tmp_path: Path) -> None:
    spec = write(tmp_path / "a.flow.yaml", SPEC)
    assert Project(tmp_path, JobOptions("replay", strict=True)).job(spec).strict
    write(tmp_path / "suite.yaml", "strict: false\n")
    assert Project(tmp_path, JobOptions("replay", strict=True)).job(spec).strict
    assert not project(tmp_path).job(spec).strict


@pytest.mark.parametrize(
    ("suite", "own", "expected"),
    [
        pytest.param("timeout: 60s", "", 60, id="shorter than the default"),
        pytest.param("timeout: 60s", ", timeout: 10s", 10, id="longer than the flow's own"),
        pytest.param("timeout: 1000s", ", timeout: 500s", 500, id="a bound and no default"),
        pytest.param("timeout: 5", ", timeout: 500s", 5, id="shorter than the flow's own"),
        pytest.param("name: s", ", timeout: 500s", 500, id="none"),
    ],
)
def test_the_suites_timeout_bounds_every_flow(
    tmp_path: Path, suite: str, own: str, expected: float
) -> None:
    write(tmp_path / "suite.yaml", suite)
    spec = write(tmp_path / "a.flow.yaml", SPEC.replace("command: greet", f"command: greet{own}"))
    assert project(tmp_path).job(spec).spec.agent.timeout == expected


def test_tags_are_added_once_each(tmp_path: Path) -> None:
    write(tmp_path / "suite.yaml", "tags: [shared, nightly]\n")
    spec = write(tmp_path / "a.flow.yaml", SPEC)
    assert project(tmp_path).job(spec).spec.tags == ("own", "shared", "nightly")


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        pytest.param("0.0.1", True, id="older"),
        pytest.param(__version__, True, id="this one"),
        pytest.param(f"{__version__}.1", False, id="a little newer"),
        pytest.param("99", False, id="much newer"),
    ],
)
def test_min_version(tmp_path: Path, wanted: str, fits: bool) -> None:
    write(tmp_path / "suite.yaml", f'min_version: "{wanted}"\n')
    if fits:
        assert project(tmp_path).suite_of(tmp_path) is not None
        return
    with pytest.raises(UsageError, match=rf"suite\.yaml: this suite needs flowproof {wanted}"):
        project(tmp_path).suite_of(tmp_path)


def test_what_a_suite_declares_and_cannot_be_run(tmp_path: Path) -> None:
    write(tmp_path / "suite.yaml", "secrets: [A]\nservices: {a: {command: b, ready: {port: 1}}}\n")
    with pytest.raises(CapabilityError) as caught:
        project(tmp_path).suite_of(tmp_path)
    assert "suite.yaml:1:" in str(caught.value)
    assert "`services` cannot be run" in str(caught.value)
    assert "`secrets` cannot be run" in str(caught.value)
    assert caught.value.exit_code is ExitCode.WORLD_ERROR


def test_a_suite_that_does_not_parse(tmp_path: Path) -> None:
    write(tmp_path / "up/suite.yaml", "nam: s\n")
    with pytest.raises(SpecError, match=r"up/suite\.yaml:1:1"):
        project(tmp_path).suite_of(tmp_path / "up")


@pytest.mark.parametrize(
    ("phase", "there", "trace", "expected"),
    [
        pytest.param("replay", [], None, "a.trace.json", id="none yet"),
        pytest.param("replay", ["a.trace.jsonl"], None, "a.trace.jsonl", id="only an old one"),
        pytest.param("replay", ["a.trace.jsonl", "a.trace.json"], None, "a.trace.json", id="both"),
        pytest.param("record", ["a.trace.jsonl"], None, "a.trace.json", id="recorded anew"),
        pytest.param("replay", ["a.trace.json"], "other/t.json", "other/t.json", id="named"),
        pytest.param("record", [], "../t.json", "../t.json", id="named to record"),
    ],
)
def test_which_trace(
    tmp_path: Path, phase: Phase, there: list[str], trace: str | None, expected: str
) -> None:
    spec = write(tmp_path / "a.flow.yaml", SPEC)
    for name in there:
        write(tmp_path / name, "")
    chosen = Path(trace) if trace else None
    assert project(tmp_path, phase, chosen).job(spec).trace_path == tmp_path / expected


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"flows/{name}.flow.yaml", SPEC) for name in "abc"]


def suite_order(folder: Path, specs: list[Path]) -> list[str]:
    return [path.name[0] for path in ordered(specs, project(folder).suite_of(folder))]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        pytest.param("[]", "abc", id="none"),
        pytest.param("[flows/c.flow.yaml]", "cab", id="one"),
        pytest.param("[flows/c.flow.yaml, flows/a.flow.yaml]", "cab", id="two"),
        pytest.param("[flows/b.flow.yaml, flows/a.flow.yaml]", "bac", id="two others"),
        pytest.param("[flows/../flows/c.flow.yaml]", "cab", id="spelt otherwise"),
    ],
)
def test_order(tmp_path: Path, three: list[Path], order: str, expected: str) -> None:
    write(tmp_path / "suite.yaml", f"order: {order}\n")
    assert "".join(suite_order(tmp_path, three)) == expected


def test_order_through_a_linked_folder(tmp_path: Path, three: list[Path]) -> None:
    write(tmp_path / "suite.yaml", "order: [flows/c.flow.yaml]\n")
    (tmp_path / "link").symlink_to(tmp_path / "flows")
    linked = [tmp_path / "link" / spec.name for spec in three]
    assert suite_order(tmp_path, linked) == ["c", "a", "b"]


def test_order_adds_nothing_to_a_selection(tmp_path: Path, three: list[Path]) -> None:
    write(tmp_path / "suite.yaml", "order: [flows/c.flow.yaml, flows/b.flow.yaml]\n")
    assert suite_order(tmp_path, three[:2]) == ["b", "a"]


def test_order_without_a_suite(three: list[Path]) -> None:
    assert ordered(three, None) == tuple(three)


def test_order_that_names_what_is_not_there(tmp_path: Path, three: list[Path]) -> None:
    write(tmp_path / "suite.yaml", "name: s\norder: [flows/z.flow.yaml]\n")
    with pytest.raises(UsageError, match=r"suite s: `order` names .* flows/z\.flow\.yaml"):
        suite_order(tmp_path, three)


def test_a_suite_that_is_no_file_stops_the_run_and_one_that_cannot_be_used_its_flows(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    write(tmp_path / "bad/suite.yaml", "nam: s\n")
    assert made.usable_suite(tmp_path / "bad") is None
    (tmp_path / "none/suite.yaml").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"suite\.yaml: it is a folder"):
        made.usable_suite(tmp_path / "none")
    with pytest.raises(UsageError, match=r"suite\.yaml: it is a folder"):
        made.job(write(tmp_path / "none/a.flow.yaml", SPEC))
    assert made.usable_suite(tmp_path) is None
