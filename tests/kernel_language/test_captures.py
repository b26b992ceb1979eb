"""What a kernel takes from around it: closures, globals, constants, and when each is compiled anew."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, same

SCALE = 3
OFFSET = 0.5
ENABLED = True
SIZES = (2, 3)
settings = types.SimpleNamespace(gain=2)


class Config:
    gain = 10


def test_closure_form_captures_containers_and_numbers(accelerator_view):
    data = np.arange(6, dtype=F32)
    source, result = amp.array_view(data), np.zeros(6, F32)
    out = amp.array_view(result)
    factor, shift, invert = 2.5, 3, True

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        value = source[i] * factor + shift
        out[i] = -value if invert else value

    same(np.asarray(out), -(data * 2.5 + 3))


def test_tiled_closure_form(accelerator_view):
    data = np.arange(12, dtype=I32).reshape(3, 4)
    source = amp.array_view(data)
    sums = amp.array(amp.extent(1, 2), amp.int32, accelerator_view=accelerator_view)

    @amp.parallel_for_each(accelerator_view, source.extent.tile(3, 2))
    def _(t):
        if t.local == (0, 0):
            total = 0
            for r in range(t.tile_dim0):
                for c in range(t.tile_dim1):
                    total += source[t.tile_origin[0] + r, t.tile_origin[1] + c]
            sums[t.tile] = total

    same(np.asarray(sums), [[data[:, :2].sum(), data[:, 2:].sum()]])


def add_to_all(view, out, number):
    @amp.parallel_for_each(view, out.extent)
    def _(i):
        out[i] += number


def test_closure_numbers_are_values_of_each_launch(accelerator_view):
    out = amp.array_view(np.zeros(4, F32))
    for number in (1, 2, 0.5, np.float32(0.25), np.int32(10), True):
        add_to_all(accelerator_view, out, number)
    same(np.asarray(out), 14.75)


def with_constant_size(view, out, size):
    @amp.kernel
    def k(t, target):
        memory = amp.tile_static(size, amp.int32)
        memory[t.local] = t.local[0] * size
        t.barrier.wait()
        total = 0
        for j in amp.static_range(size):
            total += memory[j]
        target[t] = total

    amp.parallel_for_each(view, out.extent.tile(size), k, out)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_closure_numbers_are_constants_where_one_is_needed(accelerator_view, size):
    out = amp.array_view(np.zeros(6, I32))
    with_constant_size(accelerator_view, out, size)
    same(np.asarray(out), size * size * (size - 1) // 2)


def test_a_closure_size_that_changes(accelerator_view):
    for size in (2, 3, 2, 6, 3):
        out = amp.array_view(np.zeros(6, I32))
        with_constant_size(accelerator_view, out, size)
        same(np.asarray(out), size * size * (size - 1) // 2)


def test_kernel_decorated_in_a_function_captures(accelerator_view):
    table = amp.array_view(np.array([10, 20, 30], I32))
    bias = 5

    @amp.kernel
    def k(i, out):
        out[i] = table[i[0] % 3] + bias

    for bias in (5, 7):
        out = amp.array_view(np.zeros(4, I32))
        amp.parallel_for_each(accelerator_view, out.extent, k, out)
        same(np.asarray(out), np.array([10, 20, 30, 10]) + bias)


@amp.kernel
def uses_globals(i, out):
    k = i[0]
    out[0, k] = SCALE * k
    out[1, k] = OFFSET + k
    out[2, k] = 1 if ENABLED else 0
    out[3, k] = SIZES[0] * 10 + SIZES[1]
    out[4, k] = math.pi
    out[5, k] = Config.gain
    scratch = amp.private(SCALE, amp.int32)
    for j in range(SCALE):
        scratch[j] = j
    out[6, k] = scratch[SCALE - 1]


def globals_expected():
    k = np.arange(3)
    return [SCALE * k, OFFSET + k, [int(ENABLED)] * 3, [23] * 3, [F32(math.pi)] * 3, [Config.gain] * 3, [SCALE - 1] * 3]


def test_globals_are_constants_that_may_change_between_launches(accelerator_view, monkeypatch):
    def check():
        out = amp.array_view(np.zeros((7, 3), F32))
        amp.parallel_for_each(accelerator_view, amp.extent(3), uses_globals, out)
        same(np.asarray(out), globals_expected())

    check()
    for name, value in (("SCALE", 5), ("OFFSET", 4), ("OFFSET", 1.5), ("ENABLED", False), ("SCALE", 1)):
        monkeypatch.setitem(globals(), name, value)
        check()
    monkeypatch.setattr(Config, "gain", 11)
    check()
    monkeypatch.undo()
    check()


GRID = amp.array_view(np.arange(6, dtype=I32).reshape(2, 3))


@amp.kernel
def uses_a_global_container(i, out):
    out[i] = GRID[i] + GRID[1, 2] + GRID.extent[1]


def test_global_containers_are_captured(accelerator_view, monkeypatch):
    out = amp.array_view(np.zeros((2, 3), I32))
    amp.parallel_for_each(accelerator_view, out.extent, uses_a_global_container, out)
    same(np.asarray(out), np.arange(6).reshape(2, 3) + 8)
    monkeypatch.setitem(globals(), "GRID", amp.array_view(np.full((2, 3), 7, I32)))
    amp.parallel_for_each(accelerator_view, out.extent, uses_a_global_container, out)
    same(np.asarray(out), 17)


@amp.kernel
def constant_parameters(i, out, *, COUNT: amp.constant, KIND: amp.constant = amp.int32, FN: amp.constant = None):  # noqa: N803
    values = amp.private(COUNT, KIND)
    for j in amp.static_range(COUNT):
        values[j] = KIND(j * 2.5)
    out[i] = FN(values[COUNT - 1])


@amp.func
def plus_one(x):
    return x + 1


@amp.func
def negated(x):
    return -x


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        ({"COUNT": 2, "FN": plus_one}, 3),
        ({"COUNT": 4, "FN": plus_one}, 8),
        ({"COUNT": 4, "FN": negated}, -7),
        ({"COUNT": 4, "KIND": amp.float32, "FN": negated}, -7.5),
        ({"COUNT": np.int32(3), "KIND": np.float32, "FN": plus_one}, 6),
    ],
)
def test_constant_parameters(accelerator_view, constants, expected):
    out = amp.array_view(np.zeros(2, F32))
    amp.parallel_for_each(accelerator_view, out.extent, constant_parameters, out, **constants)
    same(np.asarray(out), expected)


@amp.kernel
def unrolled(i, a, out, *, FIRST: amp.constant, LAST: amp.constant, STEP: amp.constant):  # noqa: N803
    k = i[0]
    total = 0
    for j in amp.static_range(FIRST, LAST, STEP):
        for m in amp.static_range(2):
            if j % 2 == m:
                total += a[k] * j + m
            if j == k:
                total += 1000
    out[k] = total


@pytest.mark.parametrize("bounds", [(0, 4, 1), (5, -3, -2), (3, 3, 1), (1, 10, 4)])
def test_unrolled_loops(accelerator_view, bounds):
    a = np.array([1, 2, 3], I32)
    out = amp.array_view(np.zeros(3, I32))
    constants = dict(zip(("FIRST", "LAST", "STEP"), bounds, strict=True))
    amp.parallel_for_each(accelerator_view, out.extent, unrolled, amp.array_view(a), out, **constants)
    expected = [
        sum((a[k] * j + m if j % 2 == m else 0) + (1000 if j == k else 0) for j in range(*bounds) for m in range(2))
        for k in range(3)
    ]
    same(np.asarray(out), expected)


@amp.kernel
def with_defaults(i, out, scale=2, shift=0.5):
    out[i] = i[0] * scale + shift


def test_default_arguments_of_kernels(accelerator_view):
    out = amp.array_view(np.zeros(3, F32))
    k = np.arange(3)
    amp.parallel_for_each(accelerator_view, out.extent, with_defaults, out)
    same(np.asarray(out), k * 2 + 0.5)
    amp.parallel_for_each(accelerator_view, out.extent, with_defaults, out, shift=3)
    same(np.asarray(out), k * 2 + 3)
    amp.parallel_for_each(accelerator_view, out.extent, with_defaults, out, 5, shift=1)
    same(np.asarray(out), k * 5 + 1)


@pytest.mark.parametrize(
    ("args", "constants", "message"),
    [
        (
            (),
            {},
            "with_defaults is launched without its argument `out`: write parallel_for_each(domain, with_defaults, out)",
        ),
        (
            (1, 2, 3, 4),
            {},
            "with_defaults takes 3 arguments after its index (out, scale, shift), but 4 are given: "
            "write parallel_for_each(domain, with_defaults, out, scale, shift)",
        ),
        ((1,), {"size": 3}, "with_defaults has no parameter `size`"),
        ((1, 2), {"scale": 3}, "with_defaults got two values for `scale`"),
    ],
)
def test_arguments_that_do_not_fit(accelerator_view, args, constants, message):
    with pytest.raises(TypeError) as caught:
        amp.parallel_for_each(accelerator_view, amp.extent(3), with_defaults, *args, **constants)
    assert str(caught.value) == message


def test_a_missing_constant(accelerator_view):
    out = amp.array_view(np.zeros(3, F32))
    with pytest.raises(TypeError) as caught:
        amp.parallel_for_each(accelerator_view, amp.extent(3), constant_parameters, out)
    message = "constant_parameters is launched without its constant `COUNT`: write COUNT=..."
    assert str(caught.value) == message


def test_what_a_launch_runs():
    with pytest.raises(TypeError, match="parallel_for_each runs a function decorated with @amp.kernel, not str"):
        amp.parallel_for_each(amp.extent(3), "kernel")
    with pytest.raises(
        amp.AmpError, match="uses_globals is a kernel, which cannot be called: launch it with amp.parallel_for_each"
    ):
        uses_globals(0, 1)
    with pytest.raises(TypeError, match=r"write amp.parallel_for_each\(domain, uses_globals, ...\)"):
        uses_globals[2, 64](1)


class Marked:
    def __init__(self, empty):
        self.empty = empty

    @amp.kernel
    def fill(self, i, slots):
        if slots[i] == self.empty:
            slots[i] = 6


def test_numbers_of_closures_that_int32_cannot_hold(accelerator_view):
    """They are constants, as those of modules are, and take the type of what they meet."""
    slots, out = amp.array_view(np.array([1, 2**32 - 1, 7], np.uint32)), amp.array_view(np.zeros(3, I32))

    def find(empty, large):
        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            out[i] = (slots[i] == empty) + 2 * (large > 5)

        same(np.asarray(out), (np.asarray(slots) == empty) + 2 * (large > 5))

    find(0xFFFFFFFF, 1e300)
    find(7, 1.0)
    amp.parallel_for_each(accelerator_view, slots.extent, Marked(0xFFFFFFFF).fill, slots)
    same(np.asarray(slots), [1, 6, 7])
