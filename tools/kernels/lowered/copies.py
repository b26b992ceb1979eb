"""Tile programs with tile_static arrays that are copies of memory, or nearly so; ``KEPT`` keep their arrays."""

from __future__ import annotations

import vkamp as amp

from tools.kernels.lowered.programs import Program, floats, ints, program

#: Programs whose arrays must stay, since the memory no longer contains their values.
KEPT = ("copy_of_last_turn", "copy_of_changed", "copy_of_next", "copy_in_part", "copy_beyond", "copy_updated")
KEPT += ("copy_by_unsigned", "copy_of_neighbours")
#: Programs whose barriers have to stay without them.
ORDERED = ("copy_and_order",)


@program
def copy_transposed() -> Program:
    """Written with exchanged subscripts, padded, read in a loop with bounds known."""

    @amp.kernel
    def copy_transposed(t_idx, matrix, out):
        turned = amp.tile_static((12, 9), amp.float32)
        turned[t_idx.local[1], t_idx.local[0]] = matrix[t_idx]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        total = 0.0
        for k in range(0, 8, 3):
            total += turned[t_idx.local[1], k] * amp.float32(k + 1)
        out[t_idx] = total - turned[11 - t_idx.local[1], 7 - t_idx.local[0]]

    return Program(copy_transposed, (16, 36), (8, 12), (floats(16, 36), floats(16, 36)))


@program
def copy_shifted() -> Program:
    """Subscripts with a shift; the value is converted; each thread reads its own before the barrier, too."""

    @amp.kernel
    def copy_shifted(t_idx, values, out):
        here = t_idx.local[0] + 2
        whole = amp.tile_static(20, amp.int32)
        whole[here] = amp.int32(values[t_idx.global_[0]])
        mine = whole[here]
        t_idx.barrier.wait()
        out[t_idx] = mine * 100 + whole[17 - t_idx.local[0]]

    return Program(copy_shifted, (48,), (16,), (floats(48), ints(48)))


@program
def copy_of_blocks() -> Program:
    """Copies in a loop, by its variable and one that the loop counts besides."""

    @amp.kernel
    def copy_of_blocks(t_idx, values, weights, out):
        block = amp.tile_static(8, amp.int32)
        others = amp.tile_static(8, amp.int32)
        total, offset = 0, 0
        for first in range(0, values.extent[0], 8):
            block[t_idx.local[0]] = values[first + t_idx.local[0]]
            others[t_idx.local[0]] = weights[offset * 8 + t_idx.local[0]]
            t_idx.barrier.wait()
            for k in range(8):
                total += block[k] * others[7 - k] + t_idx.local[0]
            t_idx.barrier.wait()
            offset += 1  # noqa: SIM113
        out[t_idx] = total

    return Program(copy_of_blocks, (24,), (8,), (ints(40), ints(40), ints(24)))


@program
def copy_of_last_turn() -> Program:
    """An iteration reads what the previous one has copied."""

    @amp.kernel
    def copy_of_last_turn(t_idx, values, out):
        block = amp.tile_static(8, amp.int32)
        total = 0
        for turn in range(4):
            if turn > 0:
                total += block[7 - t_idx.local[0]] * turn
            t_idx.barrier.wait()
            block[t_idx.local[0]] = values[turn * 8 + t_idx.local[0]]
            t_idx.barrier.wait()
        out[t_idx] = total + block[7 - t_idx.local[0]]

    return Program(copy_of_last_turn, (16,), (8,), (ints(32), ints(16)))


@program
def copy_of_changed() -> Program:
    """The memory changes after the copy."""

    @amp.kernel
    def copy_of_changed(t_idx, values):
        block = amp.tile_static(8, amp.int32)
        block[t_idx.local[0]] = values[t_idx]
        t_idx.barrier.wait()
        values[t_idx] = block[7 - t_idx.local[0]]

    return Program(copy_of_changed, (24,), (8,), (ints(24),))


