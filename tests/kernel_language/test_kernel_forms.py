"""Kernels as people write them: layout of the source, names, tables, arguments at the edge, no containers at all."""

from __future__ import annotations

import functools
import math
import threading

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, rows, same, same_rows


# fmt: off
@amp.kernel
def layout(i, a, out):
    """A docstring, which is not a statement."""
    k = i[0]; x = a[k]  # noqa: E702
    if x > 2: y = 1  # noqa: E701
    else: y = 2  # noqa: E701

    total = (x
             + y  # a comment inside
             - 1)
    z = \
        total * 2
    "a string alone"
    out[
        0,
        k,
    ] = z
    pass

    # a comment at the end


@amp.kernel
def odd_layout(  i ,a,
                 out  # the result
                 ):
      k=i[0]
      for j in range( 3 ) :
          if j==1 : continue  # noqa: E701
          out[ j , k ]=a [ k ]+j
# fmt: on


def test_layout_of_the_source(accelerator_view):
    a = np.array([1, 2, 3], I32)
    same(rows(accelerator_view, layout, 1, I32, a)[0], (a + np.where(a > 2, 1, 2) - 1) * 2)
    same_rows(rows(accelerator_view, odd_layout, 3, I32, a), {"0": a, "1": 77, "2": a + 2})


class Holder:
    scale = 3

    @amp.kernel
    def kernel(i, out):  # noqa: N805
        out[i] = i[0] * Holder.scale

    @staticmethod
    @amp.func
    def helper(x):
        return x + 1


