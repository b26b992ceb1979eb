"""Containers of one memory in one launch share it, whatever their extents and types.

The rules: docs/conformance.md, sections 7 and 20.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, same


@amp.kernel
def through_both(idx, a, b, out):
    i = idx[0]
    a[i] = 10.0 + i
    out[0, i] = b[i]
    b[i] += 0.5
    out[1, i] = a[i]


@pytest.mark.parametrize("kind", ["array", "view of array", "view of numpy"])
def test_one_container_under_two_names(accelerator_view, kind):
    container = amp.array(amp.extent(5), F32, np.zeros(5), accelerator_view=accelerator_view)
    if kind != "array":
        container = amp.array_view(container if kind == "view of array" else np.zeros(5, F32))
    out = amp.array_view(np.zeros((2, 5), F32))
    amp.parallel_for_each(accelerator_view, amp.extent(5), through_both, container, container, out)
    i = np.arange(5)
    same(np.asarray(out), [10 + i, 10.5 + i])
    same(np.asarray(container), 10.5 + i)


@amp.kernel
def through_overlap(idx, left, right, out):
    i = idx[0]
    left[i + 2] = 1.0 + i
    out[0, i] = right[i]
    right[i] *= 3.0
    out[1, i] = left[i + 2]


@pytest.mark.parametrize("over_array", [False, True])
def test_overlapping_sections(accelerator_view, over_array):
    values = np.full(9, -1, F32)
    source = amp.array(amp.extent(9), F32, values, accelerator_view=accelerator_view) if over_array else values
    whole = amp.array_view(source)
    out = amp.array_view(np.zeros((2, 4), F32))
    left, right = whole.section(1, 6), whole.section(3, 5)
    amp.parallel_for_each(accelerator_view, amp.extent(4), through_overlap, left, right, out)
    i = np.arange(4)
    same(np.asarray(out), [1 + i, 3 + 3 * i])
    same(np.asarray(whole), [-1, -1, -1, 3, 6, 9, 12, -1, -1])


@amp.kernel
def through_types(idx, floats, ints, out):
    i = idx[0]
    floats[i] = 1.0 + i
    out[0, i] = ints[i]
    ints[i] += 1 << 23
    out[1, i] = int(floats[i])


def test_reinterpreted_aliases(accelerator_view):
    values = np.zeros(7, F32)
    whole = amp.array_view(values)
    ints = whole.reinterpret_as(I32).section(2, 4)
    out = amp.array_view(np.zeros((2, 4), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(4), through_types, whole.section(2, 5), ints, out)
    i = np.arange(4)
    same(np.asarray(out), [(1.0 + i).astype(F32).view(I32), 2 * (1 + i)])
    whole.synchronize()
    same(values, [0, 0, 2, 4, 6, 8, 0])


@amp.kernel
def through_shapes(idx, m, row, column):
    i = idx[0]
    m[i, 1] = 5.0 + i
    row[i + 1] = column[i, 0] * 2.0


def test_views_of_other_shapes(accelerator_view):
    flat = amp.array_view(np.arange(16, dtype=F32))
    m = flat.view_as(amp.extent(4, 4))
    column = m.section(amp.index(0, 1), amp.extent(3, 1))
    amp.parallel_for_each(accelerator_view, amp.extent(3), through_shapes, m, m[3], column)
    same(np.asarray(m)[:, 1], [5, 6, 7, 10])
    same(np.asarray(flat)[12:], [12, 10, 12, 14])


@amp.kernel
def kernels_own_alias(idx, a, out):
    i = idx[0]
    even = a.section(0, 6)
    late = a.section(2, 4)
    words = a.reinterpret_as(amp.int32)
    even[i + 2] = 4.0 * (i + 1)
    out[0, i] = late[i]
    words[i + 2] -= 1 << 23
    out[1, i] = late[i]


def test_views_made_in_the_kernel_alias(accelerator_view):
    out = amp.array_view(np.zeros((2, 3), F32))
    a = amp.array_view(np.zeros(6, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), kernels_own_alias, a, out)
    same(np.asarray(out), [[4, 8, 12], [2, 4, 6]])
    same(np.asarray(a), [0, 0, 2, 4, 6, 0])


def test_an_aliased_launch_reads_what_the_launch_before_wrote(accelerator_view):
    values = np.zeros(8, F32)
    whole = amp.array_view(values)
    out = amp.array_view(np.zeros((2, 4), F32))
    for _ in range(3):
        amp.parallel_for_each(
            accelerator_view, amp.extent(4), through_overlap, whole.section(0, 6), whole.section(2, 6), out
        )
        amp.parallel_for_each(accelerator_view, amp.extent(4), add_one, whole.reinterpret_as(I32).section(1, 6))
    whole.synchronize()
    bits = (3 * (1 + np.arange(4, dtype=F32))).view(I32) + 1
    same(values.view(I32)[2:5], bits[:3])


@amp.kernel
def add_one(idx, words):
    words[idx] += 1


@pytest.mark.accelerators("reference")
def test_races_are_found_through_aliases(accelerator_view):
    @amp.kernel
    def shifts(idx, a, b):
        a[idx] = b[idx] + 1.0

    whole = amp.array_view(np.zeros(6, F32))
    with pytest.raises(amp.RaceError, match="race on "):
        amp.parallel_for_each(accelerator_view, amp.extent(4), shifts, whole.section(0, 5), whole.section(1, 5))
