"""Functions of plain Python in kernels: lambdas and functions without a decorator, as arguments and captures."""

# ruff: noqa: B023 -- functions that capture what a loop changes are what is tested

from __future__ import annotations

import ast
import functools
import gc
import math
import os
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest

import vkamp as amp
from tests.noted import compilations
from vkamp.dispatch import launch as launching
from vkamp.dispatch import preparing
from vkamp.front import lambdas

SIZE = 37
SCALE = 3
OFFSET = 0.5


@amp.kernel
def transform(idx, f, a, out):
    out[idx] = f(a[idx])


@amp.kernel
def constant_transform(idx, a, out, *, f: amp.constant):
    out[idx] = f(a[idx])


@amp.kernel
def binary(idx, op, a, b, out):
    out[idx] = op(a[idx], b[idx])


@amp.func
def twice(op, x):
    return op(op(x))


@amp.func
def chained(first, second, x):
    return twice(first, second(x))


@amp.kernel
def nested(idx, f, a, out, *, g: amp.constant, flag: amp.constant):
    chosen = f if flag else g
    local = g
    out[idx] = chained(chosen, local, a[idx])


def affine(x):
    return x * SCALE + OFFSET


def branching(x):
    total = 0.0
    for k in range(4):
        if x > k:
            total += affine(x)
        else:
            return total
    return total


@amp.kernel
def calls_plain(idx, a, out):
    out[idx] = branching(a[idx])


def numbers(size=SIZE, dtype=np.float32):
    return (np.arange(size) * 0.75 - 5).astype(dtype)


def launched(view, kernel, arguments, raw, out_type=None, **constants):
    """What a kernel stores for the elements of ``raw``."""
    a, out = amp.array_view(raw), amp.array_view(np.zeros(raw.shape, out_type or raw.dtype))
    before = [a, out]
    amp.parallel_for_each(view, a.extent, kernel, *arguments, *before, **constants)
    return np.asarray(out)


@pytest.fixture
def compiled(monkeypatch):
    """The names of the kernels that are compiled, of kernels that were never launched."""
    preparing._cache.clear()
    for kernel in (transform, constant_transform):
        kernel.launches.clear()
        kernel.plans.clear()
    return compilations(monkeypatch)


def test_lambdas_and_functions(accelerator_view):
    raw = numbers()
    for kernel in (transform, constant_transform):
        for f in (lambda x: x * 2 + 1, affine, branching, amp.func(lambda x: -x)):
            given = {"f": f} if kernel is constant_transform else {}
            got = launched(accelerator_view, kernel, () if given else (f,), raw, **given)
            np.testing.assert_allclose(got, np.array([f(float(x)) for x in raw], np.float32), rtol=1e-6)


def test_two_lambdas_on_one_line(accelerator_view):
    raw = numbers()
    up, down, lines = lambda x: x + 1, lambda x: x - 1, (lambda x: (lambda y: y * x)(x + 1))
    for f in (up, down, lines):
        np.testing.assert_allclose(launched(accelerator_view, transform, (f,), raw), f(raw), rtol=1e-6)


def test_lambda_over_several_lines(accelerator_view):
    raw = numbers()
    got = launched(
        accelerator_view,
        binary,
        (
            lambda a, b: (
                a - b * 2  # a comment
            ),
            amp.array_view(raw),
        ),
        raw,
    )
    np.testing.assert_allclose(got, raw - raw * 2, rtol=1e-6)


def test_passed_on_and_chosen(accelerator_view):
    raw = numbers()
    step = 2.5
    f, g = lambda x: x * 2, lambda x: x - step
    for flag in (True, False):
        got = launched(accelerator_view, nested, (f,), raw, g=g, flag=flag)
        first = f if flag else g
        np.testing.assert_allclose(got, first(first(g(raw))), rtol=1e-6)


def test_named_in_a_kernel(accelerator_view):
    raw = numbers()
    got = launched(accelerator_view, calls_plain, (), raw)
    np.testing.assert_allclose(got, np.array([branching(float(x)) for x in raw], np.float32), rtol=1e-5)


def test_captured_by_a_kernel(accelerator_view):
    raw = numbers()

    def made(k):
        table = amp.array_view(np.arange(10, 20, dtype=np.float32))

        def pick(x):
            return table[amp.int32(x) % 10] + k

        shift = lambda x: x + k  # noqa: E731 -- a lambda that a kernel captures

        @amp.kernel
        def kernel(idx, a, out):
            out[idx] = pick(a[idx]) + twice(shift, a[idx])

        return kernel

    raw = np.arange(SIZE, dtype=np.float32)
    for k in (1, 7):
        got = launched(accelerator_view, made(k), (), raw)
        np.testing.assert_allclose(got, raw % 10 + 10 + k + raw + 2 * k, rtol=1e-6)


