"""What draws compute: for each distribution, a function that makes the lazy input of its numbers.

Each takes a bit generator, the number of elements, the position where their words begin, how many words an element
takes, and the parameters of the distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.algorithms import lazy
from vkamp.rng import distributions as dist
from vkamp.rng._words import Pairs


def _words(bits: Any, n: int, start: int, each: int) -> Any:
    words = bits.words(n * each, start)
    return words if each == 1 else Pairs(n, words)


def _uniforms(bits: Any, n: int, start: int, each: int) -> Any:
    return lazy.map(dist.unit_float32 if each == 1 else dist.unit_float64, _words(bits, n, start, each))


def _scaled_uniforms(bits: Any, n: int, start: int, each: int, low: Any, width: Any) -> Any:
    return lazy.map(dist.Scaled(low, width), _uniforms(bits, n, start, each))


def _normals(bits: Any, n: int, start: int, each: int) -> Any:
    return dist.Normals(n, _words(bits, n + n % 2, start, each))


def _scaled_normals(bits: Any, n: int, start: int, each: int, loc: Any, scale: Any) -> Any:
    return lazy.map(dist.Scaled(loc, scale), _normals(bits, n, start, each))


def _lognormals(bits: Any, n: int, start: int, each: int, mean: Any, sigma: Any) -> Any:
    return lazy.map(dist.exp, _scaled_normals(bits, n, start, each, mean, sigma))


def _exponentials(bits: Any, n: int, start: int, each: int) -> Any:
    return lazy.map(dist.exponential_float32 if each == 1 else dist.exponential_float64, _words(bits, n, start, each))


def _scaled_exponentials(bits: Any, n: int, start: int, each: int, scale: Any) -> Any:
    return lazy.map(dist.Scaled(type(scale)(0), scale), _exponentials(bits, n, start, each))


def _gammas(bits: Any, n: int, start: int, each: int, shape: float, scale: float) -> Any:
    if shape == 0:
        return lazy.constant(np.float32(0), n)
    gammas = dist.Gammas(n, dist.Retries(bits.key_of_retries, start), shape)
    return lazy.map(dist.Scaled(np.float32(0), np.float32(scale)), gammas)


def _poissons(bits: Any, n: int, start: int, each: int, mean: float) -> Any:
    kind = dist.SmallPoissons if mean < 10 else dist.Poissons
    return kind(n, dist.Retries(bits.key_of_retries, start), mean)


def _integers(bits: Any, n: int, start: int, each: int, first: int, span: int, kind: np.dtype[Any]) -> Any:
    words = _words(bits, n, start, each)
    if each == 2:
        if span == 1 << 64:
            return words
        return dist.WideIntegers(n, words, dist.Retries(bits.key_of_retries, start), first, span)
    if span < 1 << 32:
        words = dist.Integers(n, words, dist.Retries(bits.key_of_retries, start), first, span)
    return words if kind == np.uint32 else lazy.map(dist.as_int32, words)


SOURCES: dict[str, Callable[..., Any]] = {
    "exponential": _scaled_exponentials,
    "gamma": _gammas,
    "integers": _integers,
    "lognormal": _lognormals,
    "normal": _scaled_normals,
    "poisson": _poissons,
    "random": _uniforms,
    "random_raw": _words,
    "standard_exponential": _exponentials,
    "standard_normal": _normals,
    "uniform": _scaled_uniforms,
}

#: Those that make two numbers at a time, so that a draw begins at an even one.
_IN_PAIRS = frozenset(("lognormal", "normal", "standard_normal"))


def take(bits: Any, name: str, n: int, each: int) -> int:
    """Moves the position of a bit generator by the words of a draw, and returns where they begin."""
    align = 2 * each if name in _IN_PAIRS else each
    start: int = bits.take(-(-n * each // align) * align, align)
    return start
