"""Tests of long streams of 32-bit words: kernels count classes of words on the device, piece after piece.

A test is a row of :data:`TESTS`: a function that gives the class of unit ``i`` of a piece, and the probabilities of the
classes.  Units have no words in common, so the counts of a whole stream are those of independent trials.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from tests.rng import battery
from vkamp import tile

#: Threads of a tile, units of each, and the most classes that a tile counts in its own memory.
_THREADS, _UNITS, _IN_TILE = 256, 64, 4096
#: Words that units go beyond, at most: a piece has a multiple of these.
MULTIPLE = 1 << 13
#: Birthdays of a tile, and bits of the number of days in a year.
_BIRTHDAYS, _YEAR = 1024, 28


class Test(NamedTuple):
    """Units of ``words`` words each; or with ``parts``, so many units in a word."""

    name: str
    unit: Callable[..., Any]
    probabilities: np.ndarray[Any, Any]
    words: int = 1
    parts: int = 1
    given: int = 0


@amp.func
def byte(words, table, given, i):
    """A byte and its place."""
    return int((i & 3) << 8) + int(words[i >> 2] >> amp.uint32(8 * (i & 3)) & 255)


@amp.func
def half(words, table, given, i):
    """A half of a word and its place."""
    return ((i & 1) << 16) + int(words[i >> 1] >> amp.uint32(16 * (i & 1)) & 65535)


@amp.func
def first_of_pair(given, i):
    """The first of two words that are ``given`` apart."""
    return i // given * (2 * given) + i % given


@amp.func
def pair(words, table, given, i):
    """The seven highest bits of two words."""
    j = first_of_pair(given, i)
    return int(words[j] >> 25 << 7 | words[j + given] >> 25)


@amp.func
def difference(words, table, given, i):
    """How many bits differ in two words."""
    j = first_of_pair(given, i)
    return int((words[j] ^ words[j + given]).bit_count())


@amp.func
def weight(words, table, given, i):
    """The set bits of ``given`` words."""
    total = 0
    for k in range(given):
        total += int(words[i * given + k].bit_count())
    return total


@amp.func
def highest_bits(words, table, given, i):
    """The two highest bits of eight words."""
    pattern = 0
    for k in range(8):
        pattern = pattern * 4 + int(words[i * 8 + k] >> 30)
    return pattern


@amp.func
def lowest_bits(words, table, given, i):
    """The two lowest bits of eight words."""
    pattern = 0
    for k in range(8):
        pattern = pattern * 4 + int(words[i * 8 + k] & 3)
    return pattern


@amp.func
def gap(words, table, given, i):
    """How many of 64 words come before the first one below an eighth of the range."""
    for k in range(64):
        if words[i * 64 + k] < amp.uint32(1 << 29):
            return k
    return 64


@amp.func
def run(words, table, given, i):
    """How many of eight words go up."""
    for k in range(1, 8):
        if words[i * 8 + k] < words[i * 8 + k - 1]:
            return k
    return 8


@amp.func
def order(words, table, given, i):
    """The order of four words."""
    rank = 0
    for k in range(4):
        smaller = 0
        for m in range(k + 1, 4):
            if words[i * 4 + m] < words[i * 4 + k]:
                smaller += 1
        rank = rank * (4 - k) + smaller
    return rank


@amp.func
def maximum(words, table, given, i):
    """Between which of the table's words the largest of eight is."""
    largest = words[i * 8]
    for k in range(1, 8):
        largest = max(largest, words[i * 8 + k])
    below = 0
    step = 128
    for _ in range(8):
        if largest >= table[below + step - 1]:
            below += step
        step = step // 2
    return below


@amp.func
def rank(words, table, given, i):
    """The rank of a matrix of 32 x 32 bits over the field of two elements."""
    rows = amp.private(32, amp.uint32)
    for k in range(32):
        rows[k] = words[i * 32 + k]
    found = 0
    for bit in range(32):
        at = -1
        for k in range(found, 32):
            if at < 0 and (rows[k] >> amp.uint32(bit) & 1) == 1:
                at = k
        if at >= 0:
            pivot = rows[at]
            rows[at] = rows[found]
            rows[found] = pivot
            for k in range(found + 1, 32):
                if (rows[k] >> amp.uint32(bit) & 1) == 1:
                    rows[k] = rows[k] ^ pivot
            found += 1
    return found


