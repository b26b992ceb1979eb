"""Shortest paths between all pairs of towns: the Floyd-Warshall algorithm in tiles.

    python examples/floyd_warshall.py [--count 256] [--accelerator swiftshader]

For each tile of the diagonal, three launches check whether a path through its towns is shorter: for that tile first,
then for its row and column, then for all other tiles. The tiles work in tile_static memory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp

SIDE = 16
FAR = np.float32(1e30)


@amp.kernel(precise=True)
def diagonal(t_idx, ways, pivot):
    """Computes the tile of the diagonal in row and column ``pivot``."""
    own = amp.tile_static((SIDE, SIDE), amp.float32)
    r, c = t_idx.local
    place = amp.index(pivot * SIDE + r, pivot * SIDE + c)
    own[r, c] = ways[place]
    for k in range(SIDE):
        t_idx.barrier.wait_with_tile_static_memory_fence()
        through = own[r, k] + own[k, c]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        own[r, c] = min(own[r, c], through)
    ways[place] = own[r, c]


@amp.kernel(precise=True)
def row_and_column(t_idx, ways, pivot):
    """Tile (0, j) of the domain is tile (pivot, j) of the ways, and (1, j) is (j, pivot)."""
    middle = amp.tile_static((SIDE, SIDE), amp.float32)
    own = amp.tile_static((SIDE, SIDE), amp.float32)
    r, c = t_idx.local
    is_column = t_idx.tile[0] == 1
    other = t_idx.tile[1]
    top = (other if is_column else pivot) * SIDE
    left = (pivot if is_column else other) * SIDE
    place = amp.index(top + r, left + c)
    middle[r, c] = ways[pivot * SIDE + r, pivot * SIDE + c]
    own[r, c] = ways[place]
    for k in range(SIDE):
        t_idx.barrier.wait_with_tile_static_memory_fence()
        through = own[r, k] + middle[k, c] if is_column else middle[r, k] + own[k, c]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        own[r, c] = min(own[r, c], through)
    if other != pivot:
        ways[place] = own[r, c]


@amp.kernel(precise=True)
def rest(t_idx, ways, pivot):
    """Processes all tiles except those of the row and the column."""
    across = amp.tile_static((SIDE, SIDE), amp.float32)
    down = amp.tile_static((SIDE, SIDE), amp.float32)
    r, c = t_idx.local
    across[r, c] = ways[t_idx.global_[0], pivot * SIDE + c]
    down[r, c] = ways[pivot * SIDE + r, t_idx.global_[1]]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    shortest = ways[t_idx]
    for k in range(SIDE):
        shortest = min(shortest, across[r, k] + down[k, c])
    if t_idx.tile[0] != pivot and t_idx.tile[1] != pivot:
        ways[t_idx] = shortest


def shortest_ways(view: amp.accelerator_view, ways: amp.array) -> None:
    """Replaces each direct distance by the shortest one, in place; both extents are multiples of SIDE."""
    count = ways.extent[0] // SIDE
    for pivot in range(count):
        amp.parallel_for_each(view, amp.extent(SIDE, SIDE).tile(SIDE, SIDE), diagonal, ways, pivot)
        cross = amp.extent(2 * SIDE, count * SIDE).tile(SIDE, SIDE)
        amp.parallel_for_each(view, cross, row_and_column, ways, pivot)
        amp.parallel_for_each(view, ways.extent.tile(SIDE, SIDE), rest, ways, pivot)


def country(count: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Positions of towns, and the lengths of roads between nearby ones; FAR if there is no road."""
    places = np.random.default_rng(21).random((count, 2))
    distance = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    near = np.argsort(distance, axis=1)[:, 1:5]
    padded = -(-count // SIDE) * SIDE
    roads = np.full((padded, padded), FAR, np.float32)
    row = np.arange(count)[:, None]
    roads[row, near] = distance[row, near]
    roads = np.minimum(roads, roads.T)
    np.fill_diagonal(roads, 0)
    return places, roads


def shortest_with_numpy(roads: NDArray[np.float32]) -> NDArray[np.float64]:
    """The expected result of `shortest_ways`."""
    ways = roads.astype(np.float64)
    for k in range(len(ways)):
        ways = np.minimum(ways, ways[:, k, None] + ways[k])
    return ways


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    places, roads = country(options.count)
    ways = amp.array(amp.array_view(roads), accelerator_view=view)
    shortest_ways(view, ways)
    found = np.asarray(ways)
    expected = shortest_with_numpy(roads)
    linked = expected < FAR / 2
    checks = [
        ("reached", float(((found < FAR / 2) != linked).sum()), 0),
        ("shortest ways", gallery.difference(found[linked], expected[linked]), 1e-5),
    ]
    # The distances are the shortest from now on; each further call does the same work.
    what = f"all ways between {options.count} towns"
    gallery.timed(view, what, lambda: shortest_ways(view, ways), 2.0 * len(roads) ** 3, "G operations/s")
    start = int(np.argmin(np.hypot(*(places - 0.5).T)))

    def draw(axes: Any) -> None:
        for a, b in zip(*np.nonzero(np.triu((roads > 0) & (roads < FAR))), strict=True):
            axes.plot(*places[[a, b]].T, color="#c8c8c8", linewidth=0.7, zorder=0)
        far = np.where(found[start] < FAR / 2, found[start], np.nan)[: len(places)]
        dots = axes.scatter(*places.T, c=far, s=14, cmap="plasma")
        axes.plot(*places[start], marker="*", color="black", markersize=12)
        axes.set(xticks=[], yticks=[])
        axes.figure.colorbar(dots, label="shortest way from the star")

    return gallery.Result(checks, [gallery.chart(draw, 640, 480)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("floyd_warshall", __doc__ or "", run, argv, count=256)


if __name__ == "__main__":
    sys.exit(main())
