"""Sobol points: sequences that fill the unit cube more evenly than random ones.

I. M. Sobol, *On the Distribution of Points in a Cube*, 1967, in the Gray code order of I. A. Antonov and V. M. Saleev,
1979. The direction numbers are those of S. Joe and F. Y. Kuo, *Constructing Sobol Sequences with Better Two-Dimensional
Projections*, 2008 (``new-joe-kuo-6``), for the 1,111 dimensions that have their property A. Scrambling is Owen's, by
the hash of B. Burley, *Practical Hash-based Owen Scrambling*, 2020.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.rng.distributions import unit_float32
from vkamp.tracebacks import entry_point

_BITS = 32
#: Points that a thread computes one after the other.
_RUN = 8
MOST_DIMENSIONS = 1111


@lru_cache(maxsize=1)
def _table() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The primitive polynomials, including leading and last coefficients, and the first direction integers."""
    with np.load(Path(__file__).with_name("directions.npz")) as found:
        return found["poly"].astype(np.uint32), found["m"].astype(np.uint32)


@lru_cache(maxsize=16)
def direction_numbers(dimensions: int) -> np.ndarray[Any, Any]:
    """The direction numbers of the first dimensions, of shape (dimensions, 32), as uint32; that of the first bit
    comes first.
    """
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"Sobol points have 1 to {MOST_DIMENSIONS} dimensions, not {dimensions}")
    polynomials, first = _table()
    v = np.zeros((dimensions, _BITS), np.uint64)
    v[0] = 1
    for d in range(1, dimensions):
        polynomial = int(polynomials[d])
        degree = polynomial.bit_length() - 1
        v[d, :degree] = first[d, :degree]
        for k in range(degree, _BITS):
            new = v[d, k - degree]
            for j in range(1, degree + 1):
                if polynomial >> degree - j & 1:
                    new ^= v[d, k - j] << np.uint64(j)
            v[d, k] = new
    found = (v << np.arange(_BITS - 1, -1, -1, dtype=np.uint64)).astype(np.uint32)
    found.flags.writeable = False
    return found


@amp.func
def _point(table, dimension, number):
    """The coordinate of a point in one dimension."""
    gray = number ^ (number >> 1)
    x = amp.uint32(0)
    for bit in range(32):
        if gray >> bit & 1 == 1:
            x ^= table[dimension * 32 + bit]
    return x


@amp.func
def _scrambled(x, seed):
    """Owen's scrambling: each bit changes depending on the bits above it."""
    x = amp.direct3d.reversebits(x)
    x += seed
    x ^= x * amp.uint32(0x6C50B47C)
    x ^= x * amp.uint32(0xB82F1E52)
    x ^= x * amp.uint32(0xC7AFE638)
    x ^= x * amp.uint32(0x8D22F6E6)
    return amp.direct3d.reversebits(x)


@amp.func
def _same(x):
    return x


@amp.kernel
def _store_points(idx, table, seeds, first, finished, out, *, scrambled: amp.constant):
    dimension = idx[1]
    seed = seeds[dimension]
    row = idx[0] * _RUN
    number = first + amp.uint32(row)
    x = _point(table, dimension, number)
    for k in range(min(_RUN, out.extent[0] - row)):
        if k > 0:
            # The Gray codes of neighbours differ in one bit.
            number += 1
            x ^= table[dimension * 32 + amp.direct3d.firstbitlow(amp.asint(number))]
        out[row + k, dimension] = finished(_scrambled(x, seed) if scrambled else x)


