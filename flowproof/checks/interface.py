"""What a check is given: the evidence of one run. Assertions arrive with `${VAR}` resolved.

Counterpart: `registry.check_all`, which turns assertions and evidence into results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowproof.model.trajectory import Trajectory

if TYPE_CHECKING:
    from flowproof.model.mcp import Lane


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one run left to judge: what the model was asked and said, and the lane of each MCP
    server.

    With `strict` every tool call must be listed by a step; `line` is where the flow says so,
    counted from 1.
    """

    trajectory: Trajectory
    strict: bool = False
    line: int = 1
    lanes: tuple[Lane, ...] = ()
