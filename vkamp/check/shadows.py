"""The layout of the memory of a report: shadows of containers and of tile_static memory, and the cells with which
``amp.uniform`` compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vkamp.artifacts import Domain
from vkamp.check.instrument import Instrumented
from vkamp.check.instrument.plan import CHECKED_TILES, STATIC_SHADOWS, UNIFORM_CELLS, buffer_word, tiles_word
from vkamp.check.report import Placed, ShadowReader


class ShadowRegion(NamedTuple):
    """A container in its memory, with its first word and the word after its last."""

    placed: Placed
    low: int
    high: int


def region_of(offset: int, strides: tuple[int, ...], shape: tuple[int, ...], words: int) -> ShadowRegion:
    """A container whose offset and strides count elements of this many words."""
    placed = Placed(offset * words, tuple(stride * words for stride in strides), shape)
    steps = [stride * (n - 1) for stride, n in zip(placed.strides, shape, strict=True)]
    low = placed.offset + sum(min(step, 0) for step in steps)
    return ShadowRegion(placed, low, placed.offset + sum(max(step, 0) for step in steps) + words)


@dataclass(frozen=True)
class Shadows:
    """The launch words of an instrumented kernel, the reader of its report, and the size of the report in words."""

    words: Mapping[str, int]
    shadows: Mapping[str, ShadowReader]
    containers: Mapping[str, Placed]
    size: int


class ShadowPlan:
    """Allocates the records of one launch within ``budget`` words; ``not_covered`` lists what has no record."""

    def __init__(self, domain: Domain, storages: Mapping[str, int], budget: int) -> None:
        self.domain = domain
        self.storages = storages
        self.budget = budget
        self.tiles = math.prod(domain.tiles)
        self.not_covered: list[str] = []

    def fitting(
        self, regions: Mapping[str, ShadowRegion], instrument: Callable[[frozenset[str]], Instrumented]
    ) -> Instrumented:
        """The instrumented kernel whose shadows of containers fit; ``instrument`` leaves those of containers out."""
        made = instrument(frozenset())
        left_out: set[str] = set()
        bits = made.layout.thread_bits + made.layout.global_bits
        if made.shadows and (self.tiles << bits) > 1 << 32:
            left_out = set(made.shadows)
            self._leave_out(left_out, f"{self.domain} has too many threads to number them")
        else:
            free = self.budget - made.layout.fixed_words - self.tiles
            for names, low, high in sorted(self._groups(made, regions), key=lambda group: group[2] - group[1]):
                size = (high - low) * made.shadows[names[0]]
                if size <= free:
                    free -= size
                else:
                    left_out.update(names)
                    self._leave_out(set(names), "they are too large for this device's memory")
        return instrument(frozenset(left_out)) if left_out else made

    def _leave_out(self, names: set[str], why: str) -> None:
        self.not_covered.append(f"races on {', '.join(sorted(names))}: {why}")

    def _groups(self, made: Instrumented, regions: Mapping[str, ShadowRegion]) -> list[tuple[list[str], int, int]]:
        """The checked containers by the memory that they share, with its first word and the word after the last."""
        groups: dict[int, list[str]] = {}
        for name in made.shadows:
            groups.setdefault(self.storages[name], []).append(name)
        return [
            (names, min(regions[name].low for name in names), max(regions[name].high for name in names))
            for names in groups.values()
        ]

    def place(self, made: Instrumented, regions: Mapping[str, ShadowRegion]) -> Shadows:
        """The addresses of the records of an instrumented kernel."""
        words: dict[str, int] = {}
        shadows: dict[str, ShadowReader] = {}
        containers: dict[str, Placed] = {}
        end = words[UNIFORM_CELLS] = made.layout.fixed_words
        if UNIFORM_CELLS in made.words:
            end += self.tiles
        starts = dict.fromkeys(regions, 0)
        for names, low, high in self._groups(made, regions):
            tables = made.shadows[names[0]]
            for name in names:
                shadows[name] = ShadowReader(end, tables)
                words[buffer_word("shadow", name)] = end
                starts[name] = low
            end += (high - low) * tables
        for name, (placed, low, high) in regions.items():
            offset = placed.offset - starts[name]
            containers[name] = Placed(offset, placed.strides, placed.shape)
            words[buffer_word("at", name)] = _uint32(offset)
            words[buffer_word("low", name)] = _uint32(low - starts[name])
            words[buffer_word("words", name)] = high - low
            for dim, stride in enumerate(placed.strides):
                words[buffer_word("stride", name, dim)] = _uint32(stride)
        words[STATIC_SHADOWS] = end
        checked = words[CHECKED_TILES] = self._checked_tiles(made, end)
        end += checked * made.layout.tile_words
        for dim, count in enumerate(self.domain.tiles):
            words[tiles_word(dim)] = count
        return Shadows({name: words[name] for name in made.words}, shadows, containers, end)

    def _checked_tiles(self, made: Instrumented, end: int) -> int:
        """The tiles whose tile_static memory has a shadow; records how many have none."""
        if not made.sites.static:
            return 0
        most = max(self.budget - end, 0) // made.layout.tile_words
        if most >= self.tiles:
            return self.tiles
        self.not_covered.append(
            f"tile_static memory of {self.tiles - most} of {self.tiles} tiles: there is not enough memory to record it"
        )
        return most


def _uint32(number: int) -> int:
    """A launch word."""
    return number & 0xFFFFFFFF
