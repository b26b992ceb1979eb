"""Kernels made from the text of their statements."""

from __future__ import annotations

import linecache
from types import FunctionType
from typing import Any

import vkamp as amp
from tests.emit.programs import Program, buffers
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import FLOAT32, INT32, UINT32
from vkamp.ir.verify import verify

ARRAYS = buffers(x=(INT32, 1), u=(UINT32, 1), f=(FLOAT32, 1), m=(INT32, 2))


def kernel_of(body: str, functions: str = "") -> Kernel:
    """A kernel with these statements."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    source = f"{functions}\ndef kernel(t_idx, x, u, f, m):\n    i, n = t_idx.global_[0], x[0]\n{lines}\n"
    name = f"<{abs(hash(source))}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    names: dict[str, Any] = {"amp": amp}
    exec(compile(source, name, "exec"), names)
    function = names["kernel"]
    assert isinstance(function, FunctionType)
    kernel = Program(function, 1, (4,), ARRAYS).kernel()
    verify(kernel)
    return kernel
