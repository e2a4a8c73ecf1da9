"""Loads a suite.yaml into a `SuiteSpec`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from posixpath import normpath
from typing import TypeAlias

from flowproof.files import place
from flowproof.model.flow_spec import SuiteSpec
from flowproof.spec import suite_shapes as keys
from flowproof.spec.reading import read_file
from flowproof.spec.records import Record, Values
from flowproof.spec.source import Report, TooManyProblems
from flowproof.spec.suite_checks import check_flows
from flowproof.spec.yaml_nodes import Node

_Suite: TypeAlias = Callable[[Path, str], SuiteSpec]


def _suite(values: Values, report: Report) -> _Suite:
    order = tuple(map(normpath, values.get(keys.ORDER, ())))
    for path in dict.fromkeys(order):
        if order.count(path) > 1:
            report.note(values.mark_of(keys.ORDER), f"`{path}` stands in `order` more than once")
    flows = {normpath(path): one for path, one in (values.get(keys.FLOWS) or {}).items()}

    def make(folder: Path, sha256: str) -> SuiteSpec:
        order_mark = values.mark_of(keys.ORDER)
        check_flows(flows, order, order_mark, values.get(keys.SERVICES) or (), folder, report)
        return SuiteSpec(
            name=values.get(keys.NAME, folder.name or "suite"),
            folder=str(folder),
            sha256=sha256,
            min_version=values.get(keys.MIN_VERSION),
            env=values.get(keys.SUITE_ENV) or {},
            timeout=values.get(keys.TIMEOUT),
            strict=values.get(keys.STRICT, False),
            order=order,
            tags=values.get(keys.TAGS_FIELD, ()),
            jobs=values.get(keys.JOBS),
            retries=values.get(keys.RETRIES, 0),
            env_from=values.get(keys.ENV_FROM),
            before_all=values.get(keys.BEFORE_ALL),
            after_all=values.get(keys.AFTER_ALL),
            before_each=values.get(keys.BEFORE_EACH),
            after_each=values.get(keys.AFTER_EACH),
            flows={path: placed.settings for path, placed in flows.items()},
        )

    return make


SUITE: Record[_Suite] = Record(
    "the suite",
    "A suite of flowproof: what its flows have in common.",
    keys.FIELDS,
    _suite,
)
"""All of a suite.yaml."""


def load_suite(path: Path, *, shown: str) -> SuiteSpec:
    """The suite that a file declares; `shown` names the file in positions and messages.

    :raises SpecError: with every problem of the file.
    """

    def finish(suite: _Suite, root: Node, report: Report, sha256: str) -> SuiteSpec:
        try:
            made = suite(place(path).parent, sha256)
        except TooManyProblems:
            raise report.failure() from None
        if report.problems:
            raise report.failure()
        return replace(made, unsupported=report.found_unsupported)

    return read_file(path, shown, SUITE, finish)
