"""Figures that flowproof promises, printed as ratios; `make bench` runs them. Not timed tests."""
