"""Scans in one launch, with operators that do not commute, of values of every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import functional


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
        if number > 0:
            out[at] = op(before, upto)
        else:
            out[at] = upto


def scan(view, raw, dtype, op, size, *, in_place=False):
    """The scan of ``raw`` by tiles of ``size`` threads."""
    n = len(raw)
    tiles = -(-n // size)
    values = amp.array(amp.extent(n), dtype, raw, accelerator_view=view)
    out = values if in_place else amp.array(amp.extent(n), dtype, accelerator_view=view)
    counter = amp.array(np.zeros(1, np.uint32), accelerator_view=view)
    status = amp.array(np.zeros((tiles, tile.carry_words(dtype)), np.uint32), accelerator_view=view)
    amp.parallel_for_each(view, amp.extent(tiles * size).tile(size), scanned, values, out, counter, status, op)
    return np.asarray(out)


@amp.func
def then(f, g):
    """Of two functions x -> f.x * x + f.y (modulo 2^32) the second after the first."""
    return amp.uint2(g.x * f.x, g.x * f.y + g.y)


def composed(raw):
    factor, offset, found = 1, 0, []
    for f, o in raw.tolist():
        factor, offset = f * factor & 0xFFFFFFFF, f * offset + o & 0xFFFFFFFF
        found.append((factor, offset))
    return np.array(found, np.uint32)


def dropping(publish, percent):
    """``publish`` of :mod:`vkamp.tile.carry`, which does nothing in about this part of the tiles."""

    @amp.func
    def published(status, number, value, flag):
        if (amp.uint32(number) * 2654435761 >> 8) % 100 >= percent:
            publish(status, number, value, flag)

    return published


# -- rows: a type, an operator, and the same in numpy --------------------------------------------------------------


@amp.struct
class Flagged:
    """A value, and whether it begins a segment."""

    begins: amp.int32
    value: amp.float32


@amp.func
def largest_of_segment(a, b):
    found = b.copy()
    if b.begins == 0:
        found.begins = a.begins
        found.value = max(a.value, b.value)
    return found


def flagged(random, n):
    raw = np.zeros(n, Flagged)
    raw["begins"] = random.random(n) < 0.1
    raw["value"] = random.standard_normal(n)
    return raw


def largest_so_far(raw):
    found = raw.copy()
    for before, here in pairwise(found):
        if not here["begins"]:
            here["begins"], here["value"] = before["begins"], max(before["value"], here["value"])
    return found


@amp.struct
class Moments:
    """How many numbers, their mean, and the sum of the squares of their distances from it."""

    count: amp.int32
    mean: amp.float32
    squares: amp.float32


@amp.func
def joined(a, b):
    """Chan's form of Welford's method."""
    count = a.count + b.count
    delta = b.mean - a.mean
    share = amp.float32(b.count) / amp.float32(count)
    squares = a.squares + b.squares + delta * delta * (amp.float32(a.count) * share)
    return Moments(count, a.mean + delta * share, squares)


def moments(random, n):
    raw = np.zeros(n, Moments)
    raw["count"], raw["mean"] = 1, random.standard_normal(n) + 5
    return raw


def running_moments(raw):
    x, count = raw["mean"].astype(np.float64), np.arange(1, len(raw) + 1)
    found = raw.copy()
    found["count"], found["mean"] = count, np.cumsum(x) / count
    found["squares"] = np.cumsum(x * x) - np.cumsum(x) ** 2 / count
    return found


@amp.struct
class Affine:
    """The function x -> factor * x + offset."""

    factor: amp.float64
    offset: amp.float64

    @amp.func
    def after(self, first):
        return Affine(self.factor * first.factor, self.factor * first.offset + self.offset)


@amp.func
def second_after_first(f, g):
    return g.after(f)


def affine(random, n):
    raw = np.zeros(n, Affine)
    raw["factor"] = random.choice([-1.0, 1.0, 0.0, 1.0], n)
    raw["offset"] = random.integers(-9, 10, n) * 0.125
    return raw


def affine_so_far(raw):
    found = raw.copy()
    for first, second in pairwise(found):
        second["factor"], second["offset"] = (
            second["factor"] * first["factor"], second["factor"] * first["offset"] + second["offset"]
        )  # fmt: skip
    return found


@amp.struct
class Tag:
    half: amp.float16
    name: amp.uint2


@amp.struct
class Nested:
    """A key of 0: none; there is padding after ``key`` and ``half``."""

    key: amp.int8
    tag: Tag
    pair: (amp.uint16, 2)
    wave: amp.complex64


@amp.func
def latest(a, b):
    """The last one that has a key."""
    return b.copy() if b.key != 0 else a.copy()


def nested(random, n):
    # Every byte that a value can have, NaNs among them: what is exchanged keeps its bits.
    raw = np.frombuffer(random.bytes(n * Nested.dtype.itemsize), Nested.dtype).copy()
    raw["key"] = (random.random(n) < 0.2) * random.integers(-128, 128, n)
    raw["tag"]["half"] = random.standard_normal(n)
    return raw


def latest_so_far(raw):
    at = np.maximum.accumulate(np.where(raw["key"] != 0, np.arange(len(raw)), 0))
    return raw[at]


@amp.func
def product(a, b):
    return a * b


@amp.func
def last_number(a, b):
    """The last one that is not -1."""
    return b if b != -1 else a


#: Numbers whose bits an operation would change.
ODD = np.array([0x7FC00001, 0xFFC12345, 0x80000000, 1, 0x807FFFFF, 0x7F800000], np.uint32)


def odd(dtype):
    """Unusual numbers of a type of floats, in every third place; the others are -1."""

    def raw(random, n):
        words = np.dtype(dtype).itemsize // 4
        bits = np.zeros((n, words), np.uint32)
        bits[:, -1] = random.choice(ODD, n)
        if words == 2:
            bits[:, 0] = random.integers(0, 1 << 32, n, dtype=np.uint32)
        found = bits.view(dtype).ravel()
        found[np.arange(n) % 3 > 0] = -1
        return found

    return raw


def last_numbers(raw):
    at = np.maximum.accumulate(np.where(raw != -1, np.arange(len(raw)), 0))
    return raw[at]


def integers(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return lambda random, n: random.integers(low, high, n, dtype=dtype, endpoint=True)


def sums(raw):
    return np.cumsum(raw, dtype=raw.dtype)


def units(dtype):
    """Powers of i, and 1 + i rarely: products are exact."""
    return lambda random, n: random.choice(np.array([1, 1j, -1, -1j], dtype), n)


def halves(random, n):
    return random.integers(-2, 3, n).astype(np.float16)


def vectors(random, n):
    return random.integers(0, 1 << 32, (n, 2), dtype=np.uint32)


@dataclass(frozen=True)
class Row:
    """``raw(random, n)``: the values; ``expected(raw)``: their scan; ``wide``: it needs numbers of 64 bits."""

    dtype: Any
    op: Any
    raw: Callable[..., Any]
    expected: Callable[[Any], Any]
    wide: bool = False
    rtol: float = 0


ROWS = {
    "int32": Row(np.int32, functional.plus, integers(np.int32), sums),
    "float32": Row(np.float32, functional.max, lambda random, n: random.standard_normal(n).astype(np.float32),
                   np.maximum.accumulate),
    "uint2": Row(amp.uint2, then, vectors, composed),
    "segments": Row(Flagged, largest_of_segment, flagged, largest_so_far),
    "moments": Row(Moments, joined, moments, running_moments, rtol=1e-3),
    "nested": Row(Nested, latest, nested, latest_so_far),
    "complex64": Row(np.complex64, product, units(np.complex64), np.cumprod),
    "float16": Row(np.float16, functional.plus, halves, sums),
    "odd float32": Row(np.float32, last_number, odd(np.float32), last_numbers),
    "int64": Row(np.int64, functional.plus, integers(np.int64), sums, wide=True),
    "uint64": Row(np.uint64, functional.plus, integers(np.uint64), sums, wide=True),
    "complex128": Row(np.complex128, product, units(np.complex128), np.cumprod, wide=True),
    "affine": Row(Affine, second_after_first, affine, affine_so_far, wide=True),
    "odd float64": Row(np.float64, last_number, odd(np.float64), last_numbers, wide=True),
}  # fmt: skip


def check_row(view, name, n, size, *, in_place=False):
    """Scans ``n`` values of a row by tiles of ``size`` threads, and compares."""
    row = ROWS[name]
    raw = row.raw(np.random.default_rng(n + size), n)
    assert same_values(row, scan(view, raw, row.dtype, row.op, size, in_place=in_place), row.expected(raw))


def same_values(row, found, expected):
    """Whether the results of a row have the same bits as numpy's, or are as close to them as the row says."""
    if row.rtol:
        return all(np.allclose(found[name], expected[name], row.rtol, row.rtol) for name in found.dtype.names)
    if found.dtype.kind == "c":
        return np.array_equal(found, expected)
    if found.dtype.names:  # Padding may differ.
        return all(same_values(row, found[name], expected[name]) for name in found.dtype.names)
    return np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()
