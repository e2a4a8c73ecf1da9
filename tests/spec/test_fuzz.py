"""Whatever stands in a file, reading it ends in a value or in a SpecError."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.errors import SpecError
from flowproof.spec.flow import load_flow
from flowproof.spec.suite import load_suite
from tests.spec.test_flow import FULL
from tests.spec.test_suite import FULL as FULL_SUITE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def survives(folder: Path, data: bytes) -> None:
    file = folder / "x.yaml"
    file.write_bytes(data)
    for load in (load_flow, load_suite):
        try:
            load(file, shown="x.yaml")
        except SpecError as error:
            assert error.problems
            for problem in error.problems:
                assert problem.line >= 1
                assert problem.column >= 1
            assert str(error)


PIECES = st.sampled_from(
    [
        *(
            "- ",
            ": ",
            "\n",
            "  ",
            "\t",
            "{",
            "}",
            "[",
            "]",
            ",",
            "'",
            '"',
            "|",
            ">",
            "#",
            "&a ",
            "*a",
        ),
        *("!!str ", "<<", "? ", "%YAML 1.2\n", "---\n", "...\n", "~", "null", "${", "}", "$${A}"),
        *(
            "\\x41",
            "\\ud800",
            "\u2028",
            "\x85",
            "\ufeff",
            "é",
            "😀",
            "prompt",
            "assert",
            "steps:\n",
        ),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80))
def test_random_bytes(folder: Path, data: bytes) -> None:
    survives(folder, data)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_random_yaml(folder: Path, text: str) -> None:
    survives(folder, text.encode())


@settings(max_examples=300, deadline=None)
@given(
    base=st.sampled_from([FULL, FULL_SUITE]),
    at=st.integers(0, 900),
    cut=st.integers(0, 12),
    insert=st.one_of(PIECES, st.text(max_size=3)),
)
def test_mutated_specs(folder: Path, base: str, at: int, cut: int, insert: str) -> None:
    text = base[:at] + insert + base[at + cut :]
    survives(folder, text.encode("utf-8", "surrogatepass"))
