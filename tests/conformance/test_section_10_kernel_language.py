"""The kernel language: what ``restrict(amp)`` allows, in small programs, and what it forbids, with the words."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, numbers, on
from tests.conformance.registry import row

LIMIT = 5
TABLE = (2, 3, 5)
RATE = 0.5
LIST = [1, 2]


def _ints(view, kernel, count, *args, **constants):
    """What a kernel makes of ``count`` zeros."""
    out = amp.array_view(np.zeros(count, I32))
    on(view, kernel, out.extent, out, *args, **constants)
    return np.asarray(out).tolist()


# -- restrictions --------------------------------------------------------------------------------------------------


@amp.func
def square(x):
    return x * x


@amp.kernel
def squares(i, out):
    out[i] = square(i[0])


@row("10", "restrict(amp): a function that kernels call, @amp.func")
@row("10", "restrict(cpu, amp): plain Python calls it too")
def test_device_functions(accelerator_view):
    assert _ints(accelerator_view, squares, 4) == [square(k) for k in range(4)]


@amp.func
def polynomial(x, y):
    result = x * y - x
    if result > y:
        result = result - y
    return result * result + y


@amp.kernel(precise=True)  # plain Python contracts nothing
def polynomials(i, a, b, out):
    out[i] = polynomial(a[i], b[i])


@row("10", "functions on host and device give the same results for float32 and int32 arguments")
@pytest.mark.parametrize("dtype", [F32, I32])
def test_host_and_device_agree(accelerator_view, dtype):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-99, 99, (2, 101)).astype(dtype)
    out = amp.array_view(np.zeros(101, dtype))
    on(accelerator_view, polynomials, out.extent, amp.array_view(a), amp.array_view(b), out)
    assert np.asarray(out).tolist() == [polynomial(x, y) for x, y in zip(a, b, strict=True)]


@amp.func
def where():
    return 1


@where.host
def _():
    return 2


@amp.kernel
def wheres(i, out):
    out[i] = where()


@row("10", "overloads by restriction: a function of its own for the host, @f.host")
def test_a_form_for_the_host(accelerator_view):
    assert _ints(accelerator_view, wheres, 2) == [1, 1]
    assert where() == 2


@amp.func
def width(x: amp.float32):
    return 1


@width.register
def _(x: amp.int32):
    return 2


@width.register
def _(x: amp.int32, y: amp.int32):
    return 3


@amp.kernel
def widths(i, out):
    out[i] = width(1.5) + 10 * width(i[0]) + 100 * width(i[0], 1)


@row("10", "overloads by argument types and number, @f.register")
def test_overloads(accelerator_view):
    assert _ints(accelerator_view, widths, 2) == [321, 321]
    assert (width(1.5), width(1), width(1, 1)) == (1, 2, 3)


@row(
    "10",
    "a callee must cover the restrictions of its caller: undecorated functions are refused",
    differs="plain functions and lambdas of a program are compiled as device functions; Python's own are refused",
)
def test_undecorated_functions(accelerator_view):
    def plain(x):
        return x + 41

    def kernel(i, out):
        out[i] = plain(1)

    assert _ints(accelerator_view, amp.kernel(kernel), 2) == [42, 42]

    def host(i, out):
        out[i] = textwrap.dedent("a")

    assert "`textwrap.dedent` is an ordinary Python function, which a kernel cannot call" in _refusal(host)


# -- what is allowed -----------------------------------------------------------------------------------------------


@amp.kernel
def control(i, out):
    k = i[0]
    total = 0
    for j in range(10):
        if j == k:
            continue
        if j > 7:
            break
        total += j
    while total > 20:
        total -= 7
    match k % 4:
        case 0:
            total += 100
        case 1 | 2:
            total += 200
        case _:
            out[i] = -1
            return
    out[i] = total if total % 2 == 0 else -total


@row("10", "if, switch, loops, break, continue, return, conditional")
def test_control_flow(accelerator_view):
    def expected(k):
        total = sum(j for j in range(8) if j != k)
        while total > 20:
            total -= 7
        if k % 4 == 3:
            return -1
        total += 100 if k % 4 == 0 else 200
        return total if total % 2 == 0 else -total

    assert _ints(accelerator_view, control, 9) == [expected(k) for k in range(9)]


@amp.kernel
def short_circuits(i, out, data):
    k = i[0]
    if k < 3 and data[k] > 0:
        out[i] = 1
    elif k >= 3 or data[k] > 0:
        out[i] = 2


@row("10", "short-circuit: the right side is not evaluated once decided")
def test_short_circuit(accelerator_view):
    # The reference accelerator would report the subscripts outside.
    assert _ints(accelerator_view, short_circuits, 5, amp.array_view(np.ones(3, I32))) == [1, 1, 1, 2, 2]


@amp.kernel
def arithmetic(i, out, u):
    k = i[0]
    a = (k + 3) * 2 - k % 3
    a <<= 1
    a |= 1
    b = float(a) / 2.0
    c = amp.int32(b) ^ 5
    out[i] = c + amp.int32(u[k] - amp.uint32(5) > amp.uint32(100)) + (k != 2) + (~k & 7)


@row("10", "arithmetic, bitwise, comparison, compound assignment, number casts")
@row("10", "unsigned arithmetic wraps")
def test_arithmetic(accelerator_view):
    def expected(k):
        a = (((k + 3) * 2 - k % 3) << 1) | 1
        return (int(a / 2) ^ 5) + (k < 5) + (k != 2) + (~k & 7)

    assert _ints(accelerator_view, arithmetic, 7, amp.array_view(numbers(7, dtype=U32))) == list(
        map(expected, range(7))
    )


@amp.kernel
def divisions(i, out, a):
    out[i] = a[i] // 3 + 10 * (a[i] % 3) + 100 * amp.tdiv(a[i], 3) + 1000 * amp.trem(a[i], 3)


@row("10", "integer division truncates: amp.tdiv, amp.trem", differs="`//` and `%` floor, as in Python")
def test_division(accelerator_view):
    a = np.array([7, -7, 5, -1], I32)
    expected = [x // 3 + 10 * (x % 3) + 100 * int(x / 3) + 1000 * int(math.fmod(x, 3)) for x in a.tolist()]
    assert _ints(accelerator_view, divisions, 4, amp.array_view(a)) == expected


@amp.struct
class Fraction:
    top: amp.int32
    bottom: amp.int32 = 1

    @amp.func
    def __mul__(self, other):
        return Fraction(self.top * other.top, self.bottom * other.bottom)

    @amp.func
    def whole(self):
        return self.top // self.bottom


@amp.func
def shifted(x, by=3):
    return x + by


@amp.func
def sized(x, *, SIZE: amp.constant):  # noqa: N803
    values = amp.private(SIZE, amp.int32)
    for j in range(SIZE):
        values[j] = x + j
    return values[SIZE - 1]


@amp.kernel
def values(i, out):
    local = amp.private((2, 3), amp.int32)
    local[1, 2] = i[0]
    product = Fraction(local[1, 2] * 4) * Fraction(3, bottom=2)
    out[i] = product.whole() + 100 * shifted(1) + 1000 * sized(i[0], SIZE=2)


@row("10", "locals, constant-size arrays, structs, methods, constructors, operators, templates, default arguments")
def test_values(accelerator_view):
    assert _ints(accelerator_view, values, 4) == [6 * k + 400 + 1000 * (k + 1) for k in range(4)]


@row("10", "destructors", refused="the values of a kernel have no destructors")
def test_destructors_do_nothing():
    assert "`del`" in _refusal(deletes)


def deletes(i, out):
    x = 1
    del x


@amp.func
def fill(memory, value):
    for j in range(3):
        memory[j] = value + j


@amp.kernel
def references(i, out):
    memory = amp.private(3, amp.int32)
    fill(memory, i[0])
    row_ = memory
    row_[0] += 10
    out[i] = memory[0] + memory[2]


@row("10", "references to locals and elements: arrays and containers go by reference", differs="Python has no pointers")
def test_references(accelerator_view):
    assert _ints(accelerator_view, references, 4) == [2 * k + 12 for k in range(4)]


@amp.func
def apply(f, x):
    return f(x)


@amp.kernel
def lambdas(i, out):
    offset = i[0]

    def nested(x):
        return apply(lambda y: y * offset, x) + LIMIT

    out[i] = apply(nested, 3)


@row("10", "lambdas capturing by value", differs="a name that is assigned again after the capture is refused")
@row("10", "nested functions and lambdas inherit the restriction")
def test_lambdas(accelerator_view):
    assert _ints(accelerator_view, lambdas, 4) == [3 * k + LIMIT for k in range(4)]


class Scale:
    STEP = 7

    def __init__(self, factor):
        self.factor = factor

    @amp.func
    def __call__(self, x):
        return x * self.factor + self.STEP


@amp.kernel
def functors(i, out, scale):
    out[i] = apply(scale, i[0])


@row("10", "functor objects, passed to device functions")
def test_functors(accelerator_view):
    assert _ints(accelerator_view, functors, 3, Scale(4)) == [7, 11, 15]


@amp.kernel
def global_numbers(i, out):
    out[i] = LIMIT + TABLE[2] + amp.int32(RATE * 4) + 0x10 + 1_000


@row("10", "literals; global const integers as values", differs="global floats and tuples of numbers too, by value")
def test_globals(accelerator_view):
    assert _ints(accelerator_view, global_numbers, 2) == [5 + 5 + 2 + 16 + 1000] * 2


@amp.kernel
def contracted(i, a, b, c, out):
    out[i] = a[i] * b[i] + c[i]


exactly = amp.kernel(precise=True)(contracted.function)


@row(
    "10", "no contraction of a * b + c unless fma is called",
    differs="contraction is allowed, as GPU compilers do; @amp.kernel(precise=True) forbids it",
)  # fmt: skip
def test_contraction(accelerator_view):
    rng = np.random.default_rng(5)
    a, b = rng.random((2, 50)).astype(F32)
    c = -(a * b)
    out = amp.array_view(np.ones(50, F32))
    views = [amp.array_view(x) for x in (a, b, c)]
    on(accelerator_view, exactly, out.extent, *views, out)
    assert not np.asarray(out).any()
    assert "precise" in exactly.inspect(out.extent, *views, out).glsl


# -- what is forbidden ---------------------------------------------------------------------------------------------


def _refusal(kernel, *args, domain=None):
    """The words of a refusal: its headline, and what to write instead."""
    out = amp.array_view(np.zeros(4, I32))
    with pytest.raises((amp.CompileError, amp.UnsupportedFeatureError)) as caught:
        amp.kernel(kernel).inspect(domain or out.extent, out, *args)
    lines = str(caught.value).splitlines()
    return f"{lines[0].split(': ', 1)[1]}; {lines[-1].split('help: ')[-1]}"


def tries(i, out):
    try:
        out[i] = 1
    finally:
        out[i] = 2


def raises(i, out):
    raise ValueError


def declares_global(i, out):
    global LIMIT
    LIMIT = i[0]


def allocates(i, out):
    out[i] = [1, 2][0]


def has_string(i, out):
    name = "x"
    out[i] = name


def any_keywords(i, out):
    def total(**numbers):
        return 1

    out[i] = total(a=1, b=2)


def uses_list(i, out):
    out[i] = LIST[0]


def asks_type(i, out):
    out[i] = isinstance(out, amp.array_view)


def out_of_range(i, out):
    out[i] = 4294967296


def makes_array(i, out):
    local = amp.array(amp.extent(3), amp.int32)
    out[i] = local[0]


def copies(i, out):
    amp.copy(out, out)


def synchronizes(i, out):
    out.synchronize()


def refreshes(i, out):
    out.refresh()


def discards(i, out):
    out.discard_data()


@amp.func
def recursive(n):
    return 1 if n < 1 else recursive(n - 1)


@amp.func
def ping(n):
    return pong(n)


@amp.func
def pong(n):
    return ping(n)


def recurses(i, out):
    out[i] = recursive(i[0])


def recurses_indirectly(i, out):
    out[i] = ping(i[0])


def prints(i, out):
    print(i)


NO_EXCEPTIONS = "a kernel raises no exceptions: "

FORBIDDEN = {
    "try": (tries, "kernels do not support `try`; " + NO_EXCEPTIONS + "test the condition with `if`"),
    "throw": (
        raises,
        "kernels do not support `raise`; " + NO_EXCEPTIONS + "use `assert` for check mode, or store an error code",
    ),
    "static locals and other globals that are written": (
        declares_global,
        "kernels do not support `global`; results leave a kernel through containers: pass a view of one element, "
        "`total`, and write `amp.atomic_fetch_add(total[0], value)`",
    ),
    "new and delete": (
        allocates,
        "kernels do not support lists; use amp.private(shape, dtype), or a tuple for a few values",
    ),
    "strings": (has_string, "kernels do not support strings; use numbers"),
    "varargs": (
        any_keywords,
        "`total` takes any number of keyword arguments (`**numbers`), which kernels do not support; write a name for "
        "every parameter, or take any number of arguments by position, `*numbers`",
    ),
    "other globals": (
        uses_list,
        "`LIST` is a list, which a kernel cannot use; make it a tuple of numbers, which are compile-time constants, "
        "or pass an amp.array_view over a numpy array of its values",
    ),
    "dynamic_cast, typeid": (
        asks_type,
        "kernels do not support `isinstance` of `amp.array_view`; "
        'write `hasattr(x, "extent")`, which is true of containers, arrays and their rows',
    ),
    "out-of-range literals": (
        out_of_range,
        "4294967296 does not fit int32, which holds whole numbers from -2147483648 to 2147483647; "
        "use a number that fits, or compute in int64 where the device has it: `amp.int64(4294967296)`",
    ),
    "constructing arrays": (
        makes_array,
        "`amp.array` works on the host only, not in a kernel; use it before or after the launch",
    ),
    "copy": (copies, "`amp.copy` works on the host only, not in a kernel; use it before or after the launch"),
    "synchronize": (
        synchronizes,
        "`out.synchronize` works on the host only, not in a kernel; use it before or after the launch",
    ),
    "refresh": (refreshes, "`out.refresh` works on the host only, not in a kernel; use it before or after the launch"),
    "discard_data": (
        discards,
        "`out.discard_data` works on the host only, not in a kernel; use it before or after the launch",
    ),
    "recursion": (
        recurses,
        "`recursive` calls itself (recurses -> recursive -> recursive); kernels do not support recursion; "
        "write it as a loop",
    ),
    "indirect recursion": (
        recurses_indirectly,
        "`ping` calls itself (recurses_indirectly -> ping -> pong -> ping); kernels do not support recursion; "
        "write it as a loop",
    ),
    "debug output by print": (
        prints,
        "`print` works on the reference accelerator only, and this launch runs on another one; "
        'run with VKAMP_ACCELERATOR=reference, or pass `amp.accelerator("reference")` before the domain; or remove it',
    ),
}


@row("10", "forbidden: goto, try/throw, exception specifications")
@row(
    "10",
    "forbidden: dynamic_cast, typeid, pointer casts",
    differs="`type(x)` and `isinstance(x, T)` of values are compile-time constants",
)
@row(
    "10",
    "forbidden: static locals, new/delete, virtual, function pointers, varargs",
    differs="`*args` works, expanded at compile time",
)
@row("10", "forbidden: recursion, direct or indirect")
@row("10", "forbidden: other globals, strings, out-of-range literals")
@row("10", "forbidden: constructing arrays, copy, synchronize, refresh, discard_data, other host API")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden(name):
    kernel, words = FORBIDDEN[name]
    assert _refusal(kernel) == words


@amp.kernel
def views(i, out, data):
    part = data.section(amp.index(1), amp.extent(3))
    local = amp.private(4, amp.int32)
    local[i[0]] = part[2]
    out[i] = part[0] + local[i[0]] + data.view_as(amp.extent(2, 2))[1, 0]


@row("10", "views over arrays and locals; section, projection, reinterpret_as, view_as")
def test_views_in_kernels(accelerator_view):
    assert _ints(accelerator_view, views, 3, amp.array_view(numbers(4))) == [1 + 3 + 2] * 3
