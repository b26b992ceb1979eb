"""`amp.tile_scope()`: arrays of a tile whose lifetimes do not overlap share memory."""

from __future__ import annotations

import itertools
import linecache
import random

import numpy as np
import pytest

import vkamp as amp
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT32, INT32, Array, Vector
from vkamp.legalize.shared_memory import with_shared_memory

TILE, COUNT = 24, 72


@amp.struct
class Pair:
    low: amp.int32
    high: amp.float32


@amp.func
def rotated(t, x):
    part = amp.tile_static(TILE, amp.int32)
    part[t.local] = x
    t.barrier.wait()
    y = part[(t.local[0] + 1) % TILE]
    t.barrier.wait()
    return y


@amp.func
def reversed_in(t, cells, x):
    cells[t.local] = x
    t.barrier.wait_with_tile_static_memory_fence()
    return cells[TILE - 1 - t.local[0]]


@amp.kernel
def mixed(t, a, out, flags):
    """Scopes in loops, branches, scopes and functions; arrays of every kind of element."""
    i = t.local[0]
    keep = amp.tile_static(TILE, amp.float32)
    keep[t.local] = a[t]
    total = 0.0
    for r in range(2):
        with amp.tile_scope():
            rows = amp.tile_static((2, TILE), amp.float32)
            rows[0, i] = a[t] + float(r)
            rows[-1, i] = 1.0
            t.barrier.wait()
            total += rows[0, TILE - 1 - i] + rows[1, i]
            with amp.tile_scope():
                vectors = amp.tile_static(TILE, amp.float_2)
                vectors[t.local] = amp.float_2(total, rows[1, i])
                t.barrier.wait()
                total += vectors[TILE - 1 - i].x
            t.barrier.wait()
        with amp.tile_scope():
            rows = amp.tile_static(TILE, amp.int32)
            total += float(reversed_in(t, rows, i + rotated(t, i)))
            t.barrier.wait()
    if flags[0] > 0:
        with amp.tile_scope():
            bins = amp.tile_static(4, amp.int32)
            if i < 4:
                bins[i] = 0
            t.barrier.wait()
            amp.atomic_fetch_max(bins[i % 4], i - 30)
            amp.atomic_fetch_add(bins[i % 4], 1)
            t.barrier.wait()
            total += float(bins[3])
            t.barrier.wait()
    for k in amp.static_range(2):
        with amp.tile_scope():
            sums = amp.tile_static((), amp.uint32)
            truths = amp.tile_static(TILE, amp.bool_)
            pairs = amp.tile_static(TILE, Pair)
            if i == 0:
                sums[()] = amp.uint32(k)
            truths[t.local] = i > 3
            pairs[t.local].low = i
            pairs[t.local].high = total
            t.barrier.wait()
            amp.atomic_fetch_add(sums[()], 1)
            if truths[TILE - 1 - i]:
                total += pairs[TILE - 1 - i].high + float(pairs[TILE - 1 - i].low)
            t.barrier.wait()
            total += float(sums[()])
            t.barrier.wait()
    out[t] = total + keep[TILE - 1 - i]


def expected(a):
    out = []
    i = np.arange(TILE)
    for x in a.reshape(-1, TILE).astype(np.float64):
        total = np.zeros(TILE)
        for r in range(2):
            total = total + (x + r)[::-1] + 1
            total = total + total[::-1]
            total = total + (i + np.roll(i, -1))[::-1]
        total = total + np.maximum(0, np.array([i[i % 4 == b].max() - 30 for b in range(4)]))[3] + (i % 4 == 3).sum()
        for k in range(2):
            total = total + np.where((i > 3)[::-1], total[::-1] + i[::-1], 0)
            total = total + k + TILE
        out.append(total + x[::-1])
    return np.concatenate(out).astype(np.float32)


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_scopes_everywhere(accelerator_view, lowering):
    a = np.arange(COUNT, dtype=np.float32)
    kernel = amp.kernel(lowering=lowering)(mixed.function)
    domain, flags = amp.extent(COUNT).tile(TILE), amp.array_view(np.ones(1, np.int32))
    out = amp.array_view(np.zeros(COUNT, np.float32))
    amp.parallel_for_each(accelerator_view, domain, kernel, amp.array_view(a), out, flags)
    np.testing.assert_array_equal(np.asarray(out), expected(a))
    again = amp.array_view(np.zeros(COUNT, np.float32))
    report = amp.check(accelerator_view, domain, kernel, amp.array_view(a), again, flags)
    assert report.findings == ()
    np.testing.assert_array_equal(np.asarray(again), expected(a))
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(accelerator_view, domain, kernel, amp.array_view(a), again, flags)
    graph.replay()
    np.testing.assert_array_equal(np.asarray(again), expected(a))


