"""Functions of subgroups, as drivers run them fast and right."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from vkamp.artifacts import Quirk
from vkamp.emit.helpers import BY_SHUFFLES, GLSL_TYPES
from vkamp.ir import nodes as ir
from vkamp.ir.subgroups import SUBGROUPS, Operation, SubgroupRow
from vkamp.ir.types import FLOAT32, FLOAT64, INT32, UINT32, Type

#: The functions that exchange the values of lanes whose numbers differ by xor with a distance.
_SWAPS = {1: "subgroupQuadSwapHorizontal", 2: "subgroupQuadSwapVertical", 3: "subgroupQuadSwapDiagonal"}


def quad_swap(node: ir.Subgroup | ir.SubgroupIndex, quirks: Collection[Quirk]) -> str | None:
    """The swap of quads that a ``shuffle_xor`` is, for a driver on which shuffles are slow; else None."""
    if "slow_exchanges" not in quirks or not isinstance(node, ir.Subgroup) or node.name != "shuffle_xor":
        return None
    distance = node.args[-1]
    return _SWAPS.get(int(distance.value)) if isinstance(distance, ir.Const) else None


def helper_text(row: SubgroupRow, kind: str, quirks: Collection[Quirk]) -> str:
    """The GLSL function that a subgroup function calls, of values of a GLSL type."""
    is_near = "distant_lanes" in quirks and kind in ("int64_t", "uint64_t", "double")
    distance = "min(delta, gl_SubgroupInvocationID)" if is_near else "delta"
    return f"// {row.doc}\n{row.helper.format(kind=kind, distance=distance)}"


class ByShuffles(NamedTuple):
    """A GLSL function that computes a reduction or scan; ``needs``: the subgroup operations that it uses."""

    name: str
    text: str
    needs: tuple[Operation, ...]


#: Of the reductions and scans that are formed by shuffles: how two values are combined.
_COMBINED = {
    "add": "value + before",
    "min": "min(value, before)",
    "max": "max(value, before)",
    "bitwise_and": "value & before",
    "bitwise_or": "value | before",
    "bitwise_xor": "value ^ before",
}
#: A number wins over NaN, which drivers' own ``min`` and ``max`` do not promise.
_COMBINED_FLOATS = {
    "min": "before < value || isnan(value) ? before : value",
    "max": "before > value || isnan(value) ? before : value",
}
#: What an exclusive scan of floats begins with.
_BEGINS: dict[tuple[str, Type], str] = {
    ("min", FLOAT32): "uintBitsToFloat(0x7f800000u)",
    ("max", FLOAT32): "uintBitsToFloat(0xff800000u)",
    ("min", FLOAT64): "packDouble2x32(uvec2(0u, 0x7ff00000u))",
    ("max", FLOAT64): "packDouble2x32(uvec2(0u, 0xfff00000u))",
}
#: What NVIDIA's own functions do wrong, for the next reader of the shader.
_FAULT_OF_INTEGERS = "is wrong on NVIDIA in kernels with loops and shuffles"
_FAULT_OF_FLOATS = "can be NaN on NVIDIA although lanes have numbers"


def by_shuffles(node: ir.Subgroup | ir.SubgroupIndex, quirks: Collection[Quirk]) -> ByShuffles | None:
    """The function that computes a reduction or scan for a driver whose own one is wrong; else None.

    All threads of the subgroup call it.  The last subgroup of a tile may have fewer threads than lanes: a lane reads
    lanes below its own, and the last one that has a thread.
    """
    if isinstance(node, ir.SubgroupIndex):
        return None
    # The prefix is "in" or "ex" for a scan, and empty for a reduction.
    scan, _, name = node.name.rpartition("clusive_")
    is_wrong = node.name in BY_SHUFFLES and (
        ("integer_reductions" in quirks and not scan and node.args[0].type in (INT32, UINT32))
        or ("nan_extremes" in quirks and name in ("min", "max") and node.args[0].type in (FLOAT32, FLOAT64))
    )
    if not is_wrong:
        return None
    is_float = node.args[0].type in (FLOAT32, FLOAT64)
    combined = (_COMBINED_FLOATS if is_float else _COMBINED)[name]
    kind, row = GLSL_TYPES[str(node.args[0].type)], SUBGROUPS[node.name]
    lines = [
        f"// {row.doc}",
        f"// By shuffles, since {row.glsl.partition('(')[0]} {_FAULT_OF_FLOATS if is_float else _FAULT_OF_INTEGERS}.",
        f"{kind} shuffled_{node.name}({kind} value) {{",
        "    for (uint distance = 1u; distance < gl_SubgroupSize; distance *= 2u) {",
        f"        {kind} before = subgroupShuffleUp(value, distance);",
        "        if (gl_SubgroupInvocationID >= distance) {",
        f"            value = {combined};",
        "        }",
        "    }",
    ]
    needs: tuple[Operation, ...] = ("basic", "shuffle_relative")
    if scan == "in":
        lines.append("    return value;")
    elif scan == "ex":
        lines += [
            f"    {kind} before = subgroupShuffleUp(value, 1u);",
            f"    return gl_SubgroupInvocationID == 0u ? {_BEGINS[name, node.args[0].type]} : before;",
        ]
    else:
        lines.append("    return subgroupShuffle(value, subgroupBallotFindMSB(subgroupBallot(true)));")
        needs = ("basic", "ballot", "shuffle", "shuffle_relative")
    return ByShuffles(f"shuffled_{node.name}", "\n".join([*lines, "}", ""]), needs)
