"""Lowerings for kinds of devices, IR -> IR: a tile's threads as loops, for CPU devices."""

from vkamp.lower.errors import KeepsThreads
from vkamp.lower.loops import lanes_for, loops, waits
from vkamp.lower.turns import is_long, turns

__all__ = ["KeepsThreads", "is_long", "lanes_for", "loops", "turns", "waits"]
