"""Integer divisions by zero, shifts out of range, and assertions that do not hold."""

from __future__ import annotations

import numpy as np
import vkamp as amp

from tools.kernels.corpus.registry import (
    F32,
    division,
    failed_assert,
    faulty,
    launch,
    mended,
    numbers,
    random_floats,
    random_numbers,
    shift,
    zeros,
)

# -- divisions -----------------------------------------------------------------------------------------------------

COUNTS = np.array([2, 0, 5, 1], np.int32)


@faulty(
    "division by zero",
    "The mean of a group is its sum over its size, and a group may be empty.",
    division(),
    lambda: launch(amp.extent(4), numbers(4) * 10, COUNTS, zeros(4), expect=[0, 0, 4, 30]),
)
@amp.kernel
def mean_of_groups_wrong(i, sums, counts, means):
    means[i] = sums[i] // counts[i]  # fault


@mended
@amp.kernel
def mean_of_groups(i, sums, counts, means):
    if counts[i] > 0:
        means[i] = sums[i] // counts[i]


@faulty(
    "division by zero",
    "The index wraps around by the remainder of a length that is zero for one row.",
    division(),
    lambda: launch(amp.extent(4), COUNTS, zeros(4), expect=[1, 0, 2, 0]),
)
@amp.kernel
def wrapped_index_wrong(i, lengths, out):
    out[i] = 7 % lengths[i]  # fault


@mended
@amp.kernel
def wrapped_index(i, lengths, out):
    out[i] = 7 % lengths[i] if lengths[i] > 0 else 0


@faulty(
    "division by zero",
    "The conditional expression tests another value than the one that divides.",
    division(),
    lambda: launch(amp.extent(4), numbers(4), zeros(4), expect=[0, 12, 6, 4]),
)
@amp.kernel
def guard_of_another_wrong(i, values, out):
    out[i] = 12 // values[i] if i[0] >= 0 else 0  # fault


@mended
@amp.kernel
def guard_of_another(i, values, out):
    out[i] = 12 // values[i] if values[i] != 0 else 0


@faulty(
    "division by zero",
    "The tile's number of kept elements is divided by, and a tile may keep none.",
    division(),
    lambda: launch(amp.extent(9).tile(3), np.array([5, 0, 9, 1, 2, 3, 8, 8, 8], np.int32), zeros(3), expect=[7, 0, 8]),
)
@amp.kernel
def mean_of_kept_wrong(t, values, means):
    row = amp.tile_static(3, amp.int32)
    row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        total, count = 0, 0
        for i in range(3):
            if row[i] > 4:
                total += row[i]
                count += 1
        means[t.tile] = total // count  # fault


@mended
@amp.kernel
def mean_of_kept(t, values, means):
    row = amp.tile_static(3, amp.int32)
    row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        total, count = 0, 0
        for i in range(3):
            if row[i] > 4:
                total += row[i]
                count += 1
        means[t.tile] = total // max(count, 1)


@faulty(
    "division by zero",
    "C's division of ported code is as undefined for zero as Python's.",
    division(),
    lambda: launch(amp.extent(4), COUNTS - 1, zeros(4), expect=[9, -9, 2, 0]),
)
@amp.kernel
def ported_division_wrong(i, divisors, out):
    out[i] = amp.tdiv(9, divisors[i])  # fault


@mended
@amp.kernel
def ported_division(i, divisors, out):
    if divisors[i] != 0:
        out[i] = amp.tdiv(9, divisors[i])


@amp.func
def blocks_of(count, size):
    return (count + size - 1) // size  # fault


@faulty(
    "division by zero",
    "A function divides by its argument, which the launch gives as zero to the last thread.",
    division(),
    lambda: launch(amp.extent(3), 10, zeros(3), expect=[5, 10, 0]),
)
@amp.kernel
def number_of_blocks_wrong(i, count, out):
    out[i] = blocks_of(count, 2 - i[0])


@mended
@amp.kernel
def number_of_blocks(i, count, out):
    if i[0] < 2:
        out[i] = blocks_of(count, 2 - i[0])


@faulty(
    "division by zero",
    "A divisor that is written out as zero is refused by the compiler.",
    division("VKA310"),
    lambda: launch(amp.extent(5), numbers(5), zeros(5), expect=[0, 0, 1, 1, 2]),
)
@amp.kernel
def constant_divisor_wrong(i, values, out):
    out[i] = values[i] // (2 - 2)  # fault


@mended
@amp.kernel
def constant_divisor(i, values, out):
    out[i] = values[i] // 2


# -- shifts --------------------------------------------------------------------------------------------------------


