"""Settings of every test process."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How long an example takes says more about what else this machine does than about our code.
# CI tries the same examples every time, so half as many do there. All else stays as it is.
settings.register_profile(
    "patient",
    settings(),
    max_examples=50 if os.environ.get("CI") else 100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("patient")
