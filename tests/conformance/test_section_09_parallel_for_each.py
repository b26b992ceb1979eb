"""parallel_for_each: domains, checks, targets, captures."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, add_one, fill, numbers, on
from tests.conformance.registry import row


@amp.kernel
def count(i, hits):
    amp.atomic_fetch_inc(hits[i])


@row("9", "untiled: the kernel gets an index of the domain's rank, each index once, no divisibility")
@pytest.mark.parametrize("shape", [(1,), (257,), (7, 5), (3, 5, 7), (2, 3, 1, 5), (1, 2, 1, 3, 1, 2, 5)])
def test_untiled(accelerator_view, shape):
    hits = amp.array_view(np.zeros(shape, I32))
    on(accelerator_view, count, hits.extent, hits)
    assert np.all(np.asarray(hits) == 1)


@row("9", "untiled domains of rank up to 128")
@pytest.mark.parametrize("rank", [16, 128])
def test_high_ranks(accelerator_view, rank):
    shape = [1] * rank
    shape[0], shape[-1] = 2, 3
    out = amp.array_view(np.zeros(6, I32))

    @amp.parallel_for_each(accelerator_view, amp.extent(shape))
    def _(i):
        out[i[0] * 3 + i[rank - 1]] = i[0] * 10 + i[rank - 1] + 1

    assert np.asarray(out).tolist() == [1, 2, 3, 11, 12, 13]


@amp.kernel
def mark_few(i, hits):
    if i[0] % 20000 == 5 and i[1] > 65532:
        amp.atomic_fetch_inc(hits[i[0] // 20000])


@row("9", "untiled: up to 2^32 - 1 threads", differs="more threads than a dispatch takes fold into loops")
@pytest.mark.accelerators("swiftshader")
def test_many_threads(accelerator_view):
    hits = amp.array_view(np.zeros(4, I32))
    on(accelerator_view, mark_few, amp.extent(2000, 65535), hits)
    assert np.asarray(hits).tolist() == [2, 0, 0, 0]


@row("9", "tiled: the kernel gets a tiled_index with the same tile sizes")
@pytest.mark.parametrize(("shape", "tile"), [((12,), (4,)), ((4, 9), (2, 3)), ((2, 4, 6), (1, 2, 3))])
def test_tiled(accelerator_view, shape, tile):
    hits = amp.array_view(np.zeros(shape, I32))

    @amp.parallel_for_each(accelerator_view, hits.extent.tile(*tile))
    def _(t):
        amp.atomic_fetch_inc(hits[t])

    assert np.all(np.asarray(hits) == 1)


@row("9", "the result of the kernel is ignored", differs="a kernel that returns a value is refused, with what to write")
def test_results(accelerator_view):
    out = amp.array_view(np.zeros(3, I32))

    def kernel(i):
        out[i] = 1
        return i[0]

    with pytest.raises(amp.CompileError, match="returns? "):
        amp.parallel_for_each(accelerator_view, out.extent)(kernel)


@row("9", "behaves synchronously: containers synchronise lazily")
def test_synchronous(accelerator_view):
    view = amp.array_view(numbers(5))
    for _ in range(10):
        on(accelerator_view, add_one, view.extent, view)
    assert view[4] == 14


def domain_error(view, domain):
    out = amp.array_view(np.zeros(1, I32))
    with pytest.raises(amp.InvalidComputeDomainError) as caught:

        @amp.parallel_for_each(view, domain)
        def _(i):
            amp.atomic_fetch_inc(out[0])

    assert out[0] == 0
    return str(caught.value)


@row("9", "a component <= 0: reported before divisibility, the lowest dimension, with its value")
@pytest.mark.parametrize(
    ("shape", "dimension"), [((0,), 0), ((-3,), 0), ((4, 0), 1), ((-1, 0, -2), 0), ((5, -2, 0), 1)]
)
def test_component(accelerator_view, shape, dimension):
    text = domain_error(accelerator_view, amp.extent(shape))
    assert f"component {dimension} is {shape[dimension]}" in text
    tiled = amp.extent(shape).tile(*[3] * len(shape))
    assert f"component {dimension} is {shape[dimension]}" in domain_error(accelerator_view, tiled)


@row("9", "total > 4294967295, computed without overflow")
@pytest.mark.parametrize("shape", [(9110917, 3627949, 558080), (2**30, 4), (2**16, 2**16), (2**31 - 1, 3)])
def test_total(accelerator_view, shape):
    assert "4294967295" in domain_error(accelerator_view, amp.extent(shape))


@row("9", "tiled: not divisible, also a tile larger than the extent")
@pytest.mark.parametrize(("shape", "tile"), [((1023,), (1024,)), ((8, 9), (2, 2)), ((5, 4, 4), (2, 2, 2))])
def test_divisible(accelerator_view, shape, tile):
    assert "not a multiple" in domain_error(accelerator_view, amp.extent(shape).tile(*tile))


@row("9", "tiled: > 65535 tiles in a dimension", differs="more tiles than the device takes fold, and run")
@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("tiles", [65535, 65536, 70001])
def test_many_tiles(accelerator_view, tiles):
    out = amp.array(amp.extent(tiles * 2), amp.int32, accelerator_view=accelerator_view)

    @amp.parallel_for_each(accelerator_view, out.extent.tile(2))
    def _(t):
        out[t] = t.tile[0] + t.local[0]

    k = np.arange(tiles * 2)
    assert np.array_equal(np.asarray(out), k // 2 + k % 2)


@row(
    "9",
    "tile > 1024 threads; 3-D D0 > 64",
    differs="the device's own limits hold, at launch: InvalidComputeDomainError",
)
@pytest.mark.parametrize("tile", [(25, 41), (1025,), (2, 32, 33)])
def test_tile_limits(accelerator_view, tile):
    text = domain_error(accelerator_view, amp.extent(tile).tile(*tile))
    assert "supports at most" in text


@row("9", "tiles of 1024 threads in every direction")
@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.parametrize("tile", [(1, 1, 1024), (1, 1024, 1), (64, 4, 4), (1024, 1), (32, 32), (1024,)])
def test_largest_tiles(accelerator_view, tile):
    hits = amp.array_view(np.zeros(tile, I32))

    @amp.parallel_for_each(accelerator_view, hits.extent.tile(*tile))
    def _(t):
        hits[t] += 1

    assert np.all(np.asarray(hits) == 1)


@row("9", "the cpu accelerator as target, explicit or by a captured array, is UnsupportedFeatureError")
def test_cpu_target():
    cpu = amp.accelerator("cpu").default_view
    view, a = amp.array_view(numbers(3)), amp.array(amp.extent(3), amp.int32, accelerator_view=cpu)
    with pytest.raises(amp.UnsupportedFeatureError, match="runs no kernel"):
        on(cpu, add_one, view.extent, view)
    with pytest.raises(amp.UnsupportedFeatureError, match="runs no kernel"):
        amp.parallel_for_each(a.extent, add_one, a)


@row("9", "captured arrays on different accelerator_views, even of one device, are an error")
@pytest.mark.parametrize("elsewhere", ["another view", "another device"])
def test_mixed_arrays(accelerator_view, elsewhere):
    here = accelerator_view.accelerator
    second = next(a for a in amp.accelerator.get_all() if a.limits and a != here)
    other = here.create_view() if elsewhere == "another view" else second.default_view
    a = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator_view)
    b = amp.array(amp.extent(3), amp.int32, [4, 5, 6], accelerator_view=other)

    @amp.kernel
    def both(i, x, y):
        x[i] = y[i]

    for arguments in ((a, b), (b, a)):
        with pytest.raises(amp.AmpError, match="accelerator_view"):
            amp.parallel_for_each(a.extent, both, *arguments)
    with pytest.raises(amp.AmpError, match="accelerator_view"):
        on(other, add_one, a.extent, a)
    assert np.asarray(a).tolist() == [1, 2, 3] and np.asarray(b).tolist() == [4, 5, 6]
    on(accelerator_view, both, a.extent, a, amp.array_view(b))
    assert np.asarray(a).tolist() == [4, 5, 6]


def ran_on(view, launch):
    view.wait()
    before = view.statistics.dispatches
    launch()
    view.wait()
    return view.statistics.dispatches - before


@row("9", "target: the explicit view")
def test_explicit_target(accelerator_view):
    view = amp.array_view(numbers(3))
    assert ran_on(accelerator_view, lambda: on(accelerator_view, add_one, view.extent, view)) == 1
    by_accelerator = lambda: on(accelerator_view.accelerator, add_one, view.extent, view)  # noqa: E731
    assert ran_on(accelerator_view.accelerator.default_view, by_accelerator) == 1


@row("9", "target: that of captured arrays, else the default accelerator's default view")
def test_target_of_arrays(accelerator_view):
    a = amp.array(amp.extent(3), amp.int32, accelerator_view=accelerator_view)
    auto = amp.accelerator.get_auto_selection_view()
    assert ran_on(accelerator_view, lambda: amp.parallel_for_each(a.extent, fill, a, 3)) == 1
    assert ran_on(accelerator_view, lambda: amp.parallel_for_each(auto, a.extent, fill, a, 4)) == 1
    view = amp.array_view(numbers(3))
    default = amp.accelerator().default_view
    assert ran_on(default, lambda: amp.parallel_for_each(view.extent, fill, view, 3)) == 1
    assert ran_on(default, lambda: amp.parallel_for_each(auto, view.extent, fill, view, 3)) == 1


@row("9", "target: another view of the default accelerator that holds all captured array_views")
def test_target_of_views():
    other = amp.accelerator().create_view()
    one, two = amp.array_view(numbers(3)), amp.array_view(numbers(3))
    on(other, add_one, one.extent, one)

    @amp.kernel
    def add(i, x, y):
        x[i] += y[i]

    assert ran_on(other, lambda: amp.parallel_for_each(one.extent, add_one, one)) == 1
    assert ran_on(other, lambda: amp.parallel_for_each(one.extent, add, one, two)) == 0
    assert np.asarray(one).tolist() == [2, 4, 6]


@row("9", "array_views never constrain the target; they move")
def test_views_move(accelerator_view):
    view = amp.array_view(amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator_view))
    on(amp.accelerator("reference"), add_one, view.extent, view)
    assert np.asarray(view).tolist() == [2, 3, 4]


@row("9", "captured: array by reference, array_view by value")
def test_captured_containers(accelerator_view):
    a = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator_view)
    view = amp.array_view(a)

    @amp.parallel_for_each(accelerator_view, a.extent)
    def _(i):
        a[i] += 10
        view[i] += 100

    assert np.asarray(a).tolist() == [111, 112, 113]


@row("9", "captured: scalars incl. bool, index, extent, by value at launch")
def test_captured_scalars(accelerator_view):
    out = amp.array_view(np.zeros(2, F32))
    n, x, flag, u = 3, 0.5, True, np.uint32(2**31)
    point, shape = amp.index(4, 5), amp.extent(6, 7)

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = n + x + (100 if flag else 0) + point[0] * 10 + shape[1] + (1000 if u > 5 else 0)

    n = 50
    point[0] = 9
    assert np.asarray(out).tolist() == [1150.5] * 2


@row("9", "captured: short vectors, by value")
def test_captured_vectors(accelerator_view):
    out, v = amp.array_view(np.zeros(2, I32)), amp.int3(1, 2, 3)

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = v.x * 100 + v.y * 10 + v.z

    assert np.asarray(out).tolist() == [123, 123]


STRUCT = np.dtype([("x", F32), ("n", I32)])


@row("9", "captured: structs, by value")
def test_captured_structs(accelerator_view):
    out, record = amp.array_view(np.zeros(2, F32)), np.array([(0.5, 3)], STRUCT)[0]

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = record.x + record.n

    assert np.asarray(out).tolist() == [3.5, 3.5]


@row("9", "captured values are read-only in the kernel")
def test_captures_are_read_only(accelerator_view):
    out, n = amp.array_view(np.zeros(2, I32)), 3
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            nonlocal n
            n = 5
            out[i] = n


@amp.func
def double(x):
    return x * 2


@amp.func
def apply(function, x):
    return function(x)


@row("9", "captured: amp functions, also passed to device functions")
def test_captured_functions(accelerator_view):
    view, chosen = amp.array_view(numbers(3)), double

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i] = apply(chosen, view[i]) + double(1)

    assert np.asarray(view).tolist() == [2, 4, 6]


@row("9", "captured: ndarrays, lists, accelerators, files and other host objects are compile errors")
@pytest.mark.parametrize(
    "thing",
    [np.zeros(3, F32), [1, 2], {"a": 1}, "text", object(), amp.accelerator("cpu"), None, amp.completion_future()],
)
def test_captured_objects(accelerator_view, thing):
    out = amp.array_view(np.zeros(3, I32))
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            out[i] = thing[i]

    assert np.asarray(out).tolist() == [0, 0, 0]


@row("9", "the decorator form runs at once; the call form takes kernel and arguments")
def test_two_forms(accelerator_view):
    view = amp.array_view(numbers(3, dtype=U32))
    amp.parallel_for_each(accelerator_view, view.extent, add_one, view)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i] *= 2

    assert np.asarray(view).tolist() == [2, 4, 6]


@row("9", "constants: C++'s template arguments", differs="keyword-only parameters annotated amp.constant")
def test_constants(accelerator_view):
    view = amp.array_view(numbers(3))

    @amp.kernel
    def power(i, values, *, N: amp.constant):  # noqa: N803
        result = 1
        for _k in amp.static_range(N):
            result *= values[i]
        values[i] = result

    on(accelerator_view, power, view.extent, view, N=3)
    assert np.asarray(view).tolist() == [0, 1, 8]
