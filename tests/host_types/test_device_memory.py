"""Containers in the memory of a device that another library uses, too: a fake one, whose addresses are the host's."""

from __future__ import annotations

import ctypes
import gc
import re
import weakref

import numpy as np
import pytest

import vkamp as amp
from vkamp import AmpError, array, array_view, copy, extent, float32
from vkamp.lang import dlpack

CUDA = (2, 0)


class Outside:
    """A storage as the other library sees it."""

    order = "by the test"

    def __init__(self, storage, device):
        self.storage, self.device = storage, device
        self.address = storage.memory.ctypes.data
        self.streams = storage.location.__dict__.setdefault("streams", [])
        self.followed = storage.location.__dict__.setdefault("followed", [])

    def lend(self, stream):
        self.storage.location.run()
        self.streams.append(stream)
        return Lent(self.storage)

    def follow(self):
        self.followed.append(self.address)

    def take(self, source, nbytes):
        self.storage.memory[:nbytes] = np.frombuffer((ctypes.c_uint8 * nbytes).from_address(source), np.uint8)


class Lent:
    def __init__(self, storage):
        self.storage = storage


class Tensor:
    """The other library's tensor: what a consumer makes of a capsule, and the producer of another one."""

    def __init__(self, source, **wanted):
        self.capsule = source.__dlpack__(max_version=(1, 0), **wanted)
        managed, _ = dlpack._managed(self.capsule)
        tensor = managed.tensor
        self.device = tensor.device_type, tensor.device_id
        self.address = tensor.data + tensor.byte_offset
        shape = tuple(tensor.shape[: tensor.ndim])
        size = tensor.dtype.bits // 8
        strides = tuple(size * n for n in tensor.strides[: tensor.ndim]) if tensor.strides else None
        kind = {0: "i", 1: "u", 2: "f", 4: "u"}[tensor.dtype.code]
        interface = {"version": 3, "shape": shape, "typestr": f"<{kind}{size}", "data": (self.address, False)}
        #: The elements; the test is the device, which can access them.
        self.values = np.asarray(Elements({**interface, "strides": strides}, self.capsule))


class Elements:
    def __init__(self, interface, keep):
        self.__array_interface__ = interface
        self.keep = keep


class Foreign:
    """A tensor that the other library has allocated, or got by ``Tensor``."""

    def __init__(self, values, device=CUDA):
        self.values, self.device = values, device
        self.streams = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        return dlpack.mark_device(dlpack.export(self.values, {"max_version": max_version}), self.device)


@pytest.fixture(autouse=True)
def outside(location, monkeypatch):
    """Storages of the default location, and of no other, can be used by the other library."""

    def external(storage):
        return Outside(storage, CUDA) if storage.location is location else "the test's other device cannot"

    monkeypatch.setattr(type(location.allocate(4)), "external", external, raising=False)


def test_nothing_is_copied_there_and_back(location, launch):
    raw = np.arange(12, dtype=np.float32).reshape(3, 4)
    a = array(raw)
    launch(location, lambda d: np.add(d, 1, out=d), a)
    location.moved()
    assert a.__dlpack_device__() == CUDA
    tensor = Tensor(a, stream=7)
    assert (tensor.device, location.streams) == (CUDA, [7])
    np.testing.assert_array_equal(tensor.values, raw + 1)
    tensor.values += 1
    launch(location, lambda d: np.multiply(d, 2, out=d), a)
    location.run()
    np.testing.assert_array_equal(tensor.values, (raw + 2) * 2)
    foreign = Foreign(tensor.values[1:, ::2])
    back = amp.from_dlpack(foreign)
    assert (foreign.streams, len(location.followed)) == ([1], 1)
    assert back.overlaps(a) and back.extent == (2, 2)
    assert amp.from_dlpack(Foreign(tensor.values)).has_elements_of(a)
    launch(location, lambda d: d.fill(-1), back)
    location.run()
    assert (tensor.values[1:, ::2] == -1).all()
    assert location.moved() == (0, 0)
    assert back.explain().splitlines()[1:4] == [
        "  host memory: 0 bytes up to date",
        f"  {location!r}: 16 bytes up to date, 16 of them up to date only here",
        "  used through DLPack by DLPack's device (2, 0): not copied, ordered by the test",
    ]


