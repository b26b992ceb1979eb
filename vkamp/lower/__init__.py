"""Lowerings for kinds of devices, IR -> IR: a tile's threads as loops, for CPU devices."""

from vkamp.lower.errors import KeepsThreads
from vkamp.lower.loops import loops, waits
from vkamp.lower.shape import lanes_for
from vkamp.lower.turns import is_long, sizes_in_loops, turns

__all__ = ["KeepsThreads", "is_long", "lanes_for", "loops", "sizes_in_loops", "turns", "waits"]
