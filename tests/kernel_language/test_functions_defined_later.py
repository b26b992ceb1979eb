"""Nested functions that call others which are defined after them."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32


@amp.func
def applied(f, x):
    return f(x) + 1


@amp.kernel
def several(idx, a, out):
    scale = idx[0] + 2

    def first(x):
        return second(x) + third(x) + scale

    def second(x):
        return third(x) * 2

    def third(x):
        return a[x] - scale

    def fourth(x):
        return first(x) + applied(first, x)

    out[idx] = fourth(idx[0])


def expected(i, a):
    scale = i + 2
    third = a[i] - scale
    first = third * 2 + third + scale
    return first + first + 1


def test_functions(accelerator_view):
    a = np.array([3, 8, 5], I32)
    out = amp.array_view(np.zeros(3, I32))
    amp.parallel_for_each(accelerator_view, out.extent, several, amp.array_view(a), out)
    assert np.asarray(out).tolist() == [expected(i, a) for i in range(3)]
    assert amp.check(accelerator_view, out.extent, several, amp.array_view(a), out).ok


@amp.func
def in_a_function(x: amp.int32):
    def even(n):
        return odd(n - 1) if n > 0 else 1

    odd = lambda n: n % 2  # noqa: E731 -- defined after a function that calls it, but not by `def`
    return even(x) + odd(x)


@amp.kernel
def of_lambda(idx, out):
    out[idx] = in_a_function(idx[0])


@amp.kernel
def in_a_circle(idx, out):
    def even(n):
        return 1 if n == 0 else odd(n - 1)

    def odd(n):
        return 0 if n == 0 else even(n - 1)

    out[idx] = even(idx[0])


@amp.kernel
def too_early(idx, out):
    def first(x):
        return second(x)

    out[idx] = first(idx[0])

    def second(x):
        return x

    out[idx] += second(1)


@amp.kernel
def in_a_branch(idx, out):
    def first(x):
        return second(x)

    if idx[0] > 1:

        def second(x):
            return x

    out[idx] = first(idx[0])


REFUSED = {
    of_lambda: "VKA202.*`odd`",
    in_a_circle: "VKA204.*even -> odd -> even",
    too_early: "VKA202.*`second`",
    in_a_branch: "VKA202.*`second`",
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_refusals(kernel):
    out = amp.array_view(np.zeros(3, I32))
    with pytest.raises(amp.CompileError, match=REFUSED[kernel]):
        kernel.inspect(out.extent, out)
