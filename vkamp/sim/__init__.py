"""The reference accelerator: the IR run in Python (AMP: the REF device).

It is slow, needs no driver, and is strict: undefined behaviour is an error. The tests of all other rooms compare with
it.
"""

from __future__ import annotations

from vkamp.sim.launch import SUBGROUP_SIZE, check, run
from vkamp.sim.output import Follow
from vkamp.sim.schedule import Schedule

__all__ = ["SUBGROUP_SIZE", "Follow", "Schedule", "check", "run"]
