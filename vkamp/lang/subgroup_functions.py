"""Functions of subgroups that are written in the kernel language, over those of the table (``vkamp.ir.subgroups``).

The scans are Hillis and Steele's, *Data Parallel Algorithms* (1986), by shuffles.  A lane only reads lanes below its
own, which have threads, so that the last subgroup of a tile may have fewer threads than lanes.
"""

from __future__ import annotations

from typing import Any

from vkamp.lang.device import constant, private
from vkamp.lang.kernel import DeviceFunction, func
from vkamp.lang.subgroups import subgroup as subgroup


@func
def inclusive_scan(x: Any, op: Any, *, cluster: constant = 0) -> Any:
    """The values up to this lane's own, combined by ``op(earlier, later)``."""
    position = subgroup.lane() % cluster if cluster else subgroup.lane()
    scanned = x.copy()
    distance = 1
    while distance < (min(cluster, subgroup.size()) if cluster else subgroup.size()):
        before = subgroup.shuffle_up(scanned, distance)
        if position >= distance:
            scanned = op(before, scanned)
        distance *= 2
    return scanned


@func
def exclusive_scan(x: Any, op: Any, init: Any, *, cluster: constant = 0) -> Any:
    """``init`` and the values before this lane's, combined by ``op(earlier, later)``; ``init`` in lane 0."""
    position = subgroup.lane() % cluster if cluster else subgroup.lane()
    # In the type of the values, which a plain number takes.
    scanned = private(1, type(x))
    scanned[0] = init
    before = subgroup.shuffle_up(inclusive_scan(x, op, cluster=cluster), 1)
    if position > 0:
        scanned[0] = op(scanned[0], before)
    return scanned[0]


@func
def reduce(x: Any, op: Any, *, cluster: constant = 0) -> Any:
    """The subgroup's values in the order of the lanes, combined by ``op(earlier, later)``."""
    scanned = inclusive_scan(x, op, cluster=cluster)
    threads = subgroup.ballot_bit_count(subgroup.ballot(True))
    if cluster:
        lane = subgroup.lane()
        return subgroup.shuffle(scanned, min(lane - lane % cluster + cluster, threads) - 1)
    return subgroup.broadcast(scanned, threads - 1)


@func
def rotate(x: Any, delta: Any) -> Any:
    """The value of the lane that many above, counted around the lanes that have threads."""
    threads = subgroup.ballot_bit_count(subgroup.ballot(True))
    return subgroup.shuffle(x, (subgroup.lane() + delta) % threads)


@func
def match(x: Any) -> Any:
    """The ballot of the lanes whose value equals this lane's own; of a NaN this lane alone."""
    lane = subgroup.lane()
    found = subgroup.ballot(False)
    waits = True
    while subgroup.any(waits):
        first = subgroup.ballot_find_lsb(subgroup.ballot(waits))
        value = subgroup.broadcast(x, first)
        alike = waits and (lane == first or x == value)
        lanes = subgroup.ballot(alike)
        if alike:
            found = lanes
            waits = False
    return found


@func
def _add(a: Any, b: Any) -> Any:
    return a + b


@func
def _mul(a: Any, b: Any) -> Any:
    return a * b


@func
def _min(a: Any, b: Any) -> Any:
    return min(a, b)


@func
def _max(a: Any, b: Any) -> Any:
    return max(a, b)


@func
def _bitwise_and(a: Any, b: Any) -> Any:
    return a & b


@func
def _bitwise_or(a: Any, b: Any) -> Any:
    return a | b


@func
def _bitwise_xor(a: Any, b: Any) -> Any:
    return a ^ b


#: Those of ``amp.subgroup``.
FUNCTIONS: tuple[DeviceFunction[..., Any], ...] = (reduce, inclusive_scan, exclusive_scan, rotate, match)
for _function in FUNCTIONS:
    setattr(subgroup, _function.__name__, _function)

#: The reductions and scans of the table that take ``cluster=``: what computes them, and by which operator.
CLUSTERED: dict[str, tuple[DeviceFunction[..., Any], DeviceFunction[..., Any]]] = {
    f"{prefix}{operator.__name__[1:]}": (function, operator)
    for prefix, function in (("", reduce), ("inclusive_", inclusive_scan))
    for operator in (_add, _mul, _min, _max, _bitwise_and, _bitwise_or, _bitwise_xor)
}
