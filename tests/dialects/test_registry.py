"""The registry finds dialects by request and by name, and costs little to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flowproof.dialects import registry
from flowproof.dialects.names import SPOKEN
from flowproof.model.turn import Operation


def test_a_request_finds_its_dialect() -> None:
    found = registry.find("POST", "/v1/chat/completions")
    assert found is not None
    dialect, operation = found
    assert dialect is registry.by_name("openai.chat")
    assert operation == Operation(dialect.name, "/chat/completions")


def test_a_request_that_nobody_serves_finds_none() -> None:
    assert registry.find("POST", "/v1/nothing") is None
    with pytest.raises(KeyError, match="other"):
        registry.by_name("other")


def test_every_dialect_has_its_own_name() -> None:
    assert [dialect.name for dialect in registry.DIALECTS.values()] == list(SPOKEN)
    assert len(set(SPOKEN)) == len(SPOKEN)


def test_importing_takes_the_standard_library_only() -> None:
    script = (
        "import sys, flowproof.dialects.registry as r;"
        "known = set(sys.stdlib_module_names) | {'flowproof'};"
        "print(sorted({m.partition('.')[0] for m in sys.modules} - known - set(sys.argv[1:])))"
    )
    bare = "import sys; print(*{m.partition('.')[0] for m in sys.modules})"

    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run(script, *run(bare).split()).strip() == "[]"
