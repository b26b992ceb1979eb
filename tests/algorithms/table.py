"""One table of the public functions of ``vkamp.algorithms``, each with what numpy or plain Python gives.

A row calls a function on an input ``a`` and on what is derived from it, and compares the results.  A public function
without a row fails ``test_table.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.thinned import one_of

SIGNED = (np.int8, np.int16, np.int32)
UNSIGNED = (np.uint8, np.uint16, np.uint32)
FLOATS = (np.float16, np.float32)
NUMBERS = (*SIGNED, *UNSIGNED, *FLOATS)
#: Types whose numbers kernels compute with as they are.
WORDS = (np.int32, np.uint32, np.float32)
INT = (np.int32,)
FLOAT = (np.float32,)


@dataclass(frozen=True)
class Row:
    """``call(a, k)`` with the input and the keywords of the launch; ``expected(a)`` is its result, or several."""

    name: str
    call: Callable[..., Any]
    expected: Callable[..., Any]
    dtypes: tuple[Any, ...] = WORDS
    tolerance: float = 0
    #: The fewest elements, and the fewest dimensions.
    least: int = 1
    rank: int = 1
    #: Whether NaN and infinities among the elements have the reference's result.
    nan: bool = True
    #: Whether the call does not use the input.
    once: bool = False


ROWS: list[Row] = []
LAYOUTS = ("reversed", "every third", "transposed", "section")
#: Around the sizes of runs, tiles and blocks; primes; and many.
SIZES = (1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257, 511, 513, 1023, 1025, 2047, 2049, 4099, 100_003)


def row(name: str, call: Callable[..., Any], expected: Callable[..., Any], **options: Any) -> None:
    """Adds a row."""
    ROWS.append(Row(name, call, expected, **options))


def data(kind: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    """An input: random, constant, sorted, reversed, few distinct numbers, or special floats."""
    n = int(np.prod(shape))
    random = np.random.default_rng(n)
    low = 0 if np.dtype(dtype).kind == "u" else -50
    raw = random.integers(low, 50, n).astype(dtype)
    if kind == "constant":
        raw[:] = 7
    elif kind == "sorted":
        raw.sort()
    elif kind == "reversed":
        raw[::-1].sort()
    elif kind == "few":
        raw = (random.integers(0, 10, n) // 8).astype(dtype)
    elif kind == "special":
        raw = random.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], dtype), n)
    return raw.reshape(shape)


def strided(raw: Any, how: str) -> Any:
    """The same elements in another layout of memory."""
    if how == "reversed":
        return np.flip(np.flip(raw).copy())
    if how == "every third":
        wide = np.zeros((*raw.shape[:-1], raw.shape[-1] * 3), raw.dtype)
        wide[..., 1::3] = raw
        return wide[..., 1::3]
    if how == "transposed":
        return raw.T.copy().T
    if how == "section":
        wide = np.zeros(tuple(n + 3 for n in raw.shape), raw.dtype)
        inside = wide[tuple(slice(1, n + 1) for n in raw.shape)]
        inside[...] = raw
        return inside
    return raw


def inputs(row: Row, number: int, *, small: bool = False) -> Iterator[Any]:
    """A few inputs of a row, with alternating types, sizes and layouts; of every second row all are contiguous."""
    dtype = row.dtypes[number % len(row.dtypes)]
    sizes = (33,) if row.once or small else (1, 2, 33, 64, 1031)
    for n in sorted({max(row.least, n) for n in sizes}):
        yield data("random", dtype, shape_of(row, n))
    if not (row.once or small):
        a = data(("constant", "sorted", "reversed", "few")[number % 4], dtype, shape_of(row, 65))
        # Other kernels, whose compilation takes most of the time.
        yield strided(a, LAYOUTS[number // 2 % len(LAYOUTS)]) if one_of(2, number) else a
        if row.nan and np.dtype(dtype).kind == "f":
            yield data("special", dtype, shape_of(row, 257))


def all_inputs(row: Row, *, small: bool = False) -> Iterator[Any]:
    """Inputs of every type, size, kind and layout."""
    sizes = (1, 3, 31, 65) if small else SIZES
    for dtype in row.dtypes:
        for n in sorted({max(row.least, n) for n in ((33,) if row.once else sizes)}):
            yield data("random", dtype, shape_of(row, n))
        if row.once:
            continue
        for kind in ("constant", "sorted", "reversed", "few"):
            yield data(kind, dtype, shape_of(row, 300))
        for layout in LAYOUTS:
            yield strided(data("random", dtype, shape_of(row, 67)), layout)
        if row.nan and np.dtype(dtype).kind == "f":
            yield data("special", dtype, shape_of(row, 300))


def checked_inputs(row: Row) -> Iterator[Any]:
    """Inputs for check mode: less than a tile, and several runs and tiles."""
    for n in sorted({max(row.least, n) for n in ((33,) if row.once else (3, 1301))}):
        yield data("random", row.dtypes[0], shape_of(row, n))


def shape_of(row: Row, n: int) -> tuple[int, ...]:
    return (n,) if row.rank == 1 else (3, n)


def compare(row: Row, a: Any, options: dict[str, Any]) -> None:
    """Calls a row's function on an input and compares the results; AssertionError where they differ."""
    with np.errstate(all="ignore"):
        expected = row.expected(a)
    found = row.call(a, options)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.ndim == 1 and theirs.ndim == 0:
            theirs = theirs.reshape(1)
        what = f"{row.name} of {a.dtype}, {a.shape}"
        if row.tolerance:
            np.testing.assert_allclose(ours, theirs, rtol=row.tolerance, atol=row.tolerance, err_msg=what)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=what)
