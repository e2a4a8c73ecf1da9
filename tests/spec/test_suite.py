"""Loading suite.yaml: every key, what cannot run yet, and where the nearest one is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from flowproof.errors import SpecError
from flowproof.model.flow_spec import FlowSettings
from flowproof.suite.discover import nearest_suite
from tests.spec.support import suite, suite_messages

FULL = """\
name: support-bot
min_version: "0.1"
env: {BASE: "http://localhost:3000", TOKEN: "${SECRET}"}
env_from: ./mint-data --format env
secrets: [DB_PASSWORD]
before_all: ./seed-all && true
after_all: ./drop-all
before_each: ./seed
after_each: ./clean
order: [smoke/login.flow.yaml]
jobs: auto
timeout: 300s
retries: 2
strict: true
tags: [nightly]
services:
  api: {command: npm run dev, cwd: ., env: {}, ready: {http: "http://127.0.0.1:8/up"}, timeout: 60s}
  db: {command: db, ready: {port: 5432}}
  log: {command: log, ready: {log: "listening on [0-9]+"}}
flows:
  refund.flow.yaml:
    {needs: [smoke/login.flow.yaml, api], resources: [r], timeout: 60s, retries: 1, tags: [slow]}
"""


def add_flows(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).touch()


def test_every_key(tmp_path: Path) -> None:
    add_flows(tmp_path, "smoke/login.flow.yaml", "refund.flow.yaml")
    spec = suite(tmp_path, FULL)
    assert spec.name == "support-bot"
    assert spec.folder == str(tmp_path.resolve())
    assert spec.sha256 == hashlib.sha256(FULL.encode()).hexdigest()
    assert spec.env == {"BASE": "http://localhost:3000", "TOKEN": "${SECRET}"}
    assert (spec.min_version, spec.timeout, spec.strict) == ("0.1", 300.0, True)
    assert (spec.order, spec.tags, spec.jobs) == (("smoke/login.flow.yaml",), ("nightly",), "auto")
    assert [(item.feature, item.position.line) for item in spec.unsupported] == [
        ("secrets", 5),
        ("services", 16),
    ]
    assert (spec.retries, spec.env_from) == (2, "./mint-data --format env")
    assert (spec.before_all, spec.after_all) == ("./seed-all && true", "./drop-all")
    assert (spec.before_each, spec.after_each) == ("./seed", "./clean")
    assert spec.flows == {
        "refund.flow.yaml": FlowSettings(
            ("smoke/login.flow.yaml", "api"), ("r",), 60.0, 1, ("slow",)
        )
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("flows: {c.flow.yaml: {}}", "1:9: there is no flow `c.flow.yaml`", id="flow"),
        pytest.param(
            "flows: {a: {}}", "1:9: `a` is no flow: a flow's file name ends in", id="name"
        ),
        pytest.param(
            "flows: {a.flow.yaml: {needs: [d/B.flow.yaml]}}",
            "1:23: `needs` names `d/B.flow.yaml`, which is neither a flow",
            id="need",
        ),
        pytest.param(
            "flows: {a.flow.yaml: {needs: [a.flow.yaml]}}",
            "1:23: flows wait for each other: `a.flow.yaml` → `a.flow.yaml`",
            id="itself",
        ),
        pytest.param(
            "flows:\n  a.flow.yaml: {needs: [d/b.flow.yaml]}\n"
            "  d/b.flow.yaml: {needs: [./a.flow.yaml]}",
            "2:17: flows wait for each other: `a.flow.yaml` → `d/b.flow.yaml` → `a.flow.yaml`",
            id="circle",
        ),
        pytest.param(
            "order: [a.flow.yaml, d/b.flow.yaml]\nflows: {a.flow.yaml: {needs: [d/b.flow.yaml]}}",
            "2:23: flows wait for each other",
            id="circle with the order",
        ),
        pytest.param(
            "order: [a.flow.yaml]\nflows: {a.flow.yaml: {needs: [d/b.flow.yaml]}}",
            "2:23: `a.flow.yaml` is in `order`, whose flows run before all others",
            id="before its need",
        ),
    ],
)
def test_flows_that_are_not_there_or_wait_for_each_other(
    tmp_path: Path, text: str, expected: str
) -> None:
    add_flows(tmp_path, "a.flow.yaml", "d/b.flow.yaml")
    [problem] = suite_messages(tmp_path, text)
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("path", "suggestion"),
    [
        pytest.param("d/bb.flow.yaml", "d/b.flow.yaml", id="misspelt"),
        pytest.param("long/way/b.flow.yaml", "d/b.flow.yaml", id="in another folder"),
        pytest.param("a.flow.yml", "a.flow.yaml", id="another ending"),
        pytest.param("nothing-like-it.flow.yaml", "", id="nothing near"),
    ],
)
def test_a_path_that_is_no_flow_is_marked_and_gets_a_suggestion(
    tmp_path: Path, path: str, suggestion: str
) -> None:
    add_flows(tmp_path, "a.flow.yaml", "d/b.flow.yaml")
    with pytest.raises(SpecError) as caught:
        suite(tmp_path, f"flows:\n  a.flow.yaml: {{}}\n  {path}:\n    retries: 1\n")
    [problem] = caught.value.problems
    assert (problem.line, problem.column, problem.suggestion) == (3, 3, suggestion)


def test_very_many_wrong_paths_are_told_and_some_get_a_suggestion(tmp_path: Path) -> None:
    add_flows(tmp_path, "a.flow.yaml")
    wrong = "".join(f"  a{at}.flow.yaml: {{}}\n" for at in range(20))
    with pytest.raises(SpecError) as caught:
        suite(tmp_path, f"flows:\n{wrong}")
    assert len(caught.value.problems) == 20
    assert [bool(one.suggestion) for one in caught.value.problems] == [True] * 5 + [False] * 15


@pytest.mark.parametrize(
    "key", ["env_from", "before_all", "after_all", "before_each", "after_each"]
)
@pytest.mark.parametrize("text", ["${A%.yaml}", "${A:-x}", "${A", "$${A}", "${A}"])
def test_a_reference_in_a_command_is_the_shells(tmp_path: Path, key: str, text: str) -> None:
    assert getattr(suite(tmp_path, f"{key}: 'echo {text}'\n"), key) == f"echo {text}"


def test_a_misspelt_need_gets_a_suggestion(tmp_path: Path) -> None:
    add_flows(tmp_path, "a.flow.yaml", "d/b.flow.yaml")
    with pytest.raises(SpecError, match=r"d/b\.flow\.yaml`\?"):
        suite(tmp_path, "flows: {a.flow.yaml: {needs: [d/bb.flow.yaml]}}")


def test_needs_along_the_order_are_no_circle(tmp_path: Path) -> None:
    add_flows(tmp_path, "a.flow.yaml", "d/b.flow.yaml")
    text = "order: [d/b.flow.yaml]\nflows: {a.flow.yaml: {needs: [d/b.flow.yaml]}}"
    assert suite_messages(tmp_path, text) == []


def test_defaults(tmp_path: Path) -> None:
    spec = suite(tmp_path, "retries: 0\n")
    assert (spec.name, spec.env, spec.timeout, spec.strict) == (tmp_path.name, {}, None, False)
    assert spec.unsupported == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "1:1: the file is empty", id="empty"),
        pytest.param("[a]", "1:1: found a list", id="list"),
        pytest.param("nme: x", "1:1: the suite has no key `nme`", id="unknown"),
        pytest.param("jobs: 0", "1:7: found `0`", id="jobs"),
        pytest.param("jobs: 150%", "1:7: found `150%`", id="percent"),
        pytest.param("min_version: v1", "1:14: found `v1`", id="version"),
        pytest.param("order: [a, a]", "1:1: `a` stands in `order` more than once", id="twice"),
        pytest.param("order: [/abs]", "1:9: found `/abs`", id="absolute"),
        pytest.param("env: {A: '${B'}", "1:11: `${B'}` is not a reference", id="reference"),
        pytest.param("strict: yes", "1:9: found `yes`", id="yes"),
        pytest.param(
            "services: {a: {command: x}}", "1:15: a service lacks the key `ready`", id="not-ready"
        ),
        pytest.param(
            "services: {a: {command: x, ready: {port: 1, log: x}}}",
            "1:45: `ready` needs exactly one of `http`, `port`, `log`, found `port`, `log`",
            id="ready-twice",
        ),
        pytest.param(
            "services: {a: {command: x, ready: {log: '('}}}",
            "1:42: this pattern cannot be used",
            id="pattern",
        ),
        pytest.param(
            "flows: {a: {need: [b]}}", "1:13: the settings of a flow has no key `need`", id="need"
        ),
    ],
)
def test_refused(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = suite_messages(tmp_path, text)
    assert found.startswith(expected.replace("`${B'}`", "`${B`"))


def test_the_nearest_suite_is_found_upward(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "suite.yaml").write_text("name: outer\n", encoding="utf-8")
    assert nearest_suite(deep) == tmp_path.resolve() / "suite.yaml"
    (tmp_path / "a" / "suite.yaml").write_text("name: inner\n", encoding="utf-8")
    assert nearest_suite(deep) == tmp_path.resolve() / "a" / "suite.yaml"
