"""The table of the merge: hand edits of five kernels' shaders, and changes of the kernels elsewhere and there.

``edit`` replaces text of the shader, ``elsewhere`` and ``there`` replace text of the kernel: on other lines than the
edit, and on its lines.  ``edited`` is what the edited shader gives, ``merged`` what it gives after the change
elsewhere, both of what the unedited one gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Change = tuple[str, str]


@dataclass(frozen=True)
class Row:
    name: str
    launch: str
    edit: tuple[Change, ...]
    elsewhere: Change
    there: Change
    merged: Callable[[Any], Any]
    edited: Callable[[Any], Any] = lambda plain: plain
    #: An edit of comments alone is kept, but is none that runs.
    is_code: bool = True


def plus_one(plain: Any) -> Any:
    return plain + 1


AVERAGE_STORE = ("total / (t_idx.tile_dim0 * t_idx.tile_dim1)", "total / (t_idx.tile_dim0 * t_idx.tile_dim1) + 1.0")
AVERAGE_LOAD = ("values[t_idx.local] = matrix[t_idx]", "values[t_idx.local] = matrix[t_idx] + 1.0")
PRODUCT_STORE = ("c[t_idx] = total", "c[t_idx] = total + 1.0")
COUNT_VALUE = ("value = values[t_idx]", "value = values[t_idx] + 1")
SUM_STORE = ("sums[t_idx.tile] = partial[0]", "sums[t_idx.tile] = partial[0] + 1.0")
SUM_LOAD = ("partial[local] = numbers[t_idx]", "partial[local] = numbers[t_idx] + 1.0")
BLUR_STORE = ("target[idx] = total / weight", "target[idx] = total / weight + 1.0")

UNROLLED = """            total += values[row][0];
            total += values[row][1];
            total += values[row][2];
            total += values[row][3];
"""
INNER_LOOP = """            // for col in range(t_idx.tile_dim1):
            for (int col = 0; col < 4; ++col) {
                // total += values[row, col]
                total += values[row][col];
            }
"""
LOAD_A = """        // a_tile[row, col] = a[t_idx.global_[0], k + col]
        a_tile[row][col] = a[t_idx_global_0 * a_extent_1 + k + col];
"""
LOAD_B = """        // b_tile[row, col] = b[k + row, t_idx.global_[1]]
        b_tile[row][col] = b[(k + row) * b_extent_1 + t_idx_global_1];
"""
STEP_Y = """            // y = idx[0] + dy
            int y = idx_0 + dy;
"""
ROWS = """    // rows = source.extent[0]
    int rows = source_extent_0;
