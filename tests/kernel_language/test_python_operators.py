"""Python's module ``operator`` and numpy's functions for operators, by name and handed over."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import vkamp as amp

F = np.array([1.5, -2.0, 0.0, 4.0, -7.25, 3.0, 2.0], np.float32)
G = np.array([2.0, 3.0, -1.5, 4.0, 0.5, -3.0, 2.0], np.float32)
I = np.array([7, -3, 0, 12, 5, -8, 1], np.int32)  # noqa: E741
J = np.array([2, 5, 3, 4, 1, 3, 2], np.int32)

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, np.add,
              np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.minimum, np.maximum]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, np.bitwise_and, np.bitwise_or,
        np.bitwise_xor, np.left_shift, np.right_shift]  # fmt: skip
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, np.equal, np.not_equal,
               np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and, np.logical_or,
               np.logical_xor]  # fmt: skip
UNARY = [operator.neg, operator.pos, operator.abs, np.negative, np.positive, np.square, np.absolute]


@amp.kernel
def both(idx, op, a, b, out):
    out[idx] = op(a[idx], b[idx])


@amp.kernel
def one(idx, a, out, *, op: amp.constant):
    out[idx] = op(a[idx])


def applied(view, op, *operands, dtype=None):
    views = [amp.array_view(each.copy()) for each in operands]
    out = amp.array_view(np.zeros(operands[0].shape, dtype or operands[0].dtype))
    if len(operands) == 2:
        amp.parallel_for_each(view, out.extent, both, op, *views, out)
    else:
        amp.parallel_for_each(view, out.extent, one, *views, out, op=op)
    return np.asarray(out)


def test_arithmetic(accelerator_view):
    for op in ARITHMETIC:
        np.testing.assert_allclose(applied(accelerator_view, op, F, G), op(F, G), rtol=1e-6, err_msg=op.__name__)
        expected = op(I, J)
        got = applied(accelerator_view, op, I, J, dtype=expected.astype(np.float32).dtype)
        np.testing.assert_allclose(got, expected, rtol=1e-6, err_msg=op.__name__)


def test_bits(accelerator_view):
    for op in BITS:
        np.testing.assert_array_equal(applied(accelerator_view, op, I, J), op(I, J), err_msg=op.__name__)


def test_comparisons(accelerator_view):
    for op in COMPARISONS:
        got = applied(accelerator_view, op, F, G, dtype=np.int32)
        np.testing.assert_array_equal(got, op(F, G), err_msg=op.__name__)


def test_unary(accelerator_view):
    for op in UNARY:
        np.testing.assert_allclose(applied(accelerator_view, op, F), op(F), err_msg=op.__name__)
    for op in (operator.invert, np.invert):
        np.testing.assert_array_equal(applied(accelerator_view, op, I), ~I)
    for op in (operator.not_, np.logical_not):
        np.testing.assert_array_equal(
            applied(
                accelerator_view,
                op,
                I,
            ),
            np.logical_not(I),
        )


def test_powers(accelerator_view):
    for op in (operator.pow, np.power):
        np.testing.assert_array_equal(applied(accelerator_view, op, J, J), J**J)


def test_nan(accelerator_view):
    a = np.array([np.nan, 1.0, np.nan, 2.0, -3.0], np.float32)
    b = np.array([1.0, np.nan, np.nan, 1.0, 4.0], np.float32)
    for op in (np.minimum, np.maximum, np.fmin, np.fmax):
        np.testing.assert_array_equal(applied(accelerator_view, op, a, b), op(a, b), err_msg=op.__name__)


def test_by_name(accelerator_view):
    @amp.kernel
    def kernel(idx, a, b, out):
        x = operator.add(a[idx], 1.0)
        out[idx] = np.maximum(x, np.multiply(b[idx], 2)) if operator.lt(x, 3.0) else np.logical_and(x, 1)

    a, b, out = amp.array_view(F.copy()), amp.array_view(G.copy()), amp.array_view(np.zeros_like(F))
    amp.parallel_for_each(accelerator_view, a.extent, kernel, a, b, out)
    np.testing.assert_allclose(np.asarray(out), np.where(F + 1 < 3, np.maximum(F + 1, G * 2), 1), rtol=1e-6)


def test_wrong_numbers_of_arguments():
    a = amp.array_view(F.copy())

    @amp.kernel
    def kernel(idx, a):
        a[idx] = operator.add(a[idx])

    with pytest.raises(amp.CompileError, match=r"VKA207.*operator\.add"):
        kernel.inspect(a.extent, a)


@amp.struct
class Turn:
    a: amp.int32
    b: amp.int32

    def __matmul__(self, other):
        return Turn(self.a * other.a - self.b * other.b, self.a * other.b + self.b * other.a)


def test_matmul_of_structs(accelerator_view):
    raw = np.array([(1, 2), (-3, 4)], Turn)
    got = applied(accelerator_view, operator.matmul, raw, raw)
    assert got.tolist() == [(-3, 4), (-7, -24)]
