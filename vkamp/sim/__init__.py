"""The reference accelerator: the IR run in Python (AMP: the REF device).

Slow, without a driver, and strict: what no device defines is an error here.  It is the oracle of
every other room.
"""

from __future__ import annotations

from vkamp.sim.launch import SUBGROUP_SIZE, check, run
from vkamp.sim.output import Follow
from vkamp.sim.schedule import Schedule

__all__ = ["SUBGROUP_SIZE", "Follow", "Schedule", "check", "run"]
