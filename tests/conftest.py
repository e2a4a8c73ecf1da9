"""Settings of every test process."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says more about what else this machine does than about our code.
# All else, CI's fixed choice of examples too, stays as Hypothesis has it.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")
