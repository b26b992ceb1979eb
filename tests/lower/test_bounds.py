"""Conditions on the local index that decide which threads a loop runs: sums that wrap, limits at the ends of int32."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import vkamp as amp

TILE = 8
_LAST = 2**31 - 1

#: A condition on ``i``, the local index, and whether it holds for an index; sums are of int32, and wrap.
CONDITIONS = [
    f"i + {_LAST} < 5",
    f"i + {_LAST} <= {-_LAST}",
    f"i + {_LAST} == {-_LAST - 1}",
    f"i + {_LAST - 1} == {-_LAST - 1}",
    f"i - {_LAST} < 5",
    f"i - {_LAST} - 3 < 0",
    f"i - 5 < {_LAST}",
    f"i <= {_LAST}",
    f"5 > i + {_LAST}",
    f"{-_LAST - 1} == i + {_LAST}",
    f"i + {_LAST} - {_LAST} < 5",
    "i + 2 < 5",
    "i - 2 == 3",
]


def _kernel(condition: str) -> Any:
    lines = [
        "def k(t, out):",
        f"    s = amp.tile_static({TILE}, amp.int32)",
        "    i = t.local[0]",
        "    s[i] = i",
        "    t.barrier.wait()",
        f"    if {condition}:",
        f"        out[t] = s[{TILE - 1} - i] + 100",
    ]
    file = f"<bounds {condition}>"
    source = "\n".join(lines) + "\n"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names: dict[str, Any] = {"amp": amp}
    exec(compile(source, file, "exec"), names)
    return amp.kernel(lowering="loops")(names["k"])


def _right(condition: str) -> np.ndarray[Any, np.dtype[np.int32]]:
    """By numpy, whose int32 wraps as well."""
    i = np.arange(TILE, dtype=np.int32)
    with np.errstate(over="ignore"):
        holds = eval(condition, {"i": i})
    return np.where(holds, 100 + TILE - 1 - i, 0).astype(np.int32)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_only_threads_for_which_a_condition_holds_run(accelerator_view: amp.accelerator_view, condition: str) -> None:
    out = np.zeros(TILE, np.int32)
    view = amp.array_view(out)
    amp.parallel_for_each(accelerator_view, amp.extent(TILE).tile(TILE), _kernel(condition), view)
    view.synchronize()
    np.testing.assert_array_equal(out, _right(condition))
