"""array: construction, location, host access."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, add_one, assign, numbers, on
from tests.conformance.registry import row


def filled(view, *shape, dtype=I32):
    return amp.array(amp.extent(shape), dtype, numbers(*shape, dtype=dtype), accelerator_view=view)


@row("5", "no default construction")
def test_no_default():
    with pytest.raises(TypeError):
        amp.array()


@row("5", "none in kernels")
def test_none_in_kernels(accelerator_view):
    out = amp.array_view(np.zeros(3, I32))
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            inner = amp.array(amp.extent(3), amp.int32)
            out[i] = inner[i]


@row("5", "any extent component <= 0 is an error")
@pytest.mark.parametrize("shape", [(0,), (-1,), (3, 0), (2, -5, 3)])
def test_bad_extents(shape):
    with pytest.raises(amp.AmpError, match="at least 1"):
        amp.array(amp.extent(shape), amp.int32)


@row("5", "size overflow and failed allocation raise OutOfMemoryError with the sizes")
@pytest.mark.parametrize("shape", [(2**31 - 1, 2**31 - 1), (2**31 - 1, 1000), (2**31 - 1,) * 8, (2**30,)])
def test_too_large(accelerator_view, shape):
    with pytest.raises(amp.OutOfMemoryError, match="bytes"):
        amp.array(amp.extent(shape), amp.int32, accelerator_view=accelerator_view)
    small = filled(accelerator_view, 5)  # everything stays usable
    on(accelerator_view, add_one, small.extent, small)
    assert np.asarray(small).tolist() == [1, 2, 3, 4, 5]


@row("5", "contents are indeterminate without data, and legal to copy")
def test_indeterminate(accelerator_view):
    made = amp.array(amp.extent(3, 5), amp.float32, accelerator_view=accelerator_view)
    assert np.asarray(made).shape == (3, 5)


@row("5", "location: the given accelerator_view, else the default one")
def test_location(accelerator):
    view = accelerator.create_view()
    assert amp.array(amp.extent(2), amp.int32, accelerator_view=view).accelerator_view == view
    assert amp.array(amp.extent(2), amp.int32).accelerator_view == amp.accelerator().default_view


@row("5", "properties are values")
def test_properties(accelerator_view):
    a = filled(accelerator_view, 3, 5)
    e = a.extent
    e[0] = 100
    assert a.extent == (3, 5) and a.rank == 2 and a.dtype == np.int32 and len(a) == 3
    assert a.associated_accelerator_view == a.accelerator_view == accelerator_view
    assert a.cpu_access_type == amp.access_type_none


DATA = numbers(3, 5, dtype=F32)


@row("5", "from a range: any iterable, elements convert")
@pytest.mark.parametrize(
    "data", [DATA, DATA.ravel(), DATA.tolist(), list(range(15)), range(15), DATA.astype(np.float64), DATA.astype(I32)]
)
def test_from_ranges(accelerator_view, data):
    a = amp.array(amp.extent(3, 5), amp.float32, data, accelerator_view=accelerator_view)
    assert np.array_equal(np.asarray(a), DATA)


@row("5", "from [begin, end): more elements than size() is an error")
@row("5", "from [begin, end): fewer elements", differs="an AmpError; undefined in C++ AMP")
@pytest.mark.parametrize("count", [14, 16, 1, 150])
def test_wrong_count(accelerator_view, count):
    with pytest.raises(amp.AmpError, match="needs 15"):
        amp.array(amp.extent(3, 5), amp.float32, np.zeros(count, F32), accelerator_view=accelerator_view)


@row(
    "5", "from begin alone: exactly size() elements are taken", differs="written as an iterator; the rest is left in it"
)
def test_from_an_iterator(accelerator_view):
    numbers_without_end = iter(range(10**9))
    a = amp.array(amp.extent(2, 3), amp.int32, numbers_without_end, accelerator_view=accelerator_view)
    assert np.array_equal(np.asarray(a), numbers(2, 3)) and next(numbers_without_end) == 6


@row("5", "from an array_view: its extent, data from wherever newest")
def test_from_a_view(accelerator_view):
    raw = numbers(4, 6)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    a = amp.array(view.section(amp.index(1, 2), amp.extent(2, 3)), accelerator_view=accelerator_view)
    assert a.extent == (2, 3)
    assert np.array_equal(np.asarray(a), (numbers(4, 6) + 1)[1:3, 2:5])
    assert np.array_equal(raw, numbers(4, 6))  # home memory is left alone


@row("5", "copy construction keeps the accelerator_view and is deep")
@pytest.mark.parametrize("duplicate", [amp.array, copy.copy, copy.deepcopy])
def test_copies(accelerator_view, duplicate):
    a = filled(accelerator_view, 3, 5)
    b = duplicate(a)
    on(accelerator_view, add_one, b.extent, b)
    assert b.accelerator_view == accelerator_view
    assert np.array_equal(np.asarray(a), numbers(3, 5)) and np.array_equal(np.asarray(b), numbers(3, 5) + 1)


@row("5", "copy construction to another dtype is refused")
def test_copy_of_another_type(accelerator_view):
    with pytest.raises(TypeError):
        amp.array(filled(accelerator_view, 3), amp.float32)


@row("5", "assignment copies contents", differs="Python assignment rebinds the name; write copy(b, a)")
def test_assignment(accelerator_view):
    a, b = filled(accelerator_view, 3), filled(accelerator_view, 3)
    on(accelerator_view, add_one, b.extent, b)
    amp.copy(b, a)
    on(accelerator_view, add_one, b.extent, b)
    assert np.asarray(a).tolist() == [1, 2, 3] and np.asarray(b).tolist() == [2, 3, 4]


@row("5", "host subscript on a device is an error")
def test_host_subscript(accelerator_view):
    a = filled(accelerator_view, 3, 5)
    with pytest.raises(amp.AmpError, match=r"np.asarray\(a\)"):
        a[0, 0]
    with pytest.raises(amp.AmpError, match=r"array_view\(a\)"):
        a[0, 0] = 1
    assert filled(accelerator_view, 4).data() is None


@row("5", "host subscript on the cpu accelerator")
def test_cpu_array():
    a = filled(amp.accelerator("cpu").default_view, 3, 5)
    a[1, 2] = 70
    assert a[1, 2] == 70 and a[amp.index(2, 4)] == 14 and a[2][1] == 11
    assert a.cpu_access_type == amp.access_type_read_write
    assert filled(amp.accelerator("cpu").default_view, 4).data().tolist() == [0, 1, 2, 3]


@row("5", "cpu_access_type with CPU-shared memory")
@pytest.mark.accelerators("swiftshader", "llvmpipe", "reference")
def test_cpu_access(accelerator_view):
    a = amp.array(
        amp.extent(4),
        amp.int32,
        range(4),
        accelerator_view=accelerator_view,
        cpu_access_type=amp.access_type_read_write,
    )
    assert a.cpu_access_type == amp.access_type_read_write
    on(accelerator_view, add_one, a.extent, a)
    assert a[1] == 2
    a[1] = 50
    on(accelerator_view, add_one, a.extent, a)
    assert np.asarray(a).tolist() == [2, 51, 4, 5] and a[1] == 51


@row("5", "cpu_access_type of one direction")
@pytest.mark.accelerators("swiftshader", "llvmpipe", "reference")
def test_cpu_access_one_way(accelerator_view):
    keywords = {"accelerator_view": accelerator_view}
    reading = amp.array(amp.extent(2), amp.int32, [1, 2], cpu_access_type=amp.access_type_read, **keywords)
    writing = amp.array(amp.extent(2), amp.int32, [1, 2], cpu_access_type=amp.access_type_write, **keywords)
    assert reading[1] == 2
    with pytest.raises(amp.AmpError, match="the host does not write"):
        reading[1] = 3
    writing[0] = 9
    with pytest.raises(amp.AmpError, match="the host does not read"):
        writing[0]
    assert np.asarray(writing).tolist() == [9, 2]


@row("5", "staging arrays: accelerator_view is the cpu's, associated the device's")
def test_staging(accelerator_view):
    cpu = amp.accelerator("cpu").default_view
    staging = amp.array(amp.extent(4), amp.int32, accelerator_view=cpu, associated_accelerator_view=accelerator_view)
    assert staging.accelerator_view == cpu and staging.associated_accelerator_view == accelerator_view
    for k in range(4):
        staging[k] = k * k
    device = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view)
    amp.copy(staging, device)
    on(accelerator_view, add_one, device.extent, device)
    amp.copy(device, staging)
    assert [staging[k] for k in range(4)] == [1, 2, 5, 10]


@row("5", "associated view of a device array is its own")
def test_no_staging(accelerator_view):
    other = amp.accelerator("cpu").default_view
    a = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view, associated_accelerator_view=other)
    assert a.associated_accelerator_view == accelerator_view


@row("5", "direct capture of a staging array is an error, a view over it is fine")
def test_staging_in_a_launch(accelerator_view):
    cpu = amp.accelerator("cpu").default_view
    staging = amp.array(amp.extent(4), amp.int32, range(4), accelerator_view=cpu)
    with pytest.raises(amp.AmpError):
        on(accelerator_view, add_one, staging.extent, staging)
    with pytest.raises(amp.UnsupportedFeatureError, match="runs no kernel"):
        amp.parallel_for_each(staging.extent, add_one, staging)
    view = amp.array_view(staging)
    on(accelerator_view, add_one, view.extent, view)
    assert [staging[k] for k in range(4)] == [1, 2, 3, 4]


@row("5", "subscripts and extent in kernels")
def test_in_a_kernel(accelerator_view):
    a, out = filled(accelerator_view, 3, 5), amp.array_view(np.zeros((3, 5), I32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = a[i] + a[i[0], i[1]] + a[i[0]][0] + a.extent[1] * 1000

    raw = numbers(3, 5)
    assert np.array_equal(np.asarray(out), raw * 2 + raw[:, :1] + 5000)


@row("5", "section, reinterpret_as and view_as at any rank")
def test_views(accelerator_view):
    a = filled(accelerator_view, 2, 3, 4)
    part = a.section(amp.index(1, 0, 1), amp.extent(1, 2, 3))
    on(accelerator_view, add_one, part.extent, part)
    expected = numbers(2, 3, 4)
    expected[1:, :2, 1:] += 1
    assert np.array_equal(np.asarray(a), expected)
    assert np.array_equal(np.asarray(a.view_as(amp.extent(4, 5))), expected.ravel()[:20].reshape(4, 5))
    assert np.array_equal(np.asarray(a.reinterpret_as(U32)), expected.ravel().view(U32))


@row("5", "a const array yields read-only views", differs="write array_view(a, readonly=True): Python has no const")
def test_const(accelerator_view):
    a = filled(accelerator_view, 4)
    constant = amp.array_view(a, readonly=True)
    assert constant.readonly and constant.section(amp.index(1)).readonly
    with pytest.raises(amp.CompileError):
        on(accelerator_view, add_one, constant.extent, constant)
    out = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view)
    on(accelerator_view, assign, out.extent, out, constant)
    assert np.asarray(out).tolist() == [0, 1, 2, 3]


@row("5", "read back by conversion", differs="np.asarray(a), with numpy's dtype and copy arguments")
def test_asarray(accelerator_view):
    a = filled(accelerator_view, 2, 3)
    assert np.asarray(a, dtype=np.float64).dtype == np.float64
    assert np.array_equal(np.array(a), numbers(2, 3))
    if a.__dlpack_device__() == (1, 0):
        assert np.array_equal(np.from_dlpack(a), numbers(2, 3))
    else:  # As for a tensor of PyTorch or CuPy: its memory is the GPU's.
        with pytest.raises(BufferError):
            np.from_dlpack(a)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(a)
    with pytest.raises(TypeError, match="not iterable"):
        iter(a)
