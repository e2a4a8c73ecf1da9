"""The one place that states the version; read by the build and by every artefact we write."""

__version__ = "0.1.0"
