"""``*args`` of kernels and device functions: as many parameters as a call has arguments."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

SIZE = 21


@amp.kernel
def transform(idx, out, op, *inputs):
    out[idx] = op(*[a[idx] for a in inputs])


@amp.kernel
def weighted(idx, out, *inputs, weights: amp.constant):
    total = 0.0
    for a, w in zip(inputs, weights):  # noqa: B905 -- as people write it
        total += a[idx] * w
    for k, a in enumerate(inputs):
        a[idx] = k + a[idx]
    if len(inputs) > 1:
        total += inputs[1][idx] + inputs[-1].extent[0]
    out[idx] = total


@amp.func
def summed(first, *others):
    for x in others:
        first = first + x
    return first


@amp.func
def passed_on(op, *values):
    return op(*values) + op(*values[1:], values[0]) + len(values)


@amp.kernel
def mixed(idx, out, *parts):
    points, scale, offset = parts
    out[idx] = passed_on(summed, points[idx].x, points[idx].y, scale, offset[0])


@amp.kernel
def tiled(t, *views):
    parts = amp.tile_static((3, 4), amp.float32)
    out, *inputs = views
    for k, a in enumerate(inputs):
        parts[k, t.local[0]] = a[t]
    t.barrier.wait()
    total = 0.0
    for k in range(len(inputs)):
        total += parts[k, 3 - t.local[0]]
    out[t] = total


def arrays(count, size=SIZE):
    return [np.arange(size, dtype=np.float32) * (k + 1) - k for k in range(count)]


def test_transform(accelerator_view):
    for op in (lambda x: -x, lambda x, y: x * y + 1, summed, lambda *xs: sum(xs), lambda a, b, c, d: a - b * c + d):
        for count in (1, 2, 4):
            raw = arrays(count)
            try:
                expected = op(*raw)
            except TypeError:
                continue
            views = [amp.array_view(each) for each in raw]
            out = amp.array_view(np.zeros(SIZE, np.float32))
            amp.parallel_for_each(accelerator_view, out.extent, transform, out, op, *views)
            np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)


def test_loops_and_stores(accelerator_view):
    for count in (0, 1, 3):
        raw, weights = arrays(count), (2.0, 0.5, -1.0)[:count]
        views = [amp.array_view(each.copy()) for each in raw]
        out = amp.array_view(np.zeros(SIZE, np.float32))
        amp.parallel_for_each(accelerator_view, out.extent, weighted, out, *views, weights=weights)
        expected = sum((a * w for a, w in zip(raw, weights, strict=True)), np.zeros(SIZE, np.float32))
        if count > 1:
            expected = expected + raw[1] + 1 + SIZE
        np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)
        for k, view in enumerate(views):
            np.testing.assert_array_equal(np.asarray(view), raw[k] + k)


def test_numbers_and_vectors_among_them(accelerator_view):
    points = np.arange(2 * SIZE, dtype=np.float32).reshape(SIZE, 2)
    view, out = amp.array_view(points, dtype=amp.float2), amp.array_view(np.zeros(SIZE, np.float32))
    offset = amp.array_view(np.array([0.25], np.float32))
    for scale in (3, 4, np.float32(0.5)):
        amp.parallel_for_each(accelerator_view, out.extent, mixed, out, view, scale, offset)
        expected = 2 * (points[:, 0] + points[:, 1] + np.float32(scale) + 0.25) + 4
        np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)


def test_tiles(accelerator_view):
    raw = arrays(3, 24)
    views, out = [amp.array_view(each) for each in raw], amp.array_view(np.zeros(24, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent.tile(4), tiled, out, *views)
    expected = sum(each.reshape(-1, 4)[:, ::-1].reshape(-1) for each in raw)
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)


def test_methods(accelerator_view):
    class Sums:
        def __init__(self, scale):
            self.scale = scale

        @amp.func
        def of(self, *values):
            return sum(values) * self.scale

        @amp.kernel
        def run(self, idx, out, *inputs):
            out[idx] = self.of(*[a[idx] for a in inputs], 1.0)

    raw = arrays(2)
    out = amp.array_view(np.zeros(SIZE, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent, Sums(2.0).run, out, *map(amp.array_view, raw))
    np.testing.assert_allclose(np.asarray(out), (raw[0] + raw[1] + 1) * 2, rtol=1e-6)


def test_one_array_twice(accelerator_view):
    view = amp.array_view(np.ones(SIZE, np.float32))
    amp.parallel_for_each(accelerator_view, view.extent, transform, view, lambda x, y: x + 2 * y, view, view)
    assert set(np.asarray(view)) == {3.0}


def test_check_mode_names_them(accelerator_view):
    views = [amp.array_view(np.ones(size, np.float32)) for size in (8, 8, 5)]
    out = amp.array_view(np.zeros(8, np.float32))
    report = amp.check(accelerator_view, out.extent, transform, out, lambda x, y, z: x + y + z, *views)
    assert [(found.kind, found.variable) for found in report.findings] == [("bounds", "inputs[2]")]


def test_capture_and_replay(accelerator_view):
    raw = arrays(3)
    views, out = [amp.array_view(each) for each in raw], amp.array_view(np.zeros(SIZE, np.float32))
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(accelerator_view, out.extent, transform, out, summed, *views)
    graph.replay()
    np.testing.assert_allclose(np.asarray(out), sum(raw), rtol=1e-6)


def test_wrong_launches():
    out = amp.array_view(np.zeros(SIZE, np.float32))
    with pytest.raises(TypeError, match="launched without its argument `op`"):
        transform.inspect(out.extent, out)
    with pytest.raises(TypeError, match="no parameter `inputs`"):
        transform.inspect(out.extent, out, summed, inputs=(out, out))
    with pytest.raises(amp.CompileError, match=r"VKA205: `inputs\[1\]` is a string"):
        transform.inspect(out.extent, out, summed, out, "name")


@amp.func
def bumped(a, i):
    a[i] += 1
    return a[i]


@amp.func
def digits(x, y, z):
    return 100 * x + 10 * y + z


@amp.kernel
def spreads(idx, a, vectors, swapped, out):
    v = vectors[idx]
    first = bumped(a, idx)
    swapped[idx] = amp.float4(*v.zw, *v.xy)
    out[idx] = digits(first, *v.xy)
    v.x = 7
    out[idx] += digits(*v.xw, v.x) + digits(a[idx], *v.yz) + digits(*(v.x, v.y), *[v.z])


def test_values_among_other_arguments(accelerator_view):
    """Vectors, tuples and lists, at any place; the operands are evaluated before what changes them."""
    rng = np.random.default_rng(2)
    raw, vectors = rng.integers(0, 9, 37).astype(np.float32), rng.integers(0, 9, (37, 4)).astype(np.float32)
    a = amp.array(raw, accelerator_view=accelerator_view)
    v = amp.array(amp.extent(37), amp.float4, vectors, accelerator_view=accelerator_view)
    swapped = amp.array(amp.extent(37), amp.float4, accelerator_view=accelerator_view)
    out = amp.array(amp.extent(37), np.float32, accelerator_view=accelerator_view)
    amp.parallel_for_each(a.extent, spreads, a, v, swapped, out)
    np.testing.assert_array_equal(np.asarray(swapped), vectors[:, [2, 3, 0, 1]])
    x, y, z, w = vectors.T
    expected = digits(raw + 1, x, y) + digits(7, w, 7) + digits(raw + 1, y, z) + digits(7, y, z)
    np.testing.assert_array_equal(np.asarray(out), expected)


@amp.kernel
def changes_before(idx, a, v):
    a[idx] = digits(bumped(a, idx), *v[idx].xy)


@amp.kernel
def changes_behind(idx, a, v):
    a[idx] = digits(a[idx], *(bumped(a, idx), v[idx].x))


@pytest.mark.parametrize("kernel", [changes_before, changes_behind])
def test_values_that_others_may_change(kernel):
    a, v = amp.array_view(np.zeros(4, np.float32)), amp.array_view(np.zeros((4, 2), np.float32), dtype=amp.float2)
    with pytest.raises(amp.CompileError, match="unpacking between arguments of which one may change another"):
        kernel.inspect(a.extent, a, v)
