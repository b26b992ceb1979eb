"""What the tests of Fourier transforms share: inputs, and numpy's answers in double precision."""

from __future__ import annotations

import numpy as np

from vkamp import fft

#: Functions of complex numbers, and of real ones.
OF_COMPLEX = ("fft", "ifft", "irfft", "hfft")
OF_REAL = ("rfft", "ihfft")
#: Bounds of the error in the L2 norm, relative to the result's.
BOUNDS = {"complex64": 6e-7, "float32": 6e-7, "complex128": 2e-15, "float64": 2e-15}


def numbers(*shape, dtype=np.complex64, seed=0):
    """Normal numbers."""
    r = np.random.default_rng([seed, *shape])
    x = r.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * r.standard_normal(shape)
    return x.astype(dtype)


def error(found, expected):
    """The error in the L2 norm, relative to the expected numbers."""
    found = np.asarray(found)
    assert found.shape == expected.shape
    norm = np.linalg.norm(expected.ravel())
    return np.linalg.norm((found - expected).ravel()) / (norm or 1.0)


def close(found, expected):
    """Fails if the error is above the bound of the type."""
    found = np.asarray(found)
    assert error(found, expected) < BOUNDS[str(found.dtype)]


def wide(x):
    """An input in double precision."""
    return np.asarray(x).astype(complex if np.iscomplexobj(x) else float)


def compare(name, x, *args, **named):
    """A function's result for an input, after comparing it with numpy's."""
    given = {key: value for key, value in named.items() if key not in ("accelerator_view", "out")}
    found = getattr(fft, name)(x, *args, **named)
    close(found, getattr(np.fft, name)(wide(x), *args, **given))
    return found
