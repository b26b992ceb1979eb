"""The temperature of a plate with holes: a sparse system of equations in the CSR format, by conjugate gradients.

    python examples/sparse_plate.py [--size 192] [--accelerator nvidia]

Only the points of the plate are unknowns, each the mean of its neighbours; the hot and the cold holes are the right
side. A row of the matrix has its columns and its numbers side by side, and one thread multiplies it. Jacobi's
preconditioner, the diagonal, is part of the kernels. Factors stay on the device.
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
from vkamp import algorithms as alg

#: The norm of the residual at the end, relative to the right side; steps between two looks at it, and at most.
TOLERANCE, ROUND, MOST = 1e-5, 20, 4000


@amp.kernel
def multiply(idx, starts, columns, numbers, x, out):
    """out = A x, a row for each thread."""
    total = 0.0
    for k in range(starts[idx[0]], starts[idx[0] + 1]):
        total += numbers[k] * x[columns[k]]
    out[idx] = total


@amp.kernel
def advance(idx, x, residual, direction, image, diagonal, scaled, above, below):
    """x += f direction, residual -= f image for f = above / below; and the residual over the diagonal."""
    factor = above / below
    x[idx] += factor * direction[idx]
    residual[idx] -= factor * image[idx]
    scaled[idx] = residual[idx] / diagonal[idx]


@amp.kernel
def turn(idx, direction, scaled, above, below):
    """direction = scaled + above / below * direction"""
    direction[idx] = scaled[idx] + above / below * direction[idx]


class Sparse:
    """A matrix in rows: those of row i are ``columns[starts[i]:starts[i + 1]]`` with their ``numbers``."""

    def __init__(self, view: amp.accelerator_view, starts: Any, columns: Any, numbers: Any, diagonal: Any) -> None:
        self.view = view
        self.parts = tuple(amp.array(each, accelerator_view=view) for each in (starts, columns, numbers))
        self.diagonal = amp.array(diagonal, accelerator_view=view)

    def multiply(self, x: Any, out: Any) -> None:
        amp.parallel_for_each(self.view, x.extent, multiply, *self.parts, x, out)

    def solve(self, b: Any) -> tuple[Any, int]:
        """The solution of A x = b, and the number of steps (Hestenes and Stiefel, 1952)."""
        x, image = (amp.array(b.extent, np.float32, accelerator_view=self.view) for _ in range(2))
        alg.fill(x, 0.0)
        residual, scaled = alg.copy(b), alg.transform(alg.functional.divides, b, self.diagonal)
        direction = alg.copy(scaled)
        product = alg.vdot(residual, scaled)
        enough = TOLERANCE**2 * float(alg.vdot(b, b))
        for step in range(1, MOST + 1):
            self.multiply(direction, image)
            bend, before = alg.vdot(direction, image), product
            amp.parallel_for_each(
                self.view, x.extent, advance, x, residual, direction, image, self.diagonal, scaled, before, bend,
            )  # fmt: skip
            if step % ROUND == 0 and float(alg.vdot(residual, residual)) <= enough:
                break
            product = alg.vdot(residual, scaled)
            amp.parallel_for_each(self.view, x.extent, turn, direction, scaled, product, before)
        return x, step


def plate(size: int) -> NDArray[np.float32]:
    """The temperature of what is fixed, the holes and the rim, and NaN on the plate."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1)
    fixed = np.full((size, size), np.nan, np.float32)
    holes = ((0.3, 0.3, 0.13, 1.0), (0.72, 0.25, 0.08, 0.2), (0.25, 0.75, 0.07, 0.75), (0.7, 0.68, 0.16, 0.45))
    for row, column, radius, temperature in holes:
        fixed[np.hypot(y - row, x - column) < radius] = temperature
    fixed[[0, -1]] = fixed[:, [0, -1]] = 0
    return fixed


def equations(fixed: NDArray[np.float32]) -> tuple[Any, ...]:
    """The matrix in CSR, its diagonal, the right side, and the places of the unknowns."""
    rows, columns = np.nonzero(np.isnan(fixed))
    number = np.full(fixed.shape, -1, np.int64)
    number[rows, columns] = np.arange(len(rows))
    around = [number[rows + dy, columns + dx] for dy, dx in ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0))]
    found = np.stack(around, 1)
    values = np.where(np.arange(5) == 2, 4.0, -1.0).astype(np.float32) * np.ones(found.shape, np.float32)
    starts = np.concatenate([[0], np.cumsum((found >= 0).sum(1))]).astype(np.int32)
    known = np.nan_to_num(fixed)
    b = sum(known[rows + dy, columns + dx] for dy, dx in ((-1, 0), (0, -1), (0, 1), (1, 0)))
    is_there = found >= 0
    diagonal = np.full(len(rows), 4.0, np.float32)
    return starts, found[is_there].astype(np.int32), values[is_there], diagonal, b.astype(np.float32), (rows, columns)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    fixed = plate(options.size)
    starts, columns, numbers, diagonal, right, places = equations(fixed)
    matrix = Sparse(view, starts, columns, numbers, diagonal)
    b = amp.array(right, accelerator_view=view)
    x, steps = matrix.solve(b)
    found = np.asarray(x).astype(np.float64)
    print(f"solved  {len(right):,} equations with {len(numbers):,} numbers in {steps} steps")
    image = np.add.reduceat(numbers * found[columns], starts[:-1])
    residual = np.linalg.norm(image - right) / np.linalg.norm(right)
    checks = [
        ("relative residual", float(residual), 1e-4),
        ("beyond the fixed temperatures", float(max(found.max() - 1, -found.min(), 0)), 1e-3),
    ]
    gallery.timed(view, "solution", lambda: matrix.solve(b), 2 * steps * len(numbers), "GFLOP/s of products")
    field = np.nan_to_num(fixed)
    field[places] = found
    return gallery.Result(checks, [_sheet(fixed, field)])


def _sheet(fixed: Any, field: Any) -> Any:
    """What is given, and the temperatures with lines of equal ones."""

    def draw(values: Any, lines: bool) -> Any:
        def on(axes: Any) -> None:
            axes.imshow(values, cmap="inferno", vmin=0, vmax=1)
            if lines:
                axes.contour(values, np.linspace(0.025, 0.975, 20), colors="white", linewidths=0.5)
            axes.set_axis_off()

        return gallery.chart(on, 440, 420)

    return gallery.side_by_side([draw(fixed, False), draw(field, True)], ("held temperatures", "of the whole plate"))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the residual is small."""
    return gallery.main("sparse_plate", __doc__ or "", run, argv, size=160)


if __name__ == "__main__":
    sys.exit(main())
