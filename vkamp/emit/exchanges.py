"""Functions of subgroups, as drivers run them fast and right."""

from __future__ import annotations

from collections.abc import Collection

from vkamp.artifacts import Quirk
from vkamp.ir import nodes as ir
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.ir.types import INT32

#: The functions that exchange the values of lanes whose numbers differ by xor with a distance.
_SWAPS = {1: "subgroupQuadSwapHorizontal", 2: "subgroupQuadSwapVertical", 3: "subgroupQuadSwapDiagonal"}


def quad_swap(node: ir.Subgroup | ir.SubgroupIndex, quirks: Collection[Quirk]) -> str | None:
    """The swap of quads that a ``shuffle_xor`` is, for a driver on which shuffles are slow; else None."""
    if "slow_exchanges" not in quirks or not isinstance(node, ir.Subgroup) or node.name != "shuffle_xor":
        return None
    distance = node.args[-1]
    return _SWAPS.get(int(distance.value)) if isinstance(distance, ir.Const) else None


def unsigned_extreme(node: ir.Subgroup, quirks: Collection[Quirk]) -> str | None:
    """The GLSL of a ``max`` or ``min`` of int32 by that of uint32, for a driver that compares signed ones wrongly; else
    None.
    """
    name = node.name.rsplit("_", 1)[-1]
    if "signed_extremes" not in quirks or name not in ("max", "min") or node.args[0].type != INT32:
        return None
    # Flipping the sign bit keeps the order.
    function = SUBGROUPS[node.name].glsl.partition("(")[0]
    return f"int({function}(uint({{0}}) ^ 0x80000000u) ^ 0x80000000u)"