def test_captured_numbers_do_not_recompile(accelerator_view, compiled, monkeypatch):
    raw = numbers()
    for k in (1, 2, 3.5, 4.5, np.float32(2), np.float32(3)):
        got = launched(accelerator_view, transform, (lambda x: x * k + SCALE,), raw)
        np.testing.assert_allclose(got, raw * k + SCALE, rtol=1e-6)
    for k in (5, 6):
        monkeypatch.setitem(globals(), "SCALE", k)
        got = launched(accelerator_view, transform, (affine,), raw)
        np.testing.assert_allclose(got, raw * k + OFFSET, rtol=1e-6)
    for k in (5, 6):
        got = launched(accelerator_view, transform, (lambda x, k=k: x - k,), raw)
        np.testing.assert_allclose(got, raw - k, rtol=1e-6)
    # One for each type of number.
    assert compiled == ["transform"] * 5


def test_a_new_function_each_time(accelerator_view, compiled, monkeypatch):
    monkeypatch.delenv("VKAMP_CHECK", raising=False)
    prepared = []
    prepare = launching.prepare
    monkeypatch.setattr(launching, "prepare", lambda *given: prepared.append(1) or prepare(*given))
    raw = numbers()
    a, out = amp.array_view(raw), amp.array_view(np.zeros(SIZE, np.float32))
    ways = (
        lambda k: amp.parallel_for_each(accelerator_view, a.extent, transform, lambda x: x + k, a, out),
        lambda k: amp.parallel_for_each(accelerator_view, a.extent, constant_transform, a, out, f=lambda x: x + k),
        lambda k: amp.parallel_for_each(
            accelerator_view, a.extent, transform, (lambda f: lambda x: f(f(x)))(lambda x: x + k), a, out
        ),
    )
    for way, times in zip(ways, (1, 1, 2), strict=True):
        for k in (1, 2, 3, 2):
            way(k)
            np.testing.assert_allclose(np.asarray(out), raw + k * times, rtol=1e-6)
    assert len(compiled) == 3
    if accelerator_view.accelerator.device_path != "reference":
        # Only the first launch of each is prepared.
        assert len(prepared) == 3


def test_numbers_that_change_their_type(accelerator_view):
    raw = np.arange(SIZE, dtype=np.float32)
    a, out = amp.array_view(raw), amp.array_view(np.zeros(SIZE, np.float32))
    large = 3_000_000_000.0
    for k in (1, 1.5, True, 2, False, np.int64(3), np.float64(0.25), large, np.int32(-4), 1):
        amp.parallel_for_each(accelerator_view, a.extent, transform, lambda x: amp.float32(x + k), a, out)
        np.testing.assert_allclose(np.asarray(out), (raw + np.float64(k)), rtol=1e-6)


def test_numbers_beyond_their_type(accelerator_view):
    raw = np.arange(SIZE, dtype=np.uint32) * 100_000_000
    a, out = amp.array_view(raw), amp.array_view(np.zeros(SIZE, np.uint32))
    for k in (3_000_000_000, 7, 4_000_000_000, 3_000_000_000, -1 & 0xFFFF):
        amp.parallel_for_each(accelerator_view, a.extent, transform, lambda x: x ^ k, a, out)
        np.testing.assert_array_equal(np.asarray(out), raw ^ np.uint32(k))


def test_constants_where_they_are_needed(accelerator_view):
    raw = numbers()
    for count in (2, 5, 2):

        def summed(x):
            parts = amp.private(count, amp.float32)
            for k in amp.static_range(count):
                parts[k] = x * k
            total = 0.0
            for k in amp.static_range(count):
                total += parts[k]
            return total

        got = launched(accelerator_view, transform, (summed,), raw)
        np.testing.assert_allclose(got, raw * sum(range(count)), rtol=1e-5)


def test_captured_tuples_types_and_functions(accelerator_view):
    raw = numbers()
    weights, kind, inner, flag = (2.0, (0.5, 3)), amp.float32, affine, True

    def f(x):
        total = kind(0)
        for w in weights[1]:
            total += w * inner(x)
        return total * weights[0] if flag else total

    got = launched(accelerator_view, transform, (f,), raw)
    np.testing.assert_allclose(got, (raw * SCALE + OFFSET) * 3.5 * 2, rtol=1e-5)


