"""Element types: the elements of containers, and their layout."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, add_one, numbers, on
from tests.conformance.registry import row


@row("4", "int32, uint32, float32 elements")
@pytest.mark.parametrize("dtype", [I32, U32, F32])
def test_scalars(accelerator_view, dtype):
    raw = np.array([[0, 1, 2], [100, 2**30, 77]], dtype)
    view = amp.array_view(raw.copy())
    on(accelerator_view, add_one, view.extent, view)
    assert view.dtype == dtype
    assert np.array_equal(np.asarray(view), raw + dtype(1))


@row("4", "64-bit elements", differs="by device; Kompute enables none")
@pytest.mark.parametrize("dtype", [amp.float64, amp.int64, amp.uint64])
def test_wide_elements(accelerator, accelerator_view, dtype):
    view = amp.array_view(np.arange(5).astype(dtype))
    assert view[3] == 3
    if accelerator.supports_double_precision:
        on(accelerator_view, add_one, view.extent, view)
        assert np.asarray(view).tolist() == [1, 2, 3, 4, 5]
    else:
        with pytest.raises(amp.UnsupportedFeatureError, match="use (float32|int32|uint32)"):
            on(accelerator_view, add_one, view.extent, view)


@row("4", "8- and 16-bit elements", differs="an extension: elements on every device, values are int32 or float16")
@pytest.mark.parametrize("dtype", [amp.float16, amp.int16, amp.uint16, amp.int8, amp.uint8])
def test_small_elements(accelerator_view, dtype):
    view = amp.array_view(np.arange(7).astype(dtype))
    on(accelerator_view, add_one, view.extent, view)
    assert view.dtype == dtype
    assert np.asarray(view).tolist() == [1, 2, 3, 4, 5, 6, 7]


@row("4", "bool elements and members are refused")
def test_bool_elements():
    for dtype in (amp.bool_, np.dtype([("flag", np.bool_), ("n", I32)])):
        with pytest.raises((amp.AmpError, TypeError), match="int32"):
            amp.array(amp.extent(3), dtype)


@amp.func
def is_even(n):
    return n % 2 == 0


@row("4", "bool as local, parameter, result and captured scalar")
@pytest.mark.parametrize("invert", [False, True])
def test_bool_values(accelerator_view, invert):
    out = amp.array_view(np.zeros(5, I32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        even = is_even(i[0])
        out[i] = 1 if even != invert else 0

    assert np.asarray(out).tolist() == [int((k % 2 == 0) != invert) for k in range(5)]


INNER = np.dtype([("a", I32), ("b", F32, (2,))])
OUTER = np.dtype([("first", INNER), ("n", U32)])


@row("4", "structs, nested, with arrays")
def test_structs(accelerator_view):
    raw = np.zeros(3, OUTER)
    raw["first"]["a"] = [1, 2, 3]
    view = amp.array_view(raw)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i].first.a += 10
        view[i].first.b[1] = view[i].first.a * 0.5
        view[i].n = 7

    view.synchronize()
    assert raw["first"]["a"].tolist() == [11, 12, 13]
    assert raw["first"]["b"].tolist() == [[0, 5.5], [0, 6], [0, 6.5]]
    assert raw["n"].tolist() == [7, 7, 7]


@row("4", "host and device layouts are identical: offsets of structured dtypes are kept")
def test_offsets(accelerator_view):
    dtype = np.dtype({"names": ["x", "y"], "formats": [F32, I32], "offsets": [4, 12], "itemsize": 20})
    raw = np.zeros(4, dtype)
    raw["x"] = [1, 2, 3, 4]
    words = raw.view(I32).reshape(4, 5)
    words[:, 0] = words[:, 2] = words[:, 4] = -1  # what lies between the members
    view = amp.array_view(raw)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i].y = amp.int32(view[i].x) + 1

    view.synchronize()
    assert raw["y"].tolist() == [2, 3, 4, 5]
    assert np.all(words[:, [0, 2, 4]] == -1)


@row("4", "members are 4-byte aligned, sizes a multiple of 4")
@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype({"names": ["x"], "formats": [I32], "offsets": [2], "itemsize": 8}),
        np.dtype({"names": ["x"], "formats": [I32], "offsets": [0], "itemsize": 6}),
    ],
)
def test_alignment(dtype):
    with pytest.raises(TypeError, match=r"aligned|multiple of 4"):
        amp.array(amp.extent(2), dtype)


@row("4", "unions", differs="a view reinterpreted as another type; members of a struct do not overlap")
def test_unions():
    overlapping = np.dtype({"names": ["i", "f"], "formats": [I32, F32], "offsets": [0, 0], "itemsize": 4})
    with pytest.raises(TypeError, match="overlaps"):
        amp.array(amp.extent(2), overlapping)
    view = amp.array_view(np.array([1.0, -2.0], F32))
    assert view.reinterpret_as(U32)[0] == 0x3F800000


@row("4", "pointers, strings, objects, containers, empty structs are refused")
@pytest.mark.parametrize("dtype", [object, "U4", "S4", "M8[s]", "V8", np.dtype([]), ">i4", bool])
def test_no_elements(dtype):
    with pytest.raises((TypeError, amp.AmpError)):
        amp.array(amp.extent(3), dtype)


@row("4", "long is int32, unsigned long is uint32", differs="Python's int and float arguments are int32 and float32")
def test_python_numbers(accelerator_view):
    n, x, out = 3, 0.5, amp.array_view(np.zeros(2, F32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = n // 2 + x

    assert np.asarray(out).tolist() == [1.5, 1.5]


@row("4", "short vectors: float3 is 12 bytes")
def test_short_vectors(accelerator_view):
    raw = numbers(4, 3, dtype=F32)
    points = amp.array_view(raw, dtype=amp.float3)
    assert points.extent == (4,) and points.dtype.itemsize == 12

    @amp.parallel_for_each(accelerator_view, points.extent)
    def _(i):
        points[i] = points[i].zyx + amp.float3(1, 2, 3)

    points.synchronize()
    assert np.array_equal(raw, numbers(4, 3, dtype=F32)[:, ::-1] + [1, 2, 3])
