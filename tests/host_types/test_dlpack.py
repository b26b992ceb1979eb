"""Export of host memory through DLPack."""

from __future__ import annotations

import numpy as np
import pytest

from vkamp import array, array_view, extent, float32


class Capsule:
    """An exporter for numpy with the keywords of one call."""

    def __init__(self, container, **keywords):
        self.container, self.keywords = container, keywords

    def __dlpack__(self, **_):
        return self.container.__dlpack__(**self.keywords)

    def __dlpack_device__(self):
        return self.container.__dlpack_device__()


def test_a_view_exports_home_memory(location, launch):
    raw = np.arange(15, dtype=np.float32).reshape(3, 5)
    view = array_view(raw[:, ::2])
    launch(location, lambda d: np.add(d, 1, out=d), view)
    assert view.__dlpack_device__() == (1, 0)
    out = np.from_dlpack(view)
    np.testing.assert_array_equal(out, np.arange(15).reshape(3, 5)[:, ::2] + 1)
    assert np.shares_memory(out, raw)
    # Export counts as a host write: what the consumer writes reaches the device.
    location.moved()
    launch(location, lambda d: None, view)
    assert location.moved() == (36, 0)


def test_copies(location):
    raw = np.arange(4, dtype=np.int32)
    out = np.from_dlpack(Capsule(array_view(raw), copy=True))
    assert not np.shares_memory(out, raw)
    np.testing.assert_array_equal(out, raw)
    on_device = array(extent(4), data=raw)
    np.testing.assert_array_equal(np.from_dlpack(on_device), raw)
    with pytest.raises(BufferError, match="cannot be exported without a copy"):
        on_device.__dlpack__(copy=False)


def test_refusals():
    view = array_view(np.zeros(4, np.float32))
    with pytest.raises(BufferError, match="host memory has no streams"):
        view.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"exports host memory, \(1, 0\), not \(2, 0\)"):
        view.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="DLPack has no structs"):
        array_view(np.zeros(3, [("x", np.float32), ("n", np.int32)])).__dlpack__()
    with pytest.raises(BufferError, match="cannot export read-only memory"):
        array_view(np.zeros(4, np.float32), readonly=True).__dlpack__()
    own = array_view(extent(3), float32)
    assert np.from_dlpack(own).shape == (3,)
