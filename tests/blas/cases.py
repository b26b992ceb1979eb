"""What the tests of BLAS share: combinations of options, extents, layouts, matrices of which a part may not be read."""

from __future__ import annotations

import itertools
import os

import numpy as np

import vkamp as amp
from tests.linalg.inputs import numbers

TYPES = [np.float32, np.complex64]
#: Factors of ``dblat3``; of the second one complex.
FACTORS = [(0, 0), (1, 0), (0, 1), (0.5, 1), (2, -3)]


def op(a, letter):
    return {"N": a, "T": a.T, "C": a.conj().T}[letter]


def ordered(raw, order):
    """An array whose rows are the rows or the columns of a matrix."""
    return np.ascontiguousarray(raw.T if order == "F" else raw)


def device(raw, view, order="C"):
    return amp.array(ordered(raw, order), accelerator_view=view)


def host(container, order="C"):
    found = np.asarray(container)
    return found.T if order == "F" else found


def options(view, *letters):
    """The combinations of options with their numbers; in the suite each on one of its three devices.

    ``VKAMP_BLAS_ALL=1`` (``python -m tests.blas``) runs all on each device.
    """
    combinations = list(enumerate(itertools.product(*letters)))
    if os.environ.get("VKAMP_BLAS_ALL"):
        return combinations
    name = view.accelerator.description.lower()
    own = 0 if "swiftshader" in name else 1 if "llvmpipe" in name else 2
    # Neighbouring combinations differ in their last option; the shift gives each device every value of it.
    return [each for each in combinations if (each[0] + each[0] // 3) % 3 == own]


def sizes(view):
    """Extents around the sizes of blocks; few for the reference accelerator."""
    if view.accelerator.device_path == "reference":
        return [(1, 1, 1), (3, 2, 5)]
    return [(1, 1, 1), (2, 3, 1), (1, 9, 5), (5, 9, 31), (9, 7, 3)]


def triangle(raw, uplo):
    return np.triu(raw) if uplo == "U" else np.tril(raw)


def unread(raw, uplo, diag="N"):
    """The matrix with NaN where a routine may not read."""
    hidden = np.tril(np.ones(raw.shape, bool), 0 if diag == "U" else -1)
    return np.where(hidden if uplo == "U" else hidden.T, np.nan, raw).astype(raw.dtype)


def triangular(dtype, n, uplo, seed):
    """A well-conditioned triangular matrix of whole numbers."""
    a = triangle(numbers(dtype, n, n, seed=seed), uplo)
    np.fill_diagonal(a, 4 + np.arange(n) % 3)
    return a
