"""Functions of float64: each within its bound, in every form of a kernel, by every way to write it."""

from __future__ import annotations

import linecache
import math
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.types.programs import identical, in_every_form
from tools import ulp_doubles

F64 = np.float64
FUNCTIONS = ulp_doubles.functions()
RANDOM = np.random.default_rng(21)
INTERESTING = [
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 0.49999999999999994, 7.75, 1e-300, -3e200, 2.0**52 + 1, math.inf,
    -math.inf, math.nan,
]  # fmt: skip


def defined(source: str) -> Any:
    """A kernel from its text."""
    file = f"<double {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, object] = {"amp": amp, "math": math}
    exec(compile(source, file, "exec"), space)
    return amp.kernel(space["k"])


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
            targets = ", ".join(f"value_{k}" if p == place else "_" for p in range(len(several.parts)))
            lines += [f"    {targets} = amp.{several.python[0]}({', '.join(args)})", f"    out[{k}, i[0]] = value_{k}"]
    kernel = defined("def k(i, x, y, z, n, out):\n" + "\n".join(lines) + "\n")
    x, y = (g.ravel().copy() for g in np.meshgrid(INTERESTING, INTERESTING[::3]))
    x, y = np.concatenate([x, RANDOM.normal(size=30) * 3]), np.concatenate([y, RANDOM.normal(size=30)])
    z, n = RANDOM.normal(size=x.size), RANDOM.integers(-70, 70, x.size).astype(np.int32)
    found = in_every_form(typed, amp.extent(x.size), kernel, x, y, z, n, np.zeros((len(rows), x.size)))[-1]
    for k, row in enumerate(rows):
        args = [n if letter == "I" else (x, y, z)[p] for p, letter in enumerate(row.params)]
        with np.errstate(all="ignore"):
            expected = np.frompyfunc(row.double.reference, len(args), 1)(*args).astype(F64)
        # The reference has an error of its own, and some drivers take denormals for zeros.
        off = 0 if row.double.ulp is None else math.ceil(row.double.ulp) + 1
        identical(found[k], expected, row.name, off=off)
