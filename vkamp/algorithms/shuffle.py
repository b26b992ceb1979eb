"""``shuffle``: a random permutation, without sorting.

A Feistel network with a random key is a bijection of the numbers below a power of two.  The numbers that it sends
outside of the input are left out by a selection, and the rest is a permutation of the input's positions (R. Mitchell,
D. Stokes, E. Frank, G. Holmes, *Bandwidth-Optimal Random Shuffling for GPUs*, 2022).  The rounds mix bits as the
finalizer of MurmurHash3 does (A. Appleby).  The key is all that is random: one key gives one permutation everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import apart, element, output, place
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.select import select
from vkamp.algorithms.sort import taken
from vkamp.algorithms.transform import store, take

_ROUNDS = 24


@amp.func
def _mixed(x: Any) -> Any:
    h = x ^ (x >> 16)
    h = h * amp.uint32(0x85EBCA6B)
    h = h ^ (h >> 13)
    h = h * amp.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


class _Network(lazy.Lazy):
    """The images of the numbers below a power of two."""

    __slots__ = ("high", "key", "low", "width")

    def __init__(self, bits: int, key: tuple[int, int]) -> None:
        super().__init__(1 << bits)
        self.width = np.uint32(bits // 2)
        self.low, self.high = (np.uint32((1 << each) - 1) for each in (bits // 2, bits - bits // 2))
        self.key = amp.uint2(*key)

    @amp.func
    def value(self, i: Any) -> Any:
        """The image of a number: its two halves change each other alternately."""
        x = amp.uint32(i)
        left = x >> self.width
        right = x & self.low
        for k in range(_ROUNDS // 2):
            salt = _mixed(self.key.x + amp.uint32(k) * amp.uint32(0x9E3779B9)) ^ self.key.y
            left = left ^ (_mixed(right * amp.uint32(2) + salt) & self.high)
            right = right ^ (_mixed(left * amp.uint32(2) + amp.uint32(1) + salt) & self.low)
        return amp.int32((left << self.width) | right)


class _Below:
    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n

    @amp.func
    def __call__(self, x: Any) -> Any:
        return x < self.n


def permutation_of(view: amp.accelerator_view, n: int, rng: Any) -> Any:
    """The numbers below ``n`` in random order, as int32 on the device."""
    key = rng.key_of_permutation() if hasattr(rng, "key_of_permutation") else rng
    words = np.random.default_rng(key).integers(0, 1 << 32, 2, dtype=np.uint32)
    order = amp.array(amp.extent(n), np.int32, accelerator_view=view)
    # At least two bits: each half has one.
    network = _Network(max((n - 1).bit_length(), 2), (int(words[0]), int(words[1])))
    if network.extent[0] == n:
        store(view, network, order)
    else:
        # A selection has its source in many places, and drivers take long for each copy of the network.
        images = amp.array(network.extent, np.int32, accelerator_view=view)
        store(view, network, images)
        select(images, _Below(n), out=order, accelerator_view=view)
    return order


def shuffle(a: Any, rng: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The elements along the first axis in random order (C++: ``shuffle``).  ``out`` may be the input.

    ``rng``: an integer, which determines the order on every device, or a ``numpy.random.Generator`` or
    ``vkamp.rng.Generator``, from which 64 random bits are taken.  So there are at most 2^64 different orders.
    """
    source = lazy.of(a)
    view = place(accelerator_view, source, out)
    order = permutation_of(view, source.extent[0], rng)
    if source.extent.rank == 1:
        return taken(view, source, order, out)
    result = output(out, source.extent, element(dtype_of(source)), view, source, in_place=True, in_any_order=True)
    with apart(result, source, view) as made:
        take(source, order, 0, out=made, accelerator_view=view)
    return result
