"""What is wrong with the shape of a graph that its construction does not rule out.

For tests, suites and `flowproof graph`: networkx is too slow to import on the path of a run.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowproof.graph.task import Graph, TaskNode


def validate(graph: Graph | Mapping[str, TaskNode]) -> list[str]:
    """Every problem of a graph, or of tasks that have not become one yet; empty for a sound one.

    It has no cycle; every task is reached from one that needs nothing; and where there are
    `always` tasks, every other task leads to one, so that no failure escapes the cleanup.
    """
    import networkx as nx

    tasks = graph.tasks if isinstance(graph, Graph) else graph
    edges = [(need, node.id) for node in tasks.values() for need in node.needs]
    problems = [
        f"`{id}` needs `{need}`, which is no task" for need, id in edges if need not in tasks
    ]
    net: nx.DiGraph[str] = nx.DiGraph()
    net.add_nodes_from(tasks)
    net.add_edges_from((need, id) for need, id in edges if need in tasks)

    try:
        cycle = [need for need, _ in nx.find_cycle(net)]
    except nx.NetworkXNoCycle:
        pass
    else:
        # Edges lead from a need to its dependent; a cycle reads as "each needs the next".
        path = " → ".join([*reversed(cycle), cycle[-1]])
        problems.append(f"tasks need each other in a circle: {path}")

    sources = [id for id in tasks if not tasks[id].needs]
    reached = set(sources).union(*(nx.descendants(net, id) for id in sources))
    problems += [
        f"`{id}` is never reached from a task that needs nothing"
        for id in tasks
        if id not in reached
    ]

    cleanup = [id for id, node in tasks.items() if node.always]
    covered = set(cleanup).union(*(nx.ancestors(net, id) for id in cleanup))
    if cleanup:
        problems += [
            f"no `always` task comes after `{id}`, so that its failure skips the cleanup"
            for id in tasks
            if id not in covered
        ]
    return problems
