"""Random numbers on devices with numpy's names: ``Generator(Philox4x32(seed)).normal(size=n)``."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import place
from vkamp.algorithms.shuffle import permutation_of
from vkamp.rng import distributions as dist
from vkamp.rng._sources import SOURCES, take
from vkamp.rng._store import elements, shape_of, stored
from vkamp.rng.bit_generator import BitGenerator
from vkamp.rng.philox import Philox4x32
from vkamp.tracebacks import entry_point

_FLOATS = {np.dtype(np.float32): 1, np.dtype(np.float64): 2}
_FLOAT32, _INT32 = np.dtype(np.float32), np.dtype(np.int32)
_MOST_OF_POISSON = 2.0**24


@entry_point
class _Distributions:
    """The distributions that a generator and its lazy inputs share.

    Each method selects a distribution, and ``_given`` returns its numbers.
    """

    bit_generator: BitGenerator

    def _given(self, name: str, each: int, parameters: tuple[Any, ...], size: Any, dtype: Any, out: Any) -> Any:
        raise NotImplementedError

    def _float(self, dtype: Any) -> tuple[np.dtype[Any], int]:
        kind = np.dtype(dtype)
        if kind not in _FLOATS:
            raise TypeError(f"random floats are float32 or float64, not {kind}")
        return kind, _FLOATS[kind]

    def random(self, size: Any = None, dtype: Any = np.float32, out: Any = None) -> Any:
        """Uniform floats in [0, 1): multiples of 2^-24, or of 2^-53 for float64."""
        kind, words = self._float(dtype)
        return self._given("random", words, (), size, kind, out)

    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: Any = None, dtype: Any = np.float32, out: Any = None
    ) -> Any:
        """Uniform floats in [low, high); rounding may give ``high``."""
        kind, words = self._float(dtype)
        dist.refuse_arrays(low, high)
        return self._given("uniform", words, (kind.type(low), kind.type(high - low)), size, kind, out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float32, out: Any = None) -> Any:
        """Normal floats of mean 0 and deviation 1, by Box and Muller's method: the same bits on every device."""
        kind, words = self._float(dtype)
        return self._given("standard_normal", words, (), size, kind, out)

    def normal(
        self, loc: float = 0.0, scale: float = 1.0, size: Any = None, dtype: Any = np.float32, out: Any = None
    ) -> Any:
        """Normal floats of a mean and a deviation."""
        kind, words = self._float(dtype)
        dist.refuse_arrays(loc)
        _at_least("scale", scale, 0)
        return self._given("normal", words, (kind.type(loc), kind.type(scale)), size, kind, out)

    def lognormal(
        self, mean: float = 0.0, sigma: float = 1.0, size: Any = None, dtype: Any = np.float32, out: Any = None
    ) -> Any:
        """Floats whose logarithms are normal."""
        kind, words = self._float(dtype)
        dist.refuse_arrays(mean)
        _at_least("sigma", sigma, 0)
        return self._given("lognormal", words, (kind.type(mean), kind.type(sigma)), size, kind, out)

    def standard_exponential(self, size: Any = None, dtype: Any = np.float32, out: Any = None) -> Any:
        """Exponential floats of mean 1."""
        kind, words = self._float(dtype)
        return self._given("standard_exponential", words, (), size, kind, out)

    def exponential(self, scale: float = 1.0, size: Any = None, dtype: Any = np.float32, out: Any = None) -> Any:
        """Exponential floats of mean ``scale``."""
        kind, words = self._float(dtype)
        _at_least("scale", scale, 0)
        return self._given("exponential", words, (kind.type(scale),), size, kind, out)

    def standard_gamma(self, shape: float, size: Any = None, out: Any = None) -> Any:
        """Gamma float32 of a shape and scale 1."""
        return self.gamma(shape, 1.0, size, out)

    def gamma(self, shape: float, scale: float = 1.0, size: Any = None, out: Any = None) -> Any:
        """Gamma float32 of a shape and a scale."""
        _at_least("shape", shape, 0)
        _at_least("scale", scale, 0)
        return self._given("gamma", 1, (float(shape), float(scale)), size, _FLOAT32, out)

    def poisson(self, lam: float = 1.0, size: Any = None, out: Any = None) -> Any:
        """Poisson numbers of a mean up to 2^24, as int32."""
        _at_least("lam", lam, 0)
        if lam > _MOST_OF_POISSON:
            raise ValueError(f"lam is {lam}, but float32 represents all integers only up to 2^24")
        return self._given("poisson", 1, (float(lam),), size, _INT32, out)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = np.int32,
        endpoint: bool = False,
        out: Any = None,
    ) -> Any:
        """Unbiased integers in [low, high), or in [low, high] with ``endpoint``; in [0, low) without ``high``.

        ValueError if the interval is empty, or ``dtype`` does not contain all of its numbers.
        """
        kind = np.dtype(dtype)
        if kind.kind not in "iu":
            raise TypeError(f"random integers need an integer type, not {kind}")
        dist.refuse_arrays(low, high)
        first, last = (0, int(low)) if high is None else (int(low), int(high))
        last -= 0 if endpoint else 1
        if first > last:
            raise ValueError(f"there is no integer from {first} to {last}")
        limits = np.iinfo(kind)
        if first < limits.min or last > limits.max:
            raise ValueError(f"{kind} does not contain all integers from {first} to {last}")
        span = last - first + 1
        return self._given("integers", 2 if kind.itemsize == 8 else 1, (first, span, kind), size, kind, out)


