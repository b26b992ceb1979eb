"""Variables: one type each, tuples, swaps, indices, aliases, struct copies, elements and fields updated in place."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.kernel_language.programs import F32, I32, pairs, rows, same, same_rows


@amp.kernel
def tuples(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    x, y = y, x
    out[0, k] = x
    out[1, k] = y
    x, y = y, x + y
    out[2, k], out[3, k] = x, y
    (p, q), r = (x + 1, y), x
    p, q, r = q, r, p
    out[4, k] = p
    out[5, k] = q
    out[6, k] = r
    pair = (x, y)
    pair = (pair[1], pair[0])
    out[7, k] = pair[0]
    out[8, k] = pair[k % 2]
    s = t = x * 2
    s += 1
    out[9, k] = s
    out[10, k] = t
    [u, v] = pair
    out[11, k] = u - v
    fib, following = 0, 1
    for _step in range(8):
        fib, following = following, fib + following
    out[12, k] = fib
    choice = (1, 2) if x > y else (3, 4)
    out[13, k] = choice[0] * 10 + choice[1]


def test_tuples_and_swaps(accelerator_view):
    a, b = pairs([3, -5, 8], I32)
    # After the first swap x is b, and after the second x is a and y their sum.
    x, y = a, a + b
    k = np.arange(len(a))
    same_rows(
        rows(accelerator_view, tuples, 14, I32, a, b),
        {
            "swapped x": b,
            "swapped y": a,
            "x": x,
            "y": y,
            "p": y,
            "q": x,
            "r": x + 1,
            "pair[0]": y,
            "pair[k % 2]": np.where(k % 2 == 0, y, x),
            "s": 2 * x + 1,
            "t": 2 * x,
            "list": y - x,
            "fib": 21,
            "choice": np.where(x > y, 12, 34),
        },
    )


@amp.kernel
def swaps_in_memory(i, a, out):
    k = i[0]
    half = out.extent[0] // 2
    out[k] = a[k]
    out[k + half] = a[k + half]
    out[k], out[k + half] = out[k + half], out[k]
    scratch = amp.private(4, amp.int32)
    for j in range(4):
        scratch[j] = j * j + k
    scratch[0], scratch[3] = scratch[3], scratch[0]
    j = 1
    j, scratch[j] = 2, 50  # left to right: the subscript is the new j
    scratch[1], scratch[2] = scratch[2] + 1, scratch[1] + 1
    for j in range(4):
        out[k] += scratch[j] * (j + 1)


def test_swaps_of_elements(accelerator_view):
    a = np.arange(10, 22, dtype=I32)
    out = amp.array_view(np.zeros(12, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(6), swaps_in_memory, amp.array_view(a), out)
    expected = np.concatenate([a[6:], a[:6]])
    for k in range(6):
        scratch = [9 + k, 1 + k, 50, k]
        scratch[1], scratch[2] = scratch[2] + 1, scratch[1] + 1
        expected[k] += sum(s * (j + 1) for j, s in enumerate(scratch))
    same(np.asarray(out), expected)


@amp.kernel
def index_variables(i, a, out):
    here = i
    right = i + amp.index(0, 1)
    corner = amp.index(0, 0)
    limit = a.extent
    value = a[here]
    if limit.contains(right):
        value += a[right] * 10
    corner += 1
    corner = corner * 2 - 1
    moved = corner + here
    moved = moved % 3
    if moved == (0, 1):
        value += 1000
    if here != amp.index(2, 2) and i != (0, 0):
        value += 2000
    if here[0] == corner[0]:
        value += 4000
    half = amp.index(-7 + i[0], 9) / 2
    value += half[0] * 100000 + half[1] * 10000
    grown = limit + 1
    value += grown.size() * 10000000
    out[i] = value


def test_index_variables(accelerator_view):
    a = np.arange(15, dtype=I32).reshape(3, 5)
    out = amp.array_view(np.zeros((3, 5), I32))
    amp.parallel_for_each(accelerator_view, out.extent, index_variables, amp.array_view(a), out)
    expected = np.zeros((3, 5), I32)
    for r in range(3):
        for c in range(5):
            value = a[r, c] + (a[r, c + 1] * 10 if c < 4 else 0)
            if ((r + 1) % 3, (c + 1) % 3) == (0, 1):
                value += 1000
            if (r, c) != (2, 2) and (r, c) != (0, 0):
                value += 2000
            value += 4000 if r == 1 else 0
            expected[r, c] = value + int((-7 + r) / 2) * 100000 + 4 * 10000 + 24 * 10000000
    same(np.asarray(out), expected)


@amp.kernel
def numbers_before_indices(i, a, out):
    n = a.extent[0] + 2
    added, subtracted, scaled, divided, rest = n + i, n - i, 3 * i, 100 / (i + 1), 100 % (i + 4)
    whole = 2 * out.extent - (1 + a.extent)
    out[i] = 0
    for k in amp.static_range(3):
        out[i] += (added[k] + 20 * subtracted[k] + 300 * scaled[k] + 7 * divided[k] + 11 * rest[k]) * (k + 1)
        out[i] += 10000 * whole[k] * (k + 1)


def test_numbers_before_indices(accelerator_view):
    """``3 * index`` for every operator, in three dimensions."""
    shape = (3, 5, 2)
    out = amp.array_view(np.zeros(shape, I32))
    amp.parallel_for_each(
        accelerator_view, out.extent, numbers_before_indices, amp.array_view(np.zeros(shape, I32)), out
    )
    i = np.indices(shape)
    n, factors = shape[0] + 2, np.array([1, 2, 3]).reshape(3, 1, 1, 1)
    parts = n + i + 20 * (n - i) + 300 * 3 * i + 7 * (100 // (i + 1)) + 11 * (100 % (i + 4))
    parts += 10000 * (2 * np.array(shape) - (1 + np.array(shape))).reshape(3, 1, 1, 1)
    same(np.asarray(out), (parts * factors).sum(0).astype(I32))


Particle = np.dtype([("position", F32, 3), ("mass", F32), ("id", I32)])


@amp.kernel
def struct_variables(i, particles, out):
    k = i[0]
    p = particles[k].copy()
    p.mass += 1
    p.position[1] = -p.position[1]
    p.position[0] *= 2
    q = p.copy()
    q.id = 99
    out[k] = q
    if k > 0:
        other = particles[k - 1].copy()
        other.id += p.id * 10
        best = other if other.mass > 2 else p
        out[k].id = best.id
        out[k]["mass"] += best["mass"]
    out[k].position[2] += 0.5
    q.id -= 1
    p = q
    if p.id != 98:
        out[k].id = -1


def test_copies_of_structs(accelerator_view):
    data = np.zeros(5, Particle)
    data["position"] = np.arange(15).reshape(5, 3)
    data["mass"] = [1, 5, 2, 7, 0.5]
    data["id"] = [3, 1, 4, 1, 5]
    out = amp.array_view(np.zeros(5, Particle))
    amp.parallel_for_each(accelerator_view, amp.extent(5), struct_variables, amp.array_view(data), out)
    expected = data.copy()
    expected["position"] *= [2, -1, 1]
    expected["position"][:, 2] += 0.5
    expected["mass"] += 1
    expected["id"] = 99
    for k in range(1, 5):
        other_id, other_mass = data["id"][k - 1] + data["id"][k] * 10, data["mass"][k - 1]
        use_other = other_mass > 2
        expected["id"][k] = other_id if use_other else data["id"][k]
        expected["mass"][k] += other_mass if use_other else data["mass"][k] + 1
    same(np.asarray(out), expected)
    assert data["mass"][0] == 1


@amp.kernel
def aliases(i, a, out):
    source = a
    target = out
    row = source[i[0]]
    result = target[i[0]]
    last = row.extent[0] - 1
    for c in range(row.extent[0]):
        result[c] = row[last - c]
    work = amp.private((2, 3), amp.float32)
    line = work[1]
    line[2] = 5
    work[0, 0] = line[2] + 1
    result[0] += work[0, 0]
    function = amp.fast_math.floor
    result[1] += function(1.75)
    kind = amp.int32
    result[2] += kind(2.5)


def test_aliases_are_the_same_memory(accelerator_view):
    a = np.arange(12, dtype=F32).reshape(4, 3)
    out = amp.array_view(np.zeros((4, 3), F32))
    amp.parallel_for_each(accelerator_view, amp.extent(4), aliases, amp.array_view(a), out)
    same(np.asarray(out), a[:, ::-1] + np.array([6, 1, 2]))


@amp.kernel
def once_evaluated(i, hits, out):
    k = i[0]
    out[k] = 5
    out[amp.atomic_fetch_inc(hits[k]) + k] += 3
    out[k] *= amp.atomic_fetch_inc(hits[k]) + 1
    local = 10
    local -= amp.atomic_fetch_add(hits[k], 5)
    out[k] += local


def test_augmented_targets_are_evaluated_once(accelerator_view):
    hits, out = amp.array_view(np.zeros(4, I32)), amp.array_view(np.zeros(4, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(4), once_evaluated, hits, out)
    same(np.asarray(hits), 7)
    same(np.asarray(out), (5 + 3) * 2 + (10 - 2))


@amp.kernel
def names_that_glsl_reserves(i, buffer, uniform, out):
    float = buffer[i]
    sampler = float * 2
    main, gl_x, double, output, layout = 1, 2, 3, 4, 5
    switch = main + gl_x + double + output + layout
    vec3 = uniform[i] + switch
    in_, texture, void, dot, barrier = 1, 1, 1, 1, 1
    x__y = in_ + texture + void + dot + barrier
    _under = x__y
    abs_ = max(vec3, sampler)
    größe = abs_ + _under
    out[i] = größe


def test_names_that_glsl_reserves(accelerator_view):
    a, b = np.array([1.5, 20, -3], F32), np.array([4, -2.5, 0], F32)
    out = amp.array_view(np.zeros(3, F32))
    amp.parallel_for_each(
        accelerator_view, amp.extent(3), names_that_glsl_reserves, amp.array_view(a), amp.array_view(b), out
    )
    same(np.asarray(out), np.maximum(b + 15, a * 2) + 5)


@amp.kernel
def of_some_branches(idx, a, out):
    k = idx[0]
    for turn in range(3):
        if a[k] < 0:
            out[k] = -1
        elif a[k] == turn:
            part = a[k] * 2
            out[k] += part
        else:
            part = turn
            out[k] += 10 * part
        while out[k] > 100:
            if turn == 0:
                out[k] -= 1
            elif turn == 1:
                rest = out[k] - 50
                out[k] = rest
            else:
                rest = 7
                out[k] = rest


def test_variables_of_some_branches_in_a_loop(accelerator_view):
    a = np.array([-1, 0, 1, 2, 3, 60, 101], I32)
    out = np.array([0, 0, 99, 0, 101, 150, 300], I32)
    wanted = out.copy()
    for k in range(a.size):
        for turn in range(3):
            wanted[k] = -1 if a[k] < 0 else wanted[k] + (2 * a[k] if a[k] == turn else 10 * turn)
            while wanted[k] > 100:
                wanted[k] = [wanted[k] - 1, wanted[k] - 50, 7][turn]
    found = amp.array_view(out)
    amp.parallel_for_each(accelerator_view, amp.extent(a.size), of_some_branches, amp.array_view(a), found)
    same(np.asarray(found), wanted)
