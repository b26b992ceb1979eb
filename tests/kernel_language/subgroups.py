"""Subgroups of a launch, and kernels that call one subgroup function, with the expected results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from tests.kernel_language.from_text import define
from tests.kernel_language.programs import I32
from vkamp.ir.subgroups import SUBGROUPS, SubgroupRow

#: Not a multiple of any size of a subgroup but 1.
TILE, TILES = 45, 3
N = TILE * TILES


@amp.kernel
def places(t_idx, ids, lanes, sizes, counts):
    ids[t_idx] = amp.subgroup.id()
    lanes[t_idx] = amp.subgroup.lane()
    sizes[t_idx] = amp.subgroup.size()
    counts[t_idx] = amp.subgroup.count()


def subgroups_of(view: amp.accelerator_view) -> tuple[list[list[int]], int]:
    """The threads of each subgroup of the launch, by their lanes, and the size of a subgroup."""
    ids, lanes, sizes, counts = (amp.array_view(np.full(N, -1, I32)) for _ in range(4))
    amp.parallel_for_each(view, amp.extent(N).tile(TILE), places, ids, lanes, sizes, counts)
    groups: dict[tuple[int, int], dict[int, int]] = {}
    for thread in range(N):
        group = groups.setdefault((thread // TILE, int(ids[thread])), {})
        assert int(lanes[thread]) not in group, "two threads in one lane"
        group[int(lanes[thread])] = thread
    (size,) = set(np.asarray(sizes).tolist())
    (count,) = set(np.asarray(counts).tolist())
    for (_, number), group in groups.items():
        assert 0 <= number < count
        assert sorted(group) == list(range(len(group))), "lanes are filled from the lowest on"
        assert len(group) <= size
    assert len(groups) == count * TILES
    return [[group[lane] for lane in sorted(group)] for group in groups.values()], size


def kernel_of(row: SubgroupRow, kind: str, second: str) -> Any:
    """Stores what the function gives, in `out` (a vector's components: in its columns)."""
    given = {"predicate": "a[t_idx] > 3", "ballot": "amp.subgroup.ballot(a[t_idx] > 3)"}
    value = "(a[t_idx] > 3)" if kind == "bool" else "a[t_idx]"
    args = ", ".join(given.get(p, value if p == "value" else second) for p in row.params)
    lines = ["def k(t_idx, a, out):", f"    r = amp.subgroup.{row.name}({args})"]
    if row.result == "uint4":
        lines += [f"    out[{n}, t_idx[0]] = r.{letter}" for n, letter in enumerate("xyzw")]
    else:
        lines.append("    out[0, t_idx[0]] = r")
    return amp.kernel(define("\n".join(lines) + "\n"))


def expected_of(
    row: SubgroupRow, kind: str, values: NDArray[Any], operand: int, groups: list[list[int]], size: int
) -> NDArray[Any]:
    """The result of the reference for each thread; NaN where the requested lane has no thread."""
    ballot = SUBGROUPS["ballot"].reference
    assert ballot is not None
    out = np.zeros((4, len(values)), np.float64)
    for group in groups:
        above = [(bool(values[thread] > 3),) for thread in group]
        given: list[tuple[Any, ...]] = [(values[t].item() if kind != "float32" else values[t],) for t in group]
        if row.params[:1] == ("predicate",) or kind == "bool":
            given = list(above)
        elif row.params == ("ballot",):
            given = [(bits,) for bits in ballot(above, "", size)]
        elif not row.params:
            given = [()] * len(group)
        if row.reference is not None:
            results = row.reference(given, kind, size)
        else:
            assert row.source is not None
            sources = [row.source(lane, operand, size) for lane in range(len(group))]
            results = [given[s][0] if s < len(group) else np.nan for s in sources]
        for thread, result in zip(group, results, strict=True):
            for part, number in enumerate(result if isinstance(result, list) else [result]):
                # Integers wrap.
                out[part, thread] = int(number) % 2**32 if kind in ("int32", "uint32") and number == number else number
    return out
