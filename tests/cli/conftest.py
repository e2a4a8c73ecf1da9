"""A fresh folder per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.flow.providers import FLOWPROOF_UPSTREAMS, KEY_VARIABLES, PROVIDERS
from tests.cli.support import Shell


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    bases = (provider.base_variable for provider in PROVIDERS.values())
    for name in ("FORCE_COLOR", *FLOWPROOF_UPSTREAMS, *bases, *KEY_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path, capsys)
