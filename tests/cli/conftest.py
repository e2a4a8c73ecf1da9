"""A fresh folder per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import Shell


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "FLOWPROOF_AGENT_UPSTREAM", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path, capsys)
