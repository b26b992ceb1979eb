"""Every row of the tables of builtins and atomics: the device against the reference of the row."""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vkamp as amp
from tests.kernel_language.from_text import define
from tests.kernel_language.programs import F32, I32, U32, rows, same
from vkamp.ir.bits import BIT_ROWS
from vkamp.ir.builtins import ATOMICS, BUILTINS, TUPLES, BuiltinRow
from vkamp.ir.narrow_floats import NARROW_ROWS
from vkamp.ir.rows import CLASSES

_EVERYWHERE = {"int32": I32, "uint32": U32, "float32": F32, "bool": I32}
#: The element types that the parameters of a class can have on every device; tests/types has the others.
TYPES: dict[str, tuple[type, ...]] = {
    letter: tuple(_EVERYWHERE[name] for name in names if name in _EVERYWHERE) for letter, names in CLASSES.items()
}

#: Python's math has them since 3.11.
NEW_IN_MATH = ("math.cbrt", "math.exp2")


def spellings(row: BuiltinRow) -> list[str]:
    """How a kernel may write it, in this Python."""
    return [name for name in row.python if not (name in NEW_IN_MATH and sys.version_info < (3, 11))]


def kernel_of(row: BuiltinRow) -> Any:
    """Calls the row's function under every one of its names, one row of results each."""
    params = "abc"[: len(row.params)]
    lines = [f"def k(i, {', '.join(params)}, out):"]
    args = ", ".join(f"{p}[i]" for p in params)
    for n, spelling in enumerate(spellings(row)):
        name = f"amp.{spelling}" if spelling.startswith(("fast_math.", "precise_math.", "direct3d.")) else spelling
        lines.append(f"    out[{n}, i[0]] = {name}({args})")
    return amp.kernel(define("\n".join(lines) + "\n"))


def result_type(row: BuiltinRow, kind: type) -> type:
    result = row.result_name({letter: np.dtype(kind).name for letter in row.params})
    return {"bool": I32, "int32": I32, "uint32": U32, "F": F32, "float32": F32}.get(result, kind)


def test_every_row_has_samples_and_a_reference():
    for row in BUILTINS.values():
        assert len(row.samples) >= 3, row.name
        assert all(len(s) == len(row.params) for s in row.samples), row.name
        assert row.doc.endswith("."), row.name
        unnamed = (*BIT_ROWS, *NARROW_ROWS)
        assert row.python or row in unnamed or any(row.name in several.parts for several in TUPLES.values()), row.name


def columns(row: BuiltinRow, kind: type) -> list[NDArray[Any]]:
    samples = [s for s in row.samples if kind is F32 or all(v == int(v) and (kind is I32 or v >= 0) for v in s)]
    kinds = [kind if p == row.params[0] else TYPES[p][0] for p in row.params]
    return [np.array(c, k) for c, k in zip(zip(*samples, strict=True), kinds, strict=True)]


# A row without a name is part of a function with several results (test_math.py).
CASES = [(name, kind) for name, row in BUILTINS.items() for kind in TYPES[row.params[0]] if row.python]


@pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{n}-{k.__name__}" for n, k in CASES])
def test_row(accelerator_view, name: str, kind: type):
    row = BUILTINS[name]
    args = columns(row, kind)
    assert len(args[0]) >= 3
    expected = np.array([row.reference(*v) for v in zip(*args, strict=True)]).astype(result_type(row, kind))
    result = rows(accelerator_view, kernel_of(row), len(spellings(row)), expected.dtype, *args)
    for line, spelling in zip(result, spellings(row), strict=True):
        assert close(line, expected, row).all(), f"{spelling}: {args} gave {line} instead of {expected}"


def close(result: NDArray[Any], expected: NDArray[Any], row: BuiltinRow) -> Any:
    """Equal, or within the row's bounds."""
    equal = (result == expected) | ((result != result) & (expected != expected))
    if result.dtype != F32:
        return equal
    with np.errstate(all="ignore"):
        distance = np.abs(result.astype(np.float64) - expected)
        in_ulps = distance <= (row.ulp or 0) * np.spacing(np.abs(expected)).astype(np.float64)
    return equal | in_ulps | (distance <= row.absolute)