def test_the_host_sees_every_later_write(location):
    a = array(np.zeros(5, np.int32))
    tensor = Tensor(a)
    view = array_view(a)
    for n in range(1, 4):
        tensor.values[:] = n
        assert (np.asarray(a) == n).all() and (np.asarray(view) == n).all() and view[4] == n
        tensor.values[3] = 10
        assert view[3] == 10
    view[0] = 99
    assert (Tensor(view).values == [99, 3, 3, 10, 3]).all()
    assert (tensor.values == [99, 3, 3, 10, 3]).all()
    copy([5, 6, 7, 8, 9], a)
    assert (tensor.values == [5, 6, 7, 8, 9]).all()


def test_another_location_sees_every_later_write(location, other, launch):
    a = array(np.zeros(5, np.int32))
    view = array_view(a)
    seen = []
    launch(other, lambda d: seen.append(d.copy()), reads=(view,))
    tensor = Tensor(a)
    for n in range(1, 4):
        tensor.values[:] = n
        launch(other, lambda d: seen.append(d.copy()), reads=(view,))
        other.run()
    assert [each[0] for each in seen] == [0, 1, 2, 3]
    launch(other, lambda d: np.add(d, 5, out=d), view)
    launch(other, lambda d: np.add(d, 5, out=d), view)
    assert (Tensor(view).values == 13).all()
    tensor.values[2] = 1
    assert [*np.asarray(view)] == [13, 13, 1, 13, 13]


def test_a_readonly_view_is_exported_without_a_write(location, launch):
    a = array(np.zeros(4, np.float32))
    launch(location, lambda d: np.add(d, 1, out=d), a)
    view = array_view(a, readonly=True)
    if int(np.__version__.split(".")[0]) >= 2:
        assert (Tensor(view).values == 1).all()
    with pytest.raises(BufferError, match="cannot export read-only memory"):
        view.__dlpack__()
    assert "not copied" not in array_view(array(np.zeros(4, np.float32))).explain()


@pytest.mark.parametrize("name", ["int8", "uint16", "float16", "float64", "int64", "bfloat16"])
def test_types(name):
    a = array(extent(3, 5), amp.bfloat16 if name == "bfloat16" else np.dtype(name))
    managed, _ = dlpack._managed(a.__dlpack__())
    kind = managed.tensor.dtype
    code = {"i": 0, "u": 1, "f": 2, "b": 4}[name[0]]
    assert (kind.code, kind.bits, kind.lanes) == (code, 8 * a.dtype.itemsize, 1)
    assert (managed.tensor.device_type, managed.tensor.device_id) == CUDA


def test_short_vectors_and_structs():
    vectors = array(extent(6), amp.float3, np.arange(18, dtype=np.float32).reshape(6, 3))
    np.testing.assert_array_equal(Tensor(vectors).values, np.arange(18).reshape(6, 3))
    with pytest.raises(BufferError, match="DLPack has no structs"):
        array(np.zeros(3, [("x", np.float32), ("n", np.int32)])).__dlpack__()


def test_what_a_consumer_can_ask_for(refused):
    raw = np.arange(4, dtype=np.float32)
    a = array(raw)
    managed, _ = dlpack._managed(a.__dlpack__(dl_device=(1, 0)))
    assert managed.tensor.device_type == 1
    with refused(BufferError, "array(extent(4), float32) is on the device (2, 0) of DLPack, not (2, 1)"):
        a.__dlpack__(dl_device=(2, 1))
    with refused(BufferError, "a copy is not exported to a device: export a copy of the container, array(...)"):
        a.__dlpack__(copy=True)
    with refused(TypeError, "__dlpack__ takes no argument 'device'"):
        a.__dlpack__(device="cuda")


