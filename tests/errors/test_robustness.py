"""Odd but plausible Python: every kernel compiles, or is rejected with an error code. Every kind of expression is put
into every place of an expression, and every kind of statement into every block. Accepted kernels also pass the verifier
and become GLSL.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import math
import sys
import warnings
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp.messages import MESSAGES

POINT = np.dtype([("x", "f4"), ("y", "i4"), ("z", "f4", (3,))])

EXPRESSIONS = (
    # Literals of every type, and displays.
    "1", "2.5", "True", "None", "...", "'text'", "b'x'", "1j", "1e400", "-1", "2**31", "10**5000", "1e39", "f'{n}'",
    "()", "(1,)", "(1, 2.0)", "(n, (n, m))", "[]", "[1, n]", "{1}", "{1: 2}", "{**table}", "[*pair]", "(*pair,)",
    # Names of every kind of thing.
    "n", "m", "flag", "a", "c", "grid", "points", "idx", "t", "shift", "point", "unknown", "x", "y", "values", "tmp",
    "pair", "np", "math", "amp", "amp.float32", "amp.float64", "amp.fast_math", "range", "int", "print", "len",
    "table", "array", "text", "settings", "nothing", "half", "double", "plain", "kernel", "POINT", "POINT['x']",
    "Color", "Color.RED", "BIG", "NAN", "late", "RAGGED", "amp.index", "amp.array", "type", "super", "__name__",
    "weird",
    # Operators.
    "n + 1", "n / 0", "n // m", "m % 3", "n ** 2", "n ** n", "2.0 ** m", "n << 1", "n >> m", "n & 1", "m | 1", "n ^ n",
    "a @ a", "-n", "+m", "~n", "~m", "not n", "-idx", "-t", "~idx", "idx + 1", "idx + idx", "idx * 2.5", "idx // 2",
    "idx % 0", "shift - idx", "idx + (1,)", "a + 1", "values + 1", "'a' + 'b'", "'%d' % n", "True + True",
    "flag & flag", "flag + n", "point + point", "double + 1", "int | None", "(1, 2) + (3,)", "(1, 2) * 2", "None + 1",
    "1 << 100", "1 if flag else 2.0", "a if flag else grid", "idx if flag else idx", "point if flag else points[0]",
    "(1, 2) if flag else (2, 3)", "1 if 'x' else None", "n and m", "a or n", "idx and flag", "flag and half(n)",
    "n < m", "n < m < 3", "1 < half(n) < half(m)", "idx == idx", "idx == (1,)", "idx != 3", "idx < idx", "a == a",
    "half == half", "POINT == POINT", "array == array", "weird == weird", "n is None", "n is not m", "n <= m", "n > m",
    "n >= m", "n != m", "n in (1, 2)", "n not in pair", "'a' == 'a'", "point == point", "flag == True", "n == flag",
    "amp.float32 == np.float32", "() == ()",
    # Subscripts and attributes.
    "a[idx]", "a[0]", "a[-1]", "a[n]", "a[m]", "a[2.5]", "a[flag]", "a['x']", "a[a]", "a[()]", "a[0, 0]", "a[0:2]",
    "a[...]", "a[None]", "a[idx][0]", "grid[0]", "grid[0][1]", "grid[0, 1]", "grid[idx]", "grid[0, 1, 2]", "c[c[idx]]",
    "points[0]", "points[0].x", "points[0]['x']", "points[0].q", "points[0][n]", "points[0].z", "points[0].z[1]",
    "points[0].z[n]", "points[0].z[7]", "points.x", "values[0]", "values[9]", "values[n]", "values[0, 0]", "tmp[idx]",
    "tmp[half(n)]", "pair[0]", "pair[n]", "pair[7]", "pair[True]", "pair['a']", "idx[0]", "idx[n]", "idx[9]", "idx[a]",
    "shift[n]", "n[0]", "half[0]", "np[0]", "table['a']", "array[0]", "text[0]", "RAGGED[0]", "RAGGED[1][0]", "n.real",
    "a.extent", "a.extent[0]", "a.extent.size()", "a.extent.contains(idx)", "a.extent.tile(2)", "a.rank", "a.dtype",
    "a.shape", "a.synchronize", "a.__class__", "a._x", "idx.rank", "idx.global_", "idx.local", "idx.tile",
    "idx.tile_extent", "idx.tile_dim0", "idx.tile_dim7", "idx.barrier", "idx.barrier.wait", "idx.x", "idx.extent",
    "values.extent", "values.rank", "values.dtype", "pair.index", "math.pi", "math.nothing", "np.float32(1)", "np.pi",
    "np.float32.name", "amp.nothing", "settings.gain", "text.upper", "array.T", "half.function", "POINT.names",
    "point.x", "point.y", "point.q", "point.z", "unknown.x", "n.imag.real", "weird.x", "late.x", "int.real",
    # Calls.
    "half(n)", "half()", "half(n, n)", "half(x=n)", "half(q=n)", "half(*pair)", "half(**table)", "half(a)",
    "half(half)", "half(idx)", "half(None)", "half('a')", "half(half(n))", "double(n)[0]", "double(n)", "nothing()",
    "first(values)", "first(a)", "first(tmp)", "first(grid[0])", "first(points[0].z)", "first(pair)", "loop(n)",
    "again(n)", "plain(n)", "kernel(idx)", "a(0)", "n(1)", "idx(0)", "pair(0)", "np(1)", "'a'()", "'a'.upper()",
    "None()", "(lambda: 1)()", "unknown(1)", "print(n)", "len(a)", "len(pair)", "sum(pair)", "min(n)", "min(n, m)",
    "max(n, 1, 2.0)", "abs(idx)", "abs(-1)", "round(2.5)", "round(2.5, 1)", "pow(n, 2)", "pow(n, 2, 3)", "int(2.5)",
    "int()", "int('1')", "int(m)", "int(math.inf)", "int(math.nan)", "float(a)", "bool(n)", "bool(idx)", "str(n)",
    "list(a)", "tuple(pair)", "dict(a=1)", "isinstance(n, int)", "type(n)", "range(3)", "range(n)", "enumerate(a)",
    "open('x')", "input()", "iter(a)", "next(a)", "id(a)", "hash(n)", "object()", "ValueError()", "super()",
    "getattr(n, 'x')", "globals()", "math.sqrt(n)", "math.sqrt(-1)", "math.sqrt(x=1)", "math.sqrt(a)", "math.sqrt()",
    "math.gcd(n, 2)", "math.floor(m)", "np.sqrt(m)", "np.zeros(3)", "np.sum(a)", "np.float64(1)", "np.int8(n)",
    "np.str_('x')", "np.floating(1)", "np.generic(1)", "np.dtype('f4')", "np.random.rand()", "np.bool_(n)",
    "np.uint32(-1)", "np.uint32(2**40)", "np.complex64(1)", "np.datetime64('now')", "amp.int32(1e30)",
    "amp.float32(2**200)", "amp.float32(m, dtype=1)", "amp.index(1)", "amp.index()", "amp.index(1, 2.5)",
    "amp.index(idx)", "amp.index(a)", "amp.index('a')", "amp.extent(2, 2)", "amp.index(rank=1)",
    "amp.extent(3).contains(n)", "amp.array(3, int)", "amp.array_view(a)", "amp.tile_static(3, int)",
    "amp.private(3, int)", "amp.private(3, int)[0]", "amp.static_range(3)", "amp.tdiv(n, 0)", "amp.tdiv(n, m)",
    "amp.trem(7, n)", "amp.trem(n)", "amp.copy(a, a)", "amp.kernel(half)", "amp.func(half)", "amp.accelerator()",
    "amp.parallel_for_each(n)", "amp.fast_math.sin(m)", "amp.fast_math.sin(idx)", "amp.fast_math.sin(1, 2)",
    "amp.fast_math.sin(2**2000)", "amp.fast_math()", "amp.constant", "amp.constant()", "amp.atomic_fetch_add(c[0], 1)",
    "amp.atomic_fetch_add(c, 1)", "amp.atomic_fetch_add(n, 1)", "amp.atomic_fetch_add(values[0], 1)",
    "amp.atomic_fetch_add(points[0].y, 1)", "amp.atomic_fetch_add(a[0], 1)", "amp.atomic_fetch_add(c[0])",
    "amp.atomic_fetch_add()", "amp.atomic_fetch_add(c[0], 2.5)", "amp.atomic_fetch_add(c[0], a)",
    "amp.atomic_fetch_inc(c[c[0]])", "amp.atomic_exchange(c[0], value=1)", "amp.atomic_compare_exchange(c[0], 0, 1)",
    "amp.atomic_compare_exchange(c[0], y, 1)", "amp.atomic_compare_exchange(c[0], x, 1)",
    "amp.atomic_compare_exchange(c[0], a, 1)", "amp.all_memory_fence(idx.barrier)", "amp.all_memory_fence(idx)",
    "amp.all_memory_fence()", "idx.barrier.wait()", "idx.barrier.wait(1)", "idx.barrier()", "idx.barrier.nothing()",
    "a.synchronize()", "a.section(1)", "a.extent()", "a.copy_to(a)", "weird()", "weird(n)", "late(n)", "settings()",
    "settings.method()", "array()", "array.sum()",
    # Short vectors.
    "v", "v.x", "v.q", "v.zyx", "v.xx", "v.rg", "v.xr", "v[0]", "v[n]", "v.ref_x", "v.ref_x()", "v.size", "-v", "~v",
    "not v", "v + 1", "v + v", "v + idx", "v * 2.5", "v // 2", "v % 2", "v ** 2", "v @ v", "v << 1", "v & v", "v == v",
    "v < v", "v == 1", "v and n", "v if flag else v", "v if flag else n", "amp.float2", "amp.float2()",
    "amp.float3(1)", "amp.float3(1, 2)", "amp.float3(1, 2, 3)", "amp.float3(v)", "amp.float3(v, 1)", "amp.float3('x')",
    "amp.float3(a)", "amp.float3(x=1)", "amp.int2(2.5, m)", "amp.uint2(-1)", "amp.double2(1)", "amp.int3(v)",
    "half(v)", "first(v)", "abs(v)", "amp.fast_math.sin(v)", "max(v, v)", "vectors[0]", "vectors[idx].x",
    "vectors[0].zyx", "vectors.x",
    # What the language has not at all.
    "lambda: 1", "lambda x: x + n", "[i for i in range(3)]", "{i for i in a}", "{i: i for i in a}", "(i for i in a)",
    "(q := 1)", "(n := 1)", "(yield)", "(yield n)", "(yield from a)", "a[lambda: 1]", "sum(i for i in a)", "*a",
)  # fmt: skip

PLACES = (
    "x = {e}", "n = {e}", "a = {e}", "idx = {e}", "x += {e}", "y <<= {e}", "a[idx] = {e}", "a[idx] -= {e}",
    "c[{e}] = 1", "a[{e}] += 1", "points[0].x = {e}", "points[0] = {e}", "points[{e}].y += 1", "q = r = {e}",
    "q, r = {e}", "(q, r), s = {e}", "q, r = {e}, {e}", "q = {e}\nr = q", "pair = {e}", "values = {e}", "q: int = {e}",
    "q: {e} = 1", "q: {e}", "{e}", "return {e}", "assert {e}", "assert n, {e}", "if {e}:\n    x = 1.0",
    "while {e}:\n    x = 1.0\n    break", "for i in {e}:\n    x = 1.0", "for i in range({e}):\n    x = 1.0",
    "for i in range(1, {e}, {e}):\n    x = 1.0", "for i in amp.static_range({e}):\n    x = 1.0", "raise {e}",
    "q = amp.private({e}, int)", "q = amp.private(3, {e})", "q = amp.tile_static(({e}, 2), amp.int32)",
    "q = amp.private({e}, {e}, {e})", "q = amp.private(shape=3, dtype={e})", "x = half({e})", "x = half(x={e})",
    "x = first({e})", "x = power(2.0, n={e})", "x = abs({e})", "x = min({e}, {e})", "x = float({e})", "x = ({e})[0]",
    "x = ({e}).x", "({e}).x = 1", "({e})[0] = 1", "({e})[0] += 1", "({e})(1)", "x = -({e})", "x = not ({e})",
    "x = ({e}) + 1", "x = 2.5 * ({e})", "x = ({e}) + ({e})", "x = ({e}) == ({e})", "x = 1 < ({e}) < 2",
    "x = ({e}) or n", "x = n and ({e})", "x = ({e}) if n else 1", "x = 1 if ({e}) else 2", "x = f'{{{e}}}'",
    "amp.atomic_fetch_add({e}, 1)", "amp.atomic_fetch_add(c[0], {e})", "amp.atomic_compare_exchange(c[0], {e}, 1)",
    "amp.all_memory_fence({e})", "x = amp.index({e})[0]", "x = a.extent.contains({e})", "x = ({e}, 1)", "del {e}",
    "with {e}:\n    pass", "with {e} as q:\n    pass", "for {e} in range(3):\n    pass", "{e} = 1", "{e} += 1",
    "x = amp.tdiv({e}, {e})", "x = ({e}) ** ({e})", "x = ({e}) << ({e})", "match {e}:\n    case 1:\n        pass",
    "if n:\n    q = {e}\nelse:\n    q = {e}\nx = q", "for k in range(3):\n    q = {e}",
    "try:\n    q = {e}\nfinally:\n    pass",
)  # fmt: skip

STATEMENTS = (
    "pass", "x = 1", "'text'", "1", "...", "global counter", "import math", "from math import pi", "del x", "return",
    "return None", "return 1", "break", "continue", "raise", "raise ValueError", "assert True", "assert 0, 'no'",
    "def f():\n    return 1", "async def f():\n    pass", "class C:\n    pass", "try:\n    pass\nexcept E:\n    pass",
    "with a:\n    pass", "while True:\n    pass", "while True:\n    break", "while 0:\n    x = 1",
    "while n:\n    pass\nelse:\n    pass", "while n:\n    continue", "for i in range(3):\n    pass\nelse:\n    pass",
    "for i in a:\n    pass", "for i, j in range(3):\n    pass", "for a[0] in range(3):\n    pass",
    "for n in range(3):\n    pass", "for x in range(3):\n    pass", "for i in range(3):\n    i = 1",
    "for i in amp.static_range(3):\n    i += 1", "for i in amp.static_range(2):\n    for i in range(3):\n        pass",
    "for i in range(0):\n    pass", "for i in range(2**40):\n    pass", "for i in range(1, 2, 3, 4):\n    pass",
    "for i in range(stop=3):\n    pass", "for i in range(*pair):\n    pass",
    "for i in amp.static_range(10**9):\n    pass", "if 1:\n    pass", "if 0:\n    unknown()\nelse:\n    x = 1",
    "if n:\n    return\nx = 1", "return\nx = 1", "x: int", "x: int = 1", "a[0]: int = 1", "x.y = 1", "x[0] = 1",
    "np.x = 1", "idx.local = 1", "idx.global_[0] = 1", "a.extent = 1", "x = y = 1", "x, y = y, x", "x, y = 1",
    "x, *y = 1, 2", "[x, y] = 1, 2", "(x) = 1", "() = ()", "x, x = 1, 2", "a[0], a[1] = a[1], a[0]", "x = x", "z = z",
    "z += 1", "x += 'a'", "x @= 1", "x **= 2", "x //= 0", "x |= 1", "a += 1", "idx += 1", "pair += 1", "shift += 1",
    "shift += shift", "point += 1", "point = points[0]", "point.x = 1", "values = 1", "values[0] = 1",
    "values[0] += 'a'", "half = 1", "def_ = half", "amp = 1", "range = 3", "q = half\nx = q(1)",
    "q = amp.private\nr = q(3, int)", "q = a\nq = grid", "q = a\nq[0] = 1", "q = idx\nq[0] = 2", "q = (a, n)",
    "q = ()", "q = (1, 2)\nq = (1, 2, 3)", "q = (1, 2)\nq[0] = 5", "q = (1, 2)\nq += (3,)",
    "q = points[0]\nq.x = 1\nq = points[1]", "q = idx.barrier", "q = idx.barrier.wait\nq()", "q = a.extent\nx = q[0]",
    "q = amp.tile_static(3, int)\nq = amp.tile_static(3, int)", "if n:\n    q = amp.tile_static(3, int)",
    "q = amp.private(3, int)\nq = amp.private(4, int)", "q: int = amp.private(3, int)", "q = r = amp.private(3, int)",
    "q = amp.private(3, POINT)\nq[0].x = 1\nq[0].z[1] = 2", "q = amp.private((), int)\nq[()] = 1\nx = q + 1",
    "q = amp.private(2**40, int)", "q = amp.private((2,) * 40, int)", "v.x = 1", "v.x = 2.5", "v.xy = v.yx",
    "v.xx = v.xy", "v.q = 1", "v.x += n", "v.xy += 1", "v = n", "v = amp.int3(1)", "v += 1", "v += v.xy", "v *= 'a'",
    "v[0] = 1", "q = v\nq.x = 1", "x, y, y = v", "vectors[0].x = 1", "vectors[0] = v", "vectors[0].xy += 1",
    "vectors[0] += 1", "amp.atomic_fetch_add(vectors[0].x, 1)", "v.ref_x = 1",
    "q = amp.private(3, amp.float3)\nq[0].x = 1", "q = amp.private(3, amp.float3)\nq[0] = 1", "q: amp.float3 = 1",
    "match n:\n    case _:\n        pass",
)  # fmt: skip

BLOCKS = (
    "{s}", "if n:\n{t}", "if n:\n    pass\nelse:\n{t}", "while n:\n{t}", "for k in range(4):\n{t}", "{s}\n{s}",
    "for k in amp.static_range(2):\n{t}", "if n:\n{t}\nelse:\n{t}\nx = 1", "for k in range(n):\n{t}\n    x = 1",
)  # fmt: skip


class Weird:
    """An object whose comparison and attributes fail."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise TypeError("hashed")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@amp.func
