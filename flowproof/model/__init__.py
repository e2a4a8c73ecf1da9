"""Frozen data without I/O: what every other room passes around."""
