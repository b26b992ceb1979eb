"""Kernels whose barriers are rejected, and kernels whose barriers are accepted: the latter also run, and no thread
misses a barrier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkamp as amp

TILE = 4


class Programs:
    """The kernels of a test module, by name, all with the parameters ``t, data, out, n``."""

    def __init__(self) -> None:
        self.refused: dict[str, tuple[str, Any]] = {}
        self.accepted: dict[str, Any] = {}

    def refuse(self, code: str) -> Callable[[Any], Any]:
        """Registers a kernel whose barrier (or ``amp.uniform``) is rejected with this code."""

        def register(function: Any) -> Any:
            self.refused[function.__name__] = code, amp.kernel(function)
            return function

        return register

    def accept(self, function: Any) -> Any:
        """Registers a kernel in which all threads reach every barrier."""
        self.accepted[function.__name__] = amp.kernel(function)
        return function


def arguments() -> tuple[Any, Any, int]:
    """``data``, which most kernels only read, ``out``, which they write, and ``n``."""
    data = np.array([2, 0, 3, 1, 5, 2, 7, 0, 1, 4, 2, 6], np.int32)
    return amp.array_view(data), amp.array_view(np.zeros(12, np.int32)), 3


def domain() -> Any:
    """Three tiles."""
    return amp.extent(12).tile(TILE)


def check_refused(code: str, kernel: Any) -> None:
    """The kernel does not compile."""
    with pytest.raises(amp.CompileError) as caught:
        kernel.inspect(domain(), *arguments())
    assert caught.value.error_code == code


def check_accepted(kernel: Any) -> None:
    """The kernel compiles, and the reference accelerator finds nothing wrong."""
    data, out, n = arguments()
    amp.parallel_for_each(amp.accelerator("reference").default_view, domain(), kernel, data, out, n)
    np.asarray(out)