def test_partial_functions(accelerator_view, compiled):
    raw = numbers()

    def f(a, b, x, c=1, *, d=2):
        return a * x + b * c - d

    for a in (2, 3):
        for given in (
            functools.partial(f, a, 0.5),
            functools.partial(f, a, 0.5, c=4, d=1.5),
            functools.partial(functools.partial(f, a), 0.5, d=a),
            functools.partial(amp.func(lambda k, x: k * x), a),
        ):
            for kernel in (transform, constant_transform):
                named = {"f": given} if kernel is constant_transform else {}
                got = launched(accelerator_view, kernel, () if named else (given,), raw, **named)
                np.testing.assert_allclose(got, given(x=raw), rtol=1e-6)
    # The first and the third are one program.
    assert len(compiled) == 6
    with pytest.raises(amp.CompileError, match="VKA205.*a partial"):
        transform.inspect(amp.extent(3), functools.partial(max, 3), amp.array_view(raw), amp.array_view(raw))


@amp.func
def line(slope, offset, x, scale=2):
    return (slope * x + offset) * scale


@amp.kernel
def by_name(idx, f, a, out):
    out[idx] = f(x=a[idx], scale=3) + f(x=a[idx])


@amp.kernel
def by_position_and_name(idx, f, a, out):
    out[idx] = f(4, x=a[idx])


@amp.kernel
def by_position(idx, f, a, out):
    out[idx] = f(a[idx])


def test_partial_functions_whose_arguments_have_names(accelerator_view):
    raw = numbers()
    f = functools.partial(line, 3, offset=5)
    got = launched(accelerator_view, by_name, (f,), raw)
    np.testing.assert_allclose(got, f(x=raw, scale=3) + f(x=raw), rtol=1e-6)
    f = functools.partial(line, offset=5)
    got = launched(accelerator_view, by_position_and_name, (f,), raw)
    np.testing.assert_allclose(got, f(4, x=raw), rtol=1e-6)
    f = functools.partial(line, 3, offset=5)
    with pytest.raises(TypeError):
        f(raw)
    with pytest.raises(amp.CompileError, match="VKA222.*by position"):
        by_position.inspect(amp.extent(len(raw)), f, amp.array_view(raw), amp.array_view(raw))


@amp.kernel
def with_defaults(idx, f, a, out):
    out[0, idx[0]] = f(a[idx])
    out[1, idx[0]] = f(a[idx], 3.0)
    out[2, idx[0]] = f(a[idx], 3.0, 0.5)
    out[3, idx[0]] = f(a[idx], c=0.25)


@pytest.mark.parametrize("form", ["argument", "lambda", "func", "capture", "partial"])
def test_defaults_are_given_by_position(accelerator_view, form):
    raw = numbers()
    for default in (5.0, 7.0, None):

        def f(x, b=default, c=2.0):
            if b is None:
                return x * c
            return x * c - b

        def captured(x, *more, c=2.0):
            return f(x, *more, c) if len(more) == 1 else f(x, *more) if len(more) == 2 else f(x, c=c)

        forms = {
            "argument": f, "func": amp.func(f), "capture": captured, "lambda": lambda x, b=1.5, c=2.0: x * c - b,
            "partial": functools.partial(lambda s, x, b=1.5, c=2.0: x * c - b * s, 2.0),
        }  # fmt: skip
        used = forms[form]
        out = amp.array_view(np.zeros((4, len(raw)), np.float32))
        amp.parallel_for_each(accelerator_view, len(raw), with_defaults, used, amp.array_view(raw), out)
        calls = (lambda x: used(x), lambda x: used(x, 3.0), lambda x: used(x, 3.0, 0.5), lambda x: used(x, c=0.25))
        for row, call in zip(np.asarray(out), calls, strict=True):
            np.testing.assert_allclose(row, [call(x) for x in raw.tolist()], rtol=1e-6)


