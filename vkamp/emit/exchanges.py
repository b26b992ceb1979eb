"""Exchanges between lanes, as drivers run them fast."""

from __future__ import annotations

from collections.abc import Collection

from vkamp.artifacts import Quirk
from vkamp.ir import nodes as ir

#: The functions that exchange the values of lanes whose numbers differ by xor with a distance.
_SWAPS = {1: "subgroupQuadSwapHorizontal", 2: "subgroupQuadSwapVertical", 3: "subgroupQuadSwapDiagonal"}


def quad_swap(node: ir.Subgroup | ir.SubgroupIndex, quirks: Collection[Quirk]) -> str | None:
    """The swap of quads that a ``shuffle_xor`` is, for a driver on which shuffles are slow; else None."""
    if "slow_exchanges" not in quirks or not isinstance(node, ir.Subgroup) or node.name != "shuffle_xor":
        return None
    distance = node.args[-1]
    return _SWAPS.get(int(distance.value)) if isinstance(distance, ir.Const) else None
