"""Functions that reorder axes: ``permute_dims`` and ``transpose``.

On GPUs a tile moves a block of elements through ``tile_static`` memory, so that neighbouring threads both load and
store neighbouring elements (G. Ruetsch and P. Micikevicius, *Optimizing Matrix Transpose in CUDA*, 2009).  Elsewhere a
thread moves a column of blocks of 4 x 4.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from contextlib import suppress
from typing import Any

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import axis_of, in_words, output, place
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.transform import moved, store

#: Elements of a block along both axes, for elements of 4 bytes and of more; threads of a tile.
SIDE, SIDE_OF_LARGE, THREADS = 64, 32, 256
#: Neighbouring threads that load or store neighbouring elements.
ROW = 32
#: On CPU drivers, the blocks of 4 x 4 in a column that an invocation moves.
_BLOCKS = 64


class _Permuted(lazy.Lazy):
    """An input with its axes in another order: axis ``d`` of the result is axis ``axes[d]`` of the input."""

    __slots__ = ("inner", "places")

    def __init__(self, inner: lazy.Lazy, axes: tuple[int, ...]) -> None:
        super().__init__(tuple(inner.extent[d] for d in axes))
        self.inner, self.places = inner, amp.index(*(axes.index(d) for d in range(len(axes))))

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index of the result."""
        at = amp.index(i)
        for d in amp.static_range(self.extent.rank):
            at[d] = i[self.places[d]]
        return self.inner.value(at)


@amp.kernel
def transpose_quads(t_idx, matrix, out, rows, columns, length):
    """Transposes a column of ``length`` blocks of 4 x 4 elements, with four loads and four stores each.

    ``matrix`` and ``out`` are rows of vectors of four. The matrix has ``rows`` x ``columns`` blocks.
    """
    vector = type(matrix[0])
    column = t_idx.global_[1]
    begin = t_idx.global_[0] * length
    if begin < rows and column < columns:
        k = 4 * begin * columns + column
        first = 4 * column * rows
        for at in range(first + begin, first + min(begin + length, rows)):
            a = matrix[k]
            b = matrix[k + columns]
            c = matrix[k + 2 * columns]
            d = matrix[k + 3 * columns]
            out[at] = vector(a.x, b.x, c.x, d.x)
            out[at + rows] = vector(a.y, b.y, c.y, d.y)
            out[at + 2 * rows] = vector(a.z, b.z, c.z, d.z)
            out[at + 3 * rows] = vector(a.w, b.w, c.w, d.w)
            k += 4 * columns


@amp.kernel
def transpose_tiles(t_idx, source, out, *, order: amp.constant, high: amp.constant, wide: amp.constant):
    """Moves a block of ``high`` x ``wide`` elements along the last axis of the result and that of the source."""
    rank = source.extent.rank
    down = order[rank - 1]
    at = amp.index(source.extent * 0)
    rest = t_idx.tile[0]
    for d in amp.static_range(rank - 1):
        if d != down:
            at[d] = rest % source.extent[d]
            rest = rest // source.extent[d]
    top = t_idx.tile[1] * high
    side = t_idx.tile[2] * wide
    block = amp.tile_static((high, wide + 1), out.dtype)
    if top + high <= source.extent[down] and side + wide <= source.extent[rank - 1]:
        _move_block(t_idx, source, out, block, at, top, side, order=order, full=True)
    else:
        _move_block(t_idx, source, out, block, at, top, side, order=order, full=False)