def half(x):
    return x * 0.5


@amp.func
def double(x):
    return x, x


@amp.func
def nothing():
    pass


@amp.func
def first(values):
    return values[0]


@amp.func
def loop(n):
    return loop(n)


@amp.func
def again(n):
    return loop(n) + again(n)


@amp.func
def power(x, *, n: amp.constant):
    return x**n


@amp.kernel
def kernel(idx):
    pass


def plain(x):
    return x


def names() -> dict[str, Any]:
    """What the kernels find in their module."""
    import enum

    found: dict[str, Any] = {
        "np": np, "math": math, "amp": amp, "POINT": POINT, "half": half, "double": double, "nothing": nothing,
        "first": first, "loop": loop, "again": again, "power": power, "plain": plain, "kernel": kernel,
        "table": {"a": 1}, "array": np.zeros(3), "text": "text", "settings": SimpleNamespace(gain=2.0),
        "Color": enum.IntEnum("Color", "RED GREEN"), "BIG": 10**5000, "NAN": math.nan, "RAGGED": ((1,), (2, 3)),
        "weird": Weird(), "__name__": "odd",
    }  # fmt: skip
    return found


HEAD = """\
@amp.kernel
def odd(idx, a, c, grid, points, vectors, n, m, flag, shift, point):
    x = 1.5
    y = 1
    y += n
    t = idx
    pair = (n, 2)
    values = amp.private(4, amp.float32)
    v = vectors[idx]
"""


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def compiled(source: str, name: str, *, tiled: bool) -> str | None:
    """The GLSL of a kernel, or ``None`` if it is rejected with an error code; other exceptions pass through."""
    module = names()
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    try:
        exec(compile(source, filename, "exec"), module)
        floats, ints = amp.array_view(np.zeros(12, np.float32)), amp.array_view(np.zeros(12, np.int32))
        grid, points = amp.array_view(np.zeros((6, 10), np.float32)), amp.array_view(np.zeros(12, POINT))
        domain = amp.extent(12).tile(4) if tiled else amp.extent(12)
        vectors = amp.array_view(amp.extent(12), amp.float3)
        arguments = (floats, ints, grid, points, vectors, 3, np.float32(2.5), True, amp.index(1), np.zeros(1, POINT)[0])
        inspection = module["odd"].inspect(amp.accelerator("reference").default_view, domain, *arguments)
    except (amp.CompileError, amp.UnsupportedFeatureError) as error:
        refusal = error
    else:
        glsl: str = inspection.glsl
        return glsl
    finally:
        del linecache.cache[filename]
    # The device's limit of tile_static memory is of the whole kernel: no line breaks it.
    if refusal.error_code is not None or "tile_static memory" not in str(refusal):
        assert refusal.error_code in MESSAGES, refusal
        assert refusal.span is not None, refusal
        assert str(refusal).startswith(f"{refusal.error_code}: "), refusal
    return None


