"""A guess at how long a CPU driver compiles a kernel, from what its text has.

Drivers make functions a part of their callers, so what a function has counts at each call.  The weights are those of
SwiftShader and lavapipe on a processor of 2025, rounded (``tools.bench`` measures both, group ``driver_compile``); the
guess is good to a factor of two or three, which is enough to choose a form by and to warn of minutes.
"""

from __future__ import annotations

from dataclasses import dataclass

from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import DIVISIONS
from vkamp.ir.lowered import MemoryElement

#: Seconds for an expression, a division, a branch or choice, and a loop.
_EXPRESSION, _DIVISION, _BRANCH, _LOOP = 5e-5, 3e-3, 1e-3, 3e-3
#: Seconds for each pair of loops, and of accesses to memory: both drivers compare them with one another.
_LOOPS, _ACCESSES = 5e-5, 4e-6

_MEMORY = frozenset({ir.BufferElement, ir.ArrayElement, MemoryElement})
_CHOICES = frozenset({ir.If, ir.Logical, ir.Select})


@dataclass(frozen=True)
class Effort:
    """What a kernel's text has, functions counted at each call."""

    expressions: int = 0
    divisions: int = 0
    branches: int = 0
    loops: int = 0
    accesses: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.expressions + other.expressions,
            self.divisions + other.divisions,
            self.branches + other.branches,
            self.loops + other.loops,
            self.accesses + other.accesses,
        )

    @property
    def seconds(self) -> float:
        """What a driver takes for that, about."""
        text = self.expressions * _EXPRESSION + self.divisions * _DIVISION + self.branches * _BRANCH
        return text + self.loops * _LOOP + self.loops**2 * _LOOPS + self.accesses**2 * _ACCESSES


def effort(kernel: ir.Kernel) -> Effort:
    """What a driver has to compile."""
    known: dict[str, Effort] = {}
    # A function comes before those that call it.
    for function in (*kernel.functions, kernel.body):
        known[function.name] = _of(function.body, known)
    return known[kernel.body.name]


def _of(block: ir.Block, known: dict[str, Effort]) -> Effort:
    called: list[Effort] = []
    expressions = divisions = branches = loops = accesses = 0
    for statement in ir.walk_statements(block):
        nodes = ir.own_nodes(statement)
        expressions += len(nodes)
        # One look at each node: kernels are compared by this, and have tens of thousands.
        for node in nodes:
            kind = type(node)
            if kind in _MEMORY:
                accesses += 1
            elif kind in _CHOICES:
                branches += 1
            elif kind is ir.Binary and node.op in DIVISIONS:  # type: ignore[attr-defined]
                divisions += 1
        loops += isinstance(statement, (ir.For, ir.While))
        if isinstance(statement, ir.Call):
            called.append(known[statement.function])
    return sum(called, Effort(expressions, divisions, branches, loops, accesses))