def test_a_location_that_cannot(other, refused):
    a = array(np.zeros(4, np.float32), accelerator_view=other)
    assert a.__dlpack_device__() == (1, 0)
    reason = "the test's other device cannot"
    with refused(BufferError, f"{a!r} cannot be exported to the device (2, 0): {reason}"):
        a.__dlpack__(dl_device=CUDA)
    with refused(BufferError, f"{a!r} is on an accelerator and cannot be exported without a copy: {reason}"):
        a.__dlpack__(copy=False)
    assert not hasattr(a, "__cuda_array_interface__")
    assert not hasattr(array_view(np.zeros(4)), "__cuda_array_interface__")
    wanted = f"Foreign is in the memory of a device (DLPack 2, 0), which {other!r} cannot use: {reason}."
    with pytest.raises(TypeError, match=re.escape(wanted)):
        amp.from_dlpack(Foreign(np.zeros(4)), accelerator_view=other)


def test_memory_of_the_other_library_is_copied_on_the_device(location, refused):
    raw = np.arange(20, dtype=np.int32).reshape(4, 5)
    view = amp.from_dlpack(Foreign(raw))
    assert location.moved() == (0, 0)
    np.testing.assert_array_equal(np.asarray(view), raw)
    last = view.explain().splitlines()[3]
    assert re.fullmatch(
        r"  1\. 80 bytes to <.*> at test_device_memory\.py:\d+: "
        "copied on the device from memory that CUDA has allocated",
        last,
    )
    view[0, 0] = -1
    assert raw[0, 0] == 0
    turned = amp.from_dlpack(Foreign(raw.T))
    assert turned.extent == (5, 4)
    np.testing.assert_array_equal(np.asarray(turned), raw.T)
    message = (
        "Foreign is in memory that CUDA has allocated, which Vulkan cannot import: without copy=False it is copied"
    )
    with refused(BufferError, f"{message} on the device"):
        amp.from_dlpack(Foreign(raw), copy=False)
    with refused(AmpError, "Foreign has gaps between its elements: write from_dlpack(tensor.contiguous())"):
        amp.from_dlpack(Foreign(raw[:, ::2]))
    with pytest.raises(AmpError, match=r"Foreign is on CUDA's device 3, and .* is CUDA's device 0"):
        amp.from_dlpack(Foreign(raw, (2, 3)))
    with pytest.raises(AmpError, match=r"Foreign has the shape \(0,\)"):
        amp.from_dlpack(Foreign(raw[0, :0]))
    with refused(TypeError, "from_dlpack copies no host memory: write array(...) for a copy on a device"):
        amp.from_dlpack(raw, copy=True)
    with pytest.raises(TypeError, match=r"in the memory of a device \(DLPack 2, 0\), which array_view cannot access"):
        array_view(Foreign(raw))


def test_copies_of_exported_memory_on_request():
    a = array(np.arange(3, dtype=np.int32))
    tensor = Tensor(a)
    twin = amp.from_dlpack(Foreign(tensor.values), copy=True)
    assert not twin.overlaps(a) and [*np.asarray(twin)] == [0, 1, 2]


def test_cudas_array_interface(location):
    a = array(np.arange(6, dtype=np.float32).reshape(2, 3))
    found = a.__cuda_array_interface__
    assert (found["shape"], found["typestr"], found["strides"], found["version"]) == ((2, 3), "<f4", None, 3)
    assert (found["stream"], found["data"][1], location.streams) == (1, False, [None])
    part = array_view(a)[:, 1:].__cuda_array_interface__
    assert (part["shape"], part["strides"], part["data"][0]) == ((2, 2), (12, 4), found["data"][0] + 4)
    seen = np.asarray(array_view(a))
    (ctypes.c_float * 6).from_address(found["data"][0])[0] = 50
    assert array_view(a)[0, 0] == 50 and seen.shape == (2, 3)


def test_the_memory_lives_as_long_as_a_tensor_of_it():
    a = array(np.arange(4, dtype=np.float32))
    storage = weakref.ref(next(iter(a._lease.home.copies.values())).storage)
    tensor = Tensor(a)
    del a
    gc.collect()
    assert storage() is not None
    back = amp.from_dlpack(Foreign(tensor.values))
    np.testing.assert_array_equal(np.asarray(back), [0, 1, 2, 3])
    assert "not copied" in back.explain()
    del tensor, back
    gc.collect()
    assert storage() is None


def test_in_a_capture():
    a = array(extent(4), float32)
    with pytest.raises(AmpError, match="another library uses"), amp.capture():
        a.__dlpack__()
