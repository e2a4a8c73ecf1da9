"""What flows need: by place, across suites, along long chains, and never in a circle."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.errors import ExitCode, SpecError, UsageError
from flowproof.suite.discover import discover
from flowproof.suite.needs import groups, kept_back, with_needed
from flowproof.suite.plan import PlanOptions, plan, taking_turns
from flowproof.suite.project import JobOptions, Project

SPEC = "name: n\nagent: {command: x}\nsteps: [{prompt: go}]\n"


def write(path: Path, text: str = SPEC) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def made(folder: Path) -> Project:
    return Project(folder, JobOptions("replay"))


def test_a_flow_that_is_a_link_to_another_is_a_flow_of_its_own(tmp_path: Path) -> None:
    first = write(tmp_path / "a.flow.yaml")
    second = tmp_path / "z.flow.yaml"
    second.symlink_to(first.name)
    write(tmp_path / "suite.yaml", "flows: {z.flow.yaml: {retries: 2}}\n")
    project = made(tmp_path)
    specs = with_needed(discover([tmp_path]), project)
    assert specs == (first, second)
    assert [(one.spec, one.retries) for one in plan(specs, project, PlanOptions())] == [
        (first, 0),
        (second, 2),
    ]
    assert groups(specs, project) == [[first], [second]]


def test_a_need_through_a_link_is_spelt_as_any_flow(tmp_path: Path) -> None:
    first, second = write(tmp_path / "real/a.flow.yaml"), write(tmp_path / "real/c.flow.yaml")
    (tmp_path / "real/here").symlink_to(".")
    write(tmp_path / "real/suite.yaml", "flows: {a.flow.yaml: {needs: [here/c.flow.yaml]}}\n")
    (tmp_path / "link").symlink_to("real")
    specs = discover([tmp_path / "link"])
    assert with_needed(specs, made(tmp_path)) == (second, first)
    assert groups(specs, made(tmp_path)) == [[second, first]] or groups(specs, made(tmp_path)) == [
        [first, second]
    ]


def test_a_circle_across_suites_names_flows_and_files(tmp_path: Path) -> None:
    for one, other in (("s1/a", "../s2/b"), ("s2/b", "../s1/a")):
        spec = write(tmp_path / f"{one}.flow.yaml")
        text = f"flows: {{{spec.name}: {{needs: [{other}.flow.yaml]}}}}\n"
        write(spec.parent / "suite.yaml", text)
    with pytest.raises(UsageError) as caught:
        with_needed(discover([tmp_path]), made(tmp_path))
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR
    for named in ("`s1/a.flow.yaml` → `s2/b.flow.yaml`", "s1/suite.yaml", "s2/suite.yaml"):
        assert named in str(caught.value)
    write(tmp_path / "s2/suite.yaml", "name: s2\n")
    assert len(with_needed(discover([tmp_path]), made(tmp_path))) == 2


def test_a_circle_of_needs_and_an_order_that_spell_a_flow_differently(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.flow.yaml")
    (tmp_path / "me").symlink_to(".")
    order = "order: [a.flow.yaml, b.flow.yaml]\n"
    write(tmp_path / "suite.yaml", order + "flows: {me/b.flow.yaml: {needs: [a.flow.yaml]}}\n")
    project = made(tmp_path)
    assert len(plan(with_needed(discover([tmp_path]), project), project, PlanOptions())) == 2
    write(tmp_path / "suite.yaml", order + "flows: {me/a.flow.yaml: {needs: [b.flow.yaml]}}\n")
    project = made(tmp_path)
    with pytest.raises(UsageError, match="wait for each other"):
        plan(with_needed(discover([tmp_path]), project), project, PlanOptions())


@pytest.mark.parametrize("reversed_", [False, True], ids=["down", "up"])
def test_a_chain_longer_than_the_stack(tmp_path: Path, reversed_: bool) -> None:
    count = 1_500
    lines = ["flows:"]
    for at in range(count):
        write(tmp_path / f"{at:04}.flow.yaml", "")
        need = at - 1 if reversed_ else at + 1
        if 0 <= need < count:
            lines.append(f"  {at:04}.flow.yaml: {{needs: [{need:04}.flow.yaml]}}")
    write(tmp_path / "suite.yaml", "\n".join(lines))
    project = made(tmp_path)
    found = with_needed([tmp_path / f"{count - 1 if reversed_ else 0:04}.flow.yaml"], project)
    assert len(found) == count
    assert len(groups(discover([tmp_path]), project)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("flows: {sub/b.flow.yaml: {retries: 1}}", "is not of this suite", id="flows"),
        pytest.param("order: [sub/b.flow.yaml]", "is not of this suite", id="order"),
        pytest.param(
            "flows: {a.flow.yaml: {}, me/a.flow.yaml: {}}", "has settings already", id="twice"
        ),
        pytest.param("flows: {a.flow.yaml: {needs: [me/a.flow.yaml]}}", "wait for", id="circle"),
        pytest.param("flows: {a.flow.yaml: {needs: [sub/b.flow.yaml]}}", "", id="a need is fine"),
        pytest.param("flows: {a.flow.yaml: {}, d/c.flow.yaml: {}}", "", id="its own"),
    ],
)
def test_what_a_suite_may_say_of_flows(tmp_path: Path, text: str, said: str) -> None:
    for name in ("a", "sub/b", "d/c"):
        write(tmp_path / f"{name}.flow.yaml")
    (tmp_path / "me").symlink_to(".")
    write(tmp_path / "sub/suite.yaml", "name: sub\n")
    write(tmp_path / "suite.yaml", text)
    project = made(tmp_path)
    if not said:
        assert project.suite_of(tmp_path) is not None
        return
    with pytest.raises((SpecError, UsageError), match=said) as caught:
        project.suite_of(tmp_path)
        with_needed(discover([tmp_path]), project)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


def test_many_missing_flows_are_problems_of_the_file(tmp_path: Path) -> None:
    write(
        tmp_path / "suite.yaml",
        "flows:\n" + "".join(f"  {i}.flow.yaml: {{}}\n" for i in range(150)),
    )
    with pytest.raises(SpecError, match="100 problems are enough"):
        made(tmp_path).suite_of(tmp_path)


@pytest.mark.parametrize(
    ("nested", "given", "folders"),
    [
        pytest.param("before_each: 'true'", False, ("sub",), id="hooks"),
        pytest.param("jobs: 1", False, ("sub",), id="one job"),
        pytest.param("{before_each: 'true', jobs: 2}", False, (), id="hooks and jobs"),
        pytest.param("before_each: 'true'", True, (), id="-j"),
        pytest.param("name: s", False, (), id="nothing"),
    ],
)
def test_flows_between_hooks_take_turns(
    tmp_path: Path, nested: str, given: bool, folders: tuple[str, ...]
) -> None:
    for name in ("x", "sub/a", "sub/b"):
        write(tmp_path / f"{name}.flow.yaml")
    write(tmp_path / "suite.yaml", "jobs: 4\n")
    write(tmp_path / "sub/suite.yaml", nested)
    options = PlanOptions(jobs_given=given)
    planned = plan(discover([tmp_path]), made(tmp_path), options)
    assert taking_turns(planned) == folders
    locks = {one.id: one.locks for one in planned}
    assert not locks["x.flow.yaml"]
    assert locks["sub/a.flow.yaml"] == locks["sub/b.flow.yaml"]


def test_what_is_kept_back_by_a_failure(tmp_path: Path) -> None:
    a, b, c, d = (write(tmp_path / f"{name}.flow.yaml") for name in "abcd")
    write(
        tmp_path / "suite.yaml",
        "flows: {b.flow.yaml: {needs: [a.flow.yaml]}, c.flow.yaml: {needs: [b.flow.yaml]}}\n",
    )
    assert kept_back([b, c, d], [a], made(tmp_path)) == {b, c}
    assert kept_back([b, c, d], [], made(tmp_path)) == set()
