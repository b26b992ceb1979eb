"""Matrices in the form that the kernels of products read: rows without gaps, four elements at a time.

A matrix in another form (with strides, transposed, of a narrow type, with rows whose length is not a multiple of four)
is packed first: it is copied into this form, with zeros after the end of its rows. The copy takes n^2 steps, the
product n^3 (K. Goto and R. van de Geijn, *Anatomy of High-Performance Matrix Multiplication*, 2008).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy, permute_dims
from vkamp.lang.strided import is_aligned, span_of, strides_of
from vkamp.tuning import autotuned

#: The element types of the arguments, and the types that kernels compute in.
_COMPUTED = {np.dtype(name): np.dtype(np.int32) for name in ("int8", "uint8", "int16", "uint16")} | {
    np.dtype(np.float16): np.dtype(np.float32)
}


class Matrix(NamedTuple):
    """A container of rank 3 as a batch of matrices. ``turned``: transposed; ``conjugate``: with conjugate elements.

    A batch of one matrix is used for all matrices of the other operand.
    """

    values: Any
    turned: bool = False
    conjugate: bool = False

    @property
    def size(self) -> int:
        """The number of matrices in the batch."""
        return int(self.values.extent[0])

    @property
    def rows(self) -> int:
        """The rows of each matrix."""
        return int(self.values.extent[2 if self.turned else 1])

    @property
    def columns(self) -> int:
        """The columns of each matrix."""
        return int(self.values.extent[1 if self.turned else 2])

    def part(self, rows: slice, columns: slice) -> Matrix:
        """Some rows and columns of each matrix."""
        one, other = (columns, rows) if self.turned else (rows, columns)
        values = amp.array_view(self.values, readonly=self.values.readonly)
        return Matrix(values[:, one, other], self.turned, self.conjugate)

    @property
    def transposed(self) -> Matrix:
        """Its transpose."""
        return Matrix(self.values, not self.turned, self.conjugate)


class Packed(NamedTuple):
    """A batch of matrices whose rows are ``quads`` groups of four elements, in ``values`` of rank 1.

    ``step`` and ``pitch``: the distances between two matrices, 0 if all are the same one, and two rows, in groups.
    """

    values: Any
    rows: int
    quads: int
    step: int
    pitch: int


def settings() -> Any:
    """Values outside of the arguments on which calls depend."""
    return _choose.forced_form(), autotuned.settings()


class Factors(NamedTuple):
    """The numbers of ``alpha * x + beta * c``."""

    alpha: Any
    beta: Any


def container(a: Any) -> Any:
    """An input as a container.

    Numpy arrays and objects that export their memory by a protocol are not copied. TypeError for others.
    """
    if isinstance(a, (amp.array, amp.array_view)):
        return a
    if isinstance(a, np.ndarray) and a.dtype == np.bool_:
        raise TypeError("products of bool are not supported: use .astype(np.int32)")
    found = lazy.of(a)
    if not isinstance(found, lazy.Elements):
        raise TypeError(f"a product takes containers and numpy arrays, not {type(a).__name__}")
    return found.values


def computed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which products of a type are computed: float16 in float32, small integers in int32."""
    if lazy.is_float_of_memory(dtype):
        return np.dtype(np.float32)
    return _COMPUTED.get(dtype, dtype)


@amp.kernel
def pack(idx, source, out, rows, columns, *, turned: amp.constant, conjugate: amp.constant):
    """Four neighbouring elements of a packed matrix; zeros after the end of its rows and columns."""
    kind = type(out[0, 0, 0])
    batch = idx[0]
    row = idx[1]
    for j in amp.static_range(4):
        column = 4 * idx[2] + j
        x = kind(0)
        if row < rows and column < columns:
            if turned:
                x = kind(source[batch, column, row])
            else:
                x = kind(source[batch, row, column])
            if conjugate:
                x = x.conjugate()
        out[batch, row, column] = x


def packed(
    view: amp.accelerator_view, a: Matrix, dtype: np.dtype[Any], least_rows: int = 1, *, with_gaps: bool = False
) -> Packed:
    """A batch of matrices in the form that kernels read, in a type; the number of rows is a multiple of
    ``least_rows``.

    ``with_gaps``: the kernels read rows with gaps between them.
    """
    if a.turned and with_gaps:
        # On GPUs, ``pack`` would load single elements from distant rows: a fifth of the time of a product of 4096.
        a = Matrix(permute_dims(a.values, (0, 2, 1), accelerator_view=view), conjugate=a.conjugate)
    rows = -(-a.rows // least_rows) * least_rows
    quads = -(-a.columns // 4)
    step = rows * quads if a.size > 1 else 0
    is_whole = rows == a.rows and 4 * quads == a.columns
    if is_whole and not (a.turned or a.conjugate) and a.values.dtype == dtype:
        row = in_a_row(a.values)
        if row is not None:
            return Packed(row, rows, quads, step, quads)
        if with_gaps and (found := _apart(a, rows, quads)) is not None:
            return found
    out = amp.array(amp.extent(a.size, rows, 4 * quads), dtype, accelerator_view=view)
    domain = amp.extent(a.size, rows, quads)
    amp.parallel_for_each(
        view, domain, pack, a.values, out, a.rows, a.columns, turned=a.turned, conjugate=a.conjugate
    )  # fmt: skip
    return Packed(out.reshape(-1), rows, quads, step, quads)


def _apart(a: Matrix, rows: int, quads: int) -> Packed | None:
    """A batch of matrices whose rows have gaps between them, which are read where they are; ``None`` if they are no
    whole groups of four elements apart.
    """
    strides = strides_of(a.values)
    if strides is None or strides[2] != 1 or min(strides) < 0 or strides[0] % 4 or strides[1] % 4:
        return None
    span = span_of(a.values)
    if not is_aligned(span, 4):
        return None
    return Packed(span, rows, quads, strides[0] // 4 if a.size > 1 else 0, strides[1] // 4)


def in_a_row(values: Any) -> Any:
    """A container with one index; ``None`` if its elements have gaps between them."""
    try:
        row = values.reshape(-1)
        row.reinterpret_as(row.dtype)
    except amp.AmpError:
        return None
    return row
