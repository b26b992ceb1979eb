"""A kernel as Python code: what translation makes and a launch runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from vkamp.ir import nodes as ir
from vkamp.ir.fences import Fence
from vkamp.sim.faults import Site

__all__ = ["Program"]


@dataclass
class Program:
    """A kernel as Python code.

    ``codes``: the module of each function with its name in the generated code, callees first, the
    kernel last. ``constants``: the names that are the same in every launch.  ``written``: buffers
    that are stored to. ``fences[site]`` is the fence of a waiting barrier.  ``split``: whether
    separate fences and barriers may order global, tile_static memory together.
    """

    kernel: ir.Kernel
    codes: list[tuple[str, CodeType]] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    fences: dict[int, Fence] = field(default_factory=dict)
    waits: bool = False
    split: tuple[bool, bool] = (False, False)

    def function_of(self, code: CodeType) -> ir.Function | None:
        """The function that a code object was made from."""
        functions = (*self.kernel.functions, self.kernel.body)
        for (_, module), function in zip(self.codes, functions, strict=True):
            if code in module.co_consts:
                return function
        return None
