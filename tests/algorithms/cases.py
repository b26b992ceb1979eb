"""Cases of algorithms: calls on inputs of several types, sizes, kinds and offsets, each with what numpy gives.

The case lists of other libraries' tests are in ``cases_cub.py`` and ``cases_amp.py``, complex elements in
``cases_complex.py``.  The suite runs a slice; ``python -m tests.algorithms --cases`` runs all.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms import table
from tests.library_views import forced

COMPLEX = (np.complex64, np.complex128)
#: Nothing, one, and around the sizes of a subgroup, of the pieces of one invocation, of tiles and of blocks.
SIZES = (0, 1, 2, 31, 33, 255, 256, 257, 511, 513, 2047, 2049, 5003)
#: The largest input on the reference accelerator.
SMALL = 300


@dataclass(frozen=True)
class Case:
    """``call(a, k)`` with an input and the keywords of the launch; ``expected(a)``: its result, or several."""

    suite: str
    what: str
    call: Callable[..., Any]
    expected: Callable[..., Any] | type[Exception]
    dtypes: tuple[Any, ...] = (np.int32,)
    sizes: tuple[int, ...] = SIZES
    kinds: tuple[str, ...] = ("random",)
    #: Elements of the memory before the input.
    offsets: tuple[int, ...] = (0,)
    tolerance: float = 0
    rank: int = 1

    @property
    def name(self) -> str:
        return f"{self.suite}: {self.what}"


CASES: list[Case] = []


def case(suite: str, what: str, call: Callable[..., Any], expected: Any, **options: Any) -> None:
    """Adds a case."""
    CASES.append(Case(suite, what, call, expected, **options))


def data(kind: str, dtype: Any, shape: tuple[int, ...], offset: int = 0) -> Any:
    """An input of a kind, whose memory begins some elements before it.

    Beside the kinds of the table: ``zeros`` of both signs, and ``limits``, the extremes of the type.
    """
    kinds = np.dtype(dtype)
    if kinds.kind == "c":
        real = np.float32 if kinds.itemsize == 8 else np.float64
        parts = data(kind, real, shape), data(kind, real, (*shape[:-1], shape[-1] + 1))[..., 1:]
        found = np.empty(shape, dtype)
        found.real, found.imag = parts
    elif kind == "zeros":
        found = np.where(np.random.default_rng(shape[0]).random(shape) < 0.5, -0.0, 0.0).astype(dtype)
    elif kind == "limits":
        limits = np.finfo(dtype) if kinds.kind == "f" else np.iinfo(dtype)
        choices = np.array([limits.min, limits.max, 0, 1, limits.max], dtype)
        found = np.random.default_rng(shape[0]).choice(choices, shape)
    else:
        found = table.data(kind, dtype, shape)
    if offset and found.size:
        wide = np.zeros(found.size + offset, dtype)
        wide[offset:] = found.ravel()
        return wide[offset:].reshape(shape)
    return found


def inputs(case: Case, most: int | None = None) -> Iterator[Any]:
    """All inputs of a case; ``most``: no larger ones."""
    sizes = sorted({n if most is None else min(n, most) for n in case.sizes})
    for dtype, n, kind, offset in itertools.product(case.dtypes, sizes, case.kinds, case.offsets):
        if kind in ("special", "zeros") and np.dtype(dtype).kind not in "fc":
            continue
        yield data(kind, dtype, (n,) if case.rank == 1 else (3, n), offset)


def one_input(case: Case, number: int) -> Any:
    """One input of a case; types, sizes and kinds alternate from case to case."""
    dtypes = [each for each in case.dtypes if np.dtype(each) not in _WIDE] or case.dtypes
    dtype, kind = dtypes[number % len(dtypes)], case.kinds[number % len(case.kinds)]
    sizes = [n for n in case.sizes if n <= SMALL] or case.sizes[:1]
    n = sizes[-1 - number % min(3, len(sizes))]
    kind = "random" if kind in ("special", "zeros") and np.dtype(dtype).kind not in "fc" else kind
    return data(kind, dtype, (n,) if case.rank == 1 else (3, n), case.offsets[number % len(case.offsets)])


#: The device features that types of numbers need.
_WIDE = {
    np.dtype(name): feature
    for name, feature in {
        "float64": "float64", "complex128": "float64", "int64": "int64", "uint64": "int64",
    }.items()
}  # fmt: skip


def run(case: Case, a: Any, view: amp.accelerator_view, form: str | None = None) -> bool:
    """Calls and compares; False if the device lacks the elements' type, and says so."""
    feature = _WIDE.get(a.dtype)
    lacks = feature is not None and feature not in view.accelerator.features
    options = {"accelerator_view": view}
    with contextlib.nullcontext() if form is None else forced(form):
        if isinstance(case.expected, type):
            with pytest.raises(case.expected):
                case.call(a, options)
            return True
        try:
            table.compare(case, a, options)  # type: ignore[arg-type]
        except amp.UnsupportedFeatureError:
            if not lacks:
                raise
            return False
    return True
