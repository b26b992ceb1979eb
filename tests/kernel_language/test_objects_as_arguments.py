"""Objects with elements that are launch arguments as they are: the message says to make a view."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import vkamp as amp


class Column:
    """A data frame's column, by numpy's protocol."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values.copy() if copy else self.values


class Tensor:
    """A tensor of another library, by DLPack."""

    def __dlpack__(self, **_: Any) -> Any:
        return np.zeros(3).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@amp.kernel
def increment(i, a):
    a[i] = a[i] + 1


OBJECTS = {
    "a numpy array": np.zeros(3, np.float32),
    "an array": array.array("f", [1, 2, 3]),
    "a bytes object": b"abc",
    "a bytearray": bytearray(3),
    "a memoryview": memoryview(bytearray(3)),
    "a Column": Column(np.zeros(3)),
    "a Tensor": Tensor(),
}


@pytest.mark.parametrize("words", OBJECTS)
def test_an_argument(accelerator_view, words):
    with pytest.raises(amp.CompileError) as caught:
        amp.parallel_for_each(accelerator_view, amp.extent(3), increment, OBJECTS[words])
    text = str(caught.value)
    assert f"VKA205: `a` is {words}, which a kernel cannot use" in text
    assert "= help: pass a view of it: `amp.array_view(...)`" in text


@pytest.mark.parametrize("words", OBJECTS)
def test_a_captured_name(accelerator_view, words):
    data = OBJECTS[words]
    with pytest.raises(amp.CompileError) as caught:

        @amp.parallel_for_each(accelerator_view, amp.extent(3))
        def _(i):
            data[i] = 1

    text = str(caught.value)
    assert f"VKA205: `data` is {words}, which a kernel cannot use" in text
    help_text = "make a view of it before the launch, `data_view = amp.array_view(data)`, and use that"
    assert f"= help: {help_text}" in text


def test_read_only_memory_that_a_kernel_writes(accelerator_view):
    values = np.zeros(3, np.float32)
    values.flags.writeable = False
    view = amp.array_view(Column(values))
    with pytest.raises(amp.CompileError) as caught:
        amp.parallel_for_each(accelerator_view, view.extent, increment, view)
    assert "VKA405: this writes to `a`, which is a read-only view" in str(caught.value)
    assert "make the view without readonly=True; of read-only memory, view a copy: `np.array(...)`" in str(caught.value)
    copy = amp.array_view(np.array(Column(values)))
    amp.parallel_for_each(accelerator_view, copy.extent, increment, copy)
    assert np.asarray(copy).tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[ns]"])
def test_times(kind):
    times = Column(np.arange(3).astype(kind))
    message = f"{kind} is not an element type: use its int64 numbers, .astype(np.int64)"
    for source in (times, times.values):
        with pytest.raises(TypeError) as caught:
            amp.array_view(source)
        assert str(caught.value) == message
    assert np.asarray(amp.array_view(times.values.astype(np.int64))).tolist() == [0, 1, 2]
