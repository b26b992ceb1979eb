"""The Mandelbrot set, one thread for each point.

python examples/mandelbrot.py [--size 600] [--iterations 200] [--accelerator swiftshader]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp


# precise: near the border, the number of iterations depends on the last bit.
@amp.kernel(precise=True)
def escape(idx, iterations, left, top, step, most):
    """The number of iterations of z -> z^2 + c until z leaves the circle of radius 2; `most` if it does not."""
    c_real = left + step * float(idx[1])
    c_imag = top - step * float(idx[0])
    real, imag = 0.0, 0.0
    count = 0
    while count < most and real * real + imag * imag <= 4.0:
        real, imag = real * real - imag * imag + c_real, 2.0 * real * imag + c_imag
        count += 1
    iterations[idx] = count


def escape_with_numpy(rows: int, columns: int, left: float, top: float, step: float, most: int) -> NDArray[np.int32]:
    """The expected result of `escape`, with the same rounding."""
    f = np.float32
    c_real = f(left) + f(step) * np.arange(columns, dtype=f) + np.zeros((rows, 1), f)
    c_imag = f(top) - f(step) * np.arange(rows, dtype=f)[:, None] + np.zeros((1, columns), f)
    real, imag = np.zeros_like(c_real), np.zeros_like(c_imag)
    iterations = np.zeros((rows, columns), np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(most):
            inside = real * real + imag * imag <= 4
            iterations += inside
            stepped = real * real - imag * imag + c_real, f(2) * real * imag + c_imag
            real, imag = np.where(inside, stepped[0], real), np.where(inside, stepped[1], imag)
    return iterations


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    rows, columns, most = options.size * 4 // 5 or 1, options.size, options.iterations
    where = (-2.1, 1.24, 3.1 / columns)
    iterations = amp.array(amp.extent(rows, columns), amp.int32, accelerator_view=view)

    def launch() -> None:
        amp.parallel_for_each(view, iterations.extent, escape, iterations, *where, most)

    gallery.timed(view, f"{columns} x {rows} points, {most} iterations", launch, rows * columns, "G points/s")
    found = np.asarray(iterations)
    expected = escape_with_numpy(rows, columns, *where, most)
    # Another order of the sums changes the rounding; only a few points may differ.
    differ = float((found != expected).mean())
    shade = np.where(found < most, np.sqrt(found / most), 0)
    return gallery.Result([("share of points", differ, 1e-3)], [gallery.coloured(shade, "twilight_shifted")])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("mandelbrot", __doc__ or "", run, argv, size=600, iterations=200)


if __name__ == "__main__":
    sys.exit(main())
