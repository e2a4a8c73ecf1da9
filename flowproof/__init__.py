"""flowproof records an AI agent once and replays it without a model.

The names below are its whole public API. They are loaded when they are first used.
"""

from __future__ import annotations

from flowproof.version import __version__

# What type checkers take for true. `typing` has the constant, and takes longer to import than
# all else that `flowproof --version` does.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from flowproof import errors
    from flowproof.api import Flow, RunResult, Suite
    from flowproof.model.outcome import Verdict

__all__ = ["Flow", "RunResult", "Suite", "Verdict", "__version__", "errors"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "errors":
        return import_module("flowproof.errors")
    if name == "Verdict":
        return import_module("flowproof.model.outcome").Verdict
    if name in {"Flow", "RunResult", "Suite"}:
        return getattr(import_module("flowproof.api"), name)
    raise AttributeError(f"module `flowproof` has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
