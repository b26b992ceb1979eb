"""How the threads of a tile are distributed over the lanes that run them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

#: Tiles that waste more lanes than this are better off with fewer.
_MIN_USE = 0.75
#: Neighbouring threads that one lane takes: as many elements as one access can have.
_RUN = 4


@dataclass(frozen=True)
class Shape:
    """Per dimension: the threads of the ``tile``, the ``lanes``, and the neighbours that a lane takes in a row.

    Thread ``i`` of a dimension is the ``i % run``-th of a row of lane ``i // run % lanes``.
    """

    tile: tuple[int, ...]
    lanes: tuple[int, ...]
    runs: tuple[int, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        """Threads from one row of a lane to its next."""
        return tuple(n * run for n, run in zip(self.lanes, self.runs, strict=True))

    @property
    def trips(self) -> tuple[int, ...]:
        """Rows of each lane."""
        return tuple(-(-size // step) for size, step in zip(self.tile, self.steps, strict=True))

    @property
    def counts(self) -> tuple[int, ...]:
        """Threads of each lane."""
        return tuple(n * run for n, run in zip(self.trips, self.runs, strict=True))


def lanes_for(tile: tuple[int, ...], most: int) -> tuple[int, ...]:
    """The lanes per dimension for a tile, at most ``most`` in all: powers of two, the last dimension first."""
    out: list[int] = []
    for size in reversed(tile):
        count = 1
        while count * 2 <= min(size, most):
            count *= 2
        while size < _MIN_USE * count * -(-size // count):
            count //= 2
        out.append(count)
        most //= count
    return tuple(reversed(out))


def shapes_for(tile: tuple[int, ...], most: int) -> Iterator[Shape]:
    """The possible distributions of a tile: lanes that run rows of adjacent threads, and adjacent lanes that run
    adjacent threads."""
    rank = len(tile)
    rows = tuple(_RUN if size % _RUN == 0 and d >= rank - 2 else 1 for d, size in enumerate(tile))
    lanes = lanes_for(tuple(size // row for size, row in zip(tile, rows, strict=True)), most)
    runs = tuple(row if n > 1 and size % (n * row) == 0 else 1 for n, row, size in zip(lanes, rows, tile, strict=True))
    if max(runs) > 1:
        yield Shape(tile, lanes, runs)
    yield Shape(tile, lanes_for(tile, most), tuple(1 for _ in tile))