@amp.kernel
def special_values(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = min(x, y)
    out[1, k] = max(x, y)
    out[2, k] = amp.fast_math.fmin(x, y)
    out[3, k] = amp.fast_math.fmax(x, y)
    out[4, k] = amp.fast_math.isnan(x)
    out[5, k] = amp.fast_math.isinf(x)
    out[6, k] = amp.fast_math.isfinite(x)
    out[7, k] = math.floor(x)
    out[8, k] = math.ceil(x)
    out[9, k] = math.trunc(x)
    out[10, k] = round(x)
    out[11, k] = abs(x)
    out[12, k] = amp.fast_math.fmod(x, y)


def test_special_values(accelerator_view):
    values = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, -0.5, 1e9, math.inf, -math.inf, math.nan], F32)
    x, y = (v.ravel().copy() for v in np.meshgrid(values, values))
    result = rows(accelerator_view, special_values, 13, F32, x, y)
    with np.errstate(all="ignore"):
        same(result[0], np.fmin(x, y), "min")
        same(result[1], np.fmax(x, y), "max")
        same(result[2], np.fmin(x, y), "fmin")
        same(result[3], np.fmax(x, y), "fmax")
        same(result[4], np.isnan(x), "isnan")
        same(result[5], np.isinf(x), "isinf")
        same(result[6], np.isfinite(x), "isfinite")
        same(result[7], np.floor(x), "floor")
        same(result[8], np.ceil(x), "ceil")
        same(result[9], np.trunc(x), "trunc")
        finite = np.where(np.isfinite(x), x, 0)
        half_away = np.copysign(np.floor(np.abs(finite.astype(float)) + 0.5), x)
        same(result[10], np.where(np.isfinite(x), half_away, x), "round")
        same(result[11], np.abs(x), "abs")
        same(result[12], np.fmod(x, y), "fmod")


@amp.kernel
def of_integers(i, a, out):
    k = i[0]
    n = a[k]
    out[0, k] = math.sqrt(n)
    out[1, k] = amp.fast_math.fabs(n)
    out[2, k] = amp.fast_math.fmax(n, 2)
    out[3, k] = math.floor(n / 2)
    out[4, k] = max(n, 0.5)
    out[5, k] = np.sqrt(n) + np.floor(0.5)
    out[6, k] = math.sqrt(16) + abs(-3)
    out[7, k] = n**0.5
    out[8, k] = pow(n, 2.0)


def test_integer_arguments_become_floats(accelerator_view):
    n = np.array([1, 4, 9, 16, 25], I32)
    f = n.astype(F32)
    result = rows(accelerator_view, of_integers, 9, F32, n)
    expected = [
        np.sqrt(f), f, np.fmax(f, 2), np.floor(f / 2), f, np.sqrt(f), np.full_like(f, 7), np.sqrt(f), f * f,
    ]  # fmt: skip
    np.testing.assert_allclose(result, expected, rtol=3e-5)


# -- atomics -------------------------------------------------------------------------------------------------------


def atomic_kernel(name: str, operands: int, storage: str) -> Any:
    """Every thread of the tile applies one atomic to one element and keeps what it gives."""
    values = ", v[t.global_]" if operands else ""
    call = f"amp.{name}({{}}{values})"
    if storage == "container":
        body = f"    before[t.global_] = {call.format('total[0]')}\n"
    else:
        body = (
            "    word = amp.tile_static((), KIND)\n"
            "    if t.local == 0:\n"
            "        word[()] = total[0]\n"
            "    t.barrier.wait()\n"
            f"    before[t.global_] = {call.format('word')}\n"
            "    t.barrier.wait()\n"
            "    if t.local == 0:\n"
            "        total[0] = word[()]\n"
        )
    return "def k(t, v, total, before):\n" + body


def as_type(value: int, kind: type) -> int:
    return int(np.array(value & 0xFFFFFFFF, U32).view(kind))


@pytest.mark.parametrize("storage", ["container", "tile_static"])
@pytest.mark.parametrize("kind", [I32, U32])
@pytest.mark.parametrize("name", [n for n, row in ATOMICS.items() if row.result == "old"])
def test_atomic(accelerator_view, name: str, kind: type, storage: str):
    row = ATOMICS[name]
    assert kind.__name__ in row.types
    values = np.array([5, -7, 12, 2**31 - 1, 0, -(2**31), 9, 3], np.int64).astype(kind)
    start = 2**31 - 3
    kernel = amp.kernel(define(atomic_kernel(name, row.operands, storage), KIND=kind))
    total, before = np.full(1, start, kind), np.zeros(len(values), kind)
    seen, old = amp.array_view(total), amp.array_view(before)
    amp.parallel_for_each(accelerator_view, amp.extent(8).tile(8), kernel, amp.array_view(values), seen, old)
    seen.synchronize()
    old.synchronize()
    orders_that_explain(row.apply, values, start, total, before, kind, row.operands)


