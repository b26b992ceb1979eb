"""Lowerings for kinds of devices, IR -> IR: a tile's threads as loops, for CPU devices."""

from vkamp.lower.effort import Effort as Effort
from vkamp.lower.effort import effort as effort
from vkamp.lower.errors import NotLowerable as NotLowerable
from vkamp.lower.loops import loops as loops
from vkamp.lower.loops import waits as waits
from vkamp.lower.shape import lanes_for as lanes_for
from vkamp.lower.trip_count import loop_count as loop_count
from vkamp.lower.trip_count import max_iterations as max_iterations
from vkamp.lower.trip_count import sizes_in_loops as sizes_in_loops