def test_kernels_in_a_class(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    amp.parallel_for_each(accelerator_view, out.extent, Holder.kernel, out)
    same(np.asarray(out), np.arange(4) * 3)

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = Holder.helper(out[i])

    same(np.asarray(out), np.arange(4) * 3 + 1)


def test_kernels_made_in_a_loop(accelerator_view):
    made = []
    for n in range(3):

        @amp.kernel
        def k(i, out, n=n):
            out[i] = i[0] + n * 10

        made.append(k)
    for n, k in enumerate(made):
        out = amp.array_view(np.zeros(3, I32))
        amp.parallel_for_each(accelerator_view, out.extent, k, out)
        same(np.asarray(out), np.arange(3) + n * 10)


@amp.kernel
def glsl_functions_as_names(i, a, out):
    k = i[0]
    x = a[k]
    floor, abs, sqrt, min, max, isnan, fract, sign = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0
    pow_c = fmod_c = round_half_away = floor_div = 0.5
    out[0, k] = math.floor(x) + floor + math.sqrt(4.0 * x * x) + sqrt + math.fabs(x) + abs
    out[1, k] = amp.fast_math.fmin(x, 1.0) + min + amp.fast_math.fmax(x, 2.0) + max
    out[2, k] = amp.fast_math.pow(x, 2.0) + pow_c + amp.fast_math.fmod(x, 2.0) + fmod_c + x // 0.3 + floor_div
    out[3, k] = (1.0 if math.isnan(x) else 0.0) + isnan + amp.fast_math.round(x) + round_half_away
    uint, ivec2, atomicAdd, gl_WorkGroupID, main = 1, 2, 3, 4, 5  # noqa: N806
    out[4, k] = uint + ivec2 + atomicAdd + gl_WorkGroupID + main + amp.uint32(x) + fract + sign


def test_variables_named_as_glsl_functions(accelerator_view):
    a = np.array([2.5, 0.25, 7.75], F32)
    got = rows(accelerator_view, glsl_functions_as_names, 5, F32, a)
    np.testing.assert_allclose(got[0], np.floor(a) + 1 + 2 * a + 3 + a + 2, rtol=1e-6)
    np.testing.assert_allclose(got[1], np.minimum(a, 1) + 4 + np.maximum(a, 2) + 5, rtol=1e-6)
    np.testing.assert_allclose(got[2], a * a + 0.5 + np.fmod(a, 2) + 0.5 + a // F32(0.3) + 0.5, rtol=1e-4)
    np.testing.assert_allclose(got[3], 6 + np.floor(a + 0.5) + 0.5, rtol=1e-6)
    np.testing.assert_allclose(got[4], 15 + a.astype(U32) + 15, rtol=1e-6)


@amp.func
def main(x):
    return x + 1


@amp.func
def floor(values, values_buffer):
    return values + values_buffer


@amp.kernel
def buffer(t, values, values_buffer, Launch, local, shared):  # noqa: N803
    shared_ = amp.tile_static(t.tile_extent, amp.int32)
    main_2 = main(values[t])
    shared_[t.local] = floor(main_2, values_buffer[t])
    t.barrier.wait()
    t_local_0 = shared_[t.local] * local
    shared[t] = t_local_0 + Launch


def test_functions_and_kernels_named_as_glsl_does(accelerator_view):
    a, b = np.arange(6, dtype=I32), np.arange(6, dtype=I32) * 10
    out = amp.array_view(np.zeros(6, I32))
    amp.parallel_for_each(
        accelerator_view, amp.extent(6).tile(3), buffer, amp.array_view(a), amp.array_view(b), 7, 2, out
    )
    same(np.asarray(out), (a + 1 + b) * 2 + 7)


WEIGHTS = (0.1, 1 / 3, 1e-7, 123456.789, -0.0, 3.0e38, 1.17549435e-38, 2.0**-20, 16777216.0, -1.5e-30)
OFFSETS = ((-1, 0), (0, 1), (1, -1))


@amp.kernel
def tables(i, a, out):
    k = i[0]
    for j in amp.static_range(10):
        out[j, k] = a[k] * WEIGHTS[j]
    total = 0
    for n in range(3):
        total += OFFSETS[2][n % 2] * 100
    for j in amp.static_range(3):
        total += OFFSETS[j][0] * 10 + OFFSETS[j][1]
    out[10, k] = total
    out[11, k] = WEIGHTS[k]


def test_tables_of_constants(accelerator_view):
    a = np.array([1, -3, 0.25], F32)
    got = rows(accelerator_view, tables, 12, F32, a)
    w = np.array(WEIGHTS, F32)
    with np.errstate(all="ignore"):
        expected = a * w[:, None]
    # Denormal products may be flushed.
    keep = (np.abs(expected) >= np.finfo(F32).tiny) | (expected == 0)
    same(got[:10][keep], expected[keep])
    same(got[10], (1 - 1 + 1) * 100 + (-1 + 0 + 1) * 10 + (0 + 1 - 1))
    same(got[11], w[:3])


@amp.kernel
def nothing(i):
    pass


@amp.kernel
def only_numbers(i, x, y):
    z = x + y
    for _j in range(3):
        z += i[0]


@amp.kernel
def unused(i, a, b, n):
    k = i[0] + n
    if k > a.extent[0]:
        k = b.rank


def test_kernels_without_effect(accelerator_view):
    a = amp.array(amp.extent(3), amp.float32, accelerator_view=accelerator_view)
    b = amp.array_view(np.zeros((2, 2), I32))
    for domain in (amp.extent(5), amp.extent(6).tile(3)):
        amp.parallel_for_each(accelerator_view, domain, nothing)
        amp.parallel_for_each(accelerator_view, domain, only_numbers, 1, 0.5)
        amp.parallel_for_each(accelerator_view, domain, unused, a, b, 3)
    accelerator_view.wait()
    same(np.asarray(b), 0)


@amp.kernel
def store(i, value, out):
    out[i] = value


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.0, 3.4028234e38, 1e-30, np.float32(0.1), 0.1])
def test_float_arguments(accelerator_view, value):
    out = amp.array_view(np.zeros(2, F32))
    amp.parallel_for_each(accelerator_view, out.extent, store, value, out)
    same(np.asarray(out), F32(value))


def test_a_float_argument_that_float32_does_not_hold(accelerator_view):
    out = amp.array_view(np.zeros(2, F32))
    with pytest.raises(amp.AmpError, match=r"`value` = 1e\+300 does not fit float32"):
        amp.parallel_for_each(accelerator_view, out.extent, store, 1e300, out)


@pytest.mark.parametrize("value", [-(2**31) - 1, 2**31, 2**40, -(2**70)])
def test_an_int_argument_that_int32_does_not_hold(accelerator_view, value):
    out = amp.array_view(np.zeros(2, I32))
    with pytest.raises(amp.AmpError, match=f"`value` = {value} does not fit int32"):
        amp.parallel_for_each(accelerator_view, out.extent, store, value, out)


@amp.kernel
def extremes(i, a, out):
    k = i[0]
    out[0, k] = abs(a[k])
    out[1, k] = -a[k]
    out[2, k] = a[k] * -1
    out[3, k] = -2147483648
    out[4, k] = a[k] - 2147483647 - 1
    out[5, k] = a[k] + -2147483648
    out[6, k] = a[k] - -2147483648
    out[7, k] = ~a[k] + 1


def test_the_smallest_int(accelerator_view):
    a = np.array([-(2**31), -(2**31) + 1, 2**31 - 1, 0, -1], I32)
    low = I32(-(2**31))
    same_rows(
        rows(accelerator_view, extremes, 8, I32, a),
        {
            "abs": np.abs(a), "-": -a, "* -1": -a, "literal": low, "- max - 1": a + low, "+ min": a + low,
            "- min": a - low, "~ + 1": -a,
        },
    )  # fmt: skip


