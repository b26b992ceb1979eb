"""Functions of float64: each within its bound, in every form of a kernel, by every way to write it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import defined
from tests.types.programs import identical, in_every_form, launched
from tools import ulp_doubles

F64 = np.float64
FUNCTIONS = ulp_doubles.functions()
RANDOM = np.random.default_rng(21)
INTERESTING = [
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 0.49999999999999994, 7.75, 1e-300, -3e200, 2.0**52 + 1, math.inf,
    -math.inf, math.nan,
]  # fmt: skip


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bound(typed, name):
    found = ulp_doubles.measure(typed, name, 1500, seed=7)
    assert found.is_good, found


#: Functions that a shader has together, in as many tests.
GROUPS = [list(FUNCTIONS)[start : start + 8] for start in range(0, len(FUNCTIONS), 8)]


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_forms(typed, names):
    rows = [FUNCTIONS[name] for name in names]
    lines = []
    for k, row in enumerate(rows):
        args = ["n[i]" if letter == "I" else f"{'xyz'[p]}[i]" for p, letter in enumerate(row.params)]
        if row.python:
            lines.append(f"    out[{k}, i[0]] = amp.{row.python[0]}({', '.join(args)})")
        else:
            several, place = ulp_doubles.part_of(row.name)
            targets = ", ".join(f"value_{k}" if p == place else f"rest_{k}" for p in range(len(several.parts)))
            lines += [f"    {targets} = amp.{several.python[0]}({', '.join(args)})", f"    out[{k}, i[0]] = value_{k}"]
    kernel = defined("def k(i, x, y, z, n, out):\n" + "\n".join(lines) + "\n")
    x, y = (g.ravel().copy() for g in np.meshgrid(INTERESTING, INTERESTING[::3]))
    x, y = np.concatenate([x, RANDOM.normal(size=30) * 3]), np.concatenate([y, RANDOM.normal(size=30)])
    z, n = RANDOM.normal(size=x.size), RANDOM.integers(-70, 70, x.size).astype(np.int32)
    # The other forms treat every function as they do any other: they are compiled for one group.
    out, launch = np.zeros((len(rows), x.size)), in_every_form if names is GROUPS[2] else launched
    found = launch(typed, amp.extent(x.size), kernel, x, y, z, n, out)[-1]
    for k, (name, row) in enumerate(zip(names, rows, strict=True)):
        args = [n if letter == "I" else (x, y, z)[p] for p, letter in enumerate(row.params)]
        with np.errstate(all="ignore"):
            expected = np.frompyfunc(row.double.reference, len(args), 1)(*args).astype(F64)
        # The reference has an error of its own, and some drivers take denormals for zeros.
        off = 0 if row.double.ulp is None else math.ceil(row.double.ulp) + 1 + ulp_doubles.REFERENCE_ERRORS.get(name, 0)
        if name == "lgamma_size":
            # Python's is off by some 1e-15 near the zeros.
            np.testing.assert_allclose(found[k], expected, rtol=1e-14, atol=1e-14)
        else:
            identical(found[k], expected, name, off=off)


@amp.kernel
def spelled(i, x, out):
    k = i[0]
    a = abs(x[i])
    out[0, k] = a**0.5
    out[1, k] = 2.0 ** x[i]
    out[2, k] = pow(a, 1.5)
    out[3, k] = math.sin(x[i])
    out[4, k] = math.atan2(x[i], 0.3)
    out[5, k] = amp.fast_math.exp(x[i])
    s, c = amp.precise_math.sincos(x[i])
    out[6, k] = s
    out[7, k] = c
    fraction, whole = math.modf(x[i])
    out[8, k] = fraction
    out[9, k] = whole
    m, e = math.frexp(x[i])
    out[10, k] = math.ldexp(m, e + 3)
    out[11, k] = a ** amp.float32(0.25)


def test_spellings(typed):
    x = np.concatenate([RANDOM.normal(size=27) * 5, [0.0, -0.0, 700.25]])
    # Check mode instruments accesses, not functions, and takes as long to compile.
    found = in_every_form(typed, amp.extent(x.size), spelled, x, np.zeros((12, x.size)), checked=False)[-1]
    a = np.abs(x)
    fraction, whole = np.modf(x)
    rows = [
        np.sqrt(a), 2.0**x, a * np.sqrt(a), np.sin(x), np.arctan2(x, 0.3), np.exp(x), np.sin(x), np.cos(x), fraction,
        whole, x * 8, np.sqrt(np.sqrt(a)),
    ]  # fmt: skip
    for k, row in enumerate(rows):
        identical(found[k], row, f"row {k}", off=0 if k in (8, 9, 10) else 3)


@amp.kernel
def waves(t, x, out):
    values = amp.tile_static(16, amp.float64)
    values[t.local[0]] = amp.precise_math.cbrt(x[t])
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = amp.precise_math.exp(values[15 - t.local[0]]) + math.sqrt(values[t.local[0]] ** 2 + 1)


def test_tiles(typed):
    x = RANDOM.uniform(-1.5, 1.5, 80)
    found = in_every_form(typed, amp.extent(80).tile(16), waves, x, np.zeros(80))[-1]
    other = x.reshape(5, 16)[:, ::-1].ravel()
    np.testing.assert_allclose(found, np.exp(np.cbrt(other)) + np.sqrt(np.cbrt(x) ** 2 + 1), rtol=1e-13)


def test_host():
    sine = amp.precise_math.sin(np.float64(1e22))
    assert (type(sine), sine) == (np.float64, np.sin(np.float64(1e22)))
    assert type(amp.precise_math.sin(0.5)) is np.float32
    assert amp.precise_math.frexp(np.float64(1e300)) == np.frexp(1e300)