def test_partials_of_functions_with_defaults(accelerator_view):
    raw = numbers()
    f = functools.partial(lambda x, b=1.0, c=2.0: x * c - b, c=4.0)
    got = launched(accelerator_view, by_position, (f,), raw)
    np.testing.assert_allclose(got, f(raw), rtol=1e-6)

    @amp.kernel
    def two(idx, f, a, out):
        out[idx] = f(a[idx], 0.5)

    got = launched(accelerator_view, two, (f,), raw)
    np.testing.assert_allclose(got, f(raw, 0.5), rtol=1e-6)
    f = functools.partial(lambda x, b=1.0, c=2.0: x * c - b, b=4.0)
    with pytest.raises(TypeError):
        f(raw, 0.5)
    with pytest.raises(amp.CompileError, match="VKA222.*by position"):
        two.inspect(amp.extent(len(raw)), f, amp.array_view(raw), amp.array_view(raw))


def test_vectors_structs_and_functors(accelerator_view):
    raw = numbers()
    v = amp.float2(2.0, 0.25)

    class Line:
        def __init__(self, slope):
            self.slope = slope

        @amp.func
        def __call__(self, x):
            return self.slope * x

    line = Line(4.0)
    got = launched(accelerator_view, transform, (lambda x: line(x) * v.x + v.y,), raw)
    np.testing.assert_allclose(got, raw * 8 + 0.25, rtol=1e-6)


@amp.struct
class Affine:
    """A linear function."""

    factor: amp.float32
    offset: amp.float32


def test_structs_captured_by_members_of_objects(accelerator_view):
    """A device function that reads the member puts the struct together for itself."""
    raw = numbers()
    line = Affine(2.0, 0.25)

    class Calling:
        def __init__(self, f):
            self.f = f

        @amp.func
        def __call__(self, x):
            return self.f(x)

    def with_default(x, to=line):
        return x * to.factor + to.offset

    for function in (lambda x: x * line.factor + line.offset, with_default):
        for given in (function, Calling(function), Calling(Calling(function))):
            got = launched(accelerator_view, transform, (given,), raw)
            np.testing.assert_allclose(got, raw * 2 + 0.25, rtol=1e-6)


def test_in_loops_and_tiles(accelerator_view):
    @amp.kernel
    def tiled(t, op, a, out):
        part = amp.tile_static(8, amp.float32)
        part[t.local] = a[t] if t.global_[0] < len(a) else 0.0
        t.barrier.wait()
        total = part[0]
        for k in range(1, 8):
            total = op(total, part[k])
        if t.global_[0] < len(out):
            out[t] = total

    raw = numbers(40)
    for f, of_numpy in ((lambda x, y: x + y, np.sum), (lambda x, y: max(x, y), np.max)):
        a, out = amp.array_view(raw), amp.array_view(np.zeros(40, np.float32))
        amp.parallel_for_each(accelerator_view, a.extent.tile(8), tiled, f, a, out)
        expected = np.repeat([of_numpy(part) for part in raw.reshape(-1, 8)], 8)
        np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-5)


def test_caches_keep_no_containers(accelerator_view):
    def of(table):
        return weakref.ref(table), lambda x: x + table[0]

    gone, f = of(amp.array(amp.extent(4), amp.float32, np.ones(4), accelerator_view=accelerator_view))
    launched(accelerator_view, transform, (f,), numbers())
    assert gone() is not None
    del f
    gc.collect()
    assert gone() is None


def test_check_mode(accelerator_view):
    offset = 3
    raw = numbers()
    a, out = amp.array_view(raw), amp.array_view(np.zeros(SIZE, np.float32))
    assert amp.check(accelerator_view, a.extent, transform, lambda x: x + offset, a, out).ok
    report = amp.check(accelerator_view, a.extent, transform, lambda x: a[SIZE + offset], a, out)
    assert [found.kind for found in report.findings] == ["bounds"]
    assert "a[SIZE + offset]" in str(report)


def test_capture_and_replay(accelerator_view):
    raw = numbers()
    a, out = amp.array_view(raw), amp.array_view(np.zeros(SIZE, np.float32))
    offset = 2.0
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(accelerator_view, a.extent, transform, lambda x: x + offset, a, out)
        amp.parallel_for_each(accelerator_view, a.extent, constant_transform, out, out, f=lambda x: x * 2)
    graph.replay()
    np.testing.assert_allclose(np.asarray(out), (raw + 2) * 2, rtol=1e-6)


def test_inspection():
    a = amp.array_view(numbers())
    k = 2
    text = transform.inspect(a.extent, lambda x: x * k, a, a).glsl
    assert "float f(float x)" in text and "// text = transform.inspect(" in text
    assert re.search("f +constant affine", constant_transform.inspect(a.extent, a, a, f=affine).glsl)


def test_a_kernel_cannot_be_an_argument():
    a = amp.array_view(numbers())
    with pytest.raises(amp.CompileError, match="VKA219"):
        transform.inspect(a.extent, transform, a, a)


