"""Tile programs with functions of subgroups: the lanes that run a tile are one of its subgroups in each iteration."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.lowered.programs import Program, ints, program


@program
def subgroup_scan() -> Program:
    """Subgroups scan their values, the first one their totals; the last subgroup of a tile has fewer threads."""

    @amp.kernel
    def subgroup_scan(t_idx, values, out):
        totals = amp.tile_static(64, amp.int32)
        before = amp.tile_static(64, amp.int32)
        upto = amp.subgroup.inclusive_add(values[t_idx])
        last = min(amp.subgroup.size(), 45 - amp.subgroup.id() * amp.subgroup.size()) - 1
        if amp.subgroup.lane() == last:
            totals[amp.subgroup.id()] = upto
        t_idx.barrier.wait()
        if amp.subgroup.id() == 0:
            carry = 0
            for first in range(0, amp.subgroup.count(), amp.subgroup.size()):
                k = first + amp.subgroup.lane()
                total = totals[k] if k < amp.subgroup.count() else 0
                sums = carry + amp.subgroup.exclusive_add(total)
                if k < amp.subgroup.count():
                    before[k] = sums
                carry += amp.subgroup.add(total)
        t_idx.barrier.wait()
        out[t_idx] = upto + before[amp.subgroup.id()]

    return Program(subgroup_scan, (135,), (45,), (ints(135), ints(135)))


@program
def subgroups_across_rows() -> Program:
    """Rows of a tile that do not fill subgroups: its threads are in one row."""

    @amp.kernel
    def subgroups_across_rows(t_idx, values, out):
        cells = amp.tile_static((3, 5), amp.int32)
        own = values[t_idx]
        cells[t_idx.local] = amp.subgroup.shuffle_up(own, 1)
        largest = amp.subgroup.max(own)
        t_idx.barrier.wait()
        place = t_idx.tile_origin[0] * 10000 + t_idx.tile[1] * 1000 + t_idx.local[1] * 100
        out[t_idx] = place + cells[2 - t_idx.local[0], 4 - t_idx.local[1]] + amp.subgroup.id() * largest

    return Program(subgroups_across_rows, (6, 10), (3, 5), (ints(6, 10), ints(6, 10)))


@program
def subgroups_in_planes() -> Program:
    """Subgroups of several rows, and of a part of one on another device."""

    @amp.kernel
    def subgroups_in_planes(t_idx, values, out):
        cells = amp.tile_static((2, 2, 4), amp.int32)
        bits = amp.subgroup.ballot(values[t_idx] > 0)
        cells[t_idx.local] = amp.subgroup.ballot_exclusive_bit_count(bits) + 100 * amp.subgroup.id()
        t_idx.barrier.wait()
        other = cells[1 - t_idx.local[0], t_idx.local[1], 3 - t_idx.local[2]]
        out[t_idx] = other * 10 + amp.subgroup.shuffle_xor(other, 2) + amp.subgroup.ballot_bit_count(bits)

    return Program(subgroups_in_planes, (4, 2, 8), (2, 2, 4), (ints(4, 2, 8), ints(4, 2, 8)))


@program
def few_threads() -> Program:
    """A tile with fewer threads than a subgroup has lanes."""

    @amp.kernel
    def few_threads(t_idx, values, out):
        slots = amp.tile_static(3, amp.int32)
        slots[t_idx.local] = amp.subgroup.rotate(values[t_idx], 1)
        t_idx.barrier.wait()
        out[t_idx] = amp.subgroup.add(slots[2 - t_idx.local[0]]) + amp.subgroup.count()

    return Program(few_threads, (9,), (3,), (ints(9), ints(9)))


@program
def subgroup_control() -> Program:
    """Loops and returns that each subgroup takes for itself, in uniform loops around barriers."""

    @amp.func
    def halvings(n):
        steps = 0
        while amp.subgroup.any(n > 1):
            n = n // 2
            steps += 1
            if amp.subgroup.all(n < 3):
                return steps * 100
        return steps

    @amp.kernel
    def subgroup_control(t_idx, values, out):
        slots = amp.tile_static(44, amp.int32)
        mine = abs(values[t_idx])
        seen = 0
        for turn in range(3):
            slots[t_idx.local] = mine + turn
            t_idx.barrier.wait()
            other = slots[(t_idx.local[0] * 7 + turn) % 44]
            mine += halvings(other)
            seen += amp.subgroup.ballot_bit_count(amp.subgroup.match(other % 3))
            t_idx.barrier.wait()
        out[t_idx] = seen
        if amp.subgroup.any(mine > 160):
            return
        out[t_idx] = seen * 1000 + amp.subgroup.reduce(mine, lambda a, b: a * 3 + b, cluster=4)

    return Program(subgroup_control, (88,), (44,), (ints(88), ints(88)))


@program
def subgroups_in_functions() -> Program:
    """Functions of subgroups in device functions, with barriers and without, of vectors and of structs."""

    @amp.struct
    class Map:
        scale: amp.int32
        shift: amp.float16
        at: amp.int2

    @amp.func
    def shared_total(t_idx, x):
        totals = amp.tile_static(20, amp.int32)
        own = amp.subgroup.add(x)
        if amp.subgroup.lane() == 0:
            totals[amp.subgroup.id()] = own
        t_idx.barrier.wait()
        total = 0
        for k in range(amp.subgroup.count()):
            total += totals[k]
        t_idx.barrier.wait()
        return total

    @amp.func
    def place():
        return amp.subgroup.id() * amp.subgroup.size() + amp.subgroup.lane()

    @amp.kernel
    def subgroups_in_functions(t_idx, values, out):
        own = values[t_idx]
        mine = Map(own, amp.float16(own / 4), amp.int2(place(), own))
        below = amp.subgroup.shuffle_up(mine, 1)
        pairs = amp.subgroup.inclusive_scan(mine.at, lambda p, q: amp.int2(p.x + q.x, max(p.y, q.y)))
        first = shared_total(t_idx, own if amp.subgroup.elect() else 0)
        whole = shared_total(t_idx, 1)
        out[t_idx] = first + whole * below.scale + amp.int32(below.shift) + below.at.x * 50 + pairs.x - pairs.y

    return Program(subgroups_in_functions, (80,), (20,), (ints(80), np.zeros(80, np.int32)))