def shared_bytes(function):
    cells = amp.array_view(np.zeros(64, np.float32))
    return amp.kernel(function).inspect(cells.extent.tile(64), cells).shared_bytes


def test_memory_is_that_of_the_arrays_in_use_together():
    def kernel(t, a):
        keep = amp.tile_static(8, amp.float32)
        if t.local[0] < 8:
            keep[t.local[0]] = 0.0
        with amp.tile_scope():
            x = amp.tile_static(64, amp.float32)
            x[t.local] = a[t]
            with amp.tile_scope():
                y = amp.tile_static(16, amp.int32)
                if t.local[0] < 16:
                    y[t.local[0]] = 1
            t.barrier.wait()
            with amp.tile_scope():
                y = amp.tile_static(4, amp.float_4)
                if t.local[0] < 4:
                    y[t.local[0]] = amp.float_4(1.0)
            t.barrier.wait()
        with amp.tile_scope():
            x = amp.tile_static(100, amp.uint32)
            x[t.local] = 1

    # 8 floats; 100 words for 64 + 16 and 100 words; 4 vectors by themselves.
    assert shared_bytes(kernel) == 4 * 8 + 4 * 100 + 16 * 4


def test_arrays_that_are_apart_overlap_and_others_do_not():
    """Random lifetimes, as the legalization places them."""
    here, rng = Span("a.py", 1, 0, 1, 1), random.Random(1)
    for _ in range(200):
        sizes = [rng.randint(1, 9) for _ in range(rng.randint(2, 7))]
        arrays = [
            ir.Variable(f"v{k}", Array(rng.choice([INT32, FLOAT32, Vector(FLOAT32, 2)]), (n,)), "tile_static", here)
            for k, n in enumerate(sizes)
        ]
        pairs = [frozenset(p) for p in itertools.combinations([v.name for v in arrays], 2)]
        apart = frozenset(p for p in pairs if rng.random() < 0.5)
        index = ir.Const(here, INT32, 0)
        block = tuple(
            ir.Assign(
                here, place := ir.ArrayElement(here, v.type.element, ir.Local(here, v.type, v), (index,)), load(place)
            )
            for v in arrays
        )
        body = ir.Function("main", "k", (), (), (), block, here)
        kernel = ir.Kernel("k", 1, (4,), "t", (), (), tuple(arrays), (), body, False, (), here, apart=apart)
        made = with_shared_memory(kernel)
        where = {}
        for variable, statement in zip(arrays, made.body.body, strict=True):
            place = statement.place
            at = place.indices[0].value
            where[variable.name] = place.base.variable.name, range(at, at + variable.type.count)
            assert at + variable.type.count <= place.base.variable.type.count
        for one, other in map(tuple, pairs):
            (memory, cells), (other_memory, others) = where[one], where[other]
            if memory == other_memory and set(cells) & set(others):
                assert frozenset((one, other)) in apart
        assert sum(v.type.size for v in made.tile_statics) <= sum(v.type.size for v in arrays)


def load(place):
    return ir.Load(place.span, place.type, place)


