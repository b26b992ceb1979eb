"""The initial contents of a program's containers."""

from __future__ import annotations

import base64
import random
from typing import Any

import numpy as np

__all__ = ["contents"]

_INTS = (0, 1, -1, 2, 3, 5, 7, -8, 100, -1000, 65536, 2**31 - 1, -(2**31), 123456789)
_SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 1e30)


def contents(of: str, dtype: Any, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """An array of ``dtype``: of the kind's numbers, or, of ``old ...``, what shows that nothing was stored.

    ``data ...`` are the bytes themselves.
    """
    if of.startswith("data "):
        return np.frombuffer(base64.b64decode(of[5:]), np.dtype(dtype)).reshape(shape).copy()
    chooser = random.Random(seed)
    data = np.zeros(shape, dtype)
    if of == "old small":
        data[...] = 77
        return data
    if of.startswith("old "):
        data.reshape(-1).view(np.uint8)[:] = 0
        flat = data.view(np.ndarray).reshape(-1).view(np.uint32)
        flat[:] = 0x40000000 if "exact" in of or "rough" in of or "raw" in of or "special" in of else 77
        if "struct" in of:
            flat[:] = 0x3F800000
        return data
    _set(data, of, chooser)
    return data


def _wide(dtype: Any, chooser: random.Random) -> Any:
    """Any number of a small type; of float16 one whose sums and products it has exactly, or nearly."""
    if dtype.kind == "f":
        return chooser.choice([-1, 1]) * chooser.choice([0.5, 1.5, 3.25, 17, 40.5, 59, 60])
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.min + 1, limits.max, limits.max - 1, limits.max // 2 + 1, 0, 1, 2, 7]
    return chooser.choice(edges) if chooser.random() < 0.7 else chooser.randint(limits.min, limits.max)


def _set(data: Any, of: str, chooser: random.Random) -> None:
    if data.dtype.names:
        for name in data.dtype.names:
            part = data[name]
            if part.dtype.names:
                _set(part, of, chooser)
            else:
                _numbers(part, "exact" if part.dtype.kind == "f" else part.dtype.kind, chooser)
        return
    _numbers(data, of, chooser)


def _numbers(data: Any, of: str, chooser: random.Random) -> None:
    for where in np.ndindex(data.shape):
        if of in ("int", "i"):
            value: Any = chooser.choice(_INTS) if chooser.random() < 0.5 else chooser.randint(-50, 50)
        elif of in ("uint", "u"):
            value = chooser.choice(_INTS) & 0xFFFFFFFF if chooser.random() < 0.5 else chooser.randint(0, 99)
        elif of == "tame":
            value = chooser.randint(1, 8) * (0.5 if data.dtype.kind == "f" else 1)
        elif of == "wide":
            value = _wide(data.dtype, chooser)
        elif of == "exact":
            value = chooser.randint(-64, 64) * 0.5
        elif of == "special":
            value = chooser.choice(_SPECIAL)
        elif of == "rough":
            value = chooser.uniform(-4, 4)
        else:
            value = chooser.choice([-1, 1]) * chooser.uniform(0.1, 10)
        data[where] = value
