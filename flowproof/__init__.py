"""flowproof records an AI agent once and replays it without a model."""

from flowproof.version import __version__

__all__ = ["__version__"]
