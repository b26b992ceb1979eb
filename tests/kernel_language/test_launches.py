"""Launches: domains of every rank and size, their errors in order, many tiles, targets, chains, queues."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, same


@amp.kernel
def count_once(i, hits):
    amp.atomic_fetch_inc(hits[i])


@amp.kernel
def number(i, out):
    value = 0
    for d in range(i.rank):
        value = value * 10 + i[d]
    out[i] = value + 1


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 7), (3, 1, 2, 5), (2, 2, 3, 1, 4), (1, 1, 1, 1, 1, 2, 3)])
def test_untiled_domains_of_every_rank(accelerator_view, shape):
    out = amp.array_view(np.zeros(shape, I32))
    amp.parallel_for_each(accelerator_view, out.extent, number, out)
    digits = np.zeros(shape, int)
    for d in range(len(shape)):
        digits = digits * 10 + np.indices(shape)[d]
    same(np.asarray(out), digits + 1)


@pytest.mark.parametrize("shape", [(1,), (255,), (257,), (1, 300), (300, 1), (33, 9), (5, 1, 65), (2, 3, 5, 7)])
def test_each_index_runs_once(accelerator_view, shape):
    hits = amp.array_view(np.zeros(shape, I32))
    amp.parallel_for_each(accelerator_view, hits.extent, count_once, hits)
    same(np.asarray(hits), 1)


@amp.kernel
def copy_inside(t, source, target):
    if source.extent.contains(t.global_):
        target[t] = source[t] + 1


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 17])
def test_sizes_around_a_tile(accelerator_view, size):
    data = np.arange(size, dtype=I32)
    target = amp.array_view(np.zeros(size, I32))
    domain = amp.extent(size).tile(8).pad()
    amp.parallel_for_each(accelerator_view, domain, copy_inside, amp.array_view(data, readonly=True), target)
    same(np.asarray(target), data + 1)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 4), (4, 5), (5, 3), (2, 9)])
def test_sizes_around_a_two_dimensional_tile(accelerator_view, shape):
    data = np.arange(shape[0] * shape[1], dtype=I32).reshape(shape)
    target = amp.array_view(np.zeros(shape, I32))
    domain = amp.extent(shape).tile(3, 4).pad()
    amp.parallel_for_each(accelerator_view, domain, copy_inside, amp.array_view(data, readonly=True), target)
    same(np.asarray(target), data + 1)


def test_truncate_leaves_the_rest(accelerator_view):
    data = np.arange(30, dtype=I32).reshape(5, 6)
    target = amp.array_view(np.full((5, 6), -1, I32))
    domain = amp.extent(5, 6).tile(2, 4).truncate()
    amp.parallel_for_each(accelerator_view, domain, copy_inside, amp.array_view(data, readonly=True), target)
    expected = np.full((5, 6), -1)
    expected[:4, :4] = data[:4, :4] + 1
    same(np.asarray(target), expected)


# -- many threads and tiles ----------------------------------------------------------------------------------------


@amp.kernel
def stamp(i, out):
    out[i] = i[0] ^ 0x5A5A


@pytest.mark.accelerators("drivers")
def test_many_threads(accelerator_view):
    out = amp.array(amp.extent(2**24), amp.int32, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, out.extent, stamp, out)
    same(np.asarray(out), np.arange(2**24, dtype=I32) ^ 0x5A5A)


@pytest.mark.accelerators("drivers")
def test_many_threads_in_two_dimensions(accelerator_view):
    hits = amp.array_view(np.zeros(64, I32))

    @amp.parallel_for_each(accelerator_view, amp.extent(65537, 33))
    def _(i):
        if i[0] % 4096 == 1 or i[0] > 65535:
            amp.atomic_fetch_inc(hits[i[1]])

    expected = np.zeros(64, I32)
    expected[:33] = 17
    same(np.asarray(hits), expected)


@amp.kernel
def tile_numbers(t, out, sums):
    memory = amp.tile_static(t.tile_dim0, amp.int32)
    memory[t.local] = t.local[0] + 1
    t.barrier.wait()
    out[t] = t.tile[0] * 10 + memory[t.tile_dim0 - 1 - t.local[0]]
    if t.local[0] == 0:
        amp.atomic_fetch_add(sums[t.tile_origin[0] % 5], 1)


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("tiles", [65535, 65536, 70001])
def test_more_tiles_than_a_dimension_takes(accelerator_view, tiles):
    out = amp.array(amp.extent(tiles * 2), amp.int32, accelerator_view=accelerator_view)
    sums = amp.array_view(np.zeros(5, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(tiles * 2).tile(2), tile_numbers, out, sums)
    k = np.arange(tiles)
    same(np.asarray(out).reshape(tiles, 2), k[:, None] * 10 + np.array([2, 1]))
    same(np.asarray(sums), np.bincount(k * 2 % 5))


@amp.kernel
def tile_columns(t, out):
    if t.local == (1, 0, 0):
        amp.atomic_fetch_add(out[t.tile[2]], t.tile[0] * 3 + t.tile[1] + 1)


@pytest.mark.accelerators("drivers")
def test_more_tiles_than_a_dimension_takes_in_three_dimensions(accelerator_view):
    shape = (2, 2, 65537)
    out = amp.array(amp.extent(shape[2]), amp.int32, np.zeros(shape[2], I32), accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, amp.extent(4, 2, 65537).tile(2, 1, 1), tile_columns, out)
    same(np.asarray(out), 1 + 2 + 4 + 5)


def test_many_tiles_on_the_reference_fold_too():
    view = amp.accelerator("reference").default_view
    hits = amp.array_view(np.zeros(1, I32))

    @amp.parallel_for_each(view, amp.extent(65537).tile(1))
    def _(t):
        if t.tile[0] > 65530:
            amp.atomic_fetch_add(hits[0], t.tile[0] - 65530)

    same(np.asarray(hits), 21)


# -- what is no domain ---------------------------------------------------------------------------------------------


@amp.kernel
def never_compiled(i, out):
    out[i] = no_such_name  # noqa: F821


@amp.kernel
def never_run(i, out):
    out[0] = 1


def message_of(domain, view, error=amp.InvalidComputeDomainError) -> str:
    out = amp.array_view(np.zeros(1, I32))
    with pytest.raises(error) as caught:
        amp.parallel_for_each(view, domain, never_compiled, out)
    assert np.asarray(out)[0] == 0
    return str(caught.value)


POSITIVE = "and a launch needs at least one thread in every dimension"
DOMAINS = [
    (amp.extent(0), f"extent(0): component 0 is 0, {POSITIVE}"),
    (amp.extent(-3), f"extent(-3): component 0 is -3, {POSITIVE}"),
    (amp.extent(4, 0), f"extent(4, 0): component 1 is 0, {POSITIVE}"),
    (amp.extent(4, -1, 0), f"extent(4, -1, 0): component 1 is -1, {POSITIVE}"),
    (amp.extent(2, 3, 4, 0, 1), f"extent(2, 3, 4, 0, 1): component 3 is 0, {POSITIVE}"),
    # Before the total, and before divisibility.
    (amp.extent(2**20, 2**20, 0), f"extent(1048576, 1048576, 0): component 2 is 0, {POSITIVE}"),
    (amp.extent(-1, 7).tile(2, 2), f"extent(-1, 7).tile(2, 2): component 0 is -1, {POSITIVE}"),
    (amp.extent(3).tile(8).truncate(), f"extent(0).tile(8): component 0 is 0, {POSITIVE}"),
    (
        amp.extent(9110917, 3627949, 558080),
        f"extent(9110917, 3627949, 558080) has {9110917 * 3627949 * 558080} threads; a launch takes at most 4294967295",
    ),
    (amp.extent(2**30, 4), f"extent(1073741824, 4) has {2**32} threads; a launch takes at most 4294967295"),
    (
        amp.extent(2**31 - 1, 3).tile(2, 2),
        f"extent(2147483647, 3).tile(2, 2) has {(2**31 - 1) * 3} threads; a launch takes at most 4294967295",
    ),
    (
        amp.extent(10).tile(4),
        "extent(10).tile(4): dimension 0, 10, is not a multiple of the tile's 4; "
        "write .tile(4).pad() and test the bounds in the kernel, or .truncate()",
    ),
    (
        amp.extent(8, 9).tile(4, 4),
        "extent(8, 9).tile(4, 4): dimension 1, 9, is not a multiple of the tile's 4; "
        "write .tile(4, 4).pad() and test the bounds in the kernel, or .truncate()",
    ),
    # A tile that does not divide is told before one that is too large.
    (
        amp.extent(1023).tile(4096),
        "extent(1023).tile(4096): dimension 0, 1023, is not a multiple of the tile's 4096; "
        "write .tile(4096).pad() and test the bounds in the kernel, or .truncate()",
    ),
]


@pytest.mark.parametrize(("domain", "message"), DOMAINS, ids=[m.split(":")[0].split(" has")[0] for _, m in DOMAINS])
def test_domains_that_cannot_run(accelerator_view, domain, message):
    assert message_of(domain, accelerator_view) == message


@pytest.mark.parametrize(
    "tile",
    [(4096,), (1025,), (64, 64), (2, 1024), (25, 41), (1, 1, 2048), (16, 16, 16), (65, 1, 1), (1, 2048, 1)],
)
def test_tiles_over_the_limits_of_the_device(accelerator, tile):
    limits = accelerator.limits
    domain = amp.extent(tile).tile(*tile)
    text = f"extent({', '.join(map(str, tile))}).tile({', '.join(map(str, tile))})"
    threads = int(np.prod(tile))
    reach = limits.tile_size[: len(tile)][::-1]
    if threads > limits.tile_threads:
        expected = (
            f"{text}: a tile has {threads} threads, but {accelerator.description} supports at most "
            f"{limits.tile_threads}: use a smaller tile, such as .tile("
        )
    else:
        over = [d for d, (n, most) in enumerate(zip(tile, reach, strict=True)) if n > most]
        if not over:
            return runs_in_full(accelerator, tile)
        expected = (
            f"{text}: dimension {over[0]} of the tile has {tile[over[0]]} threads; "
            f"{accelerator.description} supports at most {reach[over[0]]}"
        )
    message = message_of(domain, accelerator.default_view)
    assert message.startswith(expected)
    if expected.endswith("("):
        assert message.endswith(")")
        smaller = [int(n) for n in message.removeprefix(expected).removesuffix(")").split(", ")]
        assert len(smaller) == len(tile)
        assert np.prod(smaller) == 1 << (limits.tile_threads.bit_length() - 1)
    else:
        assert message == expected


def runs_in_full(accelerator, tile) -> None:
    hits = amp.array_view(np.zeros(tile, I32))
    amp.parallel_for_each(accelerator.default_view, hits.extent.tile(*tile), count_once_tiled, hits)
    same(np.asarray(hits), 1)


@amp.kernel
def count_once_tiled(t, hits):
    amp.atomic_fetch_inc(hits[t])


def test_the_largest_tiles_run(accelerator):
    limits = accelerator.limits
    x = min(limits.tile_threads, limits.tile_size[0])
    y = min(limits.tile_threads, limits.tile_size[1])
    z = min(limits.tile_threads, limits.tile_size[2])
    for tile in ((x,), (1, x), (y, 1), (1, 1, x), (1, y, 1), (z, 1, 1), (8, limits.tile_threads // 16, 2)):
        runs_in_full(accelerator, tile)


@pytest.mark.parametrize("wrong", [5.0, (3, 4.0), [2, "3"], (), True, (True, 2), None, "8", np.zeros(3), amp.index(3)])
def test_what_is_no_domain(accelerator_view, wrong):
    message = message_of(wrong, accelerator_view, TypeError)
    assert message.startswith("the domain of a launch must be an amp.extent, tiled or not, not ")
    assert "write amp.extent(" in message or "amp.accelerator(" in message


@pytest.mark.parametrize(
    "domain", [(3, 4), [3, 4], np.zeros((3, 4)).shape, np.array([3, 4]), (np.int64(3), np.uint8(4))]
)
def test_a_shape_as_domain(accelerator_view, domain):
    hits = amp.array_view(np.zeros((3, 4), np.int32))

    @amp.kernel
    def count_once(idx, hits):
        hits[idx] += 10 * idx[0] + idx[1]

    for _ in range(2):
        amp.parallel_for_each(accelerator_view, domain, count_once, hits)

    @amp.parallel_for_each(accelerator_view, domain)
    def _(idx):
        hits[idx] += 1

    assert amp.check(accelerator_view, domain, count_once, hits).ok
    assert count_once.inspect(accelerator_view, domain, hits).name == "count_once"
    assert np.array_equal(hits, 3 * (10 * np.arange(3)[:, None] + np.arange(4)) + 1)


@pytest.mark.parametrize("domain", [7, np.int64(7), (7,)])
def test_a_number_as_domain(accelerator_view, domain):
    hits = amp.array_view(np.zeros(7, np.int32))

    @amp.parallel_for_each(accelerator_view, domain)
    def _(idx):
        hits[idx] += idx[0]

    assert np.asarray(hits).tolist() == [*range(7)]
    with pytest.raises(amp.InvalidComputeDomainError, match="component 0 is 0"):
        amp.parallel_for_each(accelerator_view, 0, lambda idx: None)


def test_no_domain_at_all(accelerator_view):
    with pytest.raises(TypeError, match="parallel_for_each needs a domain"):
        amp.parallel_for_each()
    with pytest.raises(TypeError, match="parallel_for_each needs a domain"):
        amp.parallel_for_each(accelerator_view)


def test_a_tile_of_another_rank():
    with pytest.raises((TypeError, ValueError)):
        amp.extent(4, 4).tile(2)
    with pytest.raises((TypeError, ValueError)):
        amp.extent(4).tile(0)
    with pytest.raises((TypeError, ValueError)):
        amp.extent(1, 1, 1, 1).tile(1, 1, 1, 1)


def test_tiled_and_untiled_launches_of_one_kernel(accelerator_view):
    hits = amp.array_view(np.zeros((4, 6), I32))
    for domain in (hits.extent, hits.extent.tile(2, 3), hits.extent.tile(4, 1), hits.extent):
        amp.parallel_for_each(accelerator_view, domain, count_once, hits)
    same(np.asarray(hits), 4)


def test_the_same_kernel_over_other_types_and_ranks(accelerator_view):
    for shape in ((5,), (2, 3), (1, 2, 3)):
        for dtype in (I32, F32, U32):
            out = amp.array_view(np.zeros(shape, dtype))
            amp.parallel_for_each(accelerator_view, out.extent, ones, out)
            same(np.asarray(out), 1)


@amp.kernel
def ones(i, out):
    out[i] += 1


# -- targets -------------------------------------------------------------------------------------------------------


def test_the_target_is_that_of_the_arrays(accelerator):
    view = accelerator.create_view()
    out = amp.array(amp.extent(3), amp.int32, np.zeros(3, I32), accelerator_view=view)
    amp.parallel_for_each(out.extent, ones, out)
    amp.parallel_for_each(amp.accelerator.get_auto_selection_view(), out.extent, ones, out)
    amp.parallel_for_each(view, out.extent, ones, out)
    same(np.asarray(out), 3)


@amp.kernel
def add_both(i, a, b):
    a[i] += b[i]


def test_arrays_of_several_views_are_refused(accelerator):
    one, other = accelerator.create_view(), accelerator.create_view()
    a = amp.array(amp.extent(3), amp.int32, np.ones(3, I32), accelerator_view=one)
    b = amp.array(amp.extent(3), amp.int32, np.ones(3, I32), accelerator_view=other)
    with pytest.raises(amp.AmpError, match="the array `b` is on one accelerator_view of .*, and `a` is on another"):
        amp.parallel_for_each(a.extent, add_both, a, b)
    with pytest.raises(amp.AmpError, match="the array `a` is on one .*, and the launch is on another"):
        amp.parallel_for_each(other, a.extent, add_both, a, b)
    amp.parallel_for_each(one, a.extent, add_both, a, amp.array_view(b))
    same(np.asarray(a), 2)
    same(np.asarray(b), 1)


def test_the_cpu_accelerator_runs_no_kernels(accelerator_view):
    cpu = amp.accelerator("cpu").default_view
    out = amp.array_view(np.zeros(3, I32))
    with pytest.raises(amp.UnsupportedFeatureError, match="stores data but runs no kernels"):
        amp.parallel_for_each(cpu, out.extent, ones, out)
    staging = amp.array(amp.extent(3), amp.int32, accelerator_view=cpu, associated_accelerator_view=accelerator_view)
    with pytest.raises(amp.AmpError):
        amp.parallel_for_each(staging.extent, ones, staging)
    amp.copy(np.zeros(3, I32), staging)
    amp.parallel_for_each(accelerator_view, out.extent, ones, amp.array_view(staging))
    same(np.asarray(staging), 1)


def test_views_move_between_queues(accelerator):
    one, other = accelerator.create_view(), accelerator.create_view(amp.queuing_mode_immediate)
    data = np.zeros(5, I32)
    view = amp.array_view(data)
    for n in range(6):
        amp.parallel_for_each(one if n % 2 else other, view.extent, ones, view)
    same(np.asarray(view), 6)


def test_sections_written_on_several_queues_come_home(accelerator):
    views = [accelerator.create_view() for _ in range(3)]
    data = np.zeros((6, 4), I32)
    whole = amp.array_view(data)
    for n, queue in enumerate(views):
        part = whole.section(amp.index(2 * n, 0), amp.extent(2, 4))
        for _ in range(n + 1):
            amp.parallel_for_each(queue, part.extent, ones, part)
    same(np.asarray(whole), np.repeat([1, 2, 3], 2)[:, None] * np.ones(4))


def test_queues_flush_wait_and_mark(accelerator):
    view = accelerator.create_view()
    out = amp.array(amp.extent(4), amp.int32, np.zeros(4, I32), accelerator_view=view)
    amp.parallel_for_each(view, out.extent, ones, out)
    marker = view.create_marker()
    view.flush()
    amp.parallel_for_each(view, out.extent, ones, out)
    marker.wait()
    view.wait()
    same(np.asarray(out), 2)


# -- chains --------------------------------------------------------------------------------------------------------


@amp.kernel
def step(i, source, target, n):
    k = i[0]
    target[k] = source[(k + 1) % source.extent[0]] * 3 + n


@pytest.mark.parametrize("kind", ["array", "view"])
def test_a_chain_of_dependent_launches(accelerator_view, kind):
    length = 1000 if accelerator_view.accelerator.description != "reference" else 200
    start = np.arange(7, dtype=I32)
    if kind == "array":
        a, b = (amp.array(amp.extent(7), amp.int32, start, accelerator_view=accelerator_view) for _ in range(2))
    else:
        a, b = amp.array_view(start.copy()), amp.array_view(start.copy())
    expected = start.copy()
    for n in range(length):
        amp.parallel_for_each(accelerator_view, amp.extent(7), step, a, b, n)
        a, b = b, a
        expected = np.roll(expected, -1) * I32(3) + I32(n)
    same(np.asarray(a), expected)


def test_a_chain_in_place(accelerator_view):
    out = amp.array_view(np.zeros(5, I32))
    for _ in range(100):
        amp.parallel_for_each(accelerator_view, out.extent, ones, out)
    same(np.asarray(out), 100)


# -- many arguments ------------------------------------------------------------------------------------------------


@amp.kernel
def many_containers(i, a, b, c, d, e, f, g, out):
    out[i] = a[i] + b[i] * 2 + c[i] * 3 + d[i] * 4 + e[i] * 5 + f[i] * 6 + g[i] * 7


def test_more_launch_words_than_push_constants_hold(accelerator_view):
    # Eight strided containers of rank 3: offset, strides and extents go well over 32 words.
    base = np.arange(9 * 7 * 8, dtype=I32).reshape(9, 7, 8)
    cuts = [base[n % 3 : n % 3 + 4, ::2, n % 2 : 6 : 2] for n in range(7)]
    shape = cuts[0].shape
    cuts = [c[: shape[0], : shape[1], : shape[2]] for c in cuts]
    result = np.zeros((5, 5, 6), I32)
    out = amp.array_view(result[:4, ::-1, ::2][:, : shape[1], : shape[2]])
    sources = [amp.array_view(c.copy()[::-1], readonly=True) for c in cuts]
    for _ in range(3):
        amp.parallel_for_each(accelerator_view, out.extent, many_containers, *sources, out)
    expected = sum(c[::-1] * (n + 1) for n, c in enumerate(cuts))
    same(np.asarray(out), expected)


NAMES = [f"s{n}" for n in range(45)]


@amp.kernel
def many_numbers(
    i, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, s16, s17, s18, s19, s20, s21, s22, s23,
    s24, s25, s26, s27, s28, s29, s30, s31, s32, s33, s34, s35, s36, s37, s38, s39, s40, s41, s42, s43, s44, out,
):  # fmt: skip
    out[i] = (
        s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11 + s12 + s13 + s14 + s15 + s16 + s17 + s18 + s19
        + s20 + s21 + s22 + s23 + s24 + s25 + s26 + s27 + s28 + s29 + s30 + s31 + s32 + s33 + s34 + s35 + s36 + s37
        + s38 + s39 + s40 + s41 + s42 + s43 + s44 * i[0]
    )  # fmt: skip


def test_more_numbers_than_push_constants_hold(accelerator_view):
    out = amp.array_view(np.zeros(5, F32))
    for scale in (1, 2):
        values = [n * scale if n % 2 else float(n * scale) for n in range(45)]
        amp.parallel_for_each(accelerator_view, out.extent, many_numbers, *values, out)
        same(np.asarray(out), scale * (sum(range(44)) + 44 * np.arange(5)))


def test_the_same_launch_with_other_sizes(accelerator_view):
    for size in (1, 3, 100, 5):
        out = amp.array(amp.extent(size), amp.int32, np.zeros(size, I32), accelerator_view=accelerator_view)
        amp.parallel_for_each(accelerator_view, out.extent, ones, out)
        same(np.asarray(out), 1)


@amp.kernel
def tally(i, numbers, totals):
    for k in range(numbers.extent[0]):
        totals[0] += numbers[k]
        totals[1] = max(totals[1], numbers[k])
    totals[2] = 7


@pytest.mark.parametrize("shape", [(1,), (1, 1, 1)])
def test_a_single_thread_updates_elements(accelerator_view, shape, recwarn):
    """What races between threads is no race of one, whichever launch was first."""
    numbers, totals = amp.array_view(np.array([3, 9, 4], I32)), amp.array_view(np.zeros(3, I32))
    several = amp.extent((2,) * len(shape))
    for count in (1, 2, 3):
        amp.parallel_for_each(accelerator_view, amp.extent(shape), tally, numbers, totals)
        same(np.asarray(totals), [16 * count, 9, 7])
        with pytest.raises(amp.CompileError, match="VKA610: all threads update this one element of `totals`"):
            amp.parallel_for_each(accelerator_view, several, tally, numbers, totals)
    assert amp.check(accelerator_view, amp.extent(shape), tally, numbers, totals).ok
    totals.synchronize()
    assert not [each for each in recwarn if issubclass(each.category, amp.RaceWarning)]


@amp.kernel
def mark(i, out, *, value: amp.constant):
    out[0] = value


#: Numbers for the kernels: with another number, a test compiles its own kernel.
VALUES = itertools.count(5)


def test_several_threads_are_warned_of_after_a_single_one(accelerator_view):
    out, value = amp.array_view(np.zeros(2, I32)), next(VALUES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            amp.parallel_for_each(accelerator_view, amp.extent(1), mark, out, value=value)
        same(np.asarray(out), [value, 0])
        assert not caught
        for _ in range(2):
            mark.inspect(amp.extent(2), out, value=value)
    assert [str(each.message)[:6] for each in caught] == ["VKA620"]
