"""precise_math keeps its bounds on every device; functions with several results; fast_math where C has a value."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import defined
from tests.kernel_language.programs import F32, I32, rows, same, same_rows
from tools import ulp
from vkamp.ir.builtins import BUILTINS, TUPLES
from vkamp.ir.glsl_library import functions, needed_by

PRECISE = ulp.functions()

BOTH = [
    *("acos", "asin", "atan", "atan2", "ceil", "floor", "trunc", "cos", "sin", "cosh", "exp", "exp2", "fabs", "fmax"),
    *("fmin", "fmod", "frexp", "ldexp", "log", "log10", "log2", "modf", "pow", "round", "rsqrt", "signbit", "sincos"),
    *("sinh", "sqrt", "tan", "tanh"),
]
PREDICATES = ["isfinite", "isinf", "isnan"]
PRECISE_ONLY = [
    *("acosh", "asinh", "atanh", "cbrt", "copysign", "cospi", "sinpi", "tanpi", "erf", "erfc", "erfinv", "erfcinv"),
    *("exp10", "expm1", "fdim", "fma", "hypot", "ilogb", "lgamma", "log1p", "logb", "nan", "nearbyint", "nextafter"),
    *("phi", "probit", "rcbrt", "remainder", "remquo", "scalb", "scalbn", "tgamma"),
]


@pytest.mark.parametrize("name", [*BOTH, *PREDICATES])
def test_fast_math_has(name: str) -> None:
    assert callable(getattr(amp.fast_math, name))
    assert hasattr(amp.fast_math, f"{name}f") == (name not in PREDICATES)


@pytest.mark.parametrize("name", [*BOTH, *PREDICATES, *PRECISE_ONLY, "fpclassify", "isnormal"])
def test_precise_math_has(name: str) -> None:
    assert callable(getattr(amp.precise_math, name))
    assert hasattr(amp.precise_math, f"{name}f") == (name not in (*PREDICATES, "fpclassify", "isnormal"))


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("name", PRECISE)
def test_bound(accelerator_view, name: str) -> None:
    found = ulp.measure(accelerator_view, name, 1500, seed=7)
    assert found.is_good, found


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sqrt", (2.0,), math.sqrt(2)),
        ("sin", (2.0**70,), math.sin(2.0**70)),
        ("tgamma", (5.0,), 24.0),
        ("lgamma", (-0.5,), (1.2655121234846454, -1)),
        ("remquo", (17.0, 5.0), (2.0, 3)),
        ("remquo", (-7.0, 2.0), (1.0, -4)),
        ("frexp", (-12.0,), (-0.75, 4)),
        ("modf", (-2.5,), (-0.5, -2.0)),
        ("erfinv", (0.5,), 0.4769362762044699),
        ("erfcinv", (1e-10,), 4.572824967389486),
        ("probit", (0.975,), 1.959963984540054),
        ("nearbyint", (2.5,), 2.0),
        ("fma", (16777217.0, 16777217.0, -1.0), 2.0**48),
        ("ilogb", (0.0,), -(2**31)),
    ],
)  # fmt: skip
def test_plain_python_calls_give_the_reference(name: str, args: tuple[float, ...], expected: Any) -> None:
    found = getattr(amp.precise_math, name)(*(np.float32(a) for a in args))
    np.testing.assert_allclose(found, expected, rtol=3e-7)


def test_wrong_calls_in_plain_python() -> None:
    with pytest.raises(TypeError, match=r"^sincos takes 1 arguments, but 2 were given$"):
        amp.precise_math.sincos(1.0, 2.0)
    with pytest.raises(AttributeError, match=r"^vkamp has no precise_math.sine$"):
        amp.precise_math.sine(1.0)


# -- several results -----------------------------------------------------------------------------------------------


@amp.kernel
def several_results(i, a, b, out):
    k = i[0]
    out[0, k], out[1, k] = amp.precise_math.sincos(a[k])
    out[2, k], out[3, k] = amp.precise_math.modff(a[k])
    m, e = amp.precise_math.frexp(a[k])
    out[4, k] = m
    out[5, k] = e
    value, sign = amp.precise_math.lgamma(a[k])
    out[6, k] = value
    out[7, k] = sign
    rest, bits = amp.precise_math.remquo(a[k], b[k])
    out[8, k] = rest
    out[9, k] = bits
    pair = amp.fast_math.frexp(a[k])
    out[10, k] = pair[0]
    out[11, k] = pair[1]
    out[12, k], out[13, k] = math.modf(a[k])
    m, e = math.frexp(a[k])
    out[14, k] = m + e
    sine, cosine = amp.fast_math.sincosf(a[k])
    out[15, k] = floor_of(sine * sine + cosine * cosine + 0.5)


@amp.func
def floor_of(x):
    return math.floor(x)


def test_several_results(accelerator_view) -> None:
    a = np.array([0.3, -2.75, 5.5, -7.0, 100.25, 1e-3, -0.0625], F32)
    b = np.array([0.7, 2.0, -1.5, 2.0, 3.0, 1e-4, 1.0], F32)
    result = rows(accelerator_view, several_results, 16, F32, a, b)
    wide = a.astype(float)
    m, e = np.frexp(a)
    fraction, whole = np.modf(a)
    lgamma = [amp.precise_math.lgamma(x) for x in a]
    remquo = [amp.precise_math.remquo(x, y) for x, y in zip(a, b, strict=True)]
    close = {0: np.sin(wide), 1: np.cos(wide), 6: [v for v, _ in lgamma]}
    for row, expected in close.items():
        np.testing.assert_allclose(result[row], np.array(expected, F32), rtol=1e-6)
    exact = {
        2: fraction, 3: whole, 4: m, 5: e, 7: [s for _, s in lgamma], 8: [r for r, _ in remquo],
        9: [q for _, q in remquo], 10: m, 11: e, 12: fraction, 13: whole, 14: m + e.astype(F32), 15: np.ones(7),
    }  # fmt: skip
    for row, expected in exact.items():
        same(result[row], np.array(expected, F32), str(row))


@amp.kernel
def counted_arguments(i, counts, out):
    k = i[0]
    fraction, whole = amp.precise_math.modf(amp.atomic_fetch_add(counts[k], 1) + 0.25)
    out[0, k] = fraction
    out[1, k] = whole


def test_arguments_are_evaluated_once(accelerator_view) -> None:
    counts, result = np.array([3, 5, 8], I32), np.zeros((2, 3), F32)
    c, out = amp.array_view(counts), amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(3), counted_arguments, c, out)
    same(np.asarray(out), [[0.25, 0.25, 0.25], [3, 5, 8]])
    same(np.asarray(c), [4, 6, 9])


def test_tuple_rows_name_rows() -> None:
    for row in TUPLES.values():
        assert len({BUILTINS[part].params for part in row.parts}) == 1, row.name
        assert row.doc.endswith("."), row.name


def failure(source: str, *args: Any) -> str:
    with pytest.raises(amp.CompileError) as error:
        amp.parallel_for_each(amp.extent(3), defined(source), *args)
    return str(error.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("amp.precise_math.sincos(1.0, 2.0)", "amp.precise_math.sincos"),
        ("amp.precise_math.remquo(1.0)", "amp.precise_math.remquo"),
        ("amp.precise_math.sine(1.0)", "sine"),
        ("amp.precise_math.ldexp(1.0, 0.5)", "int32"),
    ],
)
def test_wrong_calls_in_kernels(call: str, words: str) -> None:
    view = amp.array_view(np.zeros(3, F32))
    text = failure(f"def k(i, out):\n    out[i] = {call}\n", view)
    assert words in text
    assert call in text


# -- fast_math -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2])
def test_fast_math_is_no_nan_where_c_has_a_value(accelerator_view, count: int) -> None:
    values = [0.0, -0.0, 0.3, -0.7, 1.0, -1.0, 2.5, -3.0, 20.0, -90.0, 1000.0, -1e9, 1e30, math.inf, -math.inf]
    args = [g.ravel().copy() for g in np.meshgrid(*[np.array(values, F32)] * count)]
    functions_of_count = [
        row for row in BUILTINS.values()
        if f"fast_math.{row.name}" in row.python and row.params == ("F",) * count and row.result == "F"
    ]  # fmt: skip
    calls = ", ".join(f"{p}[i]" for p in "ab"[:count])
    lines = [f"    out[{n}, i[0]] = amp.fast_math.{row.name}({calls})" for n, row in enumerate(functions_of_count)]
    kernel = defined(f"def k(i, {', '.join('ab'[:count])}, out):\n" + "\n".join(lines) + "\n")
    result = rows(accelerator_view, kernel, len(lines), F32, *args)
    wrong = []
    for line, row in zip(result, functions_of_count, strict=True):
        expected = np.array([row.reference(*a) for a in zip(*args, strict=True)], F32)
        at = np.flatnonzero(np.isnan(line) & ~np.isnan(expected))
        wrong += [f"{row.name}({', '.join(str(a[k]) for a in args)}) is {expected[k]}" for k in at]
    assert wrong == []


@amp.kernel
def fast_special(i, a, n, out):
    k = i[0]
    out[0, k] = amp.fast_math.signbit(a[k])
    out[1, k] = amp.fast_math.ldexp(a[k], n[k])
    out[2, k] = math.ldexp(a[k], -2)


def test_signbit_and_ldexp(accelerator_view) -> None:
    a = np.array([-0.0, 0.0, -1.5, 3.0, -math.inf], F32)
    n = np.array([3, -3, 4, -126, 1], I32)
    result = rows(accelerator_view, fast_special, 3, F32, a, n)
    same_rows(result, {"signbit": np.signbit(a), "ldexp": np.ldexp(a, n), "math.ldexp": np.ldexp(a, -2)})


@amp.kernel
def classes(i, a, out):
    kind = amp.precise_math.fpclassify(a[i])
    out[0, i[0]] = kind == amp.precise_math.FP_SUBNORMAL
    out[1, i[0]] = kind == amp.precise_math.FP_NORMAL
    out[2, i[0]] = kind


def test_fpclassify_has_names(accelerator_view) -> None:
    a = np.array([math.nan, math.inf, -0.0, 1e-40, -3.0], F32)
    same(rows(accelerator_view, classes, 3, I32, a), [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 1, 2, 3, 4]])


# -- the shader functions ------------------------------------------------------------------------------------------

ADD, SUBTRACT, MULTIPLY = 129, 131, 133
NO_CONTRACTION, DECORATE, NAME, FUNCTION, FUNCTION_END = 42, 71, 5, 54, 56


def contractible(words: tuple[int, ...]) -> dict[str, int]:
    """How many sums and products a compiler may contract, by function of a SPIR-V module."""
    names: dict[int, str] = {}
    kept: set[int] = set()
    found: dict[str, int] = {}
    current, at = "", 5
    while at < len(words):
        size, code = words[at] >> 16, words[at] & 0xFFFF
        operands = words[at + 1 : at + size]
        if code == NAME:
            names[operands[0]] = struct.pack(f"<{size - 2}I", *operands[1:]).split(b"\0")[0].decode()
        elif code == DECORATE and operands[1] == NO_CONTRACTION:
            kept.add(operands[0])
        elif code == FUNCTION:
            current = names.get(operands[1], "").split("(")[0]
            found[current] = 0
        elif code in (ADD, SUBTRACT, MULTIPLY):
            found[current] += operands[1] not in kept
        at += size
    return found


@amp.kernel
def one_of_each_kind(i, a, out):
    x = a[i]
    p = amp.precise_math
    total = p.log1p(x) + p.exp(x) + p.sin(x) + p.atan(x) + p.rsqrt(x) + p.cbrt(x) + p.erfc(x) + p.tgamma(x)
    out[i] = total + p.sinh(x) + p.expm1(x) + p.erfinv(x) + p.remainder(x, 2.0)


def test_exact_parts_are_never_contracted() -> None:
    view = amp.array_view(np.ones(3, F32))
    seen = one_of_each_kind.inspect(amp.extent(3), view, amp.array_view(np.ones(3, F32)))
    found = contractible(struct.unpack(f"<{len(seen.spirv) // 4}I", seen.spirv))
    exact = {"two_sum", "quick_two_sum", "two_product", "pair_add", "pair_multiply", "pair_divide", "pair_sqrt",
             "pair_expm1", "pair_log_scaled", "pair_sine", "pair_cosine"}  # fmt: skip
    assert exact <= set(found)
    assert {name: count for name, count in found.items() if name in exact and count} == {}


@pytest.mark.parametrize("library", ["precise", "doubles"])
def test_library_is_in_order(library: Any) -> None:
    seen: set[str] = set()
    for name, text in functions(library).items():
        body = text[text.index("{") :]
        later = {n for n in re.findall(r"\b(\w+)\(", body) if n in functions(library)} - seen
        assert later == set(), name
        seen.add(name)


def test_every_library_function_is_used() -> None:
    used = set().union(*(needed_by(row.glsl) for row in BUILTINS.values() if isinstance(row.glsl, str)))
    assert used == set(functions())
    of_doubles = [row.double.glsl for row in BUILTINS.values() if row.double is not None]
    assert set().union(*(needed_by(glsl, "doubles") for glsl in of_doubles)) == set(functions("doubles"))


# -- what plain Python calls it ------------------------------------------------------------------------------------


@amp.kernel(precise=True)
def by_pythons_names(i, x, out):
    v = x[i]
    out[0, i[0]] = math.hypot(v, 2.0)
    out[1, i[0]] = math.copysign(v, -1.0)
    out[2, i[0]] = math.log1p(abs(v))
    out[3, i[0]] = math.expm1(v)
    out[4, i[0]] = math.erf(v)
    out[5, i[0]] = math.asinh(v)
    out[6, i[0]] = math.remainder(v, 0.75)
    out[7, i[0]] = np.arctan2(2.0, v)
    out[8, i[0]] = np.hypot(v, 2.0)
    out[9, i[0]] = np.arcsinh(v)
    out[10, i[0]] = math.hypot(3.0, 4.0)
    out[11, i[0]] = math.gamma(2.5 + abs(v))


def test_functions_of_python_that_only_precise_math_has(accelerator_view) -> None:
    x = np.array([-2.5, -0.75, -0.0, 0.3, 1.0, 3.25, 0.001], F32)
    result = rows(accelerator_view, by_pythons_names, 12, F32, x)
    wide = x.astype(np.float64)
    expected = {
        "math.hypot": np.hypot(wide, 2.0),
        "math.copysign": -np.abs(wide),
        "math.log1p": np.log1p(np.abs(wide)),
        "math.expm1": np.expm1(wide),
        "math.erf": [math.erf(v) for v in wide],
        "math.asinh": np.arcsinh(wide),
        "math.remainder": [math.remainder(v, 0.75) for v in wide],
        "np.arctan2": np.arctan2(2.0, wide),
        "np.hypot": np.hypot(wide, 2.0),
        "np.arcsinh": np.arcsinh(wide),
        "of constants": np.full(7, 5.0),
        "math.gamma": [math.gamma(2.5 + abs(v)) for v in wide],
    }
    for (name, values), row in zip(expected.items(), result, strict=True):
        # numpy's arctan2 is fast_math's, which SwiftShader takes to 1e-4.
        np.testing.assert_allclose(row, values, rtol=1e-3 if name == "np.arctan2" else 2e-6, err_msg=name)
    same(np.signbit(result[1]), np.ones(7, bool))
