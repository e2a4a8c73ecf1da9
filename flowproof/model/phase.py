"""The two ways to run a flow."""

from __future__ import annotations

from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["record", "replay"]
