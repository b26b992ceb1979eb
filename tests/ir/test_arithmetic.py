"""Arithmetic of integers: constants, intervals and affine forms against the reference accelerator and the drivers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.emit.programs import Program, buffers
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import affine, difference, operation, product, simplified, sum_of
from vkamp.ir.arithmetic import BINARY, COMPARISONS, MIRRORED, NEGATED, folded, interval, is_defined, wrapped
from vkamp.ir.ranges import Ranges
from vkamp.ir.types import INT32, INT64, UINT32, UINT64, int_range
from vkamp.lower import loops, max_iterations
from vkamp.sim.helpers import _tdiv, _trem

HERE = Span("a.py", 1, 0, 1, 1)
KINDS = (INT32, UINT32, INT64, UINT64)
INTEGERS = sorted(set(BINARY) - {"div"})


def numbers(kind):
    low, high = int_range(kind)
    return sorted({low, low + 1, low // 2, -9, -7, -1, 0, 1, 2, 3, 7, 31, 32, 33, 63, high // 2, high - 1, high})


def fitting(kind):
    low, high = int_range(kind)
    return [n for n in numbers(kind) if low <= n <= high]


@pytest.mark.parametrize("op", INTEGERS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_constants_wrap_as_the_reference_accelerator_computes(op, kind):
    judged = {"tdiv": _tdiv, "trem": _trem}
    low, _ = int_range(kind)
    for a, b in itertools.product(fitting(kind), repeat=2):
        found = folded(op, a, b, kind)
        if not is_defined(op, (b, b), kind.bits):
            assert found is None
            continue
        exact = judged[op](a, b) if op in judged else eval(f"a {BINARY[op].symbol} b", {"a": a, "b": b})
        assert found == (exact - low) % (1 << kind.bits) + low


@pytest.mark.parametrize("op", INTEGERS)
def test_arrays_give_what_numbers_give(op):
    pairs = [(a, b) for a, b in itertools.product(fitting(INT32), repeat=2) if is_defined(op, (b, b))]
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    assert wrapped(BINARY[op].apply(left, right), INT32).tolist() == [folded(op, a, b, INT32) for a, b in pairs]


@pytest.mark.parametrize("op", INTEGERS)
def test_intervals_hold_every_result(op):
    rng = np.random.default_rng(3)
    known = 0
    for _ in range(400):
        a, b = (tuple(sorted(map(int, rng.integers(-9, 10, 2)))) for _ in range(2))
        bounds = interval(op, a, b)
        if bounds is None:
            continue
        known += 1
        for x, y in itertools.product(range(a[0], a[1] + 1), range(b[0], b[1] + 1)):
            if is_defined(op, (y, y)):
                assert bounds[0] <= BINARY[op].apply(x, y) <= bounds[1]
    assert known or op in ("bitor", "bitxor")


def test_comparisons_know_their_opposites():
    for op, (a, b) in itertools.product(COMPARISONS, itertools.product(range(3), repeat=2)):
        holds = COMPARISONS[op].apply(a, b)
        assert COMPARISONS[NEGATED[op]].apply(a, b) == (not holds)
        assert COMPARISONS[MIRRORED[op]].apply(b, a) == holds


def const(value, kind=INT32):
    return ir.Const(HERE, kind, value)


X = ir.ScalarValue(HERE, INT32, "x")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (sum_of(const(2**31 - 1), 1), const(-(2**31))),
        (product(const(2**30), 4), const(0)),
        (difference(const(-(2**31)), const(1)), const(2**31 - 1)),
        (sum_of(X, 0), X),
        (product(X, 1), X),
        (product(X, 0), const(0)),
        (operation(HERE, INT32, "shl", X, const(0, UINT32)), X),
        (operation(HERE, INT32, "tdiv", const(1), const(0)), ir.Binary(HERE, INT32, "tdiv", const(1), const(0))),
        (simplified(sum_of(ir.Binary(HERE, INT32, "add", X, const(2**31 - 1)), 1)), sum_of(X, -(2**31))),
    ],
)  # fmt: skip
def test_expressions_are_computed_where_they_can_be(made, expected):
    assert made == expected


def test_affine_forms():
    expr = difference(product(sum_of(X, 3), 4), sum_of(X, X))
    assert affine(expr) == ({X: 2}, 12)


# -- disagreements that there were ---------------------------------------------------------------------------------


def counted(function):
    """The most iterations of a kernel's loops."""
    kernel = Program(function, 1, (64,), buffers(out=(INT32, 1))).kernel()
    return max_iterations(loops(kernel, 8))


def test_an_upper_bound_that_is_subtracted_is_no_upper_bound():
    def kernel(t, out):
        for k in range(0, 4000 - min(out[t], 3999)):
            out[t] += k
        t.barrier.wait()

    assert counted(kernel) is None


def test_a_shift_by_a_negative_bound_is_not_counted():
    def kernel(t, out):
        for k in range(0, 4 << min(out[0], -1)):
            out[t] += k
        t.barrier.wait()

    assert counted(kernel) is None


def test_a_loop_of_few_possible_lengths_is_counted():
    def kernel(t, out):
        for k in range(0, out[t] & 3):
            out[t] += k
        t.barrier.wait()

    # A lane runs eight of the 64 threads.
    assert counted(kernel) == 8 * (1 + 3)


def test_remainders_of_negative_numbers_have_an_interval():
    body = ir.Function("f", "f", (), (), (), (), HERE)
    remainder = ir.Binary(HERE, INT32, "trem", X, const(5))
    assert Ranges(body, None).of(remainder) == (-4, 4)
