"""Inputs that several test files of algorithms share, an operator that does not commute, and a check of sorts."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg

TYPES = [
    np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, np.float32, np.int64, np.uint64,
    np.float64,
]  # fmt: skip
AFFINE = np.dtype([("factor", np.int32), ("offset", np.int32)])


@amp.func
def composed(first, second):
    """The composition of two affine functions: associative, and not commutative."""
    found = first.copy()
    found.factor = second.factor * first.factor
    found.offset = second.factor * first.offset + second.offset
    return found


def numbers(n, dtype=np.int32):
    return np.random.default_rng(n).integers(0 if np.dtype(dtype).kind == "u" else -100, 100, n).astype(dtype)


def affine(n):
    random = np.random.default_rng(n)
    raw = np.zeros(n, AFFINE)
    raw["factor"], raw["offset"] = random.choice([-1, 1], n), random.integers(-9, 9, n)
    return raw


def numbers_of(dtype, n):
    random = np.random.default_rng(n)
    if np.dtype(dtype).kind == "f":
        raw = (random.standard_normal(n) * 100).astype(dtype)
        raw[::7], raw[::11], raw[n // 3] = 0, -0.0, -np.inf
        raw[n // 2] = np.nan
        return raw
    info = np.iinfo(dtype)
    raw = random.integers(info.min, info.max, n, dtype, endpoint=True)
    raw[::3] = 5
    return raw


def descending_order(raw):
    if raw.dtype.kind != "f":
        return sorted(range(raw.size), key=lambda i: -int(raw[i]))
    return sorted(range(raw.size), key=lambda i: (not np.isnan(raw[i]), 0 if np.isnan(raw[i]) else -float(raw[i])))


def check_sorted_lines(view, raw, descending=False):
    """Bit for bit, so that equal elements keep their order."""
    order = np.stack([descending_order(line) for line in raw]) if descending else np.argsort(raw, -1, kind="stable")
    k = {"descending": descending, "accelerator_view": view}
    assert np.array_equal(alg.argsort(raw, **k), order)
    a = amp.array(raw, accelerator_view=view)
    assert alg.sort(a, out=a, **k) is a
    assert np.asarray(a).tobytes() == np.take_along_axis(raw, order, -1).tobytes()
