"""Products of large matrices of 16 and 8 bits by the cooperative matrices of a device.

A tile of four subgroups computes 128 x 128 elements, each subgroup 4 x 4 matrices. Blocks of the operands are copied to
``tile_static`` memory in words of 16 bytes; the next blocks are loaded before the current ones are multiplied. Rows
there are one word longer than the block, so that lanes read different banks. The loop has no branch, and a thread's
words are multiples of a row apart. The driver does not derive this from ``(t + 128 * q) // width``: either costs more
than 10 % on an H200. docs/matrices.md lists the variants that were tried.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import permute_dims
from vkamp.blas._operands import Matrix, in_a_row

#: Threads, rows and columns of a tile.
_TILE = 128
#: The bytes of a word that is copied, and the words of a block's row.
_WORD, _WIDE = 16, 8
#: Products with fewer multiplications use the other kernels.
_LEAST = 512**3
#: The inner dimension of the device's product, and the type of its accumulator, by the type of the operands.
_PRODUCTS = {"float16": (16, "float32"), "int8": (32, "int32"), "uint8": (32, "uint32")}


@amp.func
def copied(t_idx, block, words, *, width: amp.constant, count: amp.constant):
    """Stores the ``count`` words that a thread has loaded as every 128th word of a block."""
    row, column = t_idx.local[1] // width, t_idx.local[1] % width
    for q in amp.static_range(count):
        block[row + 128 // width * q, column] = words[q]


@amp.func
def loaded(t_idx, words, memory, row, column, length, *, width: amp.constant, count: amp.constant):
    """Loads every 128th word of a block that begins at a given row and word; rows have ``length`` words."""
    place = (row + t_idx.local[1] // width) * length + column + t_idx.local[1] % width
    for q in amp.static_range(count):
        words[q] = memory[place + 128 // width * q * length]


@amp.func
def multiplied(sums, xs, a_block, b_block, row, column, *, kind: amp.constant, inner: amp.constant,
               turned: amp.constant, depth: amp.constant):  # fmt: skip
    """Adds the products of two blocks to the 4 x 4 matrices of a subgroup."""
    for k in amp.static_range(0, depth, inner):
        for i in amp.static_range(4):
            xs[i] = amp.matrix_load(a_block, (row + 16 * i, k), (16, inner), "a", dtype=kind)
        for j in amp.static_range(4):
            if turned:
                at = column + 16 * j, k
                y = amp.matrix_load(b_block, at, (inner, 16), "b", layout="column", dtype=kind)
                for i in amp.static_range(4):
                    sums[i, j] = amp.matrix_mul_add(xs[i], y, sums[i, j])
            else:
                z = amp.matrix_load(b_block, (k, column + 16 * j), (inner, 16), "b", dtype=kind)
                for i in amp.static_range(4):
                    sums[i, j] = amp.matrix_mul_add(xs[i], z, sums[i, j])


@amp.kernel(subgroup=32)
def products(t_idx, a, b, c, a_length, b_length, steps, *, kind: amp.constant, accumulator: amp.constant,
             inner: amp.constant, turned: amp.constant, wide: amp.constant):  # fmt: skip
    """``c = a @ b``; ``a`` and ``b`` are in words of 16 bytes, and ``b`` is transposed if ``turned``.

    ``wide``: the words of a block's rows, along which the products are summed.
    """
    per = inner // 2
    depth = wide * per
    b_width = wide if turned else 128 // per
    a_block = amp.tile_static((128, wide + 1), amp.uint4)
    b_block = amp.tile_static((128 if turned else depth, b_width + 1), amp.uint4)
    a_words = amp.private(wide, amp.uint4)
    b_words = amp.private(wide, amp.uint4)
    row, column = amp.subgroup.id() // 2 * 64, amp.subgroup.id() % 2 * 64
    first_row, first_column = t_idx.tile[0] * 128, t_idx.tile[1] * 128
    sums = amp.matrix((16, 16), accumulator, count=(4, 4))
    xs = amp.matrix((16, inner), kind, "a", fill=None, count=(4,))
    loaded(t_idx, a_words, a, first_row, 0, a_length, width=wide, count=wide)
    if turned:
        loaded(t_idx, b_words, b, first_column, 0, b_length, width=wide, count=wide)
    else:
        loaded(t_idx, b_words, b, 0, first_column // per, b_length, width=b_width, count=wide)
    for step in range(steps):
        t_idx.barrier.wait_with_tile_static_memory_fence()
        copied(t_idx, a_block, a_words, width=wide, count=wide)
        copied(t_idx, b_block, b_words, width=b_width, count=wide)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        # Without a branch: the last block is loaded twice.
        following = min(step + 1, steps - 1)
        loaded(t_idx, a_words, a, first_row, wide * following, a_length, width=wide, count=wide)
        if turned:
            loaded(t_idx, b_words, b, first_column, wide * following, b_length, width=wide, count=wide)
        else:
            loaded(t_idx, b_words, b, depth * following, first_column // per, b_length, width=b_width, count=wide)
        multiplied(sums, xs, a_block, b_block, row, column, kind=kind, inner=inner, turned=turned, depth=depth)
    for i in amp.static_range(4):
        for j in amp.static_range(4):
            at = first_row + row + 16 * i, first_column + column + 16 * j
            amp.matrix_store(amp.matrix_convert(sums[i, j], c.dtype), c, at)


@amp.kernel
def pad(idx, source, out, rows, columns):
    """An element of a matrix; zeros after the end of its rows and columns."""
    if idx[0] >= rows or idx[1] >= columns:
        out[idx] = 0
    else:
        out[idx] = source[0, idx[0], idx[1]]


@amp.kernel
def turn(t_idx, source, out, rows, length, out_length, *, per: amp.constant):
    """The transpose of a matrix in words of ``per`` elements; zeros after the end of its rows and columns.

    ``length``, ``out_length``: the words of a row. A tile transposes 32 x 32 squares of ``per`` x ``per`` elements.
    """
    bits = 32 // per
    block = amp.tile_static((per, 32, 33), amp.uint32)
    words = amp.private(per, amp.uint32)
    wave, lane = t_idx.local[0], t_idx.local[1]
    top, side = t_idx.tile[0] * 32, t_idx.tile[1] * 32
    for q in amp.static_range(4):
        square = wave + 8 * q
        for i in amp.static_range(per):
            row = (top + square) * per + i
            words[i] = source[row * length + side + lane] if row < rows and side + lane < length else amp.uint32(0)
        for j in amp.static_range(per):
            word = amp.uint32(0)
            for i in amp.static_range(per):
                word |= (words[i] >> (bits * j) & 2**bits - 1) << (bits * i)
            block[j, lane, square] = word
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for q in amp.static_range(4 * per):
        row = wave + 8 * q
        out[(side * per + row) * out_length + top + lane] = block[row % per, row // per, lane]


@amp.kernel
def cut(idx, source, out):
    """An element of a larger matrix."""
    out[0, idx[0], idx[1]] = source[idx]


def takes(view: amp.accelerator_view, a: Matrix, b: Matrix, dtype: np.dtype[Any]) -> bool:
    """Whether the device has the product of this type, and it is large and one of single matrices."""
    kind = a.values.dtype
    found = _PRODUCTS.get(kind.name)
    limits = view.accelerator.limits
    if found is None or limits is None or b.values.dtype != kind or a.size * b.size != 1:
        return False
    inner, accumulator = found
    if dtype.name not in ((accumulator, kind.name) if kind.kind == "f" else (accumulator,)):
        return False
    known = {
        (s.rows, s.columns, s.inner) for s in limits.matrix_shapes if (s.a, s.accumulator) == (kind.name, accumulator)
    }
    has_subgroups = view.accelerator.engine == "vulkan" and 32 in limits.subgroup_sizes
    return (16, 16, inner) in known and has_subgroups and a.rows * a.columns * b.columns >= _LEAST


def multiply(view: amp.accelerator_view, a: Matrix, b: Matrix, c: Any, wide: int = _WIDE) -> None:
    """``c = a @ b``; ``c`` has rank 3. ``wide``: the kernel's argument."""
    kind = a.values.dtype
    inner, accumulator = _PRODUCTS[kind.name]
    # On an H200, the product takes 1.8 times as long if the device must collect bytes of a column from rows.
    turned = b.turned or kind.itemsize == 1
    depth = wide * _WORD // kind.itemsize
    rows, columns, length = _up(a.rows, _TILE), _up(b.columns, _TILE), _up(a.columns, depth)
    left = _words(view, a.values, rows, length, turned=a.turned)
    right = _words(view, b.values, *((columns, length) if turned else (length, columns)), turned=b.turned != turned)
    is_whole = (rows, columns) == (a.rows, b.columns) and in_a_row(c) is not None
    out = c.reshape(rows, columns) if is_whole else None
    made = out if out is not None else amp.array(amp.extent(rows, columns), c.dtype, accelerator_view=view)
    row_words = [n * kind.itemsize // _WORD for n in (length, length if turned else columns)]
    domain = amp.extent(rows // _TILE, columns).tile(1, _TILE)
    types = {"kind": kind.type, "accumulator": np.dtype(accumulator).type, "inner": inner}
    amp.parallel_for_each(
        view, domain, products, left, right, made, *row_words, length // depth, **types, turned=turned, wide=wide
    )
    if out is None:
        amp.parallel_for_each(view, amp.extent(a.rows, b.columns), cut, made, c)


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _words(view: Any, values: Any, rows: int, columns: int, *, turned: bool) -> Any:
    """A matrix, its transpose if ``turned``, with at least these numbers of rows and columns, in words of 16 bytes.

    It is a copy, with zeros after the end, unless the matrix has this form.
    """
    per = 4 // values.dtype.itemsize
    if turned:
        words = _reinterpreted(values, amp.uint32) if values.extent[2] % per == 0 else None
        if words is not None and rows % (32 * per) == 0 and columns % (32 * per) == 0:
            out = amp.array(amp.extent(rows * columns // per), np.uint32, accelerator_view=view)
            domain = amp.extent(columns // per // 4, rows // per).tile(8, 32)
            amp.parallel_for_each(
                view, domain, turn, words, out, values.extent[1], values.extent[2] // per, columns // per, per=per
            )
            return out.reinterpret_as(amp.uint4)
        values = permute_dims(values, (0, 2, 1), accelerator_view=view)
    if tuple(values.extent) == (1, rows, columns):
        found = _reinterpreted(values, amp.uint4)
        if found is not None:
            return found
    out = amp.array(amp.extent(rows, columns), values.dtype, accelerator_view=view)
    amp.parallel_for_each(view, out.extent, pad, values, out, values.extent[1], values.extent[2])
    return out.reshape(-1).reinterpret_as(amp.uint4)


def _reinterpreted(values: Any, dtype: Any) -> Any:
    """A matrix with one index in larger elements; ``None`` if it has gaps, or begins within such an element."""
    row = in_a_row(values)
    if row is not None:
        with suppress(amp.AmpError):
            return row.reinterpret_as(dtype)
    return None
