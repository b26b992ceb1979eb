"""fast_math and precise_math: every function at a few points, against the standard library and numpy in doubles."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, on
from tests.conformance.registry import row
from tests.kernel_language.from_text import defined

NORMAL = NormalDist()
CLASSES = (math.nan, math.inf, -0.0, 1e-40, -3.0)


class Function(NamedTuple):
    """A function of the reference's tables.

    ``ulp``: the bound of precise_math for floats, ``None`` where the result is exact; ``integers``: which parameters
    are ints; ``differs``: from C++ AMP.
    """

    expected: Callable[..., Any]
    points: list[tuple[float, ...]]
    ulp: float | None = None
    integers: tuple[int, ...] = ()
    differs: str = ""

    @property
    def results(self) -> int:
        """How many results a call gives."""
        found = self.expected(*self.points[0])
        return len(found) if isinstance(found, tuple) else 1


def of(*values: float) -> list[tuple[float, ...]]:
    return [(value,) for value in values]


UNIT = of(-0.6, 0.25, 0.984375, -1.0)
ANGLES = of(0.3, -0.7, 1.0, 2.5)
POSITIVE = of(0.001, 0.3, 2.5, 1e6)
REAL = of(0.0, -0.3, 1.5, 5.25)
WHOLE = of(-0.0, 0.49999997, 2.5, -2.5, 8388609.0, -7.75)
SCALES = [(1.5, 3), (-0.75, -20), (3.0, 100), (0.0, 5)]
QUOTIENTS = [(5.5, 2.0), (-5.5, 2.0), (7.0, -2.0), (0.3, 7.0)]
PAIR = "results are a tuple instead of pointer arguments"
BOOL = "gives a bool instead of a nonzero int"
NEAR_ZEROS = f"{PAIR}; near its zeros below -2 right to 2^-23 absolutely instead of 6 ulp"


def halves_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


def remquo(x: float, y: float) -> tuple[float, int]:
    rest = math.remainder(x, y)
    return rest, round((x - rest) / y)


def signed_lgamma(x: float) -> tuple[float, int]:
    return math.lgamma(x), -1 if x < 0 and math.floor(x) % 2 else 1


def classified(x: float) -> int:
    p = amp.precise_math
    return [p.FP_NAN, p.FP_INFINITE, p.FP_ZERO, p.FP_SUBNORMAL, p.FP_NORMAL][
        next(k for k, value in enumerate(CLASSES) if np.array_equal(F32(value), F32(x), equal_nan=True))
    ]


#: The functions of fast_math and precise_math, in groups of which each is one kernel.
BOTH: dict[str, dict[str, Function]] = {
    "trigonometric": {
        "acos": Function(math.acos, UNIT, 3),
        "asin": Function(math.asin, UNIT, 4),
        "atan": Function(math.atan, REAL, 2),
        "atan2": Function(math.atan2, [(1.5, 2.0), (-3.0, 2.0), (0.5, -4.0), (-2.0, -3.0)], 3),
        "cos": Function(math.cos, ANGLES, 2),
        "sin": Function(math.sin, ANGLES, 2),
        "sincos": Function(lambda x: (math.sin(x), math.cos(x)), ANGLES, 2, differs=PAIR),
        "tan": Function(math.tan, ANGLES, 4),
        "cosh": Function(math.cosh, REAL, 2),
        "sinh": Function(math.sinh, REAL, 3),
        "tanh": Function(math.tanh, REAL, 2),
    },
    "powers": {
        "exp": Function(math.exp, REAL, 2),
        "exp2": Function(lambda x: 2.0**x, REAL, 2),
        "log": Function(math.log, POSITIVE, 1),
        "log10": Function(math.log10, POSITIVE, 3),
        "log2": Function(math.log2, POSITIVE, 3),
        "pow": Function(math.pow, [(2.0, -1.5), (-2.0, 3.0), (9.0, 0.5), (5.0, 0.0)], 8),
        "rsqrt": Function(lambda x: 1 / math.sqrt(x), POSITIVE, 2),
        "sqrt": Function(math.sqrt, POSITIVE, 0),
        "ldexp": Function(math.ldexp, SCALES, integers=(1,)),
    },
    "parts": {
        "ceil": Function(np.ceil, WHOLE),
        "floor": Function(np.floor, WHOLE),
        "trunc": Function(np.trunc, WHOLE),
        "round": Function(halves_away, WHOLE),
        "fabs": Function(abs, REAL),
        "fmax": Function(np.fmax, [(1.5, 2.0), (math.nan, 1.0), (2.0, math.nan), (-3.0, -math.inf)]),
        "fmin": Function(np.fmin, [(1.5, 2.0), (math.nan, 1.0), (2.0, math.nan), (-3.0, -math.inf)]),
        "fmod": Function(math.fmod, QUOTIENTS),
        "frexp": Function(math.frexp, of(-12.0, 0.3, 1e30, 0.0), differs=PAIR),
        "modf": Function(math.modf, of(-2.5, 0.3, 7.0, 8388609.0), differs=PAIR),
        "signbit": Function(np.signbit, of(-0.0, 0.0, -2.5, math.inf), differs=BOOL),
        "isfinite": Function(np.isfinite, of(*CLASSES), differs=BOOL),
        "isinf": Function(np.isinf, of(*CLASSES), differs=BOOL),
        "isnan": Function(np.isnan, of(*CLASSES), differs=BOOL),
    },
}

PRECISE_ONLY: dict[str, dict[str, Function]] = {
    "inverse": {
        "acosh": Function(math.acosh, of(1.0, 1.5, 7.0, 1e5), 4),
        "asinh": Function(math.asinh, REAL, 3),
        "atanh": Function(math.atanh, of(-0.6, 0.25, 0.984375, 1e-9), 3),
        "cbrt": Function(np.cbrt, of(27.0, -0.3, 1e30, 2.0), 1),
        "rcbrt": Function(lambda x: 1 / np.cbrt(x), of(27.0, -0.3, 1e30, 2.0), 2),
        "hypot": Function(math.hypot, [(3e30, 4e30), (0.3, -0.7), (0.0, 5.0), (1e-30, 1.0)], 3),
        "cospi": Function(lambda x: math.cos(math.pi * x), of(0.25, 2.0, -0.3, 1.0), 2),
        "sinpi": Function(lambda x: math.sin(math.pi * x), of(0.25, 0.5, -0.3, 1.5), 2),
        "tanpi": Function(lambda x: math.tan(math.pi * x), of(0.25, 0.125, -0.3, -0.25), 2),
        "exp10": Function(lambda x: 10.0**x, REAL, 2),
        "expm1": Function(math.expm1, of(0.0, 1e-6, -0.3, 5.25), 1),
        "log1p": Function(math.log1p, of(0.0, 1e-6, -0.3, 5.25), 2),
    },
    "distributions": {
        "erf": Function(math.erf, REAL, 3),
        "erfc": Function(math.erfc, of(-0.3, 0.5, 3.0, 9.0), 6),
        "erfinv": Function(lambda x: NORMAL.inv_cdf((x + 1) / 2) / math.sqrt(2), of(0.5, -0.25, 0.984375, 0.9), 3),
        "erfcinv": Function(lambda x: -NORMAL.inv_cdf(x / 2) / math.sqrt(2), of(1e-10, 0.3, 1.7, 0.001), 7),
        "phi": Function(lambda x: math.erfc(-x / math.sqrt(2)) / 2, of(0.0, -1.5, 2.5, -6.0), 4),
        "probit": Function(NORMAL.inv_cdf, of(0.25, 0.9, 0.001, 1e-30), 8),
        "lgamma": Function(signed_lgamma, of(-0.5, 30.5, 0.25, -1.25), 6, differs=NEAR_ZEROS),
        "tgamma": Function(math.gamma, of(0.5, 5.0, -1.5, 30.5), 11),
    },
    "numbers": {
        "copysign": Function(math.copysign, [(3.0, -0.0), (-0.0, 1.0), (-2.5, 7.0), (1.0, -math.inf)]),
        "fdim": Function(lambda x, y: math.nan if math.isnan(x + y) else max(x - y, 0.0),
                         [(5.5, 2.0), (2.0, 5.5), (math.nan, 1.0), (1.0, math.nan)]),
        # The product of the first needs 25 bits.
        "fma": Function(lambda x, y, z: x * y + z,
                        [(1 + 2**-12, 1 + 2**-12, -1 - 2**-11), (1.5, 2.0, 0.25), (3.0, -1.0, 4.0)]),
        "ilogb": Function(lambda x: math.frexp(x)[1] - 1, of(8.0, -0.3, 1e30, 1e-40)),
        "logb": Function(lambda x: math.frexp(x)[1] - 1.0, of(8.0, -0.3, 1e30, 3.0)),
        "nan": Function(lambda n: math.nan, of(0, 5, -1), integers=(0,)),
        "nearbyint": Function(np.rint, WHOLE),
        "nextafter": Function(lambda x, y: np.nextafter(F32(x), F32(y)), [(1.0, 2.0), (1.0, 0.0), (-3.0, 5.0)]),
        "remainder": Function(math.remainder, QUOTIENTS),
        "remquo": Function(remquo, QUOTIENTS, differs=PAIR),
        "scalb": Function(lambda x, y: math.ldexp(x, int(y)), SCALES),
        "scalbn": Function(math.ldexp, SCALES, integers=(1,)),
        "fpclassify": Function(classified, of(*CLASSES)),
        "isnormal": Function(lambda x: classified(x) == amp.precise_math.FP_NORMAL, of(*CLASSES), differs=BOOL),
    },
}  # fmt: skip

NO_TWIN = {"isfinite", "isinf", "isnan", "isnormal", "fpclassify"}
DETAILS = {
    "round": " (half away from zero)", "fmax": " (ignores NaN)", "fmin": " (a number wins over NaN)",
    "fmod": " (signed as x)", "modf": " (signed as x)", "signbit": " (true for -0.0)", "fma": " (one rounding)",
    "fdim": " (NaN propagates)", "nearbyint": " (half to even)", "remainder": " (nearest, even quotient)",
}  # fmt: skip


def names_of(groups: dict[str, dict[str, Function]]) -> dict[str, Function]:
    return {name: function for group in groups.values() for name, function in group.items()}


def rows_of(spaces: str, groups: dict[str, dict[str, Function]]) -> Callable[[Any], Any]:
    """A row for each function, all shown by one test."""

    def mark(test: Any) -> Any:
        for name, function in reversed(names_of(groups).items()):
            bound = "" if function.ulp is None else f", {function.ulp:g} ulp when precise"
            test = row("13", f"{spaces}: {name}{DETAILS.get(name, '')}{bound}", differs=function.differs)(test)
        return test

    return mark


def arguments(functions: dict[str, Function]) -> np.ndarray:
    """Of each function its points, as [function, argument, point]; the last point fills up."""
    found = np.zeros((len(functions), 3, 7), F32)
    for place, function in enumerate(functions.values()):
        for point in range(7):
            values = function.points[min(point, len(function.points) - 1)]
            found[place, : len(values), point] = values
    return found


@lru_cache(maxsize=64)
def table_kernel(space: str, group: str, twin: str) -> Any:
    """A kernel that calls every function of a group; ``twin`` is "f" for the f twins."""
    lines, at = [], 0
    for place, (name, function) in enumerate((BOTH | PRECISE_ONLY)[group].items()):
        count = len(function.points[0])
        args = ", ".join(f"{'n' if a in function.integers else 'x'}[{place}, {a}, k]" for a in range(count))
        targets = ", ".join(f"out[{at + result}, k]" for result in range(function.results))
        lines.append(f"    {targets} = amp.{space}.{name}{'' if name in NO_TWIN else twin}({args})")
        at += function.results
    return defined("def k(i, x, n, out):\n    k = i[0]\n" + "\n".join(lines) + "\n")


def results(view: Any, space: str, group: str, twin: str = "") -> tuple[np.ndarray, list[tuple[str, Any, Any]]]:
    """What a device gives, [result, point]; and what is right in doubles, with the function's name and bound."""
    functions = (BOTH | PRECISE_ONLY)[group]
    x = arguments(functions)
    expected: list[tuple[str, Any, Any]] = []
    for place, (name, function) in enumerate(functions.items()):
        calls = [x[place, : len(function.points[0]), p].tolist() for p in range(7)]
        for call in calls:
            call[:] = [int(v) if a in function.integers else v for a, v in enumerate(call)]
        values = np.array([function.expected(*call) for call in calls], float).reshape(7, -1)
        expected += [(name, function.ulp, values[:, part]) for part in range(function.results)]
    n = np.nan_to_num(x, posinf=0, neginf=0).clip(-1000, 1000).astype(I32)
    out = amp.array_view(np.zeros((len(expected), 7), F32))
    on(view, table_kernel(space, group, twin), amp.extent(7), amp.array_view(x), amp.array_view(n), out)
    return np.asarray(out), expected