@amp.kernel
def count_in_tiles(
    t_idx, words, table, counts, units, given, *, unit: amp.constant, classes: amp.constant, per: amp.constant
):  # fmt: skip
    """Counts the classes of units in the tile's memory first."""
    own = amp.tile_static(classes, amp.uint32)
    t = t_idx.local[0]
    for k in range(t, classes, _THREADS):
        own[k] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in range(per):
        i = (t_idx.tile[0] * per + k) * _THREADS + t
        if i < units:
            amp.atomic_fetch_add(own[unit(words, table, given, i)], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in range(t, classes, _THREADS):
        if own[k] > 0:
            amp.atomic_fetch_add(counts[k], own[k])


@amp.kernel
def count_in_memory(idx, words, table, counts, given, *, unit: amp.constant):
    """Counts the class of each unit."""
    amp.atomic_fetch_add(counts[unit(words, table, given, idx[0])], 1)


@amp.kernel
def birthdays(t_idx, words, counts):
    """Marsaglia's birthday spacings: of 1024 birthdays in a year of 2^28 days, how many spacings are equal."""
    days = amp.private(_BIRTHDAYS // _THREADS, amp.uint32)
    for k in amp.static_range(_BIRTHDAYS // _THREADS):
        word = words[t_idx.tile[0] * _BIRTHDAYS + t_idx.local[0] * (_BIRTHDAYS // _THREADS) + k]
        days[k] = word >> amp.uint32(32 - _YEAR)
    spacings = tile.sort(t_idx, tile.adjacent_difference(t_idx, tile.sort(t_idx, days)))
    different = tile.discontinuity(t_idx, spacings)
    equal = 0
    for k in amp.static_range(_BIRTHDAYS // _THREADS):
        equal += 0 if different[k] else 1
    equal = tile.reduce(t_idx, equal, lambda x, y: x + y)
    if t_idx.local[0] == 0:
        amp.atomic_fetch_add(counts[min(equal, 39)], 1)


def of_bits(count: int) -> np.ndarray[Any, Any]:
    """The distribution of the number of set bits."""
    return np.array([math.comb(count, k) / 2**count for k in range(count + 1)])


def _ranks() -> np.ndarray[Any, Any]:
    found = [
        math.prod((1 - 2.0 ** (k - 32)) ** 2 / (1 - 2.0 ** (k - r)) for k in range(r)) * 2.0 ** (-((32 - r) ** 2))
        for r in range(33)
    ]
    return np.array(found)


def _birthdays() -> np.ndarray[Any, Any]:
    # Two of the spacings, of which one is from the first day of the year on, are equal with n / 2 chances per day.
    rate = _BIRTHDAYS**2 * (_BIRTHDAYS - 1) / (4 * 2.0**_YEAR)
    found = np.array([math.exp(-rate) * rate**k / math.factorial(k) for k in range(40)])
    return found / found.sum()


#: The words between which the largest of eight is equally often.
THRESHOLDS = np.array([round(2**32 * (k / 256) ** 0.125) for k in range(1, 256)], np.uint32)
_LIMITS = np.array([0.0, *(THRESHOLDS / 2.0**32) ** 8, 1.0])
#: The probability that eight words go up.
_UP = 1 / math.factorial(8)
_LAGS = (1, 2, 3, 4, 5, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)

TESTS = (
    Test("bytes", byte, np.full(1024, 1 / 1024), parts=4),
    Test("halves", half, np.full(1 << 17, 2.0**-17), parts=2),
    *(Test(f"pairs {lag} apart", pair, np.full(1 << 14, 2.0**-14), 2, given=lag) for lag in (1, 2, 4, 32, 256, 1024)),
    *(Test(f"differences {lag} apart", difference, of_bits(32), 2, given=lag) for lag in _LAGS),
    *(Test(f"weights of {count}", weight, of_bits(32 * count), count, given=count) for count in (1, 2, 4, 8)),
    Test("highest bits", highest_bits, np.full(1 << 16, 2.0**-16), 8),
    Test("lowest bits", lowest_bits, np.full(1 << 16, 2.0**-16), 8),
    Test("gaps", gap, np.array([*((7 / 8) ** k / 8 for k in range(64)), (7 / 8) ** 64]), 64),
    Test(
        "runs", run, np.array([0, *(1 / math.factorial(k) - (k < 8) / math.factorial(k + 1) for k in range(1, 9))]), 8
    ),
    Test("orders", order, np.full(24, 1 / 24), 4),
    Test("maxima", maximum, np.diff(_LIMITS), 8),
    Test("ranks", rank, _ranks(), 32),
)


class Counts:
    """The counts of a stream by all tests; birthdays are those of the first pieces, since their
    distribution is known in first order alone."""

    def __init__(self, view: amp.accelerator_view, birthdays_of: int = 1 << 28) -> None:
        self._view, self._most = view, birthdays_of
        self._table = amp.array(THRESHOLDS, accelerator_view=view)
        self.words = 0
        self.found = {test.name: np.zeros(len(test.probabilities), np.int64) for test in TESTS}
        self.found["birthdays"] = np.zeros(40, np.int64)

    def add(self, words: Any) -> None:
        """Counts a piece: a container of a multiple of :data:`MULTIPLE` words."""
        view, n = self._view, int(words.extent[0])
        assert n % MULTIPLE == 0
        made = {}
        for test in TESTS:
            units, classes = n * test.parts // test.words, len(test.probabilities)
            counts = made[test.name] = amp.array(np.zeros(classes, np.uint32), accelerator_view=view)
            if classes <= _IN_TILE:
                # Ranks have many steps, and lavapipe ends a thread's loops after 65,535.
                per = min(_UNITS, 512 // test.words, -(-units // _THREADS))
                domain = amp.extent(-(-units // (per * _THREADS)) * _THREADS).tile(_THREADS)
                amp.parallel_for_each(
                    view, domain, count_in_tiles, words, self._table, counts, units, test.given,
                    unit=test.unit, classes=classes, per=per,
                )  # fmt: skip
            else:
                amp.parallel_for_each(
                    view, amp.extent(units), count_in_memory, words, self._table, counts, test.given, unit=test.unit
                )
        if self.words < self._most:
            counts = made["birthdays"] = amp.array(np.zeros(40, np.uint32), accelerator_view=view)
            domain = amp.extent(n // _BIRTHDAYS * _THREADS).tile(_THREADS)
            amp.parallel_for_each(view, domain, birthdays, words, counts)
        for name, counts in made.items():
            self.found[name] += np.asarray(counts)
        self.words += n

    def p_values(self) -> dict[str, float]:
        """The p-value of each test."""
        found = {test.name: battery.counts_as(self.found[test.name], test.probabilities) for test in TESTS}
        return found | {"birthdays": battery.counts_as(self.found["birthdays"], _birthdays())}


def counted(view: amp.accelerator_view, pieces: Iterable[Any], words: int) -> Counts:
    """The counts of ``words`` words or a little more, or of all if there are fewer."""
    counts = Counts(view)
    for piece in pieces:
        counts.add(piece)
        if counts.words >= words:
            break
    return counts
