"""Column-major copies of panels of a matrix: copies from and to the matrix.

Each thread that factors a panel holds whole rows, and adjacent rows are far apart in the matrix. In a column-major copy
of the panel, adjacent threads load adjacent elements.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp

#: The rows and columns of a block that a tile transposes, and the rows of its threads.
SIDE, ROWS = 32, 8


@amp.kernel
def move_panel(t_idx, a, panel, first, count, *, stores: amp.constant):
    """``panel[n, c, i] = a[n, i, first + c]`` for ``count`` columns, from row ``first`` on; with ``stores``, the
    reverse."""
    move_block(t_idx, a, panel, first, count, t_idx.tile[1], t_idx.tile[2], stores=stores)


@amp.func
def move_block(
    t_idx: Any, a: Any, panel: Any, first: Any, count: Any, down: Any, across: Any, *, stores: amp.constant
) -> Any:
    """A tile's part of :func:`move_panel`: the block at ``down`` and ``across``."""
    stage = amp.tile_static((SIDE, SIDE + 1), type(a[0, 0, 0]))
    n = t_idx.tile[0]
    top = first + down * SIDE
    side = across * SIDE
    x = t_idx.local[2]
    for p in amp.static_range(amp.tdiv(SIDE, ROWS)):
        y = t_idx.local[1] + p * ROWS
        if stores:
            if side + y < count and top + x < a.extent[1]:
                stage[y, x] = panel[n, side + y, top + x]
        elif top + y < a.extent[1] and side + x < count:
            stage[y, x] = a[n, top + y, first + side + x]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for p in amp.static_range(amp.tdiv(SIDE, ROWS)):
        y = t_idx.local[1] + p * ROWS
        if stores:
            if top + y < a.extent[1] and side + x < count:
                a[n, top + y, first + side + x] = stage[x, y]
        elif side + y < count and top + x < a.extent[1]:
            panel[n, side + y, top + x] = stage[x, y]


def move(view: amp.accelerator_view, a: Any, panel: Any, first: int, last: int, *, stores: bool) -> None:
    """Copies the columns ``first`` to ``last`` of a batch to its panel, from row ``first`` on, or back."""
    down, across = blocks_of(a, first, last)
    domain = amp.extent(int(a.extent[0]), down * ROWS, across * SIDE).tile(1, ROWS, SIDE)
    amp.parallel_for_each(view, domain, move_panel, a, panel, first, last - first, stores=stores)


def blocks_of(a: Any, first: int, last: int) -> tuple[int, int]:
    """The blocks of a panel along the rows and along the columns."""
    return -(-(int(a.extent[1]) - first) // SIDE), -(-(last - first) // SIDE)


def threads_of(most: int, rows: int) -> tuple[int, int]:
    """The threads of a tile, and the rows of each: few different pairs, because each takes a kernel of its own."""
    threads = most if 4 * rows > most else max(most // 4, 32)
    return threads, 1 << max(-(-rows // threads) - 1, 0).bit_length()


@amp.func
def load_columns(
    panel: Any, own: Any, n: Any, t: Any, top: Any, start: Any, stop: Any, *, threads: amp.constant
) -> Any:
    """Loads the columns ``start`` to ``stop`` of a panel from row ``top`` on, zeros after their end: a thread has every
    ``threads``-th row."""
    kind = type(own[0, 0])
    for r in amp.static_range(own.extent[0]):
        i = top + t + r * threads
        for c in amp.static_range(own.extent[1]):
            own[r, c] = kind(0)
            if i < panel.extent[2] and start + c < stop:
                own[r, c] = panel[n, start + c, i]


@amp.func
def store_columns(
    panel: Any, own: Any, n: Any, t: Any, top: Any, start: Any, stop: Any, *, threads: amp.constant
) -> Any:
    """Stores what :func:`load_columns` loads."""
    for r in amp.static_range(own.extent[0]):
        i = top + t + r * threads
        for c in amp.static_range(own.extent[1]):
            if i < panel.extent[2] and start + c < stop:
                panel[n, start + c, i] = own[r, c]
