"""The check of shuffles: whether there is a thread in the requested lane."""

from __future__ import annotations

from vkamp.check.instrument.make import Maker, uint
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, INT32, UINT32, VECTOR_LETTERS, VECTORS

#: The type of a ballot.
BALLOT = VECTORS["uint4"]


def always_there(name: str) -> bool:
    """Whether a shuffle cannot ask for a lane without a thread: lanes are filled from the lowest on."""
    return name == "shuffle_up"


def source_lane(name: str, operand: ir.Expr, make: Maker) -> ir.Expr:
    """The lane whose value a thread receives, as a uint32, from the second argument of a shuffle."""
    if name in ("shuffle", "broadcast"):
        return operand
    lane = make.as_uint(ir.SubgroupIndex(make.span, INT32, "lane"))
    if name == "shuffle_xor":
        return make.binary("bitxor", lane, operand)
    assert name == "shuffle_down", name
    size = make.as_uint(ir.SubgroupIndex(make.span, INT32, "size"))
    inside = make.compare("lt", operand, make.binary("sub", size, lane))
    return ir.Select(make.span, UINT32, inside, make.add(lane, operand), lane)


def is_set(ballot: ir.Variable, lane: ir.Expr, make: Maker) -> ir.Expr:
    """Whether a ballot has the bit of a lane."""
    word: ir.Expr = uint(0)
    for number in reversed(range(len(VECTOR_LETTERS))):
        part = ir.Swizzle(make.span, UINT32, make.load(ballot), VECTOR_LETTERS[number])
        here = make.compare("eq", make.binary("shr", lane, uint(5)), uint(number))
        word = ir.Select(make.span, UINT32, here, part, word)
    bit = make.binary("bitand", make.binary("shr", word, make.binary("bitand", lane, uint(31))), uint(1))
    return ir.Compare(make.span, BOOL, "ne", bit, uint(0))
