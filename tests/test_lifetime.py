"""Kernels keep nothing alive: what a closure captured is freed with the closure."""

from __future__ import annotations

import gc
import weakref

import numpy as np

import vkamp as amp


def test_a_closure_keeps_no_container_alive(accelerator_view: amp.accelerator_view) -> None:
    refs = []
    for step in range(3):
        values = amp.array(amp.extent(101), amp.int32, accelerator_view=accelerator_view)
        refs.append(weakref.ref(values))

        @amp.parallel_for_each(values.extent)
        def _(idx):  # type: ignore[no-untyped-def]
            values[idx] = idx[0] + step  # noqa: B023, F821

        assert np.array_equal(np.asarray(values), np.arange(101) + step)
        del values, _
    gc.collect()
    assert [ref() for ref in refs] == [None, None, None]