def orders_that_explain(
    apply: Callable[..., int],
    values: NDArray[Any],
    start: int,
    total: NDArray[Any],
    before: NDArray[Any],
    kind: type,
    operands: int,
) -> None:
    """There is an order of the threads in which one after the other gives these old values and this total."""
    after = [as_type(apply(int(b), *([int(v)] * operands)), kind) for b, v in zip(before, values, strict=True)]

    def walk(now: int, left: frozenset[int]) -> bool:
        if not left:
            return now == total[0]
        return any(int(before[t]) == now and walk(after[t], left - {t}) for t in left)

    assert walk(start, frozenset(range(len(values)))), (before, total)


@amp.kernel
def locked_sum(i, values, total, failures):
    expected = total[0] * 0
    done = False
    while not done:
        if amp.atomic_compare_exchange(total[0], expected, expected + values[i]):
            done = True
        else:
            amp.atomic_fetch_inc(failures[0])


def test_compare_exchange_adds_in_a_loop(accelerator_view):
    values = np.arange(1, 38, dtype=I32)
    total, failures = np.zeros(1, I32), np.zeros(1, I32)
    t, f = amp.array_view(total), amp.array_view(failures)
    amp.parallel_for_each(accelerator_view, amp.extent(37), locked_sum, amp.array_view(values), t, f)
    same(np.asarray(t), [values.sum()])


@amp.kernel
def exchange_once(i, word, out):
    expected = amp.uint32(7)
    stored = amp.atomic_compare_exchange(word[i], expected, 9)
    out[0, i[0]] = stored
    out[1, i[0]] = expected


def test_compare_exchange_gives_what_it_read(accelerator_view):
    word = np.array([7, 8, 7, 2**32 - 1, 9], U32)
    result = np.zeros((2, 5), U32)
    w, out = amp.array_view(word), amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(5), exchange_once, w, out)
    same(np.asarray(out), [[1, 0, 1, 0, 0], [7, 8, 7, 2**32 - 1, 9]])
    same(np.asarray(w), [9, 8, 9, 2**32 - 1, 9])


@amp.kernel
def atomics_in_expressions(t, counts, out):
    tickets = amp.tile_static((2, 3), amp.int32)
    if t.local == 0:
        for r in range(2):
            for c in range(3):
                tickets[r, c] = 0
    t.barrier.wait_with_tile_static_memory_fence()
    lane = t.local[0]
    out[t] = amp.atomic_fetch_add(tickets[lane % 2, lane % 3], 2) + 100 * amp.atomic_fetch_inc(counts[lane % 2])
    if lane > 2 and amp.atomic_fetch_sub(counts[2], 1) > 0:
        amp.atomic_fetch_or(counts[3], 1 << lane)


def test_atomics_in_expressions(accelerator_view):
    counts, result = np.array([0, 0, 3, 0], I32), np.zeros(6, I32)
    c, out = amp.array_view(counts), amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(6).tile(6), atomics_in_expressions, c, out)
    got = np.asarray(out)
    same(np.sort(got[0::2] // 100), [0, 1, 2])
    same(np.sort(got[1::2] // 100), [0, 1, 2])
    same(got % 100, 0)
    same(np.asarray(c), [3, 3, 0, (1 << 3) | (1 << 4) | (1 << 5)])


def test_python_names_of_the_rows_exist():
    for row in [*BUILTINS.values(), *TUPLES.values()]:
        for spelling in row.python:
            group, _, member = spelling.rpartition(".")
            owner: Any = {
                "": builtins, "math": math, "fast_math": amp.fast_math, "precise_math": amp.precise_math,
                    "direct3d": amp.direct3d, "amp": amp,
            }[group]  # fmt: skip
            if spelling in NEW_IN_MATH and sys.version_info < (3, 11):
                continue
            assert callable(getattr(owner, member)), spelling