@amp.func
def _move_block(
    t_idx: Any, source: Any, out: Any, block: Any, at: Any, top: Any, side: Any, *, order: amp.constant,
    full: amp.constant,
) -> None:  # fmt: skip
    rank = source.extent.rank
    down = order[rank - 1]
    high = block.extent[0]
    wide = block.extent[1] - 1
    rows = t_idx.tile_dim1
    across = t_idx.tile_dim2
    row, column = t_idx.local[1], t_idx.local[2]
    own = amp.private((high // rows) * (wide // across), out.dtype)
    # All loads first, so that they are under way together.
    for k in amp.static_range(high // rows):
        for j in amp.static_range(wide // across):
            at[down] = top + row + k * rows
            at[rank - 1] = side + column + j * across
            if not full:
                # Any element takes the place of one after the end.
                at[down] = min(at[down], source.extent[down] - 1)
                at[rank - 1] = min(at[rank - 1], source.extent[rank - 1] - 1)
            own[k * (wide // across) + j] = source.value(at)
    for k in amp.static_range(high // rows):
        for j in amp.static_range(wide // across):
            block[row + k * rows, column + j * across] = own[k * (wide // across) + j]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(wide // rows):
        for j in amp.static_range(high // across):
            at[down] = top + column + j * across
            at[rank - 1] = side + row + k * rows
            if full or (at[down] < source.extent[down] and at[rank - 1] < source.extent[rank - 1]):
                to = amp.index(at)
                for d in amp.static_range(rank):
                    to[d] = at[order[d]]
                out[to] = block[column + j * across, row + k * rows]


def _moved_in_tiles(view: amp.accelerator_view, source: lazy.Lazy, order: tuple[int, ...], out: Any) -> bool:
    """Whether tiles have moved the elements: those of 4 bytes or more, where another axis becomes the last one."""
    rank, itemsize = len(order), out.dtype.itemsize
    if _choose.form_of(view) != "tiles" or order[-1] == rank - 1 or itemsize not in (4, 8, 16):
        return False
    if dtype_of(source) != out.dtype:
        return False
    limits = view.accelerator.limits
    side = SIDE if itemsize == 4 and (limits is None or limits.shared_bytes > SIDE * (SIDE + 1) * 4) else SIDE_OF_LARGE
    threads = THREADS if limits is None else min(THREADS, limits.tile_threads)
    high, wide = source.extent[order[-1]], source.extent[rank - 1]
    blocks = (int(source.extent.size()) // (high * wide), -(-high // side), -(-wide // side))
    domain = amp.extent(blocks[0], blocks[1] * (threads // ROW), blocks[2] * ROW).tile(1, threads // ROW, ROW)
    amp.parallel_for_each(view, domain, transpose_tiles, source, out, order=order, high=side, wide=side)
    return True


def _transposed(source: lazy.Lazy, out: Any, accelerator_view: amp.accelerator_view | None) -> Any:
    """A transposed matrix of words without gaps on a CPU driver; None where the general form is needed."""
    view = place(accelerator_view, source, out)
    rows, columns = source.extent
    if _choose.form_of(view) != "runs" or rows % 4 or columns % 4 or not isinstance(source, lazy.Elements):
        return None
    result = output(out, (columns, rows), dtype_of(source), view, source)
    quads = [_in_quads(each) for each in (source.values, result)]
    if quads[0] is None or quads[1] is None or quads[0].dtype != quads[1].dtype:
        # A new result is used by the general form, too.
        return moved(lambda x: _Permuted(x, (1, 0)), source, result, view)
    # Four columns side by side are whole lines of the caches, and a subgroup's stores go to few rows of the result.
    limits = view.accelerator.limits
    high = 1 if limits is None else max(limits.subgroup_size // 4, 1)
    domain = amp.extent(-(-rows // (4 * _BLOCKS)), columns // 4).tile(high, 4).pad()
    amp.parallel_for_each(view, domain, transpose_quads, *quads, rows // 4, columns // 4, _BLOCKS)
    return result


def _in_quads(values: Any) -> Any:
    """The elements of a matrix as a row of vectors of four; None if they have another size, or gaps between them."""
    vector = lazy.vector_of(values.dtype)
    if vector is None:
        return None
    with suppress(amp.AmpError):
        return values.reshape(-1).reinterpret_as(vector)
    return None


def permute_dims(
    a: Any, axes: tuple[int, ...], *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The elements with the axes in another order (array API: ``permute_dims``; numpy: ``transpose``).

    ValueError unless ``axes`` has each axis once.
    """
    source = lazy.of(a)
    order = tuple(axis_of(source.extent, d) for d in axes)
    if sorted(order) != list(range(source.extent.rank)):
        raise ValueError(f"axes {tuple(axes)} must contain each axis of {source.extent!r} once")
    if len(order) == 1:
        return moved(lambda x: x, source, out, accelerator_view)
    if order == (1, 0) and (found := _transposed(source, out, accelerator_view)) is not None:
        return found
    view = place(accelerator_view, source, out)
    result = output(out, tuple(source.extent[d] for d in order), dtype_of(source), view, source)
    values, words = in_words(source, result)
    if not _moved_in_tiles(view, values, order, words):
        store(view, _Permuted(values, order), words, has_its_type=out is None)
    return result


def transpose(a: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The elements with the axes in reverse order, such as the columns of a matrix as rows (numpy: ``transpose``)."""
    rank = lazy.of(a).extent.rank
    return permute_dims(a, tuple(reversed(range(rank))), out=out, accelerator_view=accelerator_view)
