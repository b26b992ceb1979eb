"""Views made in kernels: section, projection, view_as, reinterpret_as (docs/conformance.md, section 6)."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, same

PAIR = np.dtype([("count", I32), ("weight", F32)])
TRIPLE = np.dtype([("a", F32), ("b", F32), ("c", F32)])


def run(view, kernel, domain, *arguments):
    amp.parallel_for_each(view, domain, kernel, *arguments)
    return [np.array(a) for a in arguments if isinstance(a, (amp.array, amp.array_view))]


def zeros(shape, dtype):
    return amp.array_view(np.zeros(shape, dtype))


def matrix(rows, columns, dtype=F32):
    return np.arange(rows * columns, dtype=dtype).reshape(rows, columns)


# -- section -----------------------------------------------------------------------------------------------------------


@amp.kernel
def four_forms(idx, m, first, out):
    i = idx[0]
    both = m.section(amp.index(1, first), amp.extent(3, 4))
    from_here = m.section(amp.index(2, i))
    top = m.section(amp.extent(2, i + 1))
    numbers = m.section(i, 1, 2, 3)
    out[0, i] = both[2, i]
    out[1, i] = from_here[1, 0]
    out[2, i] = top[1, i]
    out[3, i] = numbers[1, 2]
    out[4, i] = both.extent[0] * 10 + both.extent[1]
    out[5, i] = from_here.extent[0] * 10 + from_here.extent[1]
    out[6, i] = top.extent.size()
    out[7, i] = numbers.rank * 100 + numbers.extent[1]


def test_the_four_forms_of_section(accelerator_view):
    values = matrix(5, 7)
    result = np.zeros((8, 3), F32)
    run(accelerator_view, four_forms, amp.extent(3), amp.array_view(values), 2, out := amp.array_view(result))
    i = np.arange(3)
    same(np.asarray(out), [values[3, 2 + i], values[3, i], values[1, i], values[i + 1, 3],
                           np.full(3, 34), 30 + 7 - i, 2 * (i + 1), np.full(3, 203)])  # fmt: skip


@amp.kernel
def nested_sections(idx, m, out):
    outer = m.section(amp.index(1, 1), amp.extent(4, 5))
    inner = outer.section(amp.index(idx[0], 2))
    innermost = inner.section(0, 1, 1, 2)
    out[idx] = innermost[0, 1]
    innermost[0, 0] = -1.0


def test_nested_sections_are_relative_to_their_parent(accelerator_view):
    values = matrix(6, 7)
    _, out = run(accelerator_view, nested_sections, amp.extent(3), amp.array_view(values), zeros((3,), F32))
    same(out, [12, 19, 26])
    expected = matrix(6, 7)
    expected[[1, 2, 3], 4] = -1
    same(values, expected)


@amp.kernel
def projections(idx, cube, out):
    i = idx[0]
    plane = cube[1]
    row = plane.section(amp.index(1, 0))[i]
    out[0, i] = row[2]
    box = cube.section(amp.index(0, 1, 1))
    out[1, i] = box[1][i][0]
    out[2, i] = box[0].section(amp.extent(1, 2))[0, 1] + row.extent[0] * 1000.0
    out[3, i] = box[1][0].section(1, 2).view_as(amp.extent(1, 2))[0][1]


def test_projections_of_sections_and_sections_of_projections(accelerator_view):
    values = np.arange(2 * 3 * 4, dtype=F32).reshape(2, 3, 4)
    _, out = run(accelerator_view, projections, amp.extent(2), amp.array_view(values), zeros((4, 2), F32))
    i = np.arange(2)
    expected = [
        values[1, 1 + i, 2],
        values[1, 1 + i, 1],
        np.full(2, values[0, 1, 2] + 4000),
        np.full(2, values[1, 1, 3]),
    ]
    same(out, expected)


@amp.kernel
def rebound(idx, a, out):
    i = idx[0]
    part = a.section(0, 4)
    if i % 2 == 1:
        part = a.section(4, 3)
    total = part[0] * 100.0
    for k in range(i):
        part = part.section(amp.index(1))
        total += part[0] + k * 0.0
    other = a.section(i, 2)
    other, part = part, other
    out[0, i] = total
    out[1, i] = part[1]
    out[2, i] = other[0]
    other = other.section(0, 1)
    out[3, i] = other.extent[0]


def test_names_are_bound_anew(accelerator_view):
    values = np.arange(8, dtype=F32) + 1
    _, out = run(accelerator_view, rebound, amp.extent(3), amp.array_view(values), zeros((4, 3), F32))
    same(out, [[100, 500 + 6, 100 + 2 + 3], [2, 3, 4], [1, 6, 3], [1, 1, 1]])


@amp.kernel
def of_changing_numbers(idx, a, out):
    n = idx[0]
    part = a.section(n, 2)
    n += 3
    out[0, idx[0]] = part[0]
    rows = a.view_as(amp.extent(2, 4))
    row = rows[n - 3]
    n = 7
    out[1, idx[0]] = row[1]
    out[2, idx[0]] = part[1] + n


def test_a_view_keeps_the_numbers_that_it_was_made_with(accelerator_view):
    values = np.arange(8, dtype=F32)
    _, out = run(accelerator_view, of_changing_numbers, amp.extent(2), amp.array_view(values), zeros((3, 2), F32))
    same(out, [[0, 1], [1, 5], [8, 9]])


@amp.kernel
def unrolled(idx, a, out):
    total = 0.0
    for k in amp.static_range(3):
        part = a.section(k * 2, 2)
        if idx[0] > k:
            last = part.section(1, 1)
            total += last[0]
        total += part[0] * 100.0
    out[idx] = total


def test_views_in_unrolled_loops(accelerator_view):
    values = np.arange(6, dtype=F32) + 1
    _, out = run(accelerator_view, unrolled, amp.extent(4), amp.array_view(values), zeros((4,), F32))
    same(out, 900 + np.array([0, 2, 6, 12]))


@amp.kernel
def augmented(idx, a, order):
    part = a.section(2, 5)
    part[order[idx]] += 10.0
    part.view_as(amp.extent(5, 1))[order[idx], 0] *= 2.0


def test_augmented_assignment_through_views(accelerator_view):
    values = np.arange(8, dtype=F32)
    order = amp.array_view(np.array([4, 0, 2], I32))
    run(accelerator_view, augmented, amp.extent(3), amp.array_view(values), order)
    same(values, [0, 1, 24, 3, 28, 5, 32, 7])


# -- functions ---------------------------------------------------------------------------------------------------------


@amp.func
def total(v):
    result = 0.0
    for i in range(v.extent[0]):
        result += v[i]
    return result


@amp.func
def corner(v):
    v = v.section(amp.index(1, 1))
    return v[0, 0] + total(v[1])


@amp.func
def raise_all(v, x):
    for i in range(v.extent[0]):
        v[i] = v[i] + x


@amp.kernel
def passes_views(idx, m, a, out):
    i = idx[0]
    out[0, i] = total(m.section(amp.index(i, 1), amp.extent(2, 3))[1])
    out[1, i] = corner(m.section(amp.index(i, 0)))
    out[2, i] = total(a.section(i, 4))
    out[3, i] = total(a.section(2, i + 1))
    own = amp.private(6, amp.float32)
    for k in range(6):
        own[k] = k
    raise_all(own.section(1, 3), 10.0)
    raise_all(own.section(amp.index(4)), 100.0 * i)
    out[4, i] = total(own)
    out[5, i] = total(own.view_as(amp.extent(2, 3))[1])
    raise_all(a.section(8 + i, 1), 0.5)


def test_views_are_passed_to_functions(accelerator_view):
    values, row = matrix(5, 6), np.arange(12, dtype=F32)
    _, _, out = run(
        accelerator_view, passes_views, amp.extent(3),
        amp.array_view(values), amp.array_view(row), zeros((6, 3), F32),
    )  # fmt: skip
    i = np.arange(3)
    sums = values[:, 1:].sum(1)
    own = [np.arange(6) + np.array([0, 10, 10, 10, 100 * k, 100 * k]) for k in i]
    expected = [values[1:4, 1:4].sum(1), values[i + 1, 1] + sums[i + 2], [row[k : k + 4].sum() for k in i],
                [row[2 : 3 + k].sum() for k in i], [o.sum() for o in own], [o[3:].sum() for o in own]]  # fmt: skip
    same(out, expected)
    same(row, [*range(8), 8.5, 9.5, 10.5, 11])


@amp.kernel
def passes_tile_memory(t, out):
    i = t.local[0]
    shared = amp.tile_static((2, 8), amp.float32)
    rows = shared.section(amp.index(0, 2), amp.extent(2, 4))
    rows[i // 4, i % 4] = i + 1.0
    t.barrier.wait_with_tile_static_memory_fence()
    out[0, t.global_[0]] = total(rows[1])
    out[1, t.global_[0]] = total(shared[0].section(2 + i % 2, 2))


def test_views_of_tile_static_memory_are_passed_to_functions(accelerator_view):
    (out,) = run(accelerator_view, passes_tile_memory, amp.extent(16).tile(8), zeros((2, 16), F32))
    same(out, [np.full(16, 26), [3, 5] * 8])


# -- view_as, array_view -----------------------------------------------------------------------------------------------


@amp.kernel
def reshapes(idx, a, m, out):
    i = idx[0]
    box = a.view_as(amp.extent(2, 2, 3))
    out[0, i] = box[1, 1, i]
    out[1, i] = box[1].section(0, 1, 2, 2)[1, 0]
    flat = m.view_as(amp.extent(m.extent.size()))
    out[2, i] = flat[7 + i]
    again = amp.array_view(a, amp.extent(3, 4))
    out[3, i] = again[2, i] + amp.array_view(m)[1, 0] + amp.array_view(a, amp.extent(5)).extent[0] * 1000.0
    out[4, i] = a.section(1, 9).view_as(amp.extent(3, 3)).section(amp.index(1, i))[1, 0]


def test_view_as_takes_a_prefix_in_row_major_order(accelerator_view):
    values, m = np.arange(13, dtype=F32), matrix(3, 5)
    _, _, out = run(
        accelerator_view, reshapes, amp.extent(3),
        amp.array_view(values), amp.array_view(m), zeros((5, 3), F32),
    )  # fmt: skip
    i = np.arange(3)
    same(out, [9 + i, np.full(3, 10), 7 + i, 8 + i + 5 + 5000, 7 + i])


@amp.kernel
def first_and_second_rows(idx, a, rows, columns, out):
    table = a.view_as(amp.extent(rows, columns))
    i = idx[0]
    out[0, i] = table[0, i]
    out[1, i] = table[1, i]
    out[2, i] = table[i, 0]
    out[3, i] = a.section(0, rows)[i]


def test_nothing_is_computed_for_the_first_row(accelerator_view):
    arguments = amp.array_view(matrix(1, 12)[0]), 3, 4, zeros((4, 3), F32)
    *_, out = run(accelerator_view, first_and_second_rows, amp.extent(3), *arguments)
    same(out, [[0, 1, 2], [4, 5, 6], [0, 4, 8], [0, 1, 2]])
    text = first_and_second_rows.inspect(accelerator_view, amp.extent(3), *arguments).ir
    places = ["a[i]", "a[columns + i]", "a[i * columns]", "a[i]"]
    found = [line.split(" = ")[1].split("<")[0] for line in text.splitlines() if " = a[" in line]
    assert found == places


# -- reinterpret_as ----------------------------------------------------------------------------------------------------


@amp.kernel
def bits_of(idx, a, i32, u32):
    k = idx[0]
    i32[k] = a.reinterpret_as(amp.int32)[k]
    u32[k] = a.section(amp.index(2)).reinterpret_as(amp.uint32)[k]
    a.section(amp.index(6)).reinterpret_as(amp.int32)[k] = 0x40490FDB + k


def test_floats_are_read_and_written_as_integers(accelerator_view):
    values = np.array([1.5, -0.0, 3e38, np.inf, -7.25, 1e-3, 0, 0, 0, 0], F32)
    expected = values.copy()
    _, i32, u32 = run(
        accelerator_view, bits_of, amp.extent(4),
        amp.array_view(values), zeros((4,), I32), zeros((4,), np.uint32),
    )  # fmt: skip
    same(i32, expected.view(I32)[:4])
    same(u32, expected.view(np.uint32)[2:6])
    same(values.view(I32)[6:], 0x40490FDB + np.arange(4))


@amp.kernel
def structs_and_scalars(idx, floats, records):
    i = idx[0]
    pairs = floats.reinterpret_as(PAIR)
    pairs[i].count = i + 5
    pairs[i].weight *= 2.0
    triples = floats.reinterpret_as(TRIPLE).section(amp.index(2))
    triples[i].b = triples.extent[0]
    words = records.reinterpret_as(amp.int32)
    words[2 * i] = words.extent[0]
    weights = records.section(amp.index(i)).reinterpret_as(amp.float32)
    weights[1] = 0.25 * i


def test_structs_and_scalars_are_read_as_each_other(accelerator_view):
    floats, records = np.arange(18, dtype=F32), np.zeros(3, PAIR)
    run(accelerator_view, structs_and_scalars, amp.extent(3), amp.array_view(floats), amp.array_view(records))
    expected = np.arange(18, dtype=F32)
    expected.view(PAIR)["count"][:3] = [5, 6, 7]
    expected[[1, 3, 5]] *= 2
    expected.view(TRIPLE)["b"][2:5] = 4
    same(floats, expected)
    same(records["count"], [6, 6, 6])
    same(records["weight"], [0, 0.25, 0.5])


@amp.kernel
def in_arrays(t, out):
    i = t.local[0]
    shared = amp.tile_static((2, 4), amp.float32)
    own = amp.private(3, amp.uint32)
    own[1] = 0x3F800000
    own.reinterpret_as(amp.float32)[2] = own.reinterpret_as(amp.float32)[1] + 2.0
    shared[1].reinterpret_as(amp.int32)[i] = 0x40000000 + (i << 20)
    shared[0, i] = 1.5 * i
    t.barrier.wait_with_tile_static_memory_fence()
    out[0, i] = shared[1, i]
    out[1, i] = own.reinterpret_as(amp.float32)[2]
    out[2, i] = float(shared[0].section(1, 3).reinterpret_as(amp.uint32)[i % 3] >> amp.uint32(23))
    out[3, i] = float(own[2] == 0x40400000)


def test_scalars_in_arrays_of_the_kernel_are_read_as_others(accelerator_view):
    (out,) = run(accelerator_view, in_arrays, amp.extent(4).tile(4), zeros((4, 4), F32))
    i = np.arange(4, dtype=np.uint32)
    shared = (1.5 * (1 + i % 3)).astype(F32).view(np.uint32) >> 23
    same(out, [(0x40000000 + (i << 20)).astype(np.uint32).view(F32), np.full(4, 3), shared, np.ones(4)])


@amp.kernel
def as_vectors(idx, a, b, out):
    i = idx[0]
    a.reinterpret_as(amp.float4)[i].yz = amp.float2(7.0, 8.0 + i)
    threes = b.section(amp.index(3)).reinterpret_as(amp.float3)
    pair = a.reinterpret_as(amp.float2).section(2 * i, 2)[1]
    threes[i] = threes[i] + amp.float3(pair.x, pair.x, pair.y)
    amp.atomic_fetch_add(b.reinterpret_as(amp.float3)[0].z, 1.0)
    out[i] = threes.section(1, 2)[i].zy


def test_scalars_are_read_as_vectors(accelerator_view):
    a, b = np.arange(8, dtype=F32), np.arange(13, dtype=F32)[:12]
    views = (amp.array_view(a), amp.array_view(b), amp.array_view(np.zeros((2, 2), F32), dtype=amp.float2))
    amp.parallel_for_each(accelerator_view, amp.extent(1), as_vectors, *views)
    for view in views:
        view.synchronize()
    same(a, [0, 7, 8, 3, 4, 5, 6, 7])
    same(b, [0, 1, 3, 11, 12, 8, 6, 7, 8, 9, 10, 11])
    same(np.asarray(views[2].reinterpret_as(F32)), [8, 7, 0, 0])


@amp.kernel
def negate(idx, v):
    words = v.reinterpret_as(amp.int32)
    words[idx] = -words[idx]


def test_reinterpretation_counts_from_the_beginning_of_a_section_of_the_host(accelerator_view):
    values = np.arange(10, dtype=I32)
    run(accelerator_view, negate, amp.extent(3), amp.array_view(values).section(4, 3).reinterpret_as(np.uint32))
    same(values, [0, 1, 2, 3, -4, -5, -6, 7, 8, 9])


@amp.kernel
def rows_reinterpreted(idx, m, out):
    out[idx] = m[idx[0] + 1].reinterpret_as(amp.int32)[1]


def test_rows_are_reinterpreted_and_gaps_are_refused(accelerator_view):
    m = amp.array_view(matrix(4, 6))
    box = m.section(amp.index(0, 2))
    _, out = run(accelerator_view, rows_reinterpreted, amp.extent(3), box, zeros((3,), I32))
    same(out, np.array([9, 15, 21], F32).view(I32))
    columns = amp.array_view(matrix(4, 6)[:, ::2])
    with pytest.raises(amp.AmpError, match="the kernel reinterprets `m`, whose elements are 2 apart"):
        amp.parallel_for_each(accelerator_view, amp.extent(3), rows_reinterpreted, columns, zeros((3,), I32))


# -- the reference accelerator checks what a device does not -----------------------------------------------------------


@amp.kernel
def one_too_far(idx, a, n):
    part = a.section(2, n)
    part[idx] = 1.0


@amp.kernel
def outside_the_matrix(idx, m, n):
    m.section(1, n, 2, 2)[1, idx[0]] = 1.0


@amp.kernel
def beyond_the_memory(idx, a, n):
    a.section(0, n).reinterpret_as(amp.int32)[n - 1 - idx[0]] = 1


@pytest.mark.parametrize(
    ("kernel", "shape", "n", "text"),
    [
        (one_too_far, (9,), 2, "index 2 of a view of a is out of bounds (extent 2), in thread (2)"),
        (one_too_far, (4,), 3, "index 4 of a is out of bounds (extent 4), in thread (2)"),
        (
            outside_the_matrix,
            (4, 5),
            1,
            "index 2 in dimension 1 of a view of m is out of bounds (extent 2), in thread (2)",
        ),
        (outside_the_matrix, (4, 2), 1, "index 2 in dimension 1 of m is out of bounds (extent 2), in thread (1)"),
        (beyond_the_memory, (4,), 5, "a view of a reaches beyond its memory, in thread (0)"),
    ],
)
@pytest.mark.accelerators("reference")
def test_the_reference_checks_a_views_own_extent(accelerator_view, kernel, shape, n, text):
    with pytest.raises(amp.AmpError) as raised:
        amp.parallel_for_each(accelerator_view, amp.extent(3), kernel, amp.array_view(np.zeros(shape, F32)), n)
    assert str(raised.value).startswith(text)
    assert raised.value.error_code == "bounds"


@amp.kernel
def lengths(t_idx, m, out):
    shared = amp.tile_static((3, 5), amp.float32)
    mine = amp.private(7, amp.int32)
    i = t_idx.global_[0]
    out[0, i] = len(m) * 1000 + len(m[0])
    out[1, i] = len(m.section(amp.index(1, 1), amp.extent(3, i + 1))) * 10 + len(shared)
    out[2, i] = len(shared[0]) * 10 + len(mine)
    out[3, i] = len(m.extent) * 100 + len(t_idx.tile_extent) * 10 + len((1, i, 2))
    out[4, i] = int(m[len(m) - 1, len(m[0]) - 1])


def test_len(accelerator_view):
    values = np.arange(28, dtype=F32).reshape(4, 7)
    out = amp.array_view(np.zeros((5, 6), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(6).tile(3), lengths, amp.array_view(values), out)
    expected = [4007, 33, 57, 213, 27]
    np.testing.assert_array_equal(np.asarray(out), np.repeat(np.array(expected, I32)[:, None], 6, 1))
    assert len(amp.array_view(values)) == 4 and len(amp.extent(4, 7)) == 2
