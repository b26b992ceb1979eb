"""Matrices of small whole numbers, whose products are exact, and their layouts."""

from __future__ import annotations

import numpy as np

import vkamp as amp


def numbers(dtype, *shape, seed=0):
    """Whole numbers from -4 to 4; complex ones with whole parts."""
    random = np.random.default_rng(seed + sum(shape))
    if np.dtype(dtype).kind == "u":
        return random.integers(0, 9, shape).astype(dtype)
    raw = random.integers(-4, 5, shape)
    return (raw + 1j * random.integers(-3, 4, shape) if np.dtype(dtype).kind == "c" else raw).astype(dtype)


def in_layout(raw, layout, view):
    """The same elements as a container or an array of the host in another layout."""
    if raw.size == 0:
        return raw
    if layout == "array":
        return amp.array(raw, accelerator_view=view)
    if layout == "columns":
        return np.asfortranarray(raw)
    if layout == "reversed":
        return np.flip(np.flip(raw).copy())
    wide = np.zeros(tuple(n + 3 for n in raw.shape), raw.dtype)
    inside = tuple(slice(1, n + 1) for n in raw.shape)
    wide[inside] = raw
    return amp.array(wide, accelerator_view=view).section(amp.index(*(1,) * raw.ndim), amp.extent(*raw.shape))


LAYOUTS = ("array", "columns", "section", "reversed")
