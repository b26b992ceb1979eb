"""Functions of subgroups with an operator of the program's, of clusters, and of values of several numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32
from tests.kernel_language.subgroups import TILE, N, subgroups_of


@amp.struct
class Map:
    """x -> scale * x + shift; maps do not commute."""

    scale: amp.int32
    shift: amp.int16
    weight: amp.float16
    at: amp.float2


@amp.func
def after(p, q):
    """First p, then q."""
    return Map(p.scale * q.scale, p.shift * q.scale + q.shift, q.weight, amp.float2(p.at.x + q.at.x, q.at.y))


@amp.func
def affine(p, q):
    return amp.int2(p.x * q.x, p.y * q.x + q.y)


@amp.func
def plus(a, b):
    return a + b


@amp.func
def second(_, b):
    return b


def groups_of(view: amp.accelerator_view, cluster: int = 0) -> list[list[int]]:
    """The threads of each subgroup, or of each cluster, in the order of their lanes."""
    groups, size = subgroups_of(view)
    width = min(cluster, size) if cluster else size
    return [group[k : k + width] for group in groups for k in range(0, len(group), width)]


def expected(
    values: Sequence[Any], op: Callable[[Any, Any], Any], groups: list[list[int]], init: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """What inclusive_scan, exclusive_scan and reduce give to each thread."""
    inclusive, exclusive, whole = ([None] * N for _ in range(3))
    for group in groups:
        so_far = None
        for thread in group:
            exclusive[thread] = init if so_far is None else op(init, so_far)
            so_far = values[thread] if so_far is None else op(so_far, values[thread])
            inclusive[thread] = so_far
        for thread in group:
            whole[thread] = so_far
    return inclusive, exclusive, whole


@amp.kernel
def all_of(t_idx, a, inclusive, exclusive, whole, init, *, op: amp.constant, cluster: amp.constant):
    inclusive[t_idx] = amp.subgroup.inclusive_scan(a[t_idx], op, cluster=cluster)
    exclusive[t_idx] = amp.subgroup.exclusive_scan(a[t_idx], op, init, cluster=cluster)
    whole[t_idx] = amp.subgroup.reduce(a[t_idx], op, cluster=cluster)


def launched(view: amp.accelerator_view, values: Any, op: Any, init: Any, cluster: int = 0) -> list[Any]:
    a = amp.array_view(values)
    outs = [amp.array_view(np.zeros(N, a.dtype)) for _ in range(3)]
    amp.parallel_for_each(view, amp.extent(N).tile(TILE), all_of, a, *outs, init, op=op, cluster=cluster)
    return [np.asarray(out) for out in outs]


def of_maps(view: amp.accelerator_view, cluster: int = 0) -> None:
    values = np.stack([np.arange(N) % 5 - 2, np.arange(N)], 1).astype(I32).view(amp.int2.dtype).ravel()
    got = launched(view, values, affine, amp.int2(2, 1), cluster)

    def op(p: Any, q: Any) -> Any:
        wide = (p[0] * q[0], p[1] * q[0] + q[1])
        return tuple((w + 2**31) % 2**32 - 2**31 for w in wide)

    plain = [(int(x), int(y)) for x, y in values]
    for found, numbers in zip(got, expected(plain, op, groups_of(view, cluster), (2, 1)), strict=True):
        assert [tuple(each) for each in found.tolist()] == numbers


def test_an_operator_that_does_not_commute(accelerator_view):
    of_maps(accelerator_view)


@pytest.mark.accelerators("reference")
def test_every_size_of_the_reference(accelerator_view, size_of_the_reference):
    of_maps(accelerator_view)
    of_maps(accelerator_view, 4)


@pytest.mark.parametrize("cluster", [1, 3, 4, 256])
def test_clusters(accelerator_view, cluster):
    of_maps(accelerator_view, cluster)


@pytest.mark.parametrize("kind", [I32, U32, F32, np.float16])
def test_numbers(accelerator_view, kind):
    values = (np.arange(N) % 7).astype(kind)
    got = launched(accelerator_view, values, plus, kind(3))
    numbers = expected([int(v) for v in values], lambda a, b: a + b, groups_of(accelerator_view), 3)
    for found, each in zip(got, numbers, strict=True):
        np.testing.assert_array_equal(found, np.array(each).astype(kind))


@amp.kernel
def of_structs(t_idx, a, inclusive, exclusive, whole, moved, first, *, cluster: amp.constant):
    inclusive[t_idx] = amp.subgroup.inclusive_scan(a[t_idx], after, cluster=cluster)
    neutral = Map(1, 0, 0.5, amp.float2(0.0, 9.0))
    exclusive[t_idx] = amp.subgroup.exclusive_scan(a[t_idx], after, neutral, cluster=cluster)
    whole[t_idx] = amp.subgroup.reduce(a[t_idx], after, cluster=cluster)
    moved[t_idx] = amp.subgroup.rotate(a[t_idx], 1)
    first[t_idx] = amp.subgroup.broadcast_first(a[t_idx])
    if amp.subgroup.id() < 0:
        first[t_idx] = amp.subgroup.shuffle(a[t_idx], 0)


@pytest.mark.parametrize("cluster", [0, 4])
def test_structs(accelerator_view, cluster):
    values = np.zeros(N, Map.dtype)
    values["scale"], values["shift"] = np.arange(N) % 3 + 1, np.arange(N) % 11
    values["weight"], values["at"]["x"], values["at"]["y"] = np.arange(N) / 4, 1, np.arange(N)
    outs = [amp.array_view(np.zeros(N, Map.dtype)) for _ in range(5)]
    amp.parallel_for_each(
        accelerator_view, amp.extent(N).tile(TILE), of_structs, amp.array_view(values), *outs, cluster=cluster
    )
    groups = groups_of(accelerator_view, cluster)

    def op(p: Any, q: Any) -> Any:
        shift = (p[1] * q[0] + q[1] + 2**15) % 2**16 - 2**15
        return (p[0] * q[0] + 2**31) % 2**32 - 2**31, shift, q[2], (p[3][0] + q[3][0], q[3][1])

    plain = [tuple(v.item()) for v in values]
    wanted = [*expected(plain, op, groups, (1, 0, 0.5, (0.0, 9.0)))]
    moved, first = [None] * N, [None] * N
    for group in groups_of(accelerator_view):
        for k, thread in enumerate(group):
            moved[thread], first[thread] = plain[group[(k + 1) % len(group)]], plain[group[0]]
    for out, numbers in zip(outs, [*wanted, moved, first], strict=True):
        assert [v.item() for v in np.asarray(out)] == numbers


@amp.kernel
def clustered(t_idx, a, x, ints, floats):
    k = t_idx[0]
    ints[0, k] = amp.subgroup.add(a[k], cluster=8)
    ints[1, k] = amp.subgroup.max(a[k], cluster=2)
    ints[2, k] = amp.subgroup.inclusive_bitwise_xor(a[k], cluster=4)
    ints[3, k] = amp.subgroup.mul(a[k] | 1, cluster=3)
    floats[0, k] = amp.subgroup.min(x[k], cluster=4)
    floats[1, k] = amp.subgroup.add(amp.float2(x[k], 1.0), cluster=5).y


def test_reductions_of_clusters(accelerator_view):
    a, x = (np.arange(N) * 37 % 101 - 50).astype(I32), (np.arange(N) * 11 % 23).astype(F32)
    x[::7] = np.nan
    ints, floats = amp.array_view(np.zeros((4, N), I32)), amp.array_view(np.zeros((2, N), F32))
    views = [amp.array_view(v) for v in (a, x)]
    amp.parallel_for_each(accelerator_view, amp.extent(N).tile(TILE), clustered, *views, ints, floats)

    def wrapped(value: int) -> int:
        return (value + 2**31) % 2**32 - 2**31

    rows: list[tuple[Any, Any, Any, int, int]] = [
        (ints, a, lambda p, q: p + q, 8, 2),
        (ints, a, max, 2, 2),
        (ints, a, lambda p, q: p ^ q, 4, 0),
        (ints, a | 1, lambda p, q: wrapped(p * q), 3, 2),
        (floats, x, np.fmin, 4, 2),
        (floats, np.ones(N), lambda p, q: p + q, 5, 2),
    ]
    at: dict[int, int] = {}
    for out, values, op, cluster, which in rows:
        numbers = expected(values.tolist(), op, groups_of(accelerator_view, cluster), 0)[which]
        row = at[id(out)] = at.get(id(out), -1) + 1
        np.testing.assert_array_equal(np.asarray(out)[row], np.array(numbers))


@amp.kernel
def moves(t_idx, a, lanes, out):
    """Lanes that are known at run time."""
    k = t_idx[0]
    last = amp.subgroup.ballot_find_msb(amp.subgroup.ballot(True))
    out[0, k] = amp.subgroup.broadcast(a[k], last)
    out[1, k] = amp.subgroup.broadcast(a[k], lanes[0])
    out[2, k] = amp.subgroup.rotate(a[k], 2)
    out[3, k] = amp.subgroup.rotate(a[k], -amp.subgroup.lane())
    odd = amp.subgroup.ballot(a[k] % 2 == 1)
    out[4, k] = amp.subgroup.ballot_find_lsb(odd)
    out[5, k] = amp.subgroup.ballot_find_msb(odd)
    out[6, k] = amp.subgroup.ballot_find_lsb(amp.uint4())
    if last >= 0:
        out[7, k] = amp.subgroup.broadcast(amp.subgroup.lane(), amp.subgroup.ballot_find_lsb(odd) & 0)


def moved(view: amp.accelerator_view) -> None:
    values = (np.arange(N) * 7 % 13 + np.arange(N) % 2).astype(I32)
    out = amp.array_view(np.zeros((8, N), I32))
    lanes = amp.array_view(np.zeros(1, I32))
    amp.parallel_for_each(view, amp.extent(N).tile(TILE), moves, amp.array_view(values), lanes, out)
    wanted = np.zeros((8, N), I32)
    for group in groups_of(view):
        odd = [lane for lane, thread in enumerate(group) if values[thread] % 2 == 1] or [-1]
        for lane, thread in enumerate(group):
            around = [values[group[(lane + d) % len(group)]] for d in (2, -lane)]
            wanted[:, thread] = [values[group[-1]], values[group[0]], *around, odd[0], odd[-1], -1, 0]
    np.testing.assert_array_equal(np.asarray(out), wanted)


def test_lanes_at_run_time(accelerator_view):
    moved(accelerator_view)


@pytest.mark.accelerators("reference")
def test_lanes_at_run_time_on_the_reference(accelerator_view, size_of_the_reference):
    moved(accelerator_view)


@amp.kernel
def matches(t_idx, a, x, v, out):
    k = t_idx[0]
    out[0, k] = amp.subgroup.match(a[k])
    out[1, k] = amp.subgroup.match(x[k])
    out[2, k] = amp.subgroup.match(v[k])
    if amp.subgroup.id() == 0:
        out[3, k] = amp.subgroup.match(a[k] > 2)


def matched(view: amp.accelerator_view) -> None:
    a = (np.arange(N) * 5 % 7).astype(I32)
    x = np.where(np.arange(N) % 4 == 1, np.nan, np.arange(N) % 3 - 1.0).astype(F32)
    x[::6] = -0.0
    v = np.stack([a % 2, a % 3, a * 0], 1).astype(I32).view(amp.int3.dtype).ravel()
    out = amp.array_view(np.zeros((4, N), amp.uint4.dtype))
    views = [amp.array_view(each) for each in (a, x, v)]
    amp.parallel_for_each(view, amp.extent(N).tile(TILE), matches, *views, out)
    got = np.asarray(out).view(U32).reshape(4, N, 4)
    first = {t for t, in_first in enumerate(ids_of(view) == 0) if in_first}
    for group in groups_of(view):
        for lane, thread in enumerate(group):
            for row, values in enumerate((a, x, v, a > 2)):
                same = {k for k, t in enumerate(group) if values[t] == values[thread]} | {lane}
                if row == 3 and thread not in first:
                    same = set()
                bits = {32 * word + b for word in range(4) for b in range(32) if int(got[row, thread, word]) >> b & 1}
                assert bits == same, (row, thread)


@amp.kernel
def ids(t_idx, out):
    out[t_idx] = amp.subgroup.id()


def ids_of(view: amp.accelerator_view) -> Any:
    out = amp.array_view(np.zeros(N, I32))
    amp.parallel_for_each(view, amp.extent(N).tile(TILE), ids, out)
    return np.asarray(out)


def test_match(accelerator_view):
    matched(accelerator_view)


@pytest.mark.accelerators("reference")
def test_match_on_the_reference(accelerator_view, size_of_the_reference):
    matched(accelerator_view)


@amp.kernel
def short(t_idx, h, v, out_h, out_v):
    """Each function of the table that takes them, of float16 and of vectors."""
    k = t_idx[0]
    out_h[0, k] = amp.subgroup.add(h[k])
    out_h[1, k] = amp.subgroup.exclusive_min(h[k])
    out_h[2, k] = amp.subgroup.shuffle_up(h[k], 1)
    out_h[3, k] = amp.subgroup.broadcast_first(h[k])
    out_v[0, k] = amp.subgroup.inclusive_add(v[k])
    out_v[1, k] = amp.subgroup.max(v[k])
    out_v[2, k] = amp.subgroup.shuffle(v[k], 0)
    out_v[3, k] = amp.float3(amp.subgroup.bitwise_or(amp.int3(v[k])))
    out_v[4, k] = amp.subgroup.broadcast(v[k].zyx, 0)


def test_short_floats_and_vectors(accelerator_view):
    h = (np.arange(N) % 9 / 4).astype(np.float16)
    v = np.stack([np.arange(N) % 5, np.arange(N) % 3, np.arange(N) % 7], 1).astype(F32)
    out_h = amp.array_view(np.zeros((4, N), np.float16))
    out_v = amp.array_view(np.zeros((5, N), amp.float3.dtype))
    views = amp.array_view(h), amp.array_view(v.view(amp.float3.dtype).ravel())
    amp.parallel_for_each(accelerator_view, amp.extent(N).tile(TILE), short, *views, out_h, out_v)
    wanted_h, wanted_v = np.zeros((4, N)), np.zeros((5, N, 3))
    for group in groups_of(accelerator_view):
        for k, thread in enumerate(group):
            before = h[group[:k]].min() if k else np.inf
            wanted_h[:, thread] = [h[group].astype(float).sum(), before, h[group[max(k - 1, 0)]], h[group[0]]]
            wanted_v[:3, thread] = [v[group[: k + 1]].sum(0), v[group].max(0), v[group[0]]]
            wanted_v[3, thread] = functools.reduce(np.bitwise_or, v[group].astype(int))
            wanted_v[4, thread] = v[group[0]][::-1]
    np.testing.assert_array_equal(np.asarray(out_h), wanted_h.astype(np.float16))
    np.testing.assert_array_equal(np.asarray(out_v).view(F32).reshape(5, N, 3), wanted_v)


@amp.kernel
def operators(t_idx, a, out):
    k = t_idx[0]
    gain = 2
    out[0, k] = amp.subgroup.reduce(a[k], lambda p, q: p + q)
    out[1, k] = amp.subgroup.reduce(a[k], min)
    out[2, k] = amp.subgroup.reduce(a[k], lambda p, q: max(p, q) * gain - max(p, q))
    out[3, k] = amp.subgroup.inclusive_scan(1, plus)
    out[4, k] = amp.subgroup.reduce(a[k] > 5, second)
    out[6, k] = int(amp.subgroup.exclusive_scan(float(a[k]), plus, 1) * 2)
    for _ in range(2):
        if amp.subgroup.id() % 2 == 0:
            out[5, k] += amp.subgroup.exclusive_scan(a[k], plus, 100)


def test_operators_of_every_kind(accelerator_view):
    a = (np.arange(N) * 3 % 11).astype(I32)
    out = amp.array_view(np.zeros((7, N), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(N).tile(TILE), operators, amp.array_view(a), out)
    wanted, numbers = np.zeros((7, N), I32), ids_of(accelerator_view)
    for group in groups_of(accelerator_view):
        for lane, thread in enumerate(group):
            some = 2 * (100 + a[group[:lane]].sum()) if numbers[thread] % 2 == 0 else 0
            wanted[:, thread] = [
                a[group].sum(),
                a[group].min(),
                a[group].max(),
                lane + 1,
                a[group[-1]] > 5,
                some,
                2 * (1 + a[group[:lane]].sum()),
            ]
    np.testing.assert_array_equal(np.asarray(out), wanted)


def test_check_mode(accelerator_view):
    a, zero = np.arange(N, dtype=I32), np.zeros(1, I32)
    for kernel, arrays in ((operators, [a, np.zeros((7, N), I32)]), (moves, [a, zero, np.zeros((8, N), I32)])):
        report = amp.check(accelerator_view, amp.extent(N).tile(TILE), kernel, *map(amp.array_view, arrays))
        assert report.ok, report


@amp.kernel
def known(t_idx, a, x, out):
    k = t_idx[0]
    gain = 1 if a[k] > -100 else 2
    out[0, k] = amp.subgroup.reduce(a[k], plus)
    out[1, k] = amp.subgroup.inclusive_scan(amp.uint32(a[k]), lambda p, q: q | p)
    out[2, k] = amp.subgroup.exclusive_scan(a[k], max, -100)
    # None of these is one operation of two integers.
    out[3, k] = int(amp.subgroup.reduce(x[k], plus))
    out[4, k] = amp.subgroup.reduce(a[k], lambda p, q: p * gain + q)
    out[5, k] = amp.subgroup.reduce(a[k], second)


def test_operators_that_devices_know(accelerator_view):
    a = (np.arange(N) * 7 % 23 - 5).astype(I32)
    x, out = amp.array_view(np.ones(N, F32)), amp.array_view(np.zeros((6, N), I32))
    args = amp.extent(N).tile(TILE), known, amp.array_view(a), x, out
    text = known.inspect(accelerator_view, *args[:1], *args[2:]).glsl
    # A device whose own reductions are wrong has a function by shuffles, which is defined and called.
    by_shuffles = "integer_reductions" in accelerator_view.accelerator.quirks
    assert text.count("shuffled_add(" if by_shuffles else "subgroupAdd(") == 1 + by_shuffles, text
    for name in ("InclusiveOr", "InclusiveMax"):
        assert text.count(f"subgroup{name}(") == 1, text
    assert text.count("subgroupShuffleUp") > 0
    amp.parallel_for_each(accelerator_view, *args)
    wanted = np.zeros((6, N), I32)
    for group in groups_of(accelerator_view):
        for lane, thread in enumerate(group):
            before, so_far = a[group[:lane]], a[group[: lane + 1]]
            numbers = [a[group].sum(), np.bitwise_or.reduce(so_far), max([-100, *before]), len(group)]
            wanted[:, thread] = [*numbers, a[group].sum(), a[group[-1]]]
    np.testing.assert_array_equal(np.asarray(out), wanted)


@amp.kernel
def of_no_thread(t_idx, a, lanes):
    a[t_idx] = amp.subgroup.broadcast(a[t_idx], lanes[0])


def test_check_mode_finds_a_lane_without_a_thread(accelerator_view):
    views = amp.array_view(np.zeros(3, I32)), amp.array_view(np.array([3], I32))
    report = amp.check(accelerator_view, amp.extent(3).tile(3), of_no_thread, *views)
    assert [finding.kind for finding in report.findings] == ["bounds"]


@amp.kernel
def under_condition(t_idx, a):
    if a[t_idx] > 0:
        a[t_idx] = amp.subgroup.reduce(a[t_idx], plus)


@amp.kernel
def uneven_lane(t_idx, a):
    a[t_idx] = amp.subgroup.broadcast(a[t_idx], a[t_idx])


@amp.kernel
def scan_of_clusters(t_idx, a):
    a[t_idx] = amp.subgroup.exclusive_add(a[t_idx], cluster=4)


@amp.kernel
def sum_of_float_bits(t_idx, x):
    x[t_idx] = amp.subgroup.bitwise_or(x[t_idx])


@amp.kernel
def untiled(idx, a):
    a[idx] = amp.subgroup.add(a[idx], cluster=4)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (under_condition, r"VKA650: `amp.subgroup.add` must be called by all threads of a subgroup together"),
        (uneven_lane, "VKA651: the second argument of `amp.subgroup.broadcast` may differ"),
        (scan_of_clusters, "VKA220"),
        (sum_of_float_bits, r"takes int32, uint32, int64 or uint64, not float3"),
        (untiled, "VKA608"),
    ],
)
def test_refused(kernel, words):
    dtype = amp.float3.dtype if kernel is sum_of_float_bits else I32
    domain = amp.extent(8) if kernel is untiled else amp.extent(8).tile(4)
    with pytest.raises(amp.CompileError, match=words):
        amp.parallel_for_each(domain, kernel, amp.array_view(np.zeros(8, dtype)))


def test_plain_python_has_no_subgroup():
    with pytest.raises(amp.AmpError, match="plain Python has no subgroup"):
        amp.subgroup.reduce(np.int32(1), plus)


@amp.kernel
def under_a_reduction(t_idx, a, out, *, op: amp.constant):
    out[t_idx] = 0
    if amp.subgroup.reduce(a[t_idx], op) >= 0:
        out[t_idx] = amp.subgroup.add(1)
    for _ in range(amp.subgroup.broadcast(amp.subgroup.reduce(a[t_idx], op), 0)):
        out[t_idx] += amp.subgroup.max(2)


@amp.kernel
def under_a_scan(t_idx, a, out, *, op: amp.constant):
    if amp.subgroup.inclusive_scan(a[t_idx], op) >= 0:
        out[t_idx] = amp.subgroup.add(1)


@amp.kernel
def under_a_cluster(t_idx, a, out, *, op: amp.constant):
    if amp.subgroup.reduce(a[t_idx], op, cluster=2) >= 0:
        out[t_idx] = amp.subgroup.add(1)


@pytest.mark.parametrize("op", [plus, second])
def test_what_is_the_same_for_the_subgroup(accelerator_view, op):
    a, out = amp.array_view(np.ones(N, I32)), amp.array_view(np.zeros(N, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(N).tile(TILE), under_a_reduction, a, out, op=op)
    wanted = np.zeros(N, I32)
    for group in groups_of(accelerator_view):
        wanted[group] = len(group) + 2 * (len(group) if op is plus else 1)
    np.testing.assert_array_equal(np.asarray(out), wanted)
    for kernel in (under_a_scan, under_a_cluster):
        with pytest.raises(amp.CompileError, match="VKA650"):
            amp.parallel_for_each(accelerator_view, amp.extent(N).tile(TILE), kernel, a, out, op=op)