@entry_point
class Sobol:
    """Points of a Sobol sequence, as scipy's ``qmc.Sobol``; each call returns the next ones.

    ``d``: the number of dimensions, 1 to 1111. ``scramble``: whether they are scrambled, by ``seed`` (as that of the
    bit generators). Each scrambled point is uniform, and the points give unbiased means. Use 2^m points for the best
    mean.
    """

    def __init__(
        self, d: int, *, scramble: bool = False, seed: Any = None, accelerator_view: amp.accelerator_view | None = None
    ) -> None:
        self.d, self.scramble, self.num_generated = int(d), scramble, 0
        self.accelerator_view = accelerator_view
        self._directions = amp.array_view(direction_numbers(self.d).ravel(), readonly=True)
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self._seeds = amp.array_view(sequence.generate_state(self.d, np.uint32), readonly=True)

    def __repr__(self) -> str:
        return f"Sobol({self.d}, scramble={self.scramble})"

    def random(self, n: int = 1, out: Any = None) -> Any:
        """The next ``n`` points: shape (n, d), float32 in [0, 1)."""
        return self._points(n, np.dtype(np.float32), unit_float32, out)

    def random_raw(self, n: int = 1, out: Any = None) -> Any:
        """The next ``n`` points as uint32, whose unit is 2^-32."""
        return self._points(n, np.dtype(np.uint32), _same, out)

    def _points(self, n: int, dtype: np.dtype[Any], finished: Any, out: Any) -> Any:
        if n < 1:
            raise ValueError(f"n is {n}: at least one point is needed")
        if self.num_generated + n > 1 << _BITS:
            raise ValueError("the sequence ends after 2^32 points")
        if out is None:
            view = amp.accelerator().default_view if self.accelerator_view is None else self.accelerator_view
            out = amp.array(amp.extent(n, self.d), dtype, accelerator_view=view)
        elif not isinstance(out, (amp.array, amp.array_view)):
            out = amp.array_view(out)
        if out.extent != amp.extent(n, self.d) or out.dtype != dtype:
            raise amp.AmpError(
                f"out has {out.extent!r} of {out.dtype}, but the points have {amp.extent(n, self.d)!r} of {dtype}"
            )
        domain = amp.extent(-(-n // _RUN), self.d)
        arguments = (self._directions, self._seeds, np.uint32(self.num_generated), finished, out)
        where = (self.accelerator_view,) if self.accelerator_view is not None else ()
        amp.parallel_for_each(*where, domain, _store_points, *arguments, scrambled=self.scramble)
        self.num_generated += n
        return out

    def fast_forward(self, n: int) -> Sobol:
        """Skips the next ``n`` points."""
        self.num_generated += n
        return self

    def reset(self) -> Sobol:
        """Returns to the first point."""
        self.num_generated = 0
        return self


class sobol_rng_collection:
    """A position in a Sobol sequence for each element, AMPRNG's class of this name, for kernels.

    ``extent``: that of the collection. ``dimensions``: those of the points. ``skipahead``: the initial distance between
    the points of neighbouring elements. A kernel takes the collection as an argument and calls ``next(idx)``,
    ``skip(idx, n)``, ``get_uint(idx, dimension)`` and ``get_single(idx, dimension)``.
    """

    __slots__ = ("positions", "table")

    def __init__(
        self, extent: Any, dimensions: int, skipahead: int = 0, accelerator_view: amp.accelerator_view | None = None
    ) -> None:
        shape = tuple(amp.extent(extent))
        first = (np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(skipahead)).astype(np.uint32)
        view = amp.accelerator().default_view if accelerator_view is None else accelerator_view
        self.positions = amp.array(first.reshape(shape), accelerator_view=view)
        self.table = amp.array_view(direction_numbers(dimensions).ravel(), readonly=True)

    @amp.func
    def next(self, idx: Any) -> Any:
        """Moves an element to the next point."""
        self.positions[idx] += 1

    @amp.func
    def skip(self, idx: Any, n: Any) -> Any:
        """Moves an element ``n`` points ahead."""
        self.positions[idx] += amp.uint32(n)

    @amp.func
    def get_uint(self, idx: Any, dimension: Any) -> Any:
        """The coordinate of an element's point in one dimension, in units of 2^-32."""
        return _point(self.table, dimension, self.positions[idx])

    @amp.func
    def get_single(self, idx: Any, dimension: Any) -> Any:
        """The coordinate as a float32 in [0, 1)."""
        return unit_float32(self.get_uint(idx, dimension))
