"""An atomic update of tile_static memory that nothing wrote is found every time, wherever races are proved away."""

from __future__ import annotations

import numpy as np

import vkamp as amp


@amp.kernel
def count(t, values, counts):
    seen = amp.tile_static(3, amp.int32)
    if values[t] > 50:
        amp.atomic_fetch_inc(seen[values[t] % 3])
    t.barrier.wait()
    if t.local[0] < 3:
        counts[t.tile[0], t.local[0]] = seen[t.local[0]]


def test_again_and_again(accelerator_view):
    for size in (12, 120, 12, 60):
        values = amp.array_view(np.arange(size, dtype=np.int32) * 17 % 101)
        counts = amp.array_view(np.zeros((size // 4, 3), np.int32))
        report = amp.check(accelerator_view, values.extent.tile(4), count, values, counts)
        assert {f.kind for f in report.findings} == {"uninitialised"}
        assert {f.locations[0].line for f in report.findings} == {14, 17}
