"""``match`` with names, guards and tuples gives what Python gives."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.kernel_language.programs import I32, check_as_python

N = 12
LIMIT = 4


@amp.func
def with_names(i: amp.int32):
    match i - 3:
        case 0:
            return 7
        case n if n > LIMIT:
            return n * 10
        case 1 | 2 as small:
            return 1000 + small
        case n:
            return n - 1


@amp.func
def of_tuples(i: amp.int32):
    match (i % 2, i // 2):
        case (0, 0):
            r = 1
        case (0, y) if y > 3:
            r = y * 10
        case (x, 1 | 3):
            r = 100 + x
        case (x, y, z):
            r = x + y + z
        case (1, _):
            r = -1
        case both:
            r = both[0] * 7 + both[1]
    return r


@amp.func
def names_stay(i: amp.int32):
    """A guard that fails leaves the names bound."""
    x = 50
    match (i, x):
        case (x, 50) if x > 5:
            x += 100
        case (1 | 2, y):
            x += y
        case (3, x):
            x += 1
    return x


@amp.func
def of_itself(x: amp.int32):
    match x:
        case 5:
            x = 6
        case x if x % 2 == 0:
            x += 100
        case y:
            x = y * 2
    return x


@amp.func
def nested(i: amp.int32):
    total = 0
    for k in range(5):
        match (k, (i % 3, total)):
            case (0 | 1, (0, t)):
                total = t + 1
                continue
            case (n, (m, _)) if n > m:
                total += n * 10
            case (_, pair) if pair[1] > 30:
                break
            case _:
                total += 2
        match total % 4:
            case 1:
                total += 1
            case rest if rest == k:
                total += rest
    return total


FUNCTIONS = (with_names, of_tuples, names_stay, of_itself, nested)


def test_functions(accelerator_view):
    check_as_python(accelerator_view, FUNCTIONS, N)


@amp.kernel
def known(idx, out, *, mode: amp.constant, size: amp.constant):
    match (mode, size):
        case ("sum", n) if n > 2:
            out[idx] = n
        case ("sum", _):
            out[idx] = 1
        case (_, n):
            out[idx] = -n


def test_constants(accelerator_view):
    for mode, size, expected in [("sum", 4, 4), ("sum", 2, 1), ("max", 9, -9)]:
        out = amp.array_view(np.zeros(3, I32))
        amp.parallel_for_each(accelerator_view, out.extent, known, out, mode=mode, size=size)
        assert np.asarray(out).tolist() == [expected] * 3


@amp.kernel
def nested_function(idx, out):
    def pick(p, q):
        match (p, q):
            case (0, n):
                return n
            case (m, n):
                return m * 10 + n

    subject = idx[0] % 2
    out[idx] = pick(subject, idx[0])


def test_nested_functions(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    amp.parallel_for_each(accelerator_view, out.extent, nested_function, out)
    assert np.asarray(out).tolist() == [0, 11, 2, 13]