def parses(body: str) -> bool:
    """Whether Python itself takes it; some versions lack syntax that others have."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(f"def odd():\n{indented(body)}", "<body>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def check(bodies: Iterable[str]) -> None:
    """Compiles bodies, alternately tiled and untiled; reports all that fail without an error code."""
    failures: dict[str, str] = {}
    for k, body in enumerate(filter(parses, bodies)):
        tiled = k % 3 > 0
        memory = "    tmp = amp.tile_static(4, amp.float32)\n" if tiled else ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled(f"{HEAD}{memory}{indented(body)}", "odd", tiled=tiled)
        except Exception as error:
            failures[f"{type(error).__name__}: {str(error)[:200]}"] = body
    text = "\n".join(f"{error}\n{indented(body)}" for error, body in failures.items())
    assert not failures, f"{len(failures)} kinds of failure, one body each:\n{text}"


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_VERIFY", "1")


@pytest.mark.parametrize("place", ["x = {e}", "{e}", "a[{e}] = 1", "x = half({e})", "if {e}:\n    x = 1.0"])
def test_every_expression_in(place: str) -> None:
    check(place.format(e=e) for e in EXPRESSIONS)


#: Of all pairs of a place and an expression one in so many is tried: no divisor of either number.
ONE_IN = 127


def test_pairs_of_places_and_expressions() -> None:
    assert len(PLACES) % ONE_IN and len(EXPRESSIONS) % ONE_IN
    pairs = itertools.islice(itertools.product(PLACES, EXPRESSIONS), 0, None, ONE_IN)
    check(place.format(e=expression) for place, expression in pairs)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_statement_in(block: str) -> None:
    check(block.format(s=s, t=indented(s).rstrip("\n")) for s in STATEMENTS)


def test_every_kind_of_syntax_is_tried() -> None:
    bodies = itertools.chain(
        (f"x = {e}" for e in EXPRESSIONS), (p.format(e="n") for p in PLACES), STATEMENTS, ("f(*a)", "x = a[1:2]")
    )
    tried: set[type] = set()
    for body in bodies:
        if parses(body):
            tried |= {type(node) for node in ast.walk(ast.parse(f"def odd():\n{indented(body)}"))}
    kinds = {k for base in (ast.expr, ast.stmt, ast.operator, ast.unaryop, ast.cmpop) for k in base.__subclasses__()}
    # Of other statements or versions: asynchronous ones stand in coroutines, which are refused whole.
    outside = {"AsyncFor", "Nonlocal", "AsyncWith", "Await", "TryStar", "TypeAlias", "Num", "Str", "Bytes",
               "NameConstant", "Ellipsis", "Index", "ExtSlice", "TemplateStr", "Interpolation"}  # fmt: skip
    assert {k.__name__ for k in kinds - tried} - outside == set(), sys.version
