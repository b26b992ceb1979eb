"""Handwritten digits in few numbers: principal component analysis.

The covariance of 1,797 images is one product, its eigenvectors are the components, and the coordinates of all images
are a second product. A few of 64 coordinates are enough to see what a digit is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp import linalg


@amp.kernel
def centre(idx, images, mean):
    """Subtracts the mean of each pixel."""
    images[idx] -= mean[idx[1]]


def components(view: amp.accelerator_view, images: Any) -> tuple[Any, Any, Any, Any]:
    """The mean, the variances and the components in descending order, and the coordinates of all images."""
    centred = amp.array(images, accelerator_view=view)
    mean = alg.mean(centred, axis=0)
    amp.parallel_for_each(view, centred.extent, centre, centred, mean)
    variances, vectors = linalg.eigh(linalg.matmul(linalg.matrix_transpose(centred), centred))
    last_first = alg.flip(vectors, axis=1)
    return mean, alg.flip(variances), last_first, linalg.matmul(centred, last_first)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    images, labels = gallery.digits()
    images, labels = images[: options.count], labels[: options.count]
    mean, variances, vectors, coordinates = (np.asarray(each) for each in components(view, images))
    exact = images.astype(np.float64) - images.mean(0, dtype=np.float64)
    values, axes = np.linalg.eigh(exact.T @ exact)
    values, axes = values[::-1], axes[:, ::-1]
    kept = [2, 6, 12, 24]
    rebuilt = [mean + coordinates[:, :k] @ vectors[:, :k].T for k in kept]
    # Components are unique up to their signs, those of equal variances up to rotations; what they span is unique.
    expected = [images.mean(0) + exact @ axes[:, :k] @ axes[:, :k].T for k in kept]
    checks = [("variances, relative", gallery.difference(variances, values) / values[0], 1e-4)]
    checks += [
        (f"images of {k} coordinates", gallery.difference(*pair), 2e-3)
        for k, *pair in zip(kept, rebuilt, expected, strict=True)
    ]
    print(f"share   of the variance in {kept} components: {np.cumsum(values)[np.array(kept) - 1] / values.sum()}")
    gallery.timed(view, f"components of {len(images)} images", lambda: components(view, images))
    return gallery.Result(checks, [_sheet(images, labels, coordinates, vectors, [*rebuilt, images], [*kept, 64])])


def _sheet(images: Any, labels: Any, coordinates: Any, vectors: Any, rebuilt: Any, kept: Any) -> Any:
    """All images by their first two coordinates; the first components; some images by several numbers of them."""

    def draw_plane(axes: Any) -> None:
        for digit in range(10):
            own = coordinates[labels == digit]
            axes.scatter(own[:, 0], own[:, 1], s=6, label=str(digit), color=f"C{digit}")
        axes.set(xlabel="first coordinate", ylabel="second coordinate")
        axes.legend(ncols=2, fontsize=8, markerscale=2)

    def draw_components(axes: Any) -> None:
        rows = [
            np.hstack([np.pad(vectors[:, k].reshape(8, 8), 1) for k in range(at, at + 4)]) for at in range(0, 16, 4)
        ]
        axes.imshow(np.vstack(rows), cmap="RdBu", vmin=-0.4, vmax=0.4)
        axes.set_axis_off()

    def draw_rebuilt(axes: Any) -> None:
        rows = [np.hstack([np.pad(each[k].reshape(8, 8), 1) for k in range(10)]) for each in rebuilt]
        axes.imshow(np.vstack(rows), cmap="gray_r", vmin=0, vmax=1)
        axes.set_yticks([10 * k + 5 for k in range(len(kept))], [str(k) for k in kept])
        axes.set_xticks([])
        axes.set(ylabel="coordinates")

    pictures = [
        gallery.chart(draw_plane), gallery.chart(draw_components, 420), gallery.chart(draw_rebuilt)
    ]  # fmt: skip
    return gallery.side_by_side(pictures, ("in the plane of two components", "16 components", "rebuilt from"))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if variances and images match numpy's."""
    return gallery.main("digits_components", __doc__ or "", run, argv, count=1797)


if __name__ == "__main__":
    sys.exit(main())
