"""Parameters that a call leaves out: `if z is None: z = ...`, which is decided at compile time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import define
from tests.kernel_language.programs import check_as_python


@amp.struct
class Pair:
    a: amp.int32
    b: amp.int32


@amp.func
def of_number(x, z=None):
    if z is None:
        z = x
    z += 1
    return x * z


USED = 3


@amp.func
def of_local(x, z=None):
    factor = None
    if USED > 2:
        factor = USED
    offset = unused = None
    if factor is not None and unused is None:
        offset = x * factor
    if z is None:
        return offset
    return offset + of_number(z, None) + of_number(x, z=None)


@amp.func
def of_nested(x):
    def shifted(y, by=None):
        if by is None:
            return y
        return y + by

    return shifted(x) + shifted(x, 2) * 10 + shifted(x, None) * 100 + shifted(by=x, y=3) * 1000


@amp.func
def of_vector(x, v=None):
    if v is None:
        v = amp.int2(x, 1)
    else:
        v = v + 1
    v.y += 1
    return v.x * 10 + v.y


@amp.func
def of_tuple(x, t=None):
    if t is None:
        t = (x, 2)
    return t[0] * 10 + t[1]


@amp.func
def of_struct(x, p=None):
    if p is None:
        p = Pair(x, 2)
    p.b += 1
    return p.a * 10 + p.b


@amp.func
def of_array(x, a=None):
    if a is None:
        a = amp.private(2, amp.int32)
        a[0] = x
        a[1] = 5
    return a[0] * 10 + a[1]


@amp.func
def of_function(x, f=None):
    if f is None:
        f = lambda y: y * 3  # noqa: E731 -- as people write it
    return f(x)


@amp.func
def of_container(a, x, b=None):
    if b is None:
        b = a
    return b[x]


@amp.func
def in_an_expression(x, *, z=None):
    z = x if z is None else z
    return z + 1


@amp.func
def twice(y):
    return y + y


@amp.kernel
def functions(idx, a, b, out):
    i = idx[0]
    own = amp.private(2, amp.int32)
    own[0] = 7
    own[1] = i
    pair = Pair(i, 8)
    out[0, i] = of_number(i) + 100 * of_number(i, 4)
    out[1, i] = of_vector(i) + 1000 * of_vector(i, amp.int2(3, i))
    out[2, i] = of_tuple(i) + 1000 * of_tuple(i, (i, 4))
    out[3, i] = of_struct(i) + 1000 * of_struct(i, pair)
    out[4, i] = of_array(i) + 1000 * of_array(i, own)
    out[5, i] = of_function(i) + 1000 * of_function(i, twice)
    out[6, i] = of_container(a, i) + 1000 * of_container(a, i, b)
    out[7, i] = in_an_expression(i) + 1000 * in_an_expression(i, z=5)


def test_functions(accelerator_view):
    n = 4
    i = np.arange(n)
    a, b = (amp.array_view(np.array(v, np.int32)) for v in ([4, 3, 2, 1], [9, 8, 7, 6]))
    out = amp.array_view(np.zeros((8, n), np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(n), functions, a, b, out)
    expected = [
        i * (i + 1) + 100 * i * 5,
        i * 10 + 2 + 1000 * (40 + i + 2),
        i * 10 + 2 + 1000 * (i * 10 + 4),
        i * 10 + 3 + 1000 * (i * 10 + 9),
        i * 10 + 5 + 1000 * (70 + i),
        i * 3 + 1000 * 2 * i,
        np.asarray(a) + 1000 * np.asarray(b),
        i + 1 + 6000,
    ]
    assert np.asarray(out).tolist() == np.array(expected).tolist()
    assert amp.check(accelerator_view, amp.extent(n), functions, a, b, out).ok


@amp.kernel
def of_launch(idx, out, *, n: amp.constant = None, scale: amp.constant = None):
    if n is None:
        n = 3
    if scale is None:
        scale = 10
        scale += n
    out[idx] = n * 100 + scale


CONSTANTS = [({}, 313), ({"n": 5}, 515), ({"scale": 2}, 302), ({"n": 4, "scale": 1}, 401)]


@pytest.mark.parametrize(("given", "expected"), CONSTANTS)
def test_parameters_of_a_kernel(accelerator_view, given, expected):
    out = amp.array_view(np.zeros(2, np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, of_launch, out, **given)
    assert np.asarray(out).tolist() == [expected] * 2


def test_names_that_are_none(accelerator_view):
    check_as_python(accelerator_view, (of_local, of_nested), 5)


REFUSED = {
    "z = None\n    z += 1": "VKA205", "z = k\n    z = None": "VKA316",
    "z = None\n    while z is None:\n        z = k": "VKA316",
    "z = None\n    z = z or 2": "VKA205", "z = None if k > 2 else k": "VKA205", "z = max(None, k)": "VKA205",
    "z = (None, k)": "VKA331", "z = -None": "VKA205", "z = None\n    return z": "VKA212",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_none_is_no_number(text):
    function = define(f"def k(k):\n    {text}\n    return 0\n")

    @amp.kernel
    def kernel(idx, out):
        out[idx] = function(idx[0])

    with pytest.raises(amp.CompileError, match=REFUSED[text]):
        kernel.inspect(2, amp.array_view(np.zeros(2, np.int32)))


def test_plain_calls():
    assert of_number(3) == 12
    assert of_vector(3) == 32
    assert of_tuple(3, (1, 2)) == 12


@amp.func
def in_a_branch(x, z=None):
    if x > 1:
        z = 3
    return 1 if z is None else z


@amp.func
def in_a_loop(x, z=None):
    for k in range(x):
        z = k
    return z


@pytest.mark.parametrize("function", [in_a_branch, in_a_loop])
def test_run_time(function):
    @amp.kernel
    def kernel(idx, out):
        out[idx] = function(idx[0])

    out = amp.array_view(np.zeros(2, np.int32))
    with pytest.raises(amp.CompileError, match="assign it outside of loops and of branches decided at run time"):
        kernel.inspect(out.extent, out)


def test_dataclass_defaults():
    @dataclasses.dataclass(frozen=True)
    class Options:
        limit: object = None

    @amp.kernel
    def limited(idx, out, *, options: amp.constant):
        limit = options.limit
        if limit is None:
            limit = 6
        out[idx] = min(idx[0], limit)

    out = amp.array_view(np.zeros(8, np.int32))
    amp.parallel_for_each(out.extent, limited, out, options=Options())
    assert np.asarray(out).tolist() == [0, 1, 2, 3, 4, 5, 6, 6]
