"""Containers in which kernels store elements one by one or four at a time: the counterpart of ``lazy`` inputs."""

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy


class Output:
    """A container with one index that a kernel stores in."""

    __slots__ = ("values",)
    #: Whether ``store_four`` stores four elements at once.
    in_quads = False

    def __init__(self, values: Any) -> None:
        self.values = values

    @amp.func
    def store(self, i: Any, x: Any) -> Any:
        """Stores an element."""
        self.values[i] = x

    @amp.func
    def store_four(self, k: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Stores the elements ``4 * k`` to ``4 * k + 3``."""
        self.values[4 * k] = a
        self.values[4 * k + 1] = b
        self.values[4 * k + 2] = c
        self.values[4 * k + 3] = d


class _OutputInQuads(Output):
    """A container without gaps, to which four elements are stored at a time."""

    __slots__ = ("quads",)
    in_quads = True

    def __init__(self, values: Any, quads: Any) -> None:
        super().__init__(values)
        self.quads = quads

    @amp.func
    def store_four(self, k: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Stores the elements ``4 * k`` to ``4 * k + 3``."""
        vector = type(self.quads[0])
        self.quads[k] = vector(a, b, c, d)


def output_of(values: Any) -> Output:
    """A container with one index as an output."""
    quads = lazy.quads_of(values)
    return Output(values) if quads is None else _OutputInQuads(values, quads)