@amp.kernel
def fill_shared(t, out, *, SIZE: amp.constant):  # noqa: N803
    memory = amp.tile_static(SIZE, amp.int32)
    lane = t.local[0]
    for j in range(lane, SIZE, t.tile_dim0):
        memory[j] = j
    t.barrier.wait()
    out[t] = memory[SIZE - 1 - lane]


def test_tile_static_up_to_the_limit_of_the_device(accelerator):
    words = accelerator.limits.shared_bytes // 4
    out = amp.array_view(np.zeros(8, I32))
    amp.parallel_for_each(accelerator.default_view, amp.extent(8).tile(8), fill_shared, out, SIZE=words)
    same(np.asarray(out), words - 1 - np.arange(8))
    with pytest.raises(amp.AmpError, match="tile_static") as caught:
        amp.parallel_for_each(accelerator.default_view, amp.extent(8).tile(8), fill_shared, out, SIZE=words + 1)
    assert f"{words * 4 + 4}" in str(caught.value) and f"{words * 4}" in str(caught.value)
    same(np.asarray(out), words - 1 - np.arange(8))


def test_launches_from_several_threads(accelerator):
    data = [np.zeros(9, I32) for _ in range(4)]
    errors = []

    def work(n: int) -> None:
        try:
            view = amp.array_view(data[n])
            queue = accelerator.default_view if n % 2 else accelerator.create_view()
            for j in range(30):

                @amp.parallel_for_each(queue, view.extent)
                def _(i):
                    view[i] = view[i] + i[0] + n + j % 2  # noqa: B023

            view.synchronize()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    for n in range(4):
        same(data[n], 30 * (np.arange(9) + n) + 15)


@amp.kernel
def long_expression(i, a, out):
    x = a[i]
    out[0, i[0]] = (
        x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x
        + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x
        + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x
    )  # fmt: skip
    out[1, i[0]] = (((((((((((((((x + 1) * 2) - 3) ^ 5) + 1) * 2) - 3) ^ 5) + 1) * 2) - 3) ^ 5) + 1) * 2) - 3) ^ 5


def test_long_and_deep_expressions(accelerator_view):
    a = np.arange(-3, 4, dtype=I32)
    deep = a
    for _ in range(4):
        deep = (((deep + 1) * 2) - 3) ^ 5
    same(rows(accelerator_view, long_expression, 2, I32, a), [a * 84, deep])


@amp.kernel
def index_forms(i, a, u, out):
    row, col = i
    inside = a.extent.contains((row + 1, col)) and amp.extent(3, 4).contains(i) and not a.extent.contains((row, -1))
    out[i] = a[(row + 1, col)] if inside else a[i]
    n = u[row]  # uint32
    out[i] += a[n, col] * 100 + a[n][u[1]] * 10000
    out[row, col] += 1 if i == (1, 2) or i == amp.index(0, 0) else 0
    here = amp.index(i)
    if here + 1 == (row + 1, col + 1) and here[0] == row and i.rank == 2:
        out[here] += 2


def test_forms_of_indices(accelerator_view):
    a = np.arange(12, dtype=I32).reshape(3, 4)
    u = np.array([2, 0, 1], U32)
    out = amp.array_view(np.zeros((3, 4), I32))
    amp.parallel_for_each(accelerator_view, out.extent, index_forms, amp.array_view(a), amp.array_view(u), out)
    expected = a.copy()
    expected[:2] = a[1:]
    expected += a[u] * 100 + a[u, 0][:, None] * 10000 + 2
    expected[1, 2] += 1
    expected[0, 0] += 1
    same(np.asarray(out), expected)


@amp.kernel
def rank_one(t, a, out):
    k = t.global_[0]
    if t.local == 0 or t.tile == (1,):
        out[k] = a[t] + 1
    if t.global_ == amp.index(5) or (t.local != 1 and t.tile_origin == 4):
        out[t.global_] += 10
    if t == 2:
        out[t] += 100