def test_source_that_cannot_be_read():
    program = (
        "import numpy as np, vkamp as amp; from tests.kernel_language.test_plain_functions import transform; "
        "a = amp.array_view(np.zeros(4, np.float32)); transform.inspect(a.extent, eval('lambda x: x'), a, a)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"VKAMP_ACCELERATOR": "reference"},
    )
    assert "VKA102: the source of `<lambda>` cannot be read" in done.stderr


def test_functions_of_python(accelerator_view):
    raw = np.abs(numbers()) + 0.5
    for f, expected in (
        (abs, raw),
        (math.sqrt, np.sqrt(raw)),
        (np.exp, np.exp(raw)),
        (amp.precise_math.sin, np.sin(raw)),
    ):
        np.testing.assert_allclose(launched(accelerator_view, transform, (f,), raw), expected, rtol=1e-4)
        got = launched(accelerator_view, constant_transform, (), raw, f=f)
        np.testing.assert_allclose(got, expected, rtol=1e-4)
    got = launched(accelerator_view, binary, (max, amp.array_view(raw[::-1].copy())), raw)
    np.testing.assert_allclose(got, np.maximum(raw, raw[::-1]))


class Library:
    @staticmethod
    def half(x):
        return x / 2

    third = staticmethod(lambda x: x / 3)


@amp.struct
class Pair:
    x: amp.float32
    y: amp.float32


@amp.kernel
def of_a_class(idx, a, out):
    out[idx] = Library.half(a[idx]) + Library.third(a[idx])


@amp.kernel
def of_structs(idx, op, pairs, out):
    p = op(pairs[idx], 2.0)
    out[idx] = p.x + p.y


@amp.kernel
def chosen_by_a_branch(idx, a, out, *, op: amp.constant, other: amp.constant, flag: amp.constant):
    if flag:
        f = op
    else:
        f = other
    g = lambda x: f(x) + op(x)  # noqa: E731 -- a function in a kernel
    out[idx] = g(a[idx])


def test_static_methods(accelerator_view):
    raw = numbers()
    np.testing.assert_allclose(launched(accelerator_view, of_a_class, (), raw), raw / 2 + raw / 3, rtol=1e-5)


def test_structs_as_arguments(accelerator_view):
    raw = numbers()
    pairs = amp.array_view(np.array([(x, x + 1) for x in raw], Pair))
    out = amp.array_view(np.zeros(SIZE, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent, of_structs, lambda p, k: Pair(p.y * k, p.x), pairs, out)
    np.testing.assert_allclose(np.asarray(out), (raw + 1) * 2 + raw, rtol=1e-5)


def test_chosen_by_a_branch(accelerator_view):
    raw, op, other = numbers(), lambda x: x * 2, lambda x: -x
    for flag, expected in ((True, raw * 4), (False, raw)):
        got = launched(accelerator_view, chosen_by_a_branch, (), raw, op=op, other=other, flag=flag)
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_two_lambdas_on_one_line_without_columns(monkeypatch):
    """Python 3.10 does not keep the columns of instructions."""
    monkeypatch.setattr(lambdas, "_columns", lambda code: None)
    offset = 3
    up, down, called = lambda x: x + 1, lambda x: x - offset, lambda x: amp.float32(x) - offset
    inner = (lambda x: lambda x: x * 2)(0)
    texts = [ast.unparse(lambdas.lambda_of(each.__code__)) for each in (up, down, called, inner)]
    assert texts == ["lambda x: x + 1", "lambda x: x - offset", "lambda x: amp.float32(x) - offset", "lambda x: x * 2"]


def plus_one(function):
    @functools.wraps(function)
    def wrapper(x, y=10, *rest):
        return function(x, y) + 1 + len(rest)

    return wrapper


@plus_one
def product(x, y=2):
    return x * y


@plus_one
def difference(x, y=3):
    return x - y


@amp.kernel
def of_wrapped_functions(idx, a, out):
    out[idx] = product(a[idx]) + difference(a[idx], 4, 0) * 100.0


def test_a_function_that_wraps_another_has_its_own_parameters_and_defaults(accelerator_view):
    raw = numbers()
    got = launched(accelerator_view, of_wrapped_functions, (), raw)
    np.testing.assert_allclose(got, raw * 10 + 1 + (raw - 4 + 2) * 100, rtol=1e-5)
    assert amp.func(product)(2.0) == 21.0
