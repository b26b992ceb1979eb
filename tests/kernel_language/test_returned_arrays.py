"""Device functions that return private arrays, and arguments that a call leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp


@amp.func
def loaded(a, first, *, many: amp.constant):
    own = amp.private(many, a.dtype)
    for k in amp.static_range(many):
        own[k] = a[first + k]
    return own


@amp.func
def doubled(a, first):
    """A new array, a number, and the array again."""
    own = loaded(a, first, many=3)
    for k in range(3):
        own[k] *= 2
    return own, first, own


@amp.func
def with_first(x, own):
    own[0] += x
    return own


@amp.func
def exchanged(own, other):
    """The two arrays of the caller."""
    return other, own


@amp.kernel
def arrays(idx, a, out):
    first = idx[0] * 3
    x = loaded(a, first, many=3)
    y = loaded(a, first, many=3)
    y[0] = 1000
    total = 0
    for k in range(2):
        new, at, same = doubled(a, first)
        same[1] = 7
        total += new[0] + new[1] + new[k] + at
        new[2] = -1
        given = with_first(5, new)
        given[1] += 1
        total += 100 * (new[0] + new[1] + given[2])
    x, y = exchanged(x, y)
    out[idx] = total + x[0] + y[2]


def test_arrays(accelerator_view):
    a = amp.array_view(np.arange(24, dtype=np.int32))
    out = amp.array_view(np.zeros(8, np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, arrays, a, out)
    rows = np.arange(24).reshape(8, 3)
    expected = 1000 + rows[:, 2]
    for k in range(2):
        new = np.stack([2 * rows[:, 0], np.full(8, 7), 2 * rows[:, 2]])
        expected += new[0] + new[1] + new[k] + rows[:, 0] + 100 * (new[0] + 5 + 8 - 1)
    np.testing.assert_array_equal(np.asarray(out), expected)


@amp.struct
class Pair:
    x: amp.float32
    n: amp.int32


@amp.func
def neighbours(t_idx, stage, *, many: amp.constant):
    own = amp.private((many, 2), Pair)
    for k in amp.static_range(many):
        for j in range(2):
            own[k, j] = stage[(t_idx.local[0] + k + j) % len(stage)]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return own


@amp.kernel
def in_tiles(t_idx, a, out):
    stage = amp.tile_static(t_idx.tile_dim0, Pair)
    for _ in range(2):
        stage[t_idx.local[0]] = a[t_idx]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        found = neighbours(t_idx, stage, many=2)
        row = found[1]
        row[0].n += 100
    out[t_idx] = found[1, 0].n + amp.int32(found[0, 1].x) * 1000


@pytest.mark.vkamp_check
def test_arrays_of_structs_around_barriers(accelerator_view):
    raw = np.zeros(12, Pair)
    raw["x"], raw["n"] = np.arange(12), np.arange(12)
    out = amp.array_view(np.zeros(12, np.int32))
    a = amp.array(raw, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, out.extent.tile(6), in_tiles, a, out)
    following = np.roll(np.arange(12).reshape(2, 6), -1, axis=1).ravel()
    # The reference to a row is a name of the array: the struct in it has changed.
    np.testing.assert_array_equal(np.asarray(out), following * 1001 + 100)


@amp.func
def scaled(x, factor=None, offset=None):
    if factor is not None:
        x = x * factor
    if offset is None:
        return x
    return x + offset


@amp.func
def size_of(x):
    return len(x) if hasattr(x, "extent") else 1


@amp.kernel
def optional(idx, a, out):
    out[0, idx[0]] = scaled(a[idx])
    out[1, idx[0]] = scaled(a[idx], 2)
    out[2, idx[0]] = scaled(a[idx], offset=5)
    out[3, idx[0]] = size_of(a) * 10 + size_of(a[idx]) + (100 if hasattr(a[idx], "shape") else 0)


def test_arguments_that_are_left_out(accelerator_view):
    a = amp.array_view(np.arange(4, dtype=np.int32))
    out = amp.array_view(np.zeros((4, 4), np.int32))
    amp.parallel_for_each(accelerator_view, a.extent, optional, a, out)
    n = np.arange(4)
    np.testing.assert_array_equal(np.asarray(out), [n, 2 * n, n + 5, np.full(4, 41)])
    assert scaled(3) == 3 and scaled(3, 2, 1) == 7


@amp.func
def either(a, which):
    one, two = amp.private(2, amp.int32), amp.private(2, amp.int32)
    if which > 0:
        return one
    return two


@amp.kernel
def chooses(idx, a):
    found = either(a, idx[0])
    a[idx] = found[0]


@amp.kernel
def rebinds(idx, a):
    own = loaded(a, 0, many=2)
    if a[idx] > 3:
        own = loaded(a, 2, many=2)
    a[idx] = own[0]


def test_what_is_refused():
    a = amp.array_view(np.arange(4, dtype=np.int32))
    with pytest.raises(amp.CompileError, match="VKA218|VKA401"):
        chooses.inspect(a.extent, a)
    with pytest.raises(amp.CompileError, match="VKA316"):
        rebinds.inspect(a.extent, a)