def exact(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Equal with the signs of zeros; NaN equals NaN."""
    rounded = wanted.astype(F32)
    signs = (np.signbit(found) == np.signbit(rounded)) | np.isnan(rounded)
    return bool(np.array_equal(found, rounded, equal_nan=True) and signs.all())


def check_precise(view: Any, group: str, twin: str = "") -> None:
    found, expected = results(view, "precise_math", group, twin)
    for line, (name, ulp, wanted) in zip(found, expected, strict=True):
        if ulp is None or ulp == 0:
            assert exact(line, wanted), (name, line, wanted)
        else:
            unit = np.spacing(np.abs(wanted).astype(F32)).astype(float)
            assert np.all(np.abs(line - wanted) <= ulp * unit), (name, line, wanted)


def check_fast(view: Any, group: str) -> None:
    found, expected = results(view, "fast_math", group)
    for line, (name, ulp, wanted) in zip(found, expected, strict=True):
        if ulp is None:
            assert np.array_equal(line, wanted.astype(F32), equal_nan=True), (name, line, wanted)
        else:
            np.testing.assert_allclose(line, wanted, rtol=3e-3, atol=3e-3, err_msg=name)


@rows_of("fast_math, precise_math", BOTH)
@pytest.mark.parametrize("group", BOTH)
def test_functions_of_both(accelerator_view, group):
    check_fast(accelerator_view, group)
    check_precise(accelerator_view, group)


@rows_of("precise_math", PRECISE_ONLY)
@row(
    "13",
    "precise_math where a device has no doubles",
    differs="works everywhere; Microsoft's needs full double support",
)
@pytest.mark.parametrize("group", PRECISE_ONLY)
def test_functions_of_precise_math(accelerator_view, group):
    check_precise(accelerator_view, group)


@row("13", "every name but the predicates and fpclassify has an f twin")
def test_twins(accelerator_view):
    for space, names in (
        (amp.fast_math, names_of(BOTH)),
        (amp.precise_math, names_of(BOTH) | names_of(PRECISE_ONLY)),
    ):
        assert {name: hasattr(space, f"{name}f") for name in names} == {name: name not in NO_TWIN for name in names}
    check_precise(accelerator_view, "powers", twin="f")


@row("13", "fast_math has none of the functions of precise_math only")
def test_precise_only(accelerator_view):
    assert [name for name in names_of(PRECISE_ONLY) if hasattr(amp.fast_math, name)] == []
    with pytest.raises(amp.CompileError, match="`amp.fast_math` has no `erf`"):

        @amp.parallel_for_each(accelerator_view, amp.extent(3))
        def _(i):
            amp.fast_math.erf(0.5)


@row("13", "precise_math for doubles: roots, roundings, remainders, minima, predicates")
def test_doubles(accelerator, accelerator_view):
    names = ("sqrt", "fabs", "floor", "ceil", "trunc", "round", "nearbyint", "rsqrt")
    lines = [f"    out[{k}, i[0]] = amp.precise_math.{name}(abs(x[i]))" for k, name in enumerate(names)]
    kernel = defined("\n".join(["def k(i, x, out):", *lines]) + "\n")
    x = np.array([0.1, 2.5, 1e300, 7.75])
    out = amp.array_view(np.zeros((len(names), 4)))
    if not accelerator.supports_double_precision:
        with pytest.raises(amp.UnsupportedFeatureError, match="float64 needs the device feature shaderFloat64"):
            on(accelerator_view, kernel, amp.extent(4), amp.array_view(x), out)
        return
    on(accelerator_view, kernel, amp.extent(4), amp.array_view(x), out)
    expected = [np.sqrt(x), x, np.floor(x), np.ceil(x), np.trunc(x), [0, 3, 1e300, 8], np.rint(x), 1 / np.sqrt(x)]
    np.testing.assert_allclose(np.asarray(out), expected, rtol=4e-16)


SMOOTH = {
    "sin": math.sin, "exp": math.exp, "log": math.log, "pow": lambda x: x * x, "atan2": lambda x: math.atan2(x, 2),
    "tanh": math.tanh, "cbrt": lambda x: x ** (1 / 3), "sinpi": lambda x: math.sin(math.pi * x), "acosh": math.acosh,
    "erf": math.erf, "phi": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
}  # fmt: skip


@row(
    "13", "precise_math for doubles: exponentials, logarithms, powers, circular, hyperbolic, error and gamma functions"
)
def test_transcendental_doubles(accelerator, accelerator_view):
    rest = {"pow": ", 2.0", "atan2": ", 2.0"}
    lines = [f"    out[{k}, i[0]] = amp.precise_math.{name}(x[i]{rest.get(name, '')})" for k, name in enumerate(SMOOTH)]
    kernel = defined("\n".join(["def k(i, x, out):", *lines]) + "\n")
    x = np.array([1.1, 2.25, 3.7, 700.0])
    out = amp.array_view(np.zeros((len(SMOOTH), 4)))
    if not accelerator.supports_double_precision:
        with pytest.raises(amp.UnsupportedFeatureError, match="float64 needs the device feature shaderFloat64"):
            on(accelerator_view, kernel, amp.extent(4), amp.array_view(x), out)
        return
    on(accelerator_view, kernel, amp.extent(4), amp.array_view(x), out)
    expected = [[function(v) for v in x] for function in SMOOTH.values()]
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-15, atol=1e-12)


@row("13", "precise_math for doubles: erfinv, erfcinv, probit", refused="computed in float32 they would be wrong")
@pytest.mark.parametrize("name", ["erfinv", "erfcinv", "probit"])
def test_inverse_error_functions_of_doubles(accelerator_view, name):
    kernel = defined(f"def k(i, out):\n    out[i] = amp.float32(amp.precise_math.{name}(amp.float64(0.5)))\n")
    with pytest.raises(amp.CompileError, match="takes float32, not float64"):
        on(accelerator_view, kernel, amp.extent(3), amp.array_view(np.zeros(3, F32)))


@amp.kernel
def chosen(i, a, out):
    if amp.precise_math.isnan(a[i]):
        out[i] = 1
    elif amp.fast_math.isfinite(a[i]) and amp.precise_math.signbit(a[i]):
        out[i] = 2
    else:
        out[i] = amp.int32(amp.precise_math.isinf(a[i])) + 10


@row("13", "predicates in conditions and as numbers", differs=BOOL)
def test_predicates(accelerator_view):
    out = amp.array_view(np.zeros(5, I32))
    on(accelerator_view, chosen, out.extent, amp.array_view(np.array([math.nan, -0.0, 2.5, math.inf, -3], F32)), out)
    assert np.asarray(out).tolist() == [1, 2, 10, 11, 2]


@amp.kernel
def tiny(i, a, out):
    out[0, i[0]] = amp.precise_math.sqrt(a[i])
    out[1, i[0]] = amp.precise_math.log2(a[i])
    out[2, i[0]] = amp.precise_math.ldexp(a[i], 140)
    out[3, i[0]] = amp.precise_math.sin(a[i])


@row(
    "13",
    "precise_math at denormals",
    differs="where a driver flushes them they may count as zeros in functions that are neither bits nor whole numbers",
)
def test_denormals(accelerator_view):
    a = np.array([1e-40, 3e-45, 1e-38], F32)
    out = amp.array_view(np.zeros((4, 3), F32))
    on(accelerator_view, tiny, amp.extent(3), amp.array_view(a), out)
    found, wide = np.asarray(out), a.astype(float)
    assert exact(found[0], np.sqrt(wide)) and exact(found[2], np.ldexp(wide, 140))
    np.testing.assert_allclose(found[1], np.log2(wide), rtol=3e-7)
    assert np.all((found[3] == a) | (found[3] == 0))


@row("13", "the functions from host code", differs="also from plain Python: the reference result")
def test_on_the_host():
    assert amp.fast_math.sqrt(4) == 2 and amp.precise_math.remquo(17, 5) == (2, 3)
    assert amp.precise_math.erfinv(0.5) == pytest.approx(0.4769362762044699)


@row("13", "optional direct3d intrinsics", differs="all but noise and msad4; mad of floats only")
def test_direct3d(accelerator_view):
    out = amp.array_view(np.zeros(3, F32))
    bits = amp.array_view(np.zeros(3, I32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = amp.direct3d.saturate(amp.direct3d.mad(i[0], 0.75, -0.25))
        bits[i] = amp.direct3d.clamp(amp.direct3d.firstbithigh(i[0]), -5, 0)

    assert np.asarray(out).tolist() == [0.0, 0.5, 1.0] and np.asarray(bits).tolist() == [-1, 0, 0]
    with pytest.raises(amp.CompileError, match=r"`amp\.direct3d` has no `noise`"):

        @amp.parallel_for_each(accelerator_view, amp.extent(3))
        def _(i):
            amp.direct3d.noise(1.0)