def test_one_dimensional_indices_compare_with_numbers(accelerator_view):
    a = np.arange(12, dtype=I32)
    out = amp.array_view(np.zeros(12, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(12).tile(4), rank_one, amp.array_view(a), out)
    expected = np.where((a % 4 == 0) | (a // 4 == 1), a + 1, 0)
    expected += np.where((a == 5) | ((a % 4 != 1) & (a // 4 == 1)), 10, 0) + np.where(a == 2, 100, 0)
    same(np.asarray(out), expected)


@amp.kernel
def mixed_divisions(i, a, u, f, out):
    k = i[0]
    out[0, k] = a[k] // f[k]
    out[1, k] = a[k] % f[k]
    out[2, k] = f[k] // 2
    out[3, k] = u[k] % 7 + u[k] // 2.5
    out[4, k] = (a[k] > 0) % 2 + (a[k] > 0) // 1
    out[5, k] = -a[k] % 5
    out[6, k] = -(a[k] % 5)
    out[7, k] = 7 // -2 + -7 // 2 + 7 % -2
    out[8, k] = a[k] / 0
    out[10, k] = f[k]
    out[10, k] /= -0.0
    out[9, k] = 2 ** (f[k] * 0) + f[k] ** 2 + 2**-1


def test_divisions_of_mixed_types(accelerator_view):
    a = np.array([7, -7, 100, -1], I32)
    u = np.array([7, 2**31, 9, 11], U32)
    f = np.array([2.5, 2.5, -0.75, 3], F32)
    x = a.astype(F32)
    with np.errstate(all="ignore"):
        same_rows(
            rows(accelerator_view, mixed_divisions, 11, F32, a, u, f),
            {
                "int // float": x // f,
                "int % float": x % f,
                "float // 2": f // F32(2),
                "uint": (u % U32(7)).astype(F32) + u.astype(F32) // F32(2.5),
                "bool": (a > 0) % 2 + (a > 0),
                "-a % 5": -a % 5,
                "-(a % 5)": -(a % 5),
                "constants": 7 // -2 + -7 // 2 + 7 % -2,
                "/ 0": x / F32(0),
                "**": F32(1) + f * f + F32(0.5),
                "/= -0": f / F32(-0.0),
            },
        )


# fmt: off
if True:
    @amp.kernel
    def outdented(i, a, out):
        """A string whose lines begin
  further left,
and in the first column.
        """
# A comment in the first column.
        out[i] = (a[i] *
    2) + 1
# fmt: on


def test_lines_that_begin_left_of_the_function(accelerator_view):
    a = np.arange(5, dtype=F32)
    out = amp.array_view(np.zeros(5, F32))
    amp.parallel_for_each(accelerator_view, out.extent, outdented, amp.array_view(a), out)
    same(np.asarray(out), a * 2 + 1)


def test_errors_in_indented_functions_point_into_the_file():
    # fmt: off
    def wrong(i, a):
        """Text
of two lines."""
        a[i] = [1]
    # fmt: on

    a = amp.array_view(np.zeros(5, F32))
    with pytest.raises(amp.CompileError) as caught:
        amp.kernel(wrong).inspect(a.extent, a)
    line = wrong.__code__.co_firstlineno + 3
    message = str(caught.value)
    assert f":{line}, in wrong" in message
    assert "| a[i] = [1]\n" in message
    assert "|        ^^^\n" in message


@amp.kernel
def scaled(i, out, a, factor=2, *, shift: amp.constant = 0):
    out[i] = a[i] * factor + shift


def test_partials_of_kernels(accelerator_view):
    a = np.arange(70, dtype=I32)
    source = amp.array_view(a)

    def run(kernel, *args, **constants):
        out = amp.array_view(np.zeros_like(a))
        amp.parallel_for_each(accelerator_view, a.size, kernel, out, *args, **constants)
        return np.asarray(out)

    by_name = functools.partial(scaled, factor=5, shift=1)
    for _ in range(3):
        same(run(functools.partial(scaled, shift=3), source), a * 2 + 3)
        same(run(by_name, source), a * 5 + 1)
        same(run(by_name, source, shift=7), a * 5 + 7)
        same(run(functools.partial(by_name, factor=4), source), a * 4 + 1)
    out = amp.array_view(np.zeros_like(a))
    amp.parallel_for_each(accelerator_view, a.size, functools.partial(scaled, out, source, shift=2), 3)
    same(np.asarray(out), a * 3 + 2)
    with amp.capture() as graph:
        amp.parallel_for_each(accelerator_view, a.size, functools.partial(scaled, out, factor=6), source)
    graph.replay()
    same(np.asarray(out), a * 6)
    assert amp.check(accelerator_view, a.size, by_name, out, source).ok
    same(np.asarray(out), a * 5 + 1)
    with pytest.raises(TypeError):
        amp.parallel_for_each(accelerator_view, a.size, functools.partial(scaled, out, source, 3, 4))
    with pytest.raises(TypeError, match="decorated with"):
        amp.parallel_for_each(accelerator_view, a.size, functools.partial(print, 1))