def test_the_shader(golden_shader):
    def kernel(t, a):
        with amp.tile_scope():
            x = amp.tile_static(64, amp.float32)
            x[t.local] = a[t]
            t.barrier.wait()
            y = x[63 - t.local[0]]
            t.barrier.wait()
        with amp.tile_scope():
            x = amp.tile_static((4, 16), amp.int32)
            x[t.local[0] // 16, t.local[0] % 16] = int(y)
            t.barrier.wait()
            a[t] = float(x[3 - t.local[0] // 16, t.local[0] % 16])

    cells = amp.array_view(np.zeros(64, np.float32))
    golden_shader(amp.kernel(kernel, lowering="threads").inspect(cells.extent.tile(64), cells))


def reuses_without_barrier(t, a):
    with amp.tile_scope():
        x = amp.tile_static(64, amp.float32)
        x[t.local] = a[t]
    with amp.tile_scope():
        y = amp.tile_static(64, amp.float32)
        y[t.local] = a[t]


def reuses_after_a_jump(t, a):
    for k in range(3):
        with amp.tile_scope():
            x = amp.tile_static(64, amp.float32)
            x[t.local] = a[t]
            if a.extent[0] < k:
                break
            t.barrier.wait()
            a[t] = x[63 - t.local[0]]
            t.barrier.wait()
    with amp.tile_scope():
        y = amp.tile_static(64, amp.float32)
        y[t.local] = a[t]


def reuses_in_the_next_iteration(t, a):
    for _k in range(3):
        with amp.tile_scope():
            x = amp.tile_static(64, amp.float32)
            x[t.local] = a[t]
            t.barrier.wait()
            a[t] = x[63 - t.local[0]]
            t.barrier.wait()
        with amp.tile_scope():
            y = amp.tile_static(64, amp.float32)
            y[t.local] = a[t]


def reuses_on_the_other_side(t, a):
    if t.local[0] < 32:
        with amp.tile_scope():
            x = amp.tile_static(64, amp.float32)
            x[t.local] = a[t]
    else:
        with amp.tile_scope():
            y = amp.tile_static(64, amp.float32)
            y[t.local] = a[t]


def reuses_what_others_left(t, a):
    if t.local[0] < 32:
        with amp.tile_scope():
            x = amp.tile_static(64, amp.float32)
            x[t.local] = a[t]
            return
    with amp.tile_scope():
        y = amp.tile_static(64, amp.float32)
        y[t.local] = a[t]


@amp.func
def kept(t, a):
    mine = amp.tile_static(64, amp.float32)
    mine[t.local] = a[t]


def reuses_by_calls(t, a):
    with amp.tile_scope():
        kept(t, a)
    with amp.tile_scope():
        y = amp.tile_static(64, amp.float32)
        y[t.local] = a[t]


@pytest.mark.parametrize(
    "function",
    [
        reuses_without_barrier,
        reuses_after_a_jump,
        reuses_in_the_next_iteration,
        reuses_on_the_other_side,
        reuses_what_others_left,
        reuses_by_calls,
    ],
)
def test_a_missing_barrier_is_refused(function):
    with pytest.raises(amp.CompileError, match="VKA632"):
        shared_bytes(function)


def test_each_side_of_a_uniform_branch_may_have_the_memory():
    def kernel(t, a):
        if a.extent[0] > 9:
            with amp.tile_scope():
                x = amp.tile_static(64, amp.float32)
                x[t.local] = a[t]
        else:
            with amp.tile_scope():
                y = amp.tile_static(64, amp.float32)
                y[t.local] = a[t]

    assert shared_bytes(kernel) == 256


def test_a_view_or_tuple_of_an_array_ends_with_it():
    def kernel(t, a):
        with amp.tile_scope():
            x = amp.tile_static(64, amp.float32)
            both = (x, 1)
            x[t.local] = a[t]
        a[t] = both[0][0]

    with pytest.raises(amp.CompileError, match="VKA412: `both`"):
        shared_bytes(kernel)


@pytest.mark.parametrize("line", ["amp.tile_scope()", "s = amp.tile_scope()"])
def test_a_scope_is_a_statement(line):
    names = {"amp": amp}
    text = f"def kernel(t, a):\n    {line}\n"
    linecache.cache["<scope>"] = (len(text), None, text.splitlines(True), "<scope>")
    exec(compile(text, "<scope>", "exec"), names)
    with pytest.raises(amp.CompileError, match="write a statement, `with amp.tile_scope"):
        shared_bytes(names["kernel"])


def test_plain_python_has_no_scopes():
    with pytest.raises(amp.AmpError, match="tile_scope works in kernels"):
        amp.tile_scope()