@faulty(
    "shift",
    "The bit of a place beyond 31 does not fit the word.",
    shift(),
    lambda: launch(
        amp.extent(4), np.array([0, 5, 31, 37], np.int32), zeros(2, dtype=np.uint32), expect=[2147483681, 32]
    ),
)
@amp.kernel
def set_bits_wrong(i, places, words):
    amp.atomic_fetch_or(words[places[i] // 32], amp.uint32(1) << amp.uint32(places[i]))  # fault


@mended
@amp.kernel
def set_bits(i, places, words):
    amp.atomic_fetch_or(words[places[i] // 32], amp.uint32(1) << amp.uint32(places[i] % 32))


@faulty(
    "shift",
    "A rotation shifts by 32 less the count, which is 32 for none.",
    shift(),
    lambda: launch(
        amp.extent(3),
        np.array([1, 3, 5], np.uint32),
        np.array([4, 31, 0], np.uint32),
        zeros(3, dtype=np.uint32),
        expect=[16, 0x80000001, 5],
    ),
)
@amp.kernel
def rotate_bits_wrong(i, words, counts, out):
    out[i] = words[i] << counts[i] | words[i] >> (32 - counts[i])  # fault


@mended
@amp.kernel
def rotate_bits(i, words, counts, out):
    out[i] = words[i] << counts[i] | words[i] >> ((32 - counts[i]) & 31)


@faulty(
    "shift",
    "A difference of levels is negative for some, and a negative shift is none to the other side.",
    shift(),
    lambda: launch(amp.extent(5), numbers(5), zeros(5), expect=[100, 100, 100, 200, 400]),
)
@amp.kernel
def scale_by_level_wrong(i, levels, out):
    out[i] = 100 << (levels[i] - 2)  # fault


@mended
@amp.kernel
def scale_by_level(i, levels, out):
    out[i] = 100 << max(levels[i] - 2, 0)


@faulty(
    "shift",
    "A shift by a number of bits that is written out and too large is refused by the compiler.",
    shift("VKA318"),
    lambda: launch(amp.extent(3), numbers(3) << 16, zeros(3), expect=[0, 1, 2]),
)
@amp.kernel
def upper_half_wrong(i, words, out):
    out[i] = words[i] >> 32  # fault


@mended
@amp.kernel
def upper_half(i, words, out):
    out[i] = words[i] >> 16


# -- assertions ----------------------------------------------------------------------------------------------------


@faulty(
    "failed assert",
    "The assertion that the values are sorted does not hold for the data.",
    failed_assert(),
    lambda: launch(amp.extent(6), random_numbers(6), zeros(6), expect=np.r_[0, np.abs(np.diff(random_numbers(6)))]),
)
@amp.kernel
def steps_of_sorted_wrong(i, values, steps):
    if i[0] > 0:
        step = values[i] - values[i - 1]
        assert step >= 0, "the values are sorted"  # fault
        steps[i] = step


@mended
@amp.kernel
def steps_of_sorted(i, values, steps):
    if i[0] > 0:
        step = abs(values[i] - values[i - 1])
        assert step >= 0, "a distance"
        steps[i] = step


@faulty(
    "failed assert",
    "A tile's sum is asserted to be positive, and one tile's is not.",
    failed_assert(),
    lambda: launch(amp.extent(8).tile(4), numbers(8) - 3, zeros(2), expect=[-6, 10]),
)
@amp.kernel
def positive_sum_wrong(t, values, sums):
    row = amp.tile_static(4, amp.int32)
    row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        total = row[0] + row[1] + row[2] + row[3]
        assert total > 0  # fault
        sums[t.tile] = total


@mended
@amp.kernel
def positive_sum(t, values, sums):
    row = amp.tile_static(4, amp.int32)
    row[t.local] = values[t]
    t.barrier.wait()
    if t.local[0] == 0:
        total = row[0] + row[1] + row[2] + row[3]
        assert total > -100
        sums[t.tile] = total


@amp.func
def root(value):
    assert value >= 0.0, "no root of a negative number"  # fault
    return amp.fast_math.sqrt(value)


@faulty(
    "failed assert",
    "A function asserts what its caller does not keep.",
    failed_assert(),
    lambda: launch(
        amp.extent(6), random_floats(6), zeros(6, dtype=F32), expect=np.sqrt(np.maximum(random_floats(6), 0))
    ),
)
@amp.kernel
def roots_wrong(i, values, out):
    out[i] = root(values[i])


@mended
@amp.kernel
def roots(i, values, out):
    out[i] = root(max(values[i], 0.0))
