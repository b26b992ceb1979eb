"""The table of fences says what C++ AMP's names say, and its GLSL does what the table says."""

from __future__ import annotations

import pytest

from vkamp.ir.fences import FENCES, LANE_FENCES, Fence


@pytest.mark.parametrize("fence", FENCES.values(), ids=lambda fence: fence.name)
def test_a_name_says_what_is_ordered(fence: Fence) -> None:
    everything = fence.name == "wait" or "all_memory" in fence.name
    assert fence.waits == fence.name.startswith("wait")
    assert fence.orders_global == (everything or "global_memory" in fence.name)
    assert fence.orders_tile_static == (everything or "tile_static" in fence.name)


@pytest.mark.parametrize("fence", [*FENCES.values(), *LANE_FENCES.values()], ids=lambda fence: fence.name)
def test_the_shader_orders_the_same(fence: Fence) -> None:
    for calls in filter(None, (fence.glsl, fence.narrow)):
        text = " ".join(calls)
        assert fence.orders_global == ("emoryBarrierBuffer();" in text)
        assert fence.orders_tile_static == ("emoryBarrierShared();" in text)
        assert fence.waits == (calls[-1] in ("barrier();", "subgroupBarrier();"))


def test_lanes_have_a_fence_for_each_that_waits() -> None:
    assert set(LANE_FENCES) == {(f.orders_global, f.orders_tile_static) for f in FENCES.values() if f.waits}
    assert len(FENCES) == 7
