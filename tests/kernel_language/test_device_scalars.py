"""Elements in memory that launches pass by value: a ``device_scalar`` as an argument, and captured."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code="no-untyped-def,no-any-return"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, same
from tests.noted import compilations, refuse_reads
from vkamp import algorithms as alg
from vkamp import pipeline
from vkamp.dispatch import preparing
from vkamp.front import ElementType

N = 1003


@amp.kernel
def shift(idx, a, m):
    a[idx] -= m


@amp.kernel
def between(idx, a, low, high):
    if a[idx] < low:
        a[idx] = low
    elif a[idx] > high:
        a[idx] = high


@amp.kernel
def annotated(idx, a: amp.array_view, m: amp.float32):
    a[idx] = 2 * m


@amp.kernel
def grown(idx, a, n):
    total = 0
    for k in range(n):
        total += k
    a[idx] = total


@amp.kernel
def behind_a_barrier(t, a, m):
    part = amp.tile_static((8,), amp.float32)
    part[t.local] = a[t.global_]
    if m > 3:
        t.barrier.wait()
        a[t.global_] = part[7 - t.local[0]] + m


@amp.func
def twice(x):
    return 2 * x


@amp.kernel
def with_functions(idx, a, m):
    def less(x):
        return x - m

    a[idx] = less(a[idx]) + twice(m)


@amp.struct
class Range:
    low: amp.float32
    high: amp.float32
    steps: (amp.int32, 3)
    kind: amp.uint8

    @amp.func
    def width(self):
        return self.high - self.low


@amp.kernel
def of_struct(idx, a, r):
    a[idx] = r.width() * r.steps[2] + r.low + r.kind


@amp.kernel
def copied(idx, out, value):
    out[idx] = value


@amp.kernel
def chosen(idx, a, wanted):
    a[idx] = a[idx] if wanted else -a[idx]


def numbers() -> Any:
    return (np.arange(N, dtype=F32) * 7 % 101).astype(F32)


def scalar_of(view, value, dtype: Any, *, at: int = 0) -> Any:
    """A device_scalar whose element is at a place in an array."""
    memory = np.zeros(at + 3, dtype)
    memory[at] = value
    return alg.device_scalar(amp.array_view(amp.array(memory, accelerator_view=view))[at : at + 1])


@pytest.fixture
def arrays(accelerator_view):
    raw = numbers()
    return raw, amp.array(raw, accelerator_view=accelerator_view)


@pytest.fixture
def compiled(monkeypatch):
    """The names of the kernels that are compiled."""
    preparing._cache.clear()
    for kernel in (shift, between, copied):
        kernel.launches.clear()
        kernel.plans.clear()
    return compilations(monkeypatch)


@pytest.fixture
def unread(monkeypatch):
    """No launch may read a device_scalar on the host."""
    refuse_reads(monkeypatch)


def test_arguments(arrays, unread):
    raw, a = arrays
    amp.parallel_for_each(a.extent, shift, a, alg.min(alg.transform(lambda x: x + 3, a)))
    same(a, raw - 3)
    amp.parallel_for_each(a.extent, between, a, alg.min(a), alg.sum(a))
    same(a, raw - 3)


def test_two_arguments_of_one_array(accelerator_view, arrays):
    raw, a = arrays
    both = amp.array_view(amp.array(np.array([20, 50], F32), accelerator_view=accelerator_view))
    low, high = alg.device_scalar(both[:1]), alg.device_scalar(both[1:])
    amp.parallel_for_each(a.extent, between, a, low, high)
    same(a, raw.clip(20, 50))
    amp.parallel_for_each(a.extent, between, a, low, low)
    same(a, np.full(N, 20))


def test_annotated_parameters_and_keywords(accelerator_view, arrays):
    _, a = arrays
    amp.parallel_for_each(a.extent, annotated, a, scalar_of(accelerator_view, 4, F32))
    same(a, np.full(N, 8))
    amp.parallel_for_each(a.extent, annotated, a, m=scalar_of(accelerator_view, 5, F32))
    same(a, np.full(N, 10))


def test_where_numbers_are_used(accelerator_view, arrays):
    raw, a = arrays
    amp.parallel_for_each(a.extent, grown, a, alg.count(a, 5))
    n = int((raw == 5).sum())
    same(a, np.full(N, n * (n - 1) // 2))
    padded = amp.array(raw[:1000], accelerator_view=accelerator_view)
    amp.parallel_for_each(padded.extent.tile(8), behind_a_barrier, padded, scalar_of(accelerator_view, 4, F32, at=2))
    same(padded, raw[:1000].reshape(-1, 8)[:, ::-1].ravel() + 4)
    b = amp.array(raw, accelerator_view=accelerator_view)
    amp.parallel_for_each(b.extent, with_functions, b, scalar_of(accelerator_view, 4, F32))
    same(b, raw + 4)


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "int32", "uint32", "float16", "float32"])
def test_types(accelerator_view, arrays, name):
    raw, a = arrays
    if name == "bool":
        for value in (True, False):
            wanted = alg.any_of(a, lambda x, v=value: (x == 1) == v) if value else alg.all_of(a, lambda x: x == 1)
            amp.parallel_for_each(a.extent, chosen, a, wanted)
            raw = raw if value else -raw
            same(a, raw)
        return
    value = -3 if name in ("int16", "int32", "float16", "float32") else 200
    amp.parallel_for_each(a.extent, copied, a, scalar_of(accelerator_view, value, name, at=1))
    same(a, np.full(N, value))


def test_vectors_and_complex_numbers(accelerator_view):
    given = amp.array(amp.extent(3), amp.float3, accelerator_view=accelerator_view)
    amp.copy(np.arange(9, dtype=F32).reshape(3, 3), given)
    out = amp.array(amp.extent(5), amp.float3, accelerator_view=accelerator_view)
    middle = alg.device_scalar(amp.array_view(given)[1:2])
    amp.parallel_for_each(out.extent, copied, out, middle)
    same(np.asarray(out), np.tile(F32([3, 4, 5]), (5, 1)))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(idx):
        out[idx] = middle.zyx * middle.y

    same(np.asarray(out), np.tile(F32([20, 16, 12]), (5, 1)))
    z = scalar_of(accelerator_view, 2 + 3j, np.complex64, at=1)
    squares = amp.array(amp.extent(4), amp.complex64, accelerator_view=accelerator_view)

    @amp.parallel_for_each(accelerator_view, squares.extent)
    def _(idx):
        squares[idx] = z * z

    same(np.asarray(squares), np.full(4, (2 + 3j) ** 2))


def test_structs(accelerator_view, arrays):
    _, a = arrays
    r = scalar_of(accelerator_view, (1.5, 4.0, (1, 2, 3), 200), Range.dtype, at=1)
    amp.parallel_for_each(a.extent, of_struct, a, r)
    same(a, np.full(N, 2.5 * 3 + 1.5 + 200))


class Limited:
    def __init__(self, limit, width=None) -> None:
        self.limit, self.width = limit, width

    @amp.func
    def under(self, x):
        return x < self.limit

    @amp.kernel
    def clear(self, idx, a):
        if not self.under(a[idx]):
            a[idx] = self.limit

    @amp.func
    def scaled(self, x):
        return x * self.width.steps[1] + self.limit

    @amp.kernel
    def scale(self, idx, a):
        a[idx] = self.scaled(a[idx])


def test_captures(accelerator_view, arrays):
    raw, a = arrays
    m = scalar_of(accelerator_view, 9, F32, at=1)

    @amp.parallel_for_each(a.extent)
    def _(idx):
        for k in range(3):
            a[idx] += m * k

    same(a, raw + 27)
    amp.parallel_for_each(a.extent, Limited(m).clear, a)
    same(a, np.minimum(raw + 27, 9))
    r = scalar_of(accelerator_view, (0, 0, (1, 2, 3), 0), Range.dtype, at=2)
    amp.parallel_for_each(a.extent, Limited(m, r).scale, a)
    same(a, np.minimum(raw + 27, 9) * 2 + 9)


def test_a_global(accelerator_view, arrays, monkeypatch):
    raw, a = arrays
    for value in (3, 4):
        monkeypatch.setitem(globals(), "LEVEL", scalar_of(accelerator_view, value, F32))
        amp.parallel_for_each(a.extent, below_level, a)
    same(a, raw - 7)
    monkeypatch.setitem(globals(), "LEVEL", 2.0)
    amp.parallel_for_each(a.extent, below_level, a)
    same(a, raw - 9)


LEVEL: Any = 0.0


@amp.kernel
def below_level(idx, a):
    a[idx] -= LEVEL


@amp.func
def above_level(x):
    return x > LEVEL


@amp.kernel
def calls_above_level(idx, a):
    a[idx] = 1 if above_level(a[idx]) else 0


def test_the_value_is_that_of_the_launch_before(accelerator_view, arrays):
    raw, a = arrays
    memory = amp.array(np.zeros(1, F32), accelerator_view=accelerator_view)
    m = alg.device_scalar(memory)
    expected = raw
    for value in range(5):
        amp.parallel_for_each(memory.extent, copied, memory, float(value))
        amp.parallel_for_each(a.extent, shift, a, m)
        expected = expected - value
    same(a, expected)


def test_a_new_scalar_compiles_nothing(accelerator_view, arrays, compiled):
    raw, a = arrays
    kept = []
    for k, at in enumerate((0, 1, 0, 2)):
        kept.append(scalar_of(accelerator_view, k, F32, at=at))
        amp.parallel_for_each(a.extent, shift, a, kept[-1])
    pair = amp.array_view(amp.array(np.array([0, 99], F32), accelerator_view=accelerator_view))
    amp.parallel_for_each(a.extent, between, a, kept[0], kept[1])
    amp.parallel_for_each(a.extent, between, a, alg.device_scalar(pair[:1]), alg.device_scalar(pair[1:]))
    assert compiled == ["shift", "between"]
    same(a, (raw - 6).clip(0, 1))
    for another in (scalar_of(accelerator_view, 1, np.int32), 1.0, kept[0]):
        amp.parallel_for_each(a.extent, shift, a, another)
    assert compiled == ["shift", "between", "shift", "shift"]
    same(a, (raw - 6).clip(0, 1) - 2)


def test_repeated_launches(accelerator_view, arrays):
    raw, a = arrays
    memory = amp.array(np.zeros(1, F32), accelerator_view=accelerator_view)
    scalars = [alg.device_scalar(memory) for _ in range(2)]
    expected = raw
    for k in range(8):
        amp.copy(np.array([k], F32), memory)
        amp.parallel_for_each(a.extent, shift, a, scalars[k % 2])
        expected = expected - k
    same(a, expected)


def test_captured_launches(accelerator_view, arrays):
    raw, a = arrays
    memory = amp.array(np.zeros(1, F32), accelerator_view=accelerator_view)
    m = alg.device_scalar(memory)
    with amp.capture() as graph:
        amp.parallel_for_each(a.extent, shift, a, m)
        amp.parallel_for_each(a.extent, shift, a, alg.min(a))
    expected = raw
    for value in (3, 5, 4):
        amp.copy(np.array([value], F32), memory)
        graph.replay()
        expected = expected - value
        expected = expected - expected.min()
    same(a, expected)


def test_indirect_launches(accelerator_view, arrays):
    raw, a = arrays
    found = alg.select(a, lambda x: x > 50)
    amp.parallel_for_each(amp.indirect(found), shift, found.values, scalar_of(accelerator_view, 5, F32))
    same(np.asarray(found), raw[raw > 50] - 5)


def test_check_mode(accelerator_view, arrays):
    raw, a = arrays
    report = amp.check(a.extent, shift, a, scalar_of(accelerator_view, 2, F32, at=1))
    assert report.ok and not report.not_covered
    same(a, raw - 2)


def test_streams(accelerator_view):
    raw = np.arange(700, dtype=F32).reshape(100, 7)
    memory = raw.copy()
    m = scalar_of(accelerator_view, 6, F32)
    amp.stream(shift, amp.extent(100, 7), [memory, m], block=33, accelerator_view=accelerator_view)
    same(memory, raw - 6)


def test_memory_that_the_launch_writes(accelerator_view):
    array = amp.array(np.arange(8, dtype=F32), accelerator_view=accelerator_view)
    whole, m = amp.array_view(array), alg.device_scalar(amp.array_view(array)[3:4])
    message = "takes `m` as a number, which must not change, and writes it as an element of `a`"
    with pytest.raises(amp.AmpError, match=message):
        amp.parallel_for_each(array.extent, shift, array, m)
    with pytest.raises(amp.AmpError, match=message):
        amp.check(array.extent, shift, array, m)
    with amp.capture() as graph:
        amp.parallel_for_each(array.extent, shift, array, m)
    with pytest.raises(amp.AmpError, match=message):
        graph.replay()
    for part in (whole[:3], whole[4:]):
        amp.parallel_for_each(part.extent, shift, part, m)
    same(array, [-3, -2, -1, 3, 1, 2, 3, 4])
    # After launches that were allowed, with containers of the same shapes.
    with pytest.raises(amp.AmpError, match=message):
        amp.parallel_for_each(amp.extent(4), shift, whole[2:6], m)


@amp.kernel
def subscripted(idx, a, m):
    a[idx] = m[0]


@amp.kernel
def assigned(idx, a, m):
    m += 1
    a[idx] = m


@amp.kernel
def as_a_shape(idx, a, n):
    part = amp.private(n, amp.float32)
    a[idx] = part[0]


@amp.kernel
def as_a_constant(idx, a, *, n: amp.constant):
    a[idx] = n


def test_errors(accelerator_view, arrays, monkeypatch):
    _, a = arrays
    m = scalar_of(accelerator_view, 1, F32)
    n = scalar_of(accelerator_view, 1, np.int32)
    for kernel, given, named, message in (
        (subscripted, m, {}, "`m` is a float32, which has no elements"),
        (assigned, m, {}, "`m` cannot be assigned: the launch passes it by value"),
        (as_a_shape, n, {}, r"`n` is not\n(.*\n)*.*wait for it before the launch, `known = int\(n\)`"),
        (as_a_constant, None, {"n": n}, "`n` is a device_scalar, which a kernel cannot use"),
    ):
        with pytest.raises(amp.CompileError, match=message):
            amp.parallel_for_each(a.extent, kernel, a, *([] if given is None else [given]), **named)
    monkeypatch.setitem(globals(), "LEVEL", m)
    with pytest.raises(amp.CompileError, match="`LEVEL` is a device_scalar(.*\n)*.*pass it to the function"):
        amp.parallel_for_each(a.extent, calls_above_level, a)


@pytest.mark.parametrize("kind", ["number", "truth", "vector", "struct"])
def test_descriptions_of_launches(accelerator_view, arrays, kind):
    """What hand-edited shaders and kernels compiled ahead are found by."""
    _, a = arrays
    given = {
        "number": scalar_of(accelerator_view, 1, np.uint8, at=1),
        "truth": alg.any_of(a, lambda x: x > 0),
        "vector": alg.device_scalar(amp.array(amp.extent(1), amp.float3, accelerator_view=accelerator_view)),
        "struct": scalar_of(accelerator_view, (1.5, 4), np.dtype([("low", "f4"), ("count", "i4")])),
    }[kind]
    arguments = pipeline.collect(copied.function, (a, given), {})
    request = pipeline.make_request(copied.function, False, 1, None, arguments, accelerator_view)
    again, _ = pipeline.request_of(copied.function, pipeline.describe_request(request, {}))
    assert again.args == request.args
    assert isinstance(again.args[1][1], ElementType)


def test_shaders(accelerator_view, arrays):
    _, a = arrays
    m = scalar_of(accelerator_view, 1, F32)
    found = shift.inspect(a.extent, a, m)
    assert "//   m  float32, by value, read" in found.glsl
    assert "restrict readonly buffer m_buffer" in found.glsl
