"""Lowerings for kinds of devices, IR -> IR: a tile's threads as loops, for CPU devices."""

from vkamp.lower.effort import Effort, effort
from vkamp.lower.errors import NotLowerable
from vkamp.lower.loops import loops, waits
from vkamp.lower.shape import lanes_for
from vkamp.lower.trip_count import loop_count, max_iterations, sizes_in_loops

__all__ = [
    "Effort",
    "NotLowerable",
    "effort",
    "is_long",
    "lanes_for",
    "loop_count",
    "loops",
    "max_iterations",
    "sizes_in_loops",
    "waits",
]
