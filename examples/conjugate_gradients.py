"""Blurs a picture by implicit diffusion: a sparse system of equations, solved by the conjugate gradient method.

Each step is a kernel for the product with the matrix, two inner products, and three updates whose factors stay on the
device: the host waits for the residual alone, every ten steps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from PIL import Image

import vkamp as amp
from vkamp import algorithms as alg

#: The diffusion between neighbouring pixels: the larger, the more is blurred.
STRENGTH = 5.0
TOLERANCE, MOST_STEPS = 1e-5, 400


@amp.kernel
def diffused(idx, x, out):
    """out = (I + STRENGTH * L) x, L the Laplacian of a grid whose borders let nothing through."""
    row, column = idx[0], idx[1]
    here = x[row, column]
    flow = 0.0
    if row > 0:
        flow += here - x[row - 1, column]
    if row < x.extent[0] - 1:
        flow += here - x[row + 1, column]
    if column > 0:
        flow += here - x[row, column - 1]
    if column < x.extent[1] - 1:
        flow += here - x[row, column + 1]
    out[row, column] = here + STRENGTH * flow


def product(view: amp.accelerator_view, x: Any) -> Any:
    """The product of the matrix with x."""
    out = amp.array(x.extent, np.float32, accelerator_view=view)
    amp.parallel_for_each(view, x.extent, diffused, x, out)
    return out


@amp.kernel
def add(idx, y, x, above, below, sign):
    """y += sign * above / below * x"""
    y[idx] += sign * above / below * x[idx]


@amp.kernel
def turn(idx, direction, residual, above, below):
    """direction = residual + above / below * direction"""
    direction[idx] = residual[idx] + above / below * direction[idx]


def solved(view: amp.accelerator_view, b: Any) -> tuple[Any, int]:
    """The solution of A x = b, and the number of steps (Hestenes and Stiefel, 1952)."""
    x = alg.fill(amp.array(b.extent, np.float32, accelerator_view=view), 0.0)
    residual, direction = alg.copy(b), alg.copy(b)
    square = alg.vdot(residual, residual)
    enough = TOLERANCE**2 * float(square)
    for step in range(1, MOST_STEPS + 1):
        image = product(view, direction)
        bend, before = alg.vdot(direction, image), square
        amp.parallel_for_each(view, x.extent, add, x, direction, before, bend, 1.0)
        amp.parallel_for_each(view, x.extent, add, residual, image, before, bend, -1.0)
        square = alg.vdot(residual, residual)
        if step % 10 == 0 and float(square) <= enough:
            break
        amp.parallel_for_each(view, x.extent, turn, direction, residual, square, before)
    return x, step


def in_numpy(x: Any) -> Any:
    """The product of the matrix with x, in double precision."""
    wide = np.pad(x.astype(np.float64), 1, mode="edge")
    neighbours = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return x + STRENGTH * (4.0 * x - neighbours)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    picture = gallery.photo(options).convert("L")
    raw = np.asarray(picture).astype(np.float32)
    b = amp.array(raw, accelerator_view=view)
    x, steps = solved(view, b)
    print(f"solved  {raw.size:,} equations in {steps} steps")
    gallery.timed(view, "solution", lambda: solved(view, b))
    found = np.asarray(x)
    # Rounding to float32 leaves about 1e-5, since the matrix enlarges errors up to 1 + 8 * STRENGTH times.
    error = np.linalg.norm(in_numpy(found) - raw) / np.linalg.norm(raw)
    shown = Image.fromarray(found.clip(0, 255).astype(np.uint8))
    sheet = gallery.side_by_side([picture.convert("RGB"), shown.convert("RGB")], ("photo", "after the diffusion"))
    return gallery.Result([("relative residual", float(error), 1e-4)], [sheet])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the residual is small."""
    return gallery.main("conjugate_gradients", __doc__ or "", run, argv, size=256)


if __name__ == "__main__":
    sys.exit(main())
