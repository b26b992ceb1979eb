"""What the small programs share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

F32, I32, U32 = np.float32, np.int32, np.uint32


def numbers(*shape: int, dtype: Any = I32) -> NDArray[Any]:
    """0, 1, 2, ... in this shape."""
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


@amp.kernel
def add_one(i, values):  # type: ignore[no-untyped-def]
    values[i] += 1


@amp.kernel
def fill(i, values, value):  # type: ignore[no-untyped-def]
    values[i] = value


@amp.kernel
def assign(i, target, source):  # type: ignore[no-untyped-def]
    target[i] = source[i]


def on(view: amp.accelerator_view, kernel: Any, domain: Any, *args: Any, **constants: Any) -> None:
    """A launch on ``view``."""
    amp.parallel_for_each(view, domain, kernel, *args, **constants)


def moved(view: amp.accelerator_view) -> tuple[int, int]:
    """Bytes that this view has moved to and from the device so far."""
    statistics = view.statistics
    return statistics.uploaded_bytes, statistics.downloaded_bytes
