"""Scans in one launch, with an operator that does not commute."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from vkamp import tile


@amp.func
def total_of(t_idx, values, op, number):
    size = t_idx.tile_dim0
    n = values.extent[0]
    last = min(size, n - number * size)
    return tile.reduce(t_idx, values[number * size + min(t_idx.local[0], last - 1)].copy(), op, last)


@amp.kernel
def scanned(t_idx, values, out, counter, status, op):
    number = tile.ticket(t_idx, counter)
    n = values.extent[0]
    size = t_idx.tile_dim0
    at = number * size + t_idx.local[0]
    upto, total = tile.inclusive_scan(t_idx, values[min(at, n - 1)].copy(), op, min(size, n - number * size))
    before = tile.carry(t_idx, status, number, total, op, lambda m: total_of(t_idx, values, op, m))
    if at < n:
        out[at] = op(before, upto) if number > 0 else upto


@amp.func
def then(f, g):
    """Of two functions x -> f.x * x + f.y (modulo 2^32) the second after the first."""
    return amp.uint2(g.x * f.x, g.x * f.y + g.y)


def dropping(publish, percent):
    """``publish`` of :mod:`vkamp.tile.carry`, which does nothing in about this part of the tiles."""

    @amp.func
    def published(status, number, value, flag, *, words: amp.constant):
        if (amp.uint32(number) * 2654435761 >> 8) % 100 >= percent:
            publish(status, number, value, flag, words=words)

    return published


def composed(raw):
    factor, offset, found = 1, 0, []
    for f, o in raw.tolist():
        factor, offset = f * factor & 0xFFFFFFFF, f * offset + o & 0xFFFFFFFF
        found.append((factor, offset))
    return np.array(found, np.uint32)
