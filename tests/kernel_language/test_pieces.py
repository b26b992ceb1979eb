"""Plain kernels whose threads have several neighbouring elements each: results, and which kernels have them."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32

SMALL = ("uint8", "int8", "uint16", "int16", "float16")
TYPES = ("float32", "int32", "uint32", *SMALL)


@amp.func
def larger_or_less(v, w):
    if v > w:
        return v
    return w - v


@amp.kernel
def update(idx, x, y):
    y[idx] = x[idx] * 3 + y[idx]


@amp.kernel
def scale(idx, x, y):
    y[idx] = x[idx] * 2


@amp.kernel
def behind_a_test(idx, x, y):
    i = idx[0]
    if i < x.extent[0] - 2:
        y[i] = x[i] * 2


@amp.kernel
def with_returns(idx, x, y):
    i = idx[0]
    if i >= x.extent[0] - 1 or i < 1:
        return
    t = x[i] + y[i]
    y[i] = larger_or_less(t, y[i])
    if t > 7:
        return
    y[i] = t


@amp.kernel
def where(idx, x, y):
    if x[idx] > 5:
        y[idx] = x[idx]


@amp.kernel
def either(idx, x, y):
    if x[idx] > 5:
        y[idx] = x[idx]
    else:
        y[idx] = x[idx] + 1


@amp.kernel
def with_neighbours(idx, x, y):
    i = idx[0]
    v = x[i]
    if i > 0:
        v = v + x[i - 1]
    if i + 1 < x.extent[0]:
        v = v + x[i + 1]
    y[i] = v


@amp.kernel
def exchange(idx, x, y):
    t = x[idx]
    x[idx] = y[idx]
    y[idx] = t


@amp.kernel
def add_index(idx, x, y):
    first = x[idx] + idx[0]
    y[idx] = first


@amp.kernel
def names_that_are_taken(idx, x, y):
    y_value, first, piece, x_values, element = 1, 2, 3, 4, 5
    y[idx] = x[idx] + y_value + first + piece + x_values + element


def add_neighbours(x, y):
    v = x.copy()
    v[1:] = v[1:] + x[:-1]
    v[:-1] = v[:-1] + x[1:]
    y[...] = v


def update_some(x, y):
    t = (x + y)[1:-1]
    u = y[1:-1]
    u[...] = np.where(t > 7, np.where(t > u, t, u - t), t)


def put(target, values):
    target[...] = values.astype(target.dtype)


def swap(x, y):
    x[...], y[...] = y.copy(), x.copy()


#: The kernels, what numpy makes of the same arrays, and whether each store is certain.
KERNELS: dict[str, tuple[Any, Callable[..., None], bool]] = {
    "update": (update, lambda x, y: put(y, x * x.dtype.type(3) + y), True),
    "scale": (scale, lambda x, y: put(y, x * x.dtype.type(2)), True),
    "behind_a_test": (behind_a_test, lambda x, y: put(y[: max(x.size - 2, 0)], (x * x.dtype.type(2))[:-2]), True),
    "with_returns": (with_returns, update_some, True),
    "where": (where, lambda x, y: np.copyto(y, x, where=x > 5), False),
    "either": (either, lambda x, y: put(y, np.where(x > 5, x, x + x.dtype.type(1))), True),
    "with_neighbours": (with_neighbours, add_neighbours, True),
    "exchange": (exchange, swap, True),
    "add_index": (add_index, lambda x, y: put(y, x + np.arange(x.size).astype(x.dtype)), True),
    "names_that_are_taken": (names_that_are_taken, lambda x, y: put(y, x + x.dtype.type(15)), True),
}


def arrays(kind: str, *shape: int) -> list[Any]:
    rng = np.random.default_rng(sum(shape))
    return [rng.integers(0, 12, shape).astype(kind) for _ in range(2)]


def is_in_pieces(view: amp.accelerator_view, domain: amp.extent, kernel: Any, *args: Any) -> bool:
    return "const int piece = " in kernel.inspect(view, domain, *args).glsl


def check(view: amp.accelerator_view, name: str, kind: str, size: int, starts: tuple[int, int]) -> bool:
    """Runs a kernel on parts of arrays, which begin at `starts`; whether it is in pieces."""
    kernel, by_numpy, _ = KERNELS[name]
    given = arrays(kind, size + 3)
    expected = [a.copy() for a in given]
    views = [
        amp.array_view(a).section(amp.index(start), amp.extent(size)) for a, start in zip(given, starts, strict=True)
    ]
    amp.parallel_for_each(view, amp.extent(size), kernel, *views)
    for each in views:
        each.synchronize()
    by_numpy(*(a[start : start + size] for a, start in zip(expected, starts, strict=True)))
    for found, wanted in zip(given, expected, strict=True):
        np.testing.assert_array_equal(found, wanted, f"{name} of {kind}, {size} from {starts}")
    return is_in_pieces(view, amp.extent(size), kernel, *views)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.spread(2)
def test_parts_of_arrays(accelerator_view: amp.accelerator_view, name: str, kind: str) -> None:
    on_driver = accelerator_view.accelerator.device_path != "reference"
    certain = KERNELS[name][2] or kind in SMALL
    if kind == "float16" and accelerator_view.accelerator.is_emulated and on_driver:
        # Its conversions take long to compile.
        certain = certain and "SwiftShader" not in accelerator_view.accelerator.description
    for starts in ((0, 0), (1, 1), (1, 2)):
        for size in (3, 4, 17, 33):
            assert check(accelerator_view, name, kind, size, starts) == (on_driver and certain)


@pytest.mark.parametrize("kind", ["float32", "uint8", "int16"])
def test_every_size(accelerator_view: amp.accelerator_view, kind: str) -> None:
    for size in range(1, 41):
        check(accelerator_view, "update", kind, size, (size % 3, 1))


@pytest.mark.parametrize("kind", ["float32", *SMALL])
@pytest.mark.parametrize("name", ["update", "with_returns", "where", "with_neighbours", "exchange"])
@pytest.mark.spread(2)
def test_pieces_of_sixteen_bytes(
    accelerator_view: amp.accelerator_view, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on GPUs."""
    monkeypatch.setattr("vkamp.dispatch.targets.max_in_piece", lambda info: 16)
    for starts in ((0, 0), (1, 1), (1, 2)):
        for size in (5, 16, 37):
            check(accelerator_view, name, kind, size, starts)


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("most", [4, 16])
@pytest.mark.parametrize("kind", TYPES)
def test_by_the_direct_engine(
    accelerator_view: amp.accelerator_view, kind: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has types of 8 and 16 bits where the device has."""
    path = accelerator_view.accelerator.device_path.partition("@")[0]
    view = amp.accelerator(path, engine="vulkan").default_view
    monkeypatch.setattr("vkamp.dispatch.targets.max_in_piece", lambda info: most)
    for name in ("update", "where", "exchange"):
        for starts in ((0, 0), (1, 2)):
            check(view, name, kind, 37, starts)


@amp.kernel
def plane(idx, x, y):
    y[idx] = x[idx] * 3 + y[idx]


@amp.kernel
def plane_and_index(idx, x, y):
    i, j = idx
    if i < x.extent[0] - 1 and j >= 2:
        y[i, j] = x[i, j] * 3 + y[i, j] + i + 2 * j


@amp.kernel
def space_and_index(idx, x, y):
    y[idx] = x[idx] * 3 + y[idx] + idx[0] + 2 * idx[1] + 3 * idx[2]


def with_index(x, y):
    i, j = np.indices(x.shape)
    values = (x * x.dtype.type(3) + y + (i + 2 * j).astype(x.dtype)).astype(x.dtype)
    y[:-1, 2:] = values[:-1, 2:]


def with_three(x, y):
    i, j, k = np.indices(x.shape)
    put(y, x * x.dtype.type(3) + y + (i + 2 * j + 3 * k).astype(x.dtype))


@pytest.mark.parametrize("kind", ["float32", "uint8", "int16"])
@pytest.mark.parametrize("shape", [(7, 9), (5, 67), (3, 64), (64, 130), (2, 3, 5), (3, 2, 65)])
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.spread(2)
def test_more_dimensions(accelerator_view: amp.accelerator_view, kind: str, shape: tuple[int, ...], start: int) -> None:
    """Whole arrays are one row where nothing is made of the index; parts of them, and others, have rows."""
    cases: list[tuple[Any, Any]] = [(plane, KERNELS["update"][1])]
    cases.append((plane_and_index, with_index) if len(shape) == 2 else (space_and_index, with_three))
    for kernel, by_numpy in cases:
        given = arrays(kind, *(n + start for n in shape))
        expected = [a.copy() for a in given]
        origin, domain = amp.index(*(start for _ in shape)), amp.extent(*shape)
        views = [amp.array_view(a).section(origin, domain) for a in given]
        amp.parallel_for_each(accelerator_view, domain, kernel, *views)
        by_numpy(*(a[tuple(slice(start, None) for _ in shape)] for a in expected))
        views[1].synchronize()
        np.testing.assert_array_equal(given[1], expected[1])
        if accelerator_view.accelerator.device_path != "reference":
            long = shape[-1] >= 64 or (kernel is plane and not start)
            assert is_in_pieces(accelerator_view, domain, kernel, *views) == long


def test_containers_that_share_memory_are_not_in_pieces(accelerator_view: amp.accelerator_view) -> None:
    @amp.kernel
    def in_turn(idx, x, y, out):
        y[idx] = x[idx] + 1
        out[idx] = x[idx]

    values = np.arange(37, dtype=I32)
    both, out = amp.array_view(values), amp.array_view(np.zeros(37, I32))
    amp.parallel_for_each(accelerator_view, both.extent, in_turn, both, both, out)
    np.testing.assert_array_equal(np.asarray(out), np.arange(37) + 1)
    assert not is_in_pieces(accelerator_view, both.extent, in_turn, both, both, out)


def test_containers_that_are_only_read_may_share_memory(accelerator_view: amp.accelerator_view) -> None:
    @amp.kernel
    def differences(idx, x, y, out):
        out[idx] = y[idx] - x[idx]

    values = amp.array_view(np.arange(41, dtype=F32) ** 2)
    one, other = (values.section(amp.index(k), amp.extent(40)) for k in (0, 1))
    out = amp.array_view(np.zeros(40, F32))
    amp.parallel_for_each(accelerator_view, out.extent, differences, one, other, out)
    np.testing.assert_array_equal(np.asarray(out), 2 * np.arange(40) + 1)


def test_a_container_smaller_than_the_domain_is_not_in_pieces(accelerator_view: amp.accelerator_view) -> None:
    values, out = amp.array_view(np.arange(10, dtype=F32)), amp.array_view(np.zeros(16, F32))

    @amp.kernel
    def padded(idx, x, y):
        i = idx[0]
        if i < x.extent[0]:
            y[i] = x[i] + 1

    amp.parallel_for_each(accelerator_view, amp.extent(16), padded, values, out)
    np.testing.assert_array_equal(np.asarray(out), [*range(1, 11), *[0] * 6])
    assert "x_as_" not in padded.inspect(accelerator_view, amp.extent(16), values, out).glsl


def test_elements_with_gaps_are_not_in_pieces(accelerator_view: amp.accelerator_view) -> None:
    values = np.arange(80, dtype=F32)
    x, y = amp.array_view(values[::2]), amp.array_view(np.ones(40, F32))
    amp.parallel_for_each(accelerator_view, y.extent, update, x, y)
    np.testing.assert_array_equal(np.asarray(y), values[::2] * 3 + 1)
    assert "x_as_" not in update.inspect(accelerator_view, y.extent, x, y).glsl


def test_one_kernel_takes_both_forms(accelerator_view: amp.accelerator_view) -> None:
    """What a launch finds decides, also where it is repeated."""
    values = np.arange(80, dtype=F32)
    y = amp.array_view(np.zeros(40, F32))
    dense, gaps = amp.array_view(values[:40].copy()), amp.array_view(values[::2])
    for _ in range(3):
        amp.parallel_for_each(accelerator_view, y.extent, update, dense, y)
        amp.parallel_for_each(accelerator_view, y.extent, update, gaps, y)
    np.testing.assert_array_equal(np.asarray(y), 9 * (values[:40] + values[::2]))


@pytest.mark.accelerators("drivers")
def test_kernels_that_are_not_in_pieces(accelerator_view: amp.accelerator_view) -> None:
    @amp.kernel
    def with_loop(idx, x, y):
        total = 0.0
        for k in range(3):
            total += x[idx] * k
        y[idx] = total

    @amp.kernel
    def with_atomics(idx, x, y):
        amp.atomic_fetch_add(y[0], amp.int32(x[idx]))

    @amp.kernel
    def elsewhere(idx, x, y):
        y[x.extent[0] - 1 - idx[0]] = x[idx]

    @amp.kernel
    def before(idx, x, y):
        if idx[0] > 0:
            y[idx[0] - 1] = x[idx] + y[idx]

    @amp.kernel
    def long(idx, x, y):
        value = x[idx]
        for k in amp.static_range(40):
            value = value * value + k
        y[idx] = value

    x, y = amp.array_view(np.zeros(40, F32)), amp.array_view(np.zeros(40, F32))
    for kernel in (with_loop, elsewhere, before, long):
        assert not is_in_pieces(accelerator_view, x.extent, kernel, x, y)
    assert not is_in_pieces(accelerator_view, x.extent, with_atomics, x, amp.array_view(np.zeros(40, I32)))


def test_two_stores_and_a_return_between(accelerator_view: amp.accelerator_view) -> None:
    @amp.kernel
    def signs(idx, x, y, out):
        out[idx] = x[idx] * 2
        if x[idx] > 3:
            y[idx] = 1
            return
        y[idx] = -1

    x = np.arange(37, dtype=I32) % 7
    y, out = amp.array_view(np.zeros(37, I32)), amp.array_view(np.zeros(37, I32))
    amp.parallel_for_each(accelerator_view, y.extent, signs, amp.array_view(x), y, out)
    np.testing.assert_array_equal(np.asarray(y), np.where(x > 3, 1, -1))
    np.testing.assert_array_equal(np.asarray(out), 2 * x)


@pytest.mark.parametrize("check_mode", ["0", "1"])
def test_precise_kernels(
    accelerator_view: amp.accelerator_view, check_mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @amp.kernel(precise=True)
    def sums(idx, x, y, out):
        product = x[idx] * y[idx]
        out[idx] = product - x[idx] * x[idx] + y[idx]

    monkeypatch.setenv("VKAMP_CHECK", check_mode)
    rng = np.random.default_rng(3)
    x, y = (rng.random(1003, F32) for _ in range(2))
    views = [amp.array_view(x), amp.array_view(y), amp.array_view(np.zeros(1003, F32))]
    amp.parallel_for_each(accelerator_view, views[0].extent, sums, *views)
    np.testing.assert_array_equal(np.asarray(views[2]), x * y - x * x + y)


def test_captures_repeat_them(accelerator_view: amp.accelerator_view) -> None:
    x, y = amp.array_view(np.arange(37, dtype=np.uint8)), amp.array_view(np.zeros(37, np.uint8))
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(accelerator_view, y.extent, update, x, y)
    for _ in range(3):
        graph.replay()
    np.testing.assert_array_equal(np.asarray(y), (np.arange(37) * 9).astype(np.uint8))


@amp.kernel
def of_halves(idx, a, n, x, y):
    factor = amp.float16(a)
    y[idx] = (factor * x[idx] if x[idx] < amp.float16(a) else x[idx]) + amp.float16(n)


@pytest.mark.parametrize("size", [1, 4, 17, 100, 1003])
def test_launch_values_become_float16_once(accelerator_view: amp.accelerator_view, size: int) -> None:
    x = np.linspace(-5, 5, size).astype(np.float16)
    y = amp.array_view(np.zeros(size, np.float16))
    amp.parallel_for_each(accelerator_view, y.extent, of_halves, 0.1, 3, amp.array_view(x), y)
    a = np.float16(0.1)
    np.testing.assert_array_equal(np.asarray(y), np.where(x < a, a * x, x) + np.float16(3))


def test_launch_values_become_float16_before_the_elements() -> None:
    """Where the engine does not enable float16, and functions compute it."""
    view = amp.accelerator("llvmpipe@kompute").default_view
    x, y = (amp.array_view(np.zeros(100, np.float16)) for _ in range(2))
    text = of_halves.inspect(view, x.extent, 0.1, 3, x, y).glsl
    assert text.count("to_half(a)") == text.count("to_half(float(n))") == 1
    assert "element(a_half, n_half, " in text