def _at_least(name: str, number: float, least: float) -> None:
    dist.refuse_arrays(number)
    if not number >= least:
        raise ValueError(f"{name} is {number}: it must not be below {least}")


@entry_point
class LazyDistributions(_Distributions):
    """The distributions of a generator as lazy inputs of algorithms, which need no memory.

    ``alg.mean(lazy.map(f, rng.lazy.random(n)))`` stores no random number.
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        self.bit_generator = bit_generator

    def _given(self, name: str, each: int, parameters: tuple[Any, ...], size: Any, dtype: Any, out: Any) -> Any:
        if out is not None:
            raise TypeError("a lazy input has no out")
        n = elements(size)
        return SOURCES[name](self.bit_generator, n, take(self.bit_generator, name, n, each), each, *parameters)


@entry_point
class Generator(_Distributions):
    """Random numbers on a device: numpy's ``Generator`` with results as ``amp.array``.

    ``size``: a number of elements, a shape, or None for one Python number. ``out``: a container or array for the
    numbers, instead of a size. ``accelerator_view``: where they are computed if there is no ``out``; by default, on the
    default device. The numbers are determined by the bit generator's seed and by the draws before. They are the same on
    every device, except for those of ``gamma``, ``poisson`` and float64 on devices that compute ``float64`` in another
    way.
    """

    def __init__(self, bit_generator: BitGenerator, accelerator_view: amp.accelerator_view | None = None) -> None:
        if not isinstance(bit_generator, BitGenerator):
            raise TypeError(f"Generator takes a bit generator, such as Philox4x32(seed), not {bit_generator!r}")
        self.bit_generator = bit_generator
        self.accelerator_view = accelerator_view

    def __repr__(self) -> str:
        return f"Generator({type(self.bit_generator).__name__})"

    @property
    def lazy(self) -> LazyDistributions:
        """The same distributions as lazy inputs of algorithms; they draw from the same stream."""
        return LazyDistributions(self.bit_generator)

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators whose streams are independent of this one's and of each other."""
        return [Generator(each, self.accelerator_view) for each in self.bit_generator.spawn(n_children)]

    def _given(self, name: str, each: int, parameters: tuple[Any, ...], size: Any, dtype: Any, out: Any) -> Any:
        return stored(self.bit_generator, name, each, parameters, size, dtype, out, self.accelerator_view)

    def bytes(self, length: int) -> Any:
        """``length`` random bytes, as an array of uint8."""
        words = self.bit_generator.random_raw(
            -(-length // self.bit_generator.word.itemsize), accelerator_view=self.accelerator_view
        )
        return words.reinterpret_as(amp.uint8).section(amp.extent(length)) if length else np.empty(0, np.uint8)

    def key_of_permutation(self) -> int:
        """64 bits that determine the next permutation, as ``vkamp.algorithms.shuffle`` takes them."""
        low, high = self.bit_generator.key_of_retries
        start = self.bit_generator.take(1)
        return int(np.random.SeedSequence([low, high, start]).generate_state(1, np.uint64)[0])

    def permutation(self, x: Any) -> Any:
        """The elements of a container in random order, or the numbers below ``x``, as int32."""
        if isinstance(x, (int, np.integer)):
            if x < 0:
                raise ValueError(f"a permutation of {x} numbers")
            if x == 0:
                return np.empty(0, np.int32)
            return permutation_of(place(self.accelerator_view), int(x), self.key_of_permutation())
        return alg.shuffle(x, self.key_of_permutation(), accelerator_view=self.accelerator_view)

    def shuffle(self, x: Any) -> None:
        """Puts the elements of a container of one dimension in random order."""
        alg.shuffle(x, self.key_of_permutation(), out=x)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Elements of a container, rows of one of several dimensions, or numbers below ``a``, with equal probabilities
        or with ``p``.

        Without ``replace``, no element is chosen twice, and ``p`` is not supported.
        """
        n = int(a) if isinstance(a, (int, np.integer)) else lazy.of(a).extent[0]
        if n < 1:
            raise ValueError(f"choice needs a number from 1 on, not {n}")
        if p is not None:
            if not replace:
                raise ValueError("choice by probabilities needs replace=True")
            at = self._weighted(n, p, size)
        elif replace:
            at = self.integers(n, size=size)
        else:
            count = elements(size)
            if count > n:
                raise ValueError(f"{count} different elements cannot be chosen from {n}")
            order = alg.copy(self.permutation(n).section(amp.extent(count)), accelerator_view=self.accelerator_view)
            at = int(np.asarray(order)[0]) if size is None else order.reshape(shape_of(size))
        if isinstance(a, (int, np.integer)):
            return at
        if size is None:
            return np.asarray(a)[int(at)]
        axis = None if lazy.of(a).extent.rank == 1 else 0
        return alg.take(a, at, axis, accelerator_view=self.accelerator_view)

    def _weighted(self, n: int, p: Any, size: Any) -> Any:
        given = np.asarray(p)
        # The sum of float32 numbers is as far from 1 as their rounding puts it.
        error = np.sqrt(np.finfo(given.dtype).eps) if given.dtype.kind == "f" else 1e-8
        weights = given.astype(np.float64)
        # A NaN fails both comparisons.
        if weights.shape != (n,) or not (weights >= 0).all() or not abs(weights.sum() - 1) <= error:
            raise ValueError(f"p needs {n} probabilities whose sum is 1")
        # Intervals of the 2^32 words, rounded once.
        ends = np.minimum(np.floor(np.cumsum(weights) * 2.0**32), 2.0**32 - 1).astype(np.uint32)
        ends[np.flatnonzero(weights)[-1] :] = 0xFFFFFFFF
        if n == 1:
            return 0 if size is None else self.integers(1, size=size)
        words = self.lazy._given("random_raw", 1, (), size, None, None)
        at = alg.searchsorted(ends[:-1], words, side="right", accelerator_view=self.accelerator_view)
        return int(np.asarray(at)[0]) if size is None else at.reshape(shape_of(size))


def default_rng(seed: Any = None) -> Generator:
    """A generator on the default device, made from a seed or a bit generator.  As in numpy, a generator is returned
    unchanged.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else Philox4x32(seed))
