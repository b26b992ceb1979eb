"""What is known of operators, and operators made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


_IDENTITIES: dict[Any, Callable[[np.dtype[Any]], Any]] = {
    functional.plus: lambda dtype: 0,
    functional.multiplies: lambda dtype: 1,
    functional.max: _lowest,
    functional.min: _highest,
    functional.bit_and: lambda dtype: -1 if dtype.kind == "i" else np.iinfo(dtype).max,
    functional.bit_or: lambda dtype: 0,
    functional.bit_xor: lambda dtype: 0,
}


def identity_of(op: Any, dtype: np.dtype[Any]) -> Any:
    """The number that an operator of this package leaves every other as it is; TypeError for other operators."""
    found = _IDENTITIES.get(op)
    if found is None or dtype.names is not None:
        raise TypeError("an exclusive scan with this operator needs init=, the value before the first element")
    return found(dtype)


class Is:
    """Whether an element is equal to a number."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    @amp.func
    def __call__(self, x: Any) -> Any:
        return x == self.number


class Flag:
    """1 for an element that meets a condition, else 0."""

    __slots__ = ("pred",)

    def __init__(self, pred: Any) -> None:
        self.pred = pred

    @amp.func
    def __call__(self, x: Any) -> Any:
        return 1 if self.pred(x) else 0


class Swapped:
    """A comparison with its arguments exchanged."""

    __slots__ = ("less",)

    def __init__(self, less: Any) -> None:
        self.less = less

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        return self.less(b, a)
