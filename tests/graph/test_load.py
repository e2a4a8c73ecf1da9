"""Graph files: what they may say, how a template expands, and how faults are reported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flowproof.graph.load import MAX_CHARACTERS, expand, load_template
from flowproof.graph.task import Graph, GraphError

REPLAY = """
graph: replay
tasks:
  - {id: resolve_env}
  - {id: start_model_proxy, needs: [resolve_env], kind: serve, timeout: 2.5}
  - {id: start_mcp, needs: [resolve_env], for_each: mcp}
  - {id: launch_agent, needs: [start_model_proxy, start_mcp], when: command}
  - {id: check, needs: [launch_agent]}
  - {id: report, needs: [check], always: true}
"""


def needs(graph: Graph) -> dict[str, tuple[str, ...]]:
    return {id: node.needs for id, node in graph.tasks.items()}


def one(tasks: str) -> str:
    return f"graph: g\ntasks:\n{tasks}"


def test_a_template_expands_into_the_graph_of_a_flow() -> None:
    template = load_template(REPLAY, "graphs/replay.yaml")
    graph = expand(template, {"mcp": ["files", "web"]}, {"command"})
    assert template.name == "replay"
    assert needs(graph) == {
        "resolve_env": (),
        "start_model_proxy": ("resolve_env",),
        "start_mcp:files": ("resolve_env",),
        "start_mcp:web": ("resolve_env",),
        "launch_agent": ("start_model_proxy", "start_mcp:files", "start_mcp:web"),
        "check": ("launch_agent",),
        "report": ("check",),
    }
    files, proxy = graph.tasks["start_mcp:files"], graph.tasks["start_model_proxy"]
    assert (files.kind, files.item) == ("start_mcp", "files")
    assert (proxy.kind, proxy.item, proxy.timeout) == ("serve", None, 2.5)
    assert [node.id for node in graph.order() if node.always] == ["report"]


def test_an_empty_list_and_an_absent_flag_leave_their_order_behind() -> None:
    graph = expand(load_template(REPLAY, "r"), {"mcp": []}, set())
    assert needs(graph)["check"] == ("start_model_proxy",), "which comes after resolve_env"
    assert "launch_agent" not in graph.tasks
    assert not [id for id in graph.tasks if id.startswith("start_mcp")]


def test_needs_inherited_twice_stand_once() -> None:
    text = one("  - {id: a}\n  - {id: b, needs: [a], when: x}\n  - {id: c, needs: [b, a]}")
    assert needs(expand(load_template(text, "f"), {}, [])) == {"a": (), "c": ("a",)}


def test_a_declared_need_stays_also_where_another_implies_it() -> None:
    text = one("  - {id: a}\n  - {id: b, needs: [a]}\n  - {id: c, needs: [a, b]}")
    assert needs(expand(load_template(text, "f"), {}, []))["c"] == ("a", "b")


def test_inherited_needs_stay_where_nothing_implies_them() -> None:
    text = one(
        "  - {id: a}\n  - {id: b}\n  - {id: c, needs: [a, b], for_each: l}\n"
        "  - {id: d, needs: [b]}\n  - {id: e, needs: [c, d]}"
    )
    assert needs(expand(load_template(text, "f"), {"l": []}, []))["e"] == ("a", "d")


def test_a_need_may_be_declared_later() -> None:
    text = one("  - {id: b, needs: [a]}\n  - {id: a, for_each: l}")
    assert needs(expand(load_template(text, "f"), {"l": ["1"]}, [])) == {
        "b": ("a:1",),
        "a:1": (),
    }


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        pytest.param(
            {"other": ["x"]}, "goes through the list `mcp`; lists given: other", id="none"
        ),
        pytest.param({"mcp": ["x", "x"]}, "`mcp` holds `x` twice", id="repeated"),
    ],
)
def test_lists_that_do_not_fit_are_refused(lists: dict[str, list[str]], said: str) -> None:
    with pytest.raises(GraphError) as refused:
        expand(load_template(REPLAY, "graphs/replay.yaml"), lists, set())
    assert said in str(refused.value)
    assert str(refused.value).startswith("graphs/replay.yaml: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "f: the file is not a mapping of `graph`, `tasks`", id="empty"),
        pytest.param("[a]", "f:1: the file is not a mapping", id="a list"),
        pytest.param("graph: g", "f: `tasks:` is missing", id="no tasks"),
        pytest.param("tasks: []", "f: `graph:` is missing", id="no name"),
        pytest.param("graph: g\ntasks: a", "f:2: `tasks` is not a list", id="tasks a text"),
        pytest.param("graph: g\ngraph: h", "f:2: the file has `graph` twice", id="key twice"),
        pytest.param("graph: g\nnodes: []", "f:2: the file has the unknown key `nodes`", id="key"),
        pytest.param(one("  - a"), "f:3: a task is not a mapping of `id`, `kind`", id="text"),
        pytest.param(one("  - {kind: a}"), "f:3: a task has no `id`", id="no id"),
        pytest.param(one("  - {id: a:b}"), "f:3: `id` is not a name", id="colon in id"),
        pytest.param(one("  - {id: [a]}"), "f:3: `id` is not a name", id="list as id"),
        pytest.param(
            one("  - {id: a, need: [b]}"), "unknown key `need`; accepted: `id`", id="typo"
        ),
        pytest.param(one("  - {id: a, [x]: b}"), "unknown key `(no text)`", id="key no text"),
        pytest.param(one("  - {id: a, needs: b}"), "`needs` of `a` is not a list", id="needs text"),
        pytest.param(one("  - {id: a, needs: [b]}"), "f: task `a` needs `b`", id="unknown need"),
        pytest.param(one("  - {id: a}\n  - {id: a}"), "f: two tasks have the id `a`", id="twice"),
        pytest.param(one("  - {id: a, always: yes}"), "neither `true` nor `false`", id="yes"),
        pytest.param(one("  - {id: a, timeout: soon}"), "not a positive number", id="timeout text"),
        pytest.param(one("  - {id: a, timeout: -1}"), "not a positive number", id="timeout < 0"),
        pytest.param(one("  - {id: a, timeout: 1e999}"), "not a positive number", id="timeout inf"),
        pytest.param(
            one("  - {id: a, needs: [b]}\n  - {id: b, needs: [a]}"), "a → b → a", id="cycle"
        ),
        pytest.param("graph: {", "f: not YAML: ", id="broken YAML"),
        pytest.param("graph: \ud800", "f: not YAML: ", id="lone surrogate"),
        pytest.param("graph: \x00", "f: not YAML: ", id="control character"),
        pytest.param("[" * 60_000, "f: not ", id="depth"),
        pytest.param("#" * (MAX_CHARACTERS + 1), "longer than", id="size"),
        pytest.param("graph: &a [*a]\ntasks: []", "`graph` is not a name", id="circular alias"),
        pytest.param("graph: g\n---\ntasks: []", "f: not YAML: ", id="two documents"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(GraphError) as refused:
        load_template(text, "f")
    assert said in str(refused.value)


def test_nested_aliases_cost_nothing() -> None:
    bomb = "graph: g\ntasks: &a0 []\n" + "".join(
        f"x{at}: &a{at + 1} [{', '.join([f'*a{at}'] * 9)}]\n" for at in range(30)
    )
    with pytest.raises(GraphError, match="unknown key `x0`"):
        load_template(bomb, "f")


def test_loading_and_running_import_nothing_heavy() -> None:
    script = (
        "import sys, flowproof.graph.load; assert 'anyio' not in sys.modules;"
        "import flowproof.graph.scheduler, flowproof.graph.draw, flowproof.graph.validate;"
        "assert 'networkx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
