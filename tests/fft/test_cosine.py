"""Cosine and sine transforms against their definitions, as sums in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import close, numbers, wide
from tests.library_views import name_of
from vkamp import fft


def matrix(name, kind, n, norm):
    """The transform as a matrix, by scipy's definition."""
    k, j = np.arange(n)[:, None], np.arange(n)[None, :]
    if name == "dct":
        if kind == 2:
            made = 2 * np.cos(np.pi * k * (2 * j + 1) / (2 * n))
        else:
            made = 2 * np.cos(np.pi * (2 * k + 1) * j / (2 * n))
            made[:, 0] = 1
    elif kind == 2:
        made = 2 * np.sin(np.pi * (k + 1) * (2 * j + 1) / (2 * n))
    else:
        made = 2 * np.sin(np.pi * (2 * k + 1) * (j + 1) / (2 * n))
        made[:, -1] = (-1.0) ** np.arange(n)
    if norm == "ortho":
        made /= np.sqrt(2 * n)
        edge = 0 if name == "dct" else n - 1
        if kind == 2:
            made[edge] /= np.sqrt(2)
        else:
            made[:, edge] *= np.sqrt(2)
    return made / (2 * n) if norm == "forward" else made


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_definitions(accelerator_view, name, kind):
    where = {"accelerator_view": accelerator_view}
    for n in (6,) if name_of(accelerator_view) in ("reference", "swiftshader") else (1, 2, 5, 8, 17):
        x = numbers(3, n).real.copy()
        for norm in (None, "ortho", "forward") if n == 8 else ("ortho",):
            transform = matrix(name, kind, n, norm)
            if norm == "ortho":
                np.testing.assert_allclose(transform @ transform.T, np.eye(n), atol=1e-12)
            y = getattr(fft, name)(x, kind, norm=norm, **where)
            assert y.dtype == np.float32
            close(y, wide(x) @ transform.T)
            close(getattr(fft, f"i{name}")(y, kind, norm=norm, **where), wide(x))


@pytest.mark.sample("llvmpipe")
def test_axes_lengths_and_errors(accelerator_view):
    where = {"accelerator_view": accelerator_view}
    x = numbers(4, 3).real.copy()
    for name in ("dct", "dst"):
        for kind in (2, 3):
            for n in (2, 7):
                padded = np.pad(wide(x), ((0, max(n - 4, 0)), (0, 0)))[:n]
                close(getattr(fft, name)(x, kind, n, 0, **where), matrix(name, kind, n, None) @ padded)
    a = amp.array(x, **where)
    fft.dct(a, out=a)
    close(a, wide(x) @ matrix("dct", 2, 3, None).T)
    with pytest.raises(ValueError, match="type must be 2 or 3, not 1"):
        fft.dct(x, 1)
    with pytest.raises(TypeError, match="does not take complex64"):
        fft.dst(x.astype(np.complex64))
    with pytest.raises(ValueError, match="Invalid norm"):
        fft.idct(x, norm="half")