@program
def copy_of_next() -> Program:
    """The variable that the copy's subscript uses goes on before the copy is read."""

    @amp.kernel
    def copy_of_next(t_idx, values, out):
        block = amp.tile_static(8, amp.int32)
        total, first = 0, 0
        while first < values.extent[0]:
            block[t_idx.local[0]] = values[first + t_idx.local[0]]
            first += 8
            t_idx.barrier.wait()
            total += block[7 - t_idx.local[0]] * first
            t_idx.barrier.wait()
        out[t_idx] = total

    return Program(copy_of_next, (16,), (8,), (ints(32), ints(16)))


@program
def copy_in_part() -> Program:
    """Some threads copy, another statement fills the rest."""

    @amp.kernel
    def copy_in_part(t_idx, values, out):
        block = amp.tile_static(8, amp.int32)
        if t_idx.local[0] < 5:
            block[t_idx.local[0]] = values[t_idx]
        else:
            block[t_idx.local[0]] = 7
        t_idx.barrier.wait()
        out[t_idx] = block[7 - t_idx.local[0]]

    return Program(copy_in_part, (24,), (8,), (ints(24), ints(24)))


@program
def copy_beyond() -> Program:
    """Elements that no copy wrote are read but not used; the memory may not contain them."""

    @amp.kernel
    def copy_beyond(t_idx, values, out):
        block = amp.tile_static(16, amp.int32)
        block[t_idx.local[0]] = values[t_idx]
        if t_idx.local[0] == 0:
            block[8] = 1
        t_idx.barrier.wait()
        following = block[t_idx.local[0] + 1]
        out[t_idx] = following

    return Program(copy_beyond, (24,), (8,), (ints(24), ints(24)))


@program
def copy_updated() -> Program:
    """The copy is changed in place."""

    @amp.kernel
    def copy_updated(t_idx, values, out):
        block = amp.tile_static(8, amp.int32)
        block[t_idx.local[0]] = values[t_idx]
        t_idx.barrier.wait()
        block[t_idx.local[0]] += 1
        t_idx.barrier.wait()
        out[t_idx] = block[7 - t_idx.local[0]]

    return Program(copy_updated, (24,), (8,), (ints(24), ints(24)))


@program
def copy_and_order() -> Program:
    """The array can go; the barrier orders two stores to one element."""

    @amp.kernel
    def copy_and_order(t_idx, values, out):
        block = amp.tile_static(8, amp.int32)
        block[t_idx.local[0]] = values[t_idx]
        out[t_idx] = -1
        t_idx.barrier.wait_with_all_memory_fence()
        if t_idx.local[0] % 2 == 0:
            out[t_idx.tile_origin[0] + 7 - t_idx.local[0]] = block[7 - t_idx.local[0]]

    return Program(copy_and_order, (24,), (8,), (ints(24), ints(24)))


@program
def copy_by_unsigned() -> Program:
    """Read at an unsigned place: indices of threads are signed."""

    @amp.kernel
    def copy_by_unsigned(t_idx, values, out, n):
        whole = amp.tile_static(16, amp.int32)
        whole[t_idx.local[0]] = values[t_idx]
        t_idx.barrier.wait()
        out[t_idx] = whole[n] - whole[15 - t_idx.local[0]]

    return Program(copy_by_unsigned, (48,), (16,), (ints(48), ints(48)), args=(amp.uint32(3),))


@program
def copy_of_neighbours() -> Program:
    """The next thread's element, which the last thread lacks; the subscript does not show this."""

    @amp.kernel
    def copy_of_neighbours(t_idx, values, out):
        block = amp.tile_static(16, amp.int32)
        block[t_idx.local[0]] = values[t_idx]
        t_idx.barrier.wait()
        out[t_idx] = block[t_idx.local[0] + 1] if t_idx.local[0] < 7 else -1

    return Program(copy_of_neighbours, (24,), (8,), (ints(24), ints(24)))
