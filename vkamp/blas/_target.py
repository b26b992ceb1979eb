"""The targets of products: ``alpha * x``, or ``alpha * x + beta * c``, as elements of a container with any strides."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.lang.strided import in_vectors


class ProductTarget:
    """A batch of matrices that become ``alpha`` times the stored values; they are not read."""

    __slots__ = ("columns", "values")

    def __init__(self, values: Any) -> None:
        self.values, self.columns = values, int(values.extent[2])

    @amp.func
    def store(self, alpha: Any, beta: Any, batch: Any, row: Any, column: Any, x: Any) -> Any:
        """Stores an element."""
        self.values[batch, row, column] = alpha * x

    @amp.func
    def store_four(self, alpha: Any, beta: Any, batch: Any, row: Any, quad: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
        """Stores the elements of the columns ``4 * quad`` to ``4 * quad + 3`` that the matrix has."""
        self.store(alpha, beta, batch, row, 4 * quad, x)
        if 4 * quad + 1 < self.columns:
            self.store(alpha, beta, batch, row, 4 * quad + 1, y)
        if 4 * quad + 2 < self.columns:
            self.store(alpha, beta, batch, row, 4 * quad + 2, z)
        if 4 * quad + 3 < self.columns:
            self.store(alpha, beta, batch, row, 4 * quad + 3, w)


class Adding(ProductTarget):
    """A batch of matrices ``c`` that become ``alpha * x + beta * c``."""

    __slots__ = ()

    @amp.func
    def store(self, alpha: Any, beta: Any, batch: Any, row: Any, column: Any, x: Any) -> Any:
        """Stores an element."""
        self.values[batch, row, column] = alpha * x + beta * self.values[batch, row, column]


class _StoredInQuads(ProductTarget):
    """A batch of matrices of whole vectors, to which four elements are stored at a time."""

    __slots__ = ("quads",)

    def __init__(self, values: Any, quads: Any) -> None:
        super().__init__(values)
        self.quads = quads

    @amp.func
    def store_four(self, alpha: Any, beta: Any, batch: Any, row: Any, quad: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
        """Stores the elements of the columns ``4 * quad`` to ``4 * quad + 3``."""
        vector = type(self.quads[0, 0, 0])
        self.quads[batch, row, quad] = alpha * vector(x, y, z, w)


class _AddingInQuads(_StoredInQuads):
    """A batch of matrices of whole vectors, of which four elements are read and stored at a time."""

    __slots__ = ()

    @amp.func
    def store_four(self, alpha: Any, beta: Any, batch: Any, row: Any, quad: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
        """Stores the elements of the columns ``4 * quad`` to ``4 * quad + 3``."""
        vector = type(self.quads[0, 0, 0])
        self.quads[batch, row, quad] = alpha * vector(x, y, z, w) + beta * self.quads[batch, row, quad]


def target(c: Any, adds: bool) -> ProductTarget:
    """A container of rank 3 as a target; ``adds``: its elements are also read."""
    quads = _quads(c)
    if quads is None:
        return Adding(c) if adds else ProductTarget(c)
    return _AddingInQuads(c, quads) if adds else _StoredInQuads(c, quads)


def _quads(c: Any) -> Any:
    """The rows of a batch of matrices as vectors of four elements; ``None`` if that is impossible."""
    vector = lazy.vector_of(c.dtype)
    return None if vector is None else in_vectors(c, vector)


@amp.kernel
def narrow(idx, wide, c, alpha, beta, *, adds: amp.constant):
    """Converts elements to another type: ``alpha * wide + beta * c``."""
    kind = type(c[idx])
    x = alpha * wide[idx]
    if adds:
        x += beta * type(x)(c[idx])
    c[idx] = kind(x)
