"""Host memory to and from other libraries through DLPack."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from typing import ClassVar

import ml_dtypes
import numpy as np
import pytest

import vkamp as amp
from vkamp import array, array_view, extent, float32
from vkamp.lang import dlpack


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
    with pytest.raises(BufferError, match=r"to the device \(2, 0\): its elements belong to host memory"):
        view.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="DLPack has no structs"):
        array_view(np.zeros(3, [("x", np.float32), ("n", np.int32)])).__dlpack__()
    with pytest.raises(BufferError, match="cannot export read-only memory"):
        array_view(np.zeros(4, np.float32), readonly=True).__dlpack__()
    with pytest.raises(BufferError, match="multiple"):
        dlpack.export(np.zeros(4, np.dtype([("a", np.int8), ("x", np.float32)]))["x"], {})
    with pytest.raises(TypeError, match="takes no argument 'device'"):
        view.__dlpack__(device="cpu")
    own = array_view(extent(3), float32)
    assert np.from_dlpack(own).shape == (3,)


NUMPY = int(np.__version__.split(".")[0])
TYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
TYPES += ["float16", "float32", "float64", "complex64", "complex128"]


class Exporter:
    """A tensor of another library, with any layout; counts the calls of its deleter."""

    alive: ClassVar = []  #: a tensor's struct and deleter outlive everything that has the tensor

    def __init__(self, memory, *, versioned=True, shape=None, strides=None, offset=0, dtype=(0, 32, 1), **more):
        self.alive.append(self)
        self.memory, self.versioned, self.deleted = memory, versioned, 0
        shape = memory.shape if shape is None else shape
        self.sizes = (ctypes.c_int64 * len(shape))(*shape)
        self.steps = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.device = (more.get("device", 1), 0)
        self.made = made = (dlpack._ManagedVersioned if versioned else dlpack._ManagedTensor)()
        pointer = ctypes.POINTER(ctypes.c_int64)
        made.tensor = dlpack._Tensor(
            memory.ctypes.data or None,
            *self.device,
            len(shape),
            dlpack._DataType(*dtype),
            ctypes.cast(self.sizes, pointer),
            pointer() if self.steps is None else ctypes.cast(self.steps, pointer),
            offset,
        )
        self.deleter = dlpack._Deleter(self._delete)
        made.deleter = ctypes.cast(self.deleter, ctypes.c_void_p) if more.get("deletes", True) else None
        if versioned:
            made.major, made.flags = more.get("major", 1), more.get("flags", 0)

    def _delete(self, address):
        assert address == ctypes.addressof(self.made)
        self.deleted += 1

    def __dlpack__(self, **wanted):
        if not self.versioned and wanted:
            raise TypeError("unexpected keyword argument 'max_version'")
        assert wanted == ({"max_version": (1, 0)} if self.versioned else {})
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.name = b"dltensor_versioned" if self.versioned else b"dltensor"
        self.capsule = new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self.made), self.name, None)
        return self.capsule

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("dtype", [*TYPES, "bfloat16"])
def test_every_type_there_and_back(dtype):
    raw = np.arange(6).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype).reshape(2, 3)
    view = array_view(raw)
    back = amp.from_dlpack(Capsule(view))
    assert back.dtype == raw.dtype and back.extent == (2, 3) and not back.readonly
    back[1, 2] = 1
    assert raw[1, 2] == 1
    np.testing.assert_array_equal(np.asarray(back), raw)
    if dtype == "bfloat16":  # numpy has no such type, others do: the tensor says what it is
        tensor = dlpack._managed(view.__dlpack__())[0].tensor
        assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (4, 16, 1)
        with pytest.raises((BufferError, RuntimeError)):
            np.from_dlpack(view)
    else:
        out = np.from_dlpack(view)
        assert out.dtype == raw.dtype and np.shares_memory(out, raw)


def test_vectors_and_parts_of_complex_elements():
    vectors = array_view(np.zeros((4, 3), np.float32), dtype=amp.float3)
    assert np.from_dlpack(vectors).shape == (4, 3)
    raw = np.array([1 + 2j, 3 + 4j], np.complex64)
    np.testing.assert_array_equal(np.from_dlpack(array_view(raw).imag), [2, 4])


def test_kernels_write_memory_of_others(accelerator_view):
    raw = np.arange(12, dtype=np.float32).reshape(3, 4)
    view = amp.from_dlpack(raw[::-1, ::2])
    assert view.extent == (3, 2)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(idx):
        view[idx] += 100.0

    view.synchronize()
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected[:, ::2] += 100
    np.testing.assert_array_equal(raw, expected)
    raw[0, 0] = -1
    view.refresh()
    assert view[2, 0] == -1


def test_nothing_is_copied(location, launch):
    raw = np.arange(8, dtype=np.int32)
    view = amp.from_dlpack(raw)
    assert location.moved() == (0, 0)
    launch(location, lambda d: np.add(d, 1, out=d), view)
    assert location.moved() == (32, 0)
    out = np.from_dlpack(view)
    assert location.moved() == (0, 32) and np.shares_memory(out, raw)
    np.testing.assert_array_equal(out, np.arange(1, 9))
    launch(location, lambda d: np.add(d, 1, out=d), view)
    view.synchronize()  # the consumer sees later launches when they are home
    np.testing.assert_array_equal(out, np.arange(2, 10))


@pytest.mark.parametrize("versioned", [False, True])
def test_layouts(versioned):
    memory = np.arange(20, dtype=np.int32)
    view = amp.from_dlpack(Exporter(memory, versioned=versioned, shape=(2, 3), strides=(-8, 2), offset=4 * 10))
    np.testing.assert_array_equal(np.asarray(view), [[10, 12, 14], [2, 4, 6]])
    view[1, 1] = 99
    assert memory[4] == 99
    dense = amp.from_dlpack(Exporter(memory, versioned=versioned, shape=(4, 5)))
    assert dense[3, 4] == 19
    assert amp.from_dlpack(Exporter(memory, versioned=versioned, shape=(1,), device=3)).extent == (1,)
    repeated = Exporter(memory, versioned=versioned, shape=(3, 20), strides=(0, 1))
    with pytest.raises(TypeError, match="elements of the ndarray overlap"):
        amp.from_dlpack(repeated)
    assert repeated.deleted == 1
    assert amp.from_dlpack(repeated, readonly=True).extent == (3, 20)


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("first", ["source", "view"])
def test_memory_lives_with_its_views(versioned, first):
    exporter = Exporter(np.arange(4, dtype=np.int32), versioned=versioned)
    view = amp.from_dlpack(exporter)
    assert dlpack._is_valid(exporter.capsule, b"used_" + exporter.name)
    part = view[1:3]
    del view
    if first == "source":
        exporter.capsule = None
    gc.collect()
    assert exporter.deleted == 0 and part[1] == 2
    out = np.asarray(part)
    del part
    gc.collect()
    assert exporter.deleted == 0 and out[0] == 1
    del out
    gc.collect()
    assert exporter.deleted == 1
    kept = amp.from_dlpack(Exporter(np.arange(4, dtype=np.int32), versioned=versioned, deletes=False))
    assert kept[3] == 3
    del kept  # without a deleter there is nothing to call


@pytest.mark.parametrize("first", ["view", "out"])
def test_exported_memory_lives_with_the_consumers_array(first):
    raw = np.arange(4, dtype=np.int32)
    gone = weakref.ref(raw)
    view = array_view(raw)
    out = np.from_dlpack(view)
    del raw
    if first == "view":
        del view
        gc.collect()
        assert gone() is not None
        np.testing.assert_array_equal(out, [0, 1, 2, 3])
        del out
    else:
        del out
        gc.collect()
        assert gone() is not None and view[3] == 3
        del view
    gc.collect()
    assert gone() is None
    own = array_view(extent(3), float32)
    own[1] = 5
    out = np.from_dlpack(own)
    del own
    gc.collect()
    assert out[1] == 5


def test_many_exports_and_imports_leave_nothing():
    raw = np.arange(4, dtype=np.int32)
    view, short = array_view(raw), array_view(np.zeros(4, ml_dtypes.bfloat16))
    view.__dlpack__(), np.from_dlpack(view), amp.from_dlpack(view), short.__dlpack__()
    gc.collect()
    references, blocks = sys.getrefcount(raw), sys.getallocatedblocks()
    for _ in range(10_000):
        view.__dlpack__()  # nobody takes it
        short.__dlpack__()
        np.from_dlpack(view)
    for _ in range(1_000):
        amp.from_dlpack(Capsule(view))
    gc.collect()
    assert sys.getrefcount(raw) == references
    assert sys.getallocatedblocks() < blocks + 1000
    exporter = Exporter(raw)
    for _ in range(1_000):
        amp.from_dlpack(exporter)
    gc.collect()
    assert exporter.deleted == 1_000


def test_read_only_memory():
    frozen = Exporter(np.arange(3, dtype=np.int32), flags=1)
    view = amp.from_dlpack(frozen)
    assert view.readonly and view[2] == 2
    with pytest.raises(TypeError, match="is read-only"):
        view[0] = 1
    assert amp.from_dlpack(Exporter(np.arange(3, dtype=np.int32), versioned=False), readonly=True).readonly
    version = {"max_version": (1, 0)}
    if NUMPY >= 2:
        managed, _ = dlpack._managed(view.__dlpack__(**version))
        assert managed.flags & 1
        assert not np.from_dlpack(view).flags.writeable
        assert amp.from_dlpack(Capsule(view, **version)).readonly
    else:
        with pytest.raises(BufferError, match="cannot export read-only memory"):
            view.__dlpack__(**version)
    with pytest.raises(BufferError, match="cannot export read-only memory"):
        view.__dlpack__(max_version=(0, 8))
    assert amp.from_dlpack(Capsule(view, copy=True))[2] == 2


WRONG = {
    "a newer protocol": (lambda raw: Exporter(raw, major=2), TypeError, "version 2 of DLPack, vkamp takes 1"),
    "vectors": (lambda raw: Exporter(raw, dtype=(2, 32, 4)), TypeError, r"type 2 of 32 bits, 4 lanes\).*float32"),
    "4 bits": (lambda raw: Exporter(raw, dtype=(0, 4, 1)), TypeError, r"type 0 of 4 bits"),
    "float8": (lambda raw: Exporter(raw, dtype=(10, 8, 1)), TypeError, r"type 10 of 8 bits"),
    "pointers": (lambda raw: Exporter(raw, dtype=(3, 64, 1)), TypeError, r"type 3 of 64 bits"),
    "bools": (lambda raw: Exporter(raw.view(bool), dtype=(6, 8, 1)), amp.AmpError, "use int32 or int8"),
    "a device": (lambda raw: Exporter(raw, device=2), TypeError, r"in the memory of a device \(DLPack 2, 0\)"),
    "a scalar": (lambda raw: Exporter(raw, shape=()), amp.AmpError, "0-dimensional"),
    "nothing": (lambda raw: Exporter(raw[:0]), amp.AmpError, "at least one|below 1|is 0"),
    "a list": (lambda raw: raw.tolist(), TypeError, "an object with __dlpack__ and __dlpack_device__, got list"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_tensor(kind):
    make, error, message = WRONG[kind]
    source = make(np.arange(4, dtype=np.int32))
    with pytest.raises(error, match=message):
        amp.from_dlpack(source)
    if isinstance(source, Exporter) and error is TypeError and source.device[0] == 1:
        assert dlpack._is_valid(source.capsule, source.name)  # its owner frees what nobody took


def test_no_capsule():
    class Nothing:
        def __dlpack__(self, **_):
            return 5

        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(TypeError, match="__dlpack__ returned a int without a tensor"):
        amp.from_dlpack(Nothing())
    capsule = array_view(np.zeros(3, np.float32)).__dlpack__()

    class Twice(Nothing):
        def __dlpack__(self, **_):
            return capsule

    assert amp.from_dlpack(Twice()).extent == (3,)
    with pytest.raises(TypeError, match="or one that is used already"):
        amp.from_dlpack(Twice())


def test_containers_are_views_of_themselves(accelerator_view):
    raw = np.arange(3, dtype=np.int32)
    assert amp.from_dlpack(array_view(raw, readonly=True)).readonly
    on_device = array(extent(3), data=raw, accelerator_view=accelerator_view)
    view = amp.from_dlpack(on_device)
    view[1] = 7
    assert np.asarray(on_device).tolist() == [0, 7, 2]
    # Libraries that use host memory get a copy of an array's elements, which they may write.
    out = np.from_dlpack(Capsule(on_device, dl_device=(1, 0)))
    assert out.tolist() == [0, 7, 2]
    on_device = array_view(on_device)
    on_device[0] = 5
    assert out[0] == 0
