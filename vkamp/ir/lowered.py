"""The nodes of the lowered level: what legalization makes of a kernel so that the printer only has to print it.

The front end and the analyses never see them; the verifier accepts them at the level ``"lowered"`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vkamp.ir import nodes as ir
from vkamp.ir.types import Scalar


@dataclass(frozen=True, repr=False)
class LaunchWord(ir.Expr):
    """A word that the launch gives the shader: a ``stride`` or the ``offset`` of the container ``name``, or a component
    of the ``domain`` or of the number of ``tiles``.
    """

    LEVEL = "lowered"
    kind: Literal["stride", "offset", "domain", "tiles"]
    name: str
    dim: int


@dataclass(frozen=True, repr=False)
class BitCast(ir.Expr):
    """The bits of a scalar as another scalar of its size."""

    LEVEL = "lowered"
    operand: ir.Expr


@dataclass(frozen=True, repr=False)
class PureCall(ir.Expr):
    """The only result of a function that changes nothing."""

    LEVEL = "lowered"
    function: str
    args: tuple[ir.Expr | ir.Place, ...]


@dataclass(frozen=True, repr=False)
class Within(ir.Expr):
    """An int32 that is known to be a value of the narrower integer type ``kind``."""

    LEVEL = "lowered"
    operand: ir.Expr
    kind: Scalar


@dataclass(frozen=True, repr=False)
class RepeatWhile(ir.Stmt):
    """A loop that tests its condition after each iteration."""

    LEVEL = "lowered"
    body: ir.Block
    condition: ir.Expr


@dataclass(frozen=True, repr=False)
class MemoryElement(ir.BufferElement):
    """An element of a container's memory as elements of ``type``, by its one index from the memory's beginning."""

    LEVEL = "lowered"