"""

EDITS = [
    Row(
        "unrolled loop",
        "average",
        ((INNER_LOOP, UNROLLED),),
        AVERAGE_STORE,
        ("total += values[row, col]", "total -= values[row, col]"),
        plus_one,
    ),
    Row(
        "padded tile_static memory",
        "average",
        (("shared float values[8][4];", "shared float values[8][5];"),),
        AVERAGE_STORE,
        ("values = amp.tile_static(t_idx.tile_extent, amp.float32)", "values = amp.tile_static((9, 4), amp.float32)"),
        plus_one,
    ),
    Row(
        "inserted statement",
        "average",
        (("        // averages[t_idx.tile]", "        total *= 2.0;\n        // averages[t_idx.tile]"),),
        AVERAGE_LOAD,
        ("        averages[t_idx.tile] =", "        total = total + 3.0\n        averages[t_idx.tile] ="),
        lambda plain: 2 * (plain + 1),
        lambda plain: 2 * plain,
    ),
    Row(
        "comment",
        "average",
        (("    // if t_idx.local == (0, 0):", "    // One thread adds up, the others are done:"),),
        AVERAGE_STORE,
        ("if t_idx.local == (0, 0):", "if t_idx.local == (1, 1):"),
        plus_one,
        is_code=False,
    ),
    Row(
        "reordered loads",
        "product",
        ((LOAD_A + LOAD_B, LOAD_B + LOAD_A),),
        PRODUCT_STORE,
        ("= b[k + row, t_idx.global_[1]]", "= b[k + row, t_idx.global_[1]] * 2.0"),
        plus_one,
    ),
    Row(
        "extension",
        "product",
        (
            ("#version 450\n", "#version 450\n#extension GL_EXT_control_flow_attributes : require\n"),
            ("        for (int i = 0;", "        [[unroll]] for (int i = 0;"),
        ),
        PRODUCT_STORE,
        ("for i in range(tile):", "for i in range(0, tile, 2):"),
        plus_one,
    ),
    Row(
        "fused operation",
        "product",
        (("total += a_tile[row][i] * b_tile[i][col];", "total = fma(a_tile[row][i], b_tile[i][col], total);"),),
        PRODUCT_STORE,
        ("a_tile[row, i] * b_tile[i, col]", "a_tile[row, i] * b_tile[i, col] * 2.0"),
        plus_one,
    ),
    Row(
        "renamed variable",
        "product",
        (
            ("float total = 0.0;", "float accumulated = 0.0;"),
            ("        total += a_tile", "        accumulated += a_tile"),
            ("] = total;", "] = accumulated;"),
        ),
        ("= a[t_idx.global_[0], k + col]", "= a[t_idx.global_[0], k + col] * 2.0"),
        ("row, col = t_idx.local\n    total = 0.0", "row, col = t_idx.local\n    total = 3.0"),
        lambda plain: 2 * plain,
    ),
    Row(
        "changed tile constant",
        "counted",
        (("shared int bins[32];", "shared int bins[64];"), ("bins[value & 31]", "bins[value & 63]")),
        ("bins[t_idx.local[0]] = 0", "bins[t_idx.local[0]] = 1"),
        ("amp.tile_static(32, amp.int32)", "amp.tile_static(48, amp.int32)"),
        # Values of 32 and more go to bins that nobody reads.
        lambda plain: first_half() + 10,
        lambda plain: first_half(),
    ),
    Row(
        "other operator",
        "counted",
        (("bins[value & 31]", "bins[uint(value) % 32u]"),),
        ("bins[t_idx.local[0]] = 0", "bins[t_idx.local[0]] = 1"),
        ("bins[value % 32]", "bins[value % 16]"),
        lambda plain: plain + 10,
    ),
    Row(
        "stricter condition",
        "counted",
        (
            (
                "if (t_idx_local_0 < 32) {\n        // amp.atomic_fetch_add(counts",
                "if (t_idx_local_0 < 32 && t_idx_local_0 != 5) {\n        // amp.atomic_fetch_add(counts",
            ),
        ),
        COUNT_VALUE,
        ("if t_idx.local[0] < 32:\n        amp.atomic", "if t_idx.local[0] < 31:\n        amp.atomic"),
        lambda plain: without_bin_5(np.roll(plain, 1)),
        lambda plain: without_bin_5(plain),
    ),
    Row(
        "named constant",
        "counted",
        (("#version 450\n", "#version 450\n#define BINS 32\n"), ("shared int bins[32];", "shared int bins[BINS];")),
        ("bins[t_idx.local[0]] = 0", "bins[t_idx.local[0]] = 1"),
        ("amp.tile_static(32, amp.int32)", "amp.tile_static(48, amp.int32)"),
        lambda plain: plain + 10,
    ),
    Row(
        "last step by hand",
        "summed",
        (("while (stride > 0)", "while (stride > 1)"), ("= partial[0];", "= partial[0] + partial[1];")),
        SUM_LOAD,
        SUM_STORE,
        lambda plain: plain + 64,
    ),
    Row(
        "scaled load",
        "summed",
        (("= numbers[t_idx_global_0];", "= numbers[t_idx_global_0] * 3.0;"),),
        SUM_STORE,
        SUM_LOAD,
        lambda plain: 3 * plain + 1,
        lambda plain: 3 * plain,
    ),
    Row(
        "new function",
        "summed",
        (
            ("void main() {", "float twice(float x) {\n    return 2.0 * x;\n}\n\nvoid main() {"),
            ("= partial[0];", "= twice(partial[0]);"),
        ),
        SUM_LOAD,
        SUM_STORE,
        lambda plain: 2 * (plain + 64),
        lambda plain: 2 * plain,
    ),
    Row(
        "specialization constant",
        "summed",
        (
            ("shared float partial[64];", "layout(constant_id = 0) const int first = 32;\n\nshared float partial[64];"),
            ("int stride = 32;", "int stride = first;"),
        ),
        SUM_STORE,
        ("stride = 32", "stride = 16"),
        plus_one,
    ),
    Row(
        "other weight",
        "blurred",
        (("weight += 1.0;", "weight += 0.5;"),),
        BLUR_STORE,
        ("weight += 1.0", "weight += 2.0"),
        lambda plain: 2 * plain + 1,
        lambda plain: 2 * plain,
    ),
    Row(
        "removed variable",
        "blurred",
        ((ROWS, ""), ("&& y < rows", "&& y < source_extent_0")),
        BLUR_STORE,
        ("rows = source.extent[0]", "rows = source.extent[0] - 1"),
        plus_one,
    ),
    Row(
        "hoisted statement",
        "blurred",
        (
            (STEP_Y, ""),
            ("        // for dx in", "        int y = idx_0 + dy;\n        // for dx in"),
        ),
        BLUR_STORE,
        ("y = idx[0] + dy", "y = idx[0] - dy"),
        plus_one,
    ),
    Row(
        "branch without divergence",
        "blurred",
        (
            ("            if (y >= 0 && y < rows && x >= 0 && x < cols) {", "            {"),
            ("int y = idx_0 + dy;", "int y = clamp(idx_0 + dy, 0, rows - 1);"),
            ("int x = idx_1 + dx;", "int x = clamp(idx_1 + dx, 0, cols - 1);"),
        ),
        BLUR_STORE,
        ("x = idx[1] + dx", "x = idx[1] - dx"),
        lambda plain: clamped() + 1,
        lambda plain: clamped(),
    ),
]


VALUES = (np.arange(640) * 7) % 61


def first_half() -> Any:
    """The counts of the values below 32."""
    return np.bincount(VALUES[VALUES < 32], minlength=32)


def without_bin_5(counts: Any) -> Any:
    counts = np.array(counts)
    counts[5] = 0
    return counts


def clamped() -> Any:
    """The blur of a picture whose edges go on for ever."""
    source = np.arange(19 * 23, dtype=np.float32).reshape(19, 23) % 13
    padded = np.pad(source, 1, mode="edge")
    return sum(padded[dy : dy + 19, dx : dx + 23] for dy in range(3) for dx in range(3)) / np.float32(9)
