"""The largest elements on CPU drivers: most of the input is loaded once.

The input is divided into groups. The ``k`` largest elements are in the ``k`` groups with the largest best elements; of
equal ones the first groups count. The elements of these groups are sorted.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy, radix_sort
from vkamp.algorithms.transform import store, without_loops

#: Fewer elements are sorted as they are: the sorts of the groups take three times as many launches.
_FEWEST = 1 << 15


@amp.kernel
def best_of_groups(t_idx, words, best, n, length):
    """The largest word of each group; ``length`` is a multiple of four."""
    group = t_idx.global_[0]
    first = group * length
    if first < n:
        end = first + min(length, n - first)
        found = words.value(first)
        for k in range(first // 4, end // 4):
            a, b, c, d = words.four(k)
            found = max(found, max(max(a, b), max(c, d)))
        for i in range(end // 4 * 4, end):
            found = max(found, words.value(i))
        best[group] = found


class _InGroups(lazy.Lazy):
    """The positions of the elements of some groups, group by group, as uint32."""

    __slots__ = ("groups", "length")

    def __init__(self, groups: Any, length: int) -> None:
        super().__init__(groups.extent[0] * length)
        self.groups, self.length = groups, length

    @amp.func
    def value(self, i: Any) -> Any:
        """The position of an element, which may be after the end."""
        return amp.uint32(self.groups[i // self.length] * self.length + i % self.length)


class _WordAt:
    """For ``lazy.At``: the word at a position; 0 after the end."""

    __slots__ = ("n", "words")

    def __init__(self, words: lazy.Lazy) -> None:
        self.words, self.n = words, words.extent[0]

    @amp.func
    def __call__(self, places: Any, i: Any) -> Any:
        at = amp.int32(places.value(i))
        return self.words.value(at) if at < self.n else amp.uint32(0)


def group_of(n: int, k: int) -> int | None:
    """The elements of a group, so that the groups' best elements are about as many as those of ``k`` groups; None if
    these are a large part of the elements."""
    length = max(4, round(math.sqrt(n / k)) // 4 * 4)
    groups = -(-n // length)
    return length if n >= _FEWEST and k <= groups and groups + k * length <= n // 4 else None


def places_of_best(view: amp.accelerator_view, words: lazy.Lazy, k: int, length: int) -> Any:
    """The positions of the ``k`` largest words (uint32) in their order; of equal ones, the first."""
    source = without_loops(view, words.flat())
    n = source.extent[0]
    groups = -(-n // length)
    best = amp.array(amp.extent(groups), np.uint32, accelerator_view=view)
    domain = _choose.domain_of_runs(view, _choose.Split(groups, length))
    amp.parallel_for_each(view, domain, best_of_groups, source, best, n, length)
    order = amp.array_view(radix_sort.order_of(view, lazy.Elements(best), True))[:k]
    # In the order of their elements, because sorts are stable.
    bits = (0, max(groups - 1, 1).bit_length())
    numbers = lazy.Elements(order)
    ordered = amp.array(amp.extent(k), np.int32, accelerator_view=view)
    store(view, lazy.take(order, radix_sort.order_of(view, numbers, False, bits)), ordered)
    places = _InGroups(ordered, length)
    at = amp.array(places.extent, np.int32, accelerator_view=view)
    store(view, places, at)
    chosen = amp.array(places.extent, np.uint32, accelerator_view=view)
    store(view, lazy.At(_WordAt(source), places), chosen)
    return amp.array_view(radix_sort.order_of(view, lazy.Elements(chosen), True, None, lazy.Elements(at)))[:k]
