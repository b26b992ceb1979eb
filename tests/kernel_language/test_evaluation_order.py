"""Operands are evaluated from left to right, once, and only where Python evaluates them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32, rows, same, same_rows

Pair = np.dtype([("a", I32), ("b", I32)])


@amp.func
def bump(values, k):
    values[k] += 10
    return values[k]


@amp.func
def bump_pair(pairs, k):
    pairs[k].a += 100
    pairs[k].b = -pairs[k].b
    return 1


@amp.func
def both(pair, number):
    return pair.a * 10 + pair.b + number


@amp.func
def three(x, y, z):
    return x * 10000 + y * 100 + z


@amp.kernel
def operands(i, values, pairs, out):
    k = i[0]
    values[k] = k
    out[0, k] = values[k] + bump(values, k) * 100
    out[1, k] = bump(values, k) - values[k]
    out[2, k] = three(values[k], bump(values, k), values[k])
    out[3, k] = values[k] if bump(values, k) > 0 else 0
    x = values[k]
    x, y = bump(values, k), x + values[k]
    out[4, k] = x * 1000 + y
    out[5, k] = both(pairs[k], bump_pair(pairs, k))
    p, n = pairs[k], bump_pair(pairs, k)
    out[6, k] = p.a * 10 + p.b + n
    scratch = amp.private(2, amp.int32)
    scratch[0] = 1
    scratch[1] = 2
    out[7, k] = scratch[0] * 100 + bump(scratch, 0) + scratch[0]
    out[8, k] = max(values[k], bump(values, k)) - min(bump(values, k), values[k])
    out[9, k] = (values[k] < bump(values, k)) + 2 * (bump(values, k) < values[k])


def python_operands(k: int) -> list[int]:
    values, pair = [k], [5 + k, k]

    def bump_it() -> int:
        values[0] += 10
        return values[0]

    def bump_both() -> int:
        pair[:] = [pair[0] + 100, -pair[1]]
        return 1

    result = [values[0] + bump_it() * 100, bump_it() - values[0]]
    result.append((values[0]) * 10000 + bump_it() * 100 + values[0])
    bump_it()
    result.append(values[0])
    x = values[0]
    x, y = bump_it(), x + values[0]
    result.append(x * 1000 + y)
    # The pair itself is the operand: the function sees what the other operand changes.
    number = bump_both()
    result.append(pair[0] * 10 + pair[1] + number)
    number = bump_both()
    result.append(pair[0] * 10 + pair[1] + number)
    result.append(100 + 11 + 11)
    result.append(max(values[0], bump_it()) - min(bump_it(), values[0]))
    result.append((values[0] < bump_it()) + 2 * (bump_it() < values[0]))
    return result


def test_operands_are_evaluated_from_left_to_right(accelerator_view):
    k = np.arange(4, dtype=I32)
    values, result = amp.array_view(np.zeros(4, I32)), np.zeros((10, 4), I32)
    pairs = amp.array_view(np.array([(5 + n, n) for n in range(4)], Pair))
    out = amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(4), operands, values, pairs, out)
    expected = np.array([python_operands(int(n)) for n in k]).T
    names = ["+", "-", "call", "conditional", "tuple", "struct", "struct tuple", "private", "max", "compare"]
    same_rows(np.asarray(out), dict(zip(names, expected, strict=True)))


@amp.kernel
def bounds(i, counts, out):
    k = i[0]
    steps = 0
    for _j in range(counts[k]):
        counts[k] -= 1
        steps += 1
    out[0, k] = steps
    steps = 0
    n = k + 3
    for j in range(k, n * 2, n - k):
        n = 1
        steps = steps * 10 + j
    out[1, k] = steps
    steps = 0
    while bump(counts, k) < 45:
        steps += 1
        if steps % 2 == 0:
            continue
        counts[k] += 1
    out[2, k] = steps
    row = out[3]
    where = k
    row[where] = 5
    at = out[where]
    where = 0
    at[k] += 0
    row[k] += where


def test_bounds_and_conditions(accelerator_view):
    start = np.array([3, 0, 5], I32)
    result = np.zeros((4, 3), I32)
    counts, out = amp.array_view(start.copy()), amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(3), bounds, counts, out)
    steps, loops = [], []
    for k in range(3):
        total = 0
        for j in range(k, (k + 3) * 2, 3):
            total = total * 10 + j
        loops.append(total)
        count = n = 0
        while True:
            count += 10
            if count >= 45:
                break
            n += 1
            count += n % 2
        steps.append(n)
    same_rows(np.asarray(out), {"for": start, "range": loops, "while": steps, "alias": 5})


@amp.kernel
def extreme_ranges(i, start, stop, step, out):
    k = i[0]
    total = 0
    n = 0
    for j in range(start[k], stop[k], step[k]):
        total ^= j
        n += 1
        if n > 20:
            break
    out[0, k] = total
    out[1, k] = n


@pytest.mark.accelerators("drivers")
def test_ranges_at_the_ends_of_int32(accelerator_view):
    top, bottom = 2**31 - 1, -(2**31)
    ranges = [
        (top - 7, top, 4), (top - 1, top, 1), (bottom + 5, bottom, -2), (bottom, top, 2**30), (top, bottom, -(2**30)),
        (top, top, 1), (bottom, bottom, -1), (3, bottom, -(2**31)), (0, 10, 2**31 - 1), (bottom, top, 2**31 - 1),
    ]  # fmt: skip
    columns = [np.array(c, I32) for c in zip(*ranges, strict=True)]
    expected = [[0] * len(ranges), [0] * len(ranges)]
    for n, bounds_ in enumerate(ranges):
        for j in range(*bounds_):
            expected[0][n] ^= j
            expected[1][n] += 1
    same(rows(accelerator_view, extreme_ranges, 2, I32, *columns), expected)


@amp.kernel
def constant_extreme_ranges(i, out):
    n = 0
    for _a in range(2147483640, 2147483647, 4):
        n += 1
        if n > 5:
            break
    for _b in range(-2147483645, -2147483648, -2):
        n += 10
        if n > 50:
            break
    for _c in range(2147483646, 2147483647):
        n += 100
        if n > 500:
            break
    out[i] = n


@pytest.mark.accelerators("drivers")
def test_constant_ranges_at_the_ends_of_int32(accelerator_view):
    out = amp.array_view(np.zeros(2, I32))
    amp.parallel_for_each(accelerator_view, out.extent, constant_extreme_ranges, out)
    same(np.asarray(out), 122)


@amp.kernel
def far_away(i, a, out):
    k = i[0]
    far = k * 500000000
    out[0, k] = a[far] if far == 0 else -1
    out[1, k] = far == 0 and a[far] > 0
    out[2, k] = far != 0 or a[far] == 3
    out[3, k] = -2 if far != 0 else a[far] * 2
    if far == 0 and (a[far] > 5 or a[far + 1] > 0):
        out[4, k] = a[far]
    n = 0
    while far == 0 and n < 2 and a[far + n] > 0:
        n += 1
    out[5, k] = n
    out[6, k] = 0 <= far < 2 and a[far] == 3


def test_what_is_not_evaluated_may_be_out_of_bounds(accelerator_view):
    a = np.array([3, 4, 5], I32)
    same_rows(
        rows(accelerator_view, far_away, 7, I32, a),
        {
            "then": [3, -1, -1],
            "and": [1, 0, 0],
            "or": 1,
            "else": [6, -2, -2],
            "if": [3, 77, 77],
            "while": [2, 0, 0],
            "chain": [1, 0, 0],
        },
    )


@amp.kernel
def effects_around_elements(i, counts, other, where, pairs, out):
    k = i[0]
    # The element is chosen, and then the operand evaluated.
    out[0, k] = amp.atomic_fetch_add(counts[where[k]], bump(where, k))
    out[1, k] = where[k]
    out[2, k] = amp.atomic_fetch_add(counts[k], amp.atomic_fetch_inc(other[k]) + 5)
    expected = 2
    out[3, k] = amp.atomic_compare_exchange(other[k], expected, bump(where, k))
    out[4, k] = expected
    where[k] = k
    out[5, k] = out[where[k]][bump(where, k) - 10]
    amp.atomic_fetch_max(pairs[k].a, bump_pair(pairs, k))


def test_effects_around_elements(accelerator_view):
    counts, other = amp.array_view(np.full(23, 7, I32)), amp.array_view(np.array([1, 2, 3], I32))
    where, pairs = amp.array_view(np.arange(3, dtype=I32)), amp.array_view(np.array([(k, k) for k in range(3)], Pair))
    out = amp.array_view(np.zeros((6, 3), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), effects_around_elements, counts, other, where, pairs, out)
    k = np.arange(3)
    first, second = np.full(3, 7), 7 + k + 10
    third = np.array([1, 2, 3]) + 1
    same_rows(
        np.asarray(out),
        {
            "added": first,
            "changed": k + 10,
            "nested": second,
            "exchanged": third == 2,
            "read": third,
            "projected": [first[0], (k + 10)[1], second[2]],
        },
    )
    same(np.asarray(counts)[:3], 7 + k + 10 + np.array([1, 2, 3]) + 5)
    same(np.asarray(other), np.where(third == 2, k + 20, third))
    same(np.asarray(pairs)["a"], k + 100)


@amp.kernel
def chains(i, values, n, out):
    k = i[0]
    values[k] = n[k]
    out[0, k] = values[k] < bump(values, k) < 15
    out[1, k] = 5 < values[k] < bump(values, k) < values[k] + bump(values, k)
    out[2, k] = values[k]
    x = 3
    out[3, k] = x < (x := n[k]) < 9
    out[4, k] = 0 < n[k] < divmod(n[k] * 3, 2)[0] != sum(v for v in (n[k], 2)) <= max(n[k], 4)
    out[5, k] = (k, 1) <= (n[k], bump(values, k)) < (k + 1, values[k])
    a = 2
    out[6, k] = 0 < a <= (a := n[k]) < 7


def python_chains(n: int, k: int) -> list[int]:
    values = [n]

    def bump_it() -> int:
        values[0] += 10
        return values[0]

    result: list[int] = [values[0] < bump_it() < 15]
    result.append(5 < values[0] < bump_it() < values[0] + bump_it())
    result.append(values[0])
    x = 3
    result.append(x < (x := n) < 9)
    result.append(0 < n < divmod(n * 3, 2)[0] != n + 2 <= max(n, 4))
    result.append((k, 1) <= (n, bump_it()) < (k + 1, values[0]))
    a = 2
    result.append(0 < a <= (a := n) < 7)
    return result


def test_chained_comparisons(accelerator_view):
    n = np.arange(-9, 12, dtype=I32)
    values, out = amp.array_view(np.zeros_like(n)), amp.array_view(np.zeros((7, len(n)), I32))
    amp.parallel_for_each(accelerator_view, n.size, chains, values, amp.array_view(n), out)
    expected = np.array([python_chains(v, k) for k, v in enumerate(n.tolist())]).T
    names = ["call", "calls", "effects", "walrus", "functions", "tuples", "kept"]
    same_rows(np.asarray(out), dict(zip(names, expected, strict=True)))


TABLE = (3, -1, 4, 1)


@amp.kernel
def members(i, values, n, out):
    k = i[0]
    values[k] = n[k]
    out[0, k] = bump(values, k) in (11, 14)
    out[1, k] = bump(values, k) in range(values[k] - 3, 60, 3)
    out[2, k] = divmod(n[k], 5)[0] in range(-3, 8, 3)
    out[3, k] = TABLE[n[k] % 4] not in (n[k] - 1, -1)
    out[4, k] = (seen := n[k] // 2) * 3 + seen in range(4, 30, 4)
    out[5, k] = values[k] in (bump(values, k), values[k] - 10)


def test_what_is_looked_for_is_evaluated_before_the_sequence(accelerator_view):
    n = np.arange(-9, 20, dtype=I32)
    result = np.zeros((6, len(n)), I32)
    values, out = amp.array_view(np.zeros_like(n)), amp.array_view(result)
    amp.parallel_for_each(accelerator_view, n.size, members, values, amp.array_view(n), out)
    result = np.asarray(out)
    expected = {
        "call": [k + 10 in (11, 14) for k in n],
        "call in a range": [k + 20 in range(k + 17, 60, 3) for k in n.tolist()],
        "divmod": [k // 5 in range(-3, 8, 3) for k in n],
        "table": [TABLE[k % 4] not in (k - 1, -1) for k in n],
        "walrus": [k // 2 * 4 in range(4, 30, 4) for k in n],
        "before": [True for k in n],
    }
    same_rows(result, expected)


class Two(NamedTuple):
    x: int
    y: int = 1


def add_ten(values, k):
    values[k] += 10
    return values[k]


def of_zip(a, k):
    return sum(x * y for x, y in zip((a[k], 1), (add_ten(a, k), 2), strict=True))


def of_zip_in_a_loop(a, k):
    total = 0
    for x, y in zip(reversed((a[k], 1)), (add_ten(a, k), a[k]), strict=True):
        total = total * 3 + x * y
    return total


def of_map(a, k):
    return sum(map(lambda x, y: x * 2 - y, (a[k], 4), (add_ten(a, k), a[k])))


def of_replace(a, k):
    p = Two(a[k], 2)._replace(y=add_ten(a, k))
    return p.x * 100 + p.y


def of_subscript(a, k):
    j = k
    a[j] += (j := 0) + 7
    return a[0] * 10 + a[k]


def of_later_subscript(a, k):
    j = 0
    a[(j := k)] += j + 1
    return a[k] * 10 + j


def of_vector(a, k):
    v = amp.int3(1, 2, 3)
    v[add_ten(a, k) % 3] += v.x + add_ten(a, k)
    v[add_ten(a, k) % 3] = a[k]
    v[k], v[0] = v[0], add_ten(a, k)
    return v.x * 10000 + v.y * 100 + v.z


IN_ARRAYS = (of_zip, of_zip_in_a_loop, of_map, of_replace, of_subscript, of_later_subscript, of_vector)


def against_python(view, functions):
    """Compares functions of an array and a position in it with what they give in Python."""

    @amp.kernel
    def each(i, start, out):
        a = amp.private(3, amp.int32)
        for n, f in enumerate(functions):
            for j in range(3):
                a[j] = start[i[0], j]
            out[n, i[0]] = f(a, i[0] % 3)

    start = np.arange(21, dtype=I32).reshape(7, 3) % 6
    out = amp.array_view(np.zeros((len(functions), 7), I32))
    amp.parallel_for_each(view, 7, each, amp.array_view(start), out)
    expected = {f.__name__: [f(start[k].tolist(), k % 3) for k in range(7)] for f in functions}
    same_rows(np.asarray(out), expected)


def test_items_and_places_are_those_before_later_effects(accelerator_view):
    against_python(accelerator_view, IN_ARRAYS)


def over_map(a, k):
    total = 0
    for x in map(add_ten, (a, a, a), (k, 0, k)):
        a[0] = a[0] * 2 - x
        total = total * 3 + x
    return total * 100 + a[k]


def over_generator(a, k):
    total, n = 0, 1
    for x in (a[q] * n for q in (k, 1, 2)):
        n = n + 1
        a[2] = a[2] + x
        a[1] -= n
        total = total * 3 + x
    return total


def over_list(a, k):
    total = 0
    for x in [add_ten(a, q) for q in (k, 0, k)]:
        a[0] = a[0] * 2 - x
        total = total * 3 + x
    return total


def over_list_of_map(a, k):
    total = 0
    for n, x in enumerate(list(map(add_ten, (a, a, a), (k, 0, k)))):
        a[0] = a[0] * 2 - x
        total = total * 3 + x * n
    return total


def over_zip_with_memory(a, k):
    total = 0
    for n, x in zip((0, 2, 1), a, strict=False):
        a[n] += x + 1
        total = total * 5 + x
    return total


def over_changed_names(a, k):
    b, total = a[0], 0
    for n, x in enumerate(q + a[1] for q in (b, k, b)):
        b = b * 2 + n
        a[1] += b
        total = total * 3 + x
    return total


def over_map_that_ends_early(a, k):
    total = 0
    for x in map(add_ten, (a, a, a, a), (k, 0, 1, 2)):
        if total > 12:
            break
        if x % 2 == 0:
            continue
        a[2] += x
        total += x
    return total * 100 + a[0] + a[1] + a[2]


def over_map_whose_item_stays(a, k):
    x = 0
    for x in map(add_ten, (a, a, a), (k, 0, 1)):
        if x > 12:
            break
        a[0] += 1
    return x * 100 + a[0] + a[1] + a[2]


IN_LOOPS = (
    over_map, over_generator, over_list, over_list_of_map, over_zip_with_memory, over_changed_names,
    over_map_that_ends_early, over_map_whose_item_stays,
)  # fmt: skip


def test_items_are_computed_in_the_iteration_that_uses_them(accelerator_view):
    against_python(accelerator_view, IN_LOOPS)
