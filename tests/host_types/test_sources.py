"""Arrays and views of what is no ndarray: its memory by a protocol, without a copy; or an error that says why not."""

from __future__ import annotations

import array
import ctypes
import mmap
from typing import Any

import numpy as np
import PIL
import pytest
from PIL import Image

import vkamp as amp
from vkamp import array_view


class ByDLPack:
    """A library's tensor."""

    def __init__(self, elements: Any, device: int = 1) -> None:
        self.elements, self.device = elements, device

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.elements.__dlpack__(**wanted)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class ByInterface:
    def __init__(self, elements: Any) -> None:
        self.elements = elements
        self.__array_interface__ = elements.__array_interface__


class ByArray:
    """As a pandas Series; with ``copies`` as one whose elements are kept otherwise."""

    def __init__(self, elements: Any, *, copies: bool = False) -> None:
        self.elements, self.copies = elements, copies

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.elements.copy() if self.copies else self.elements


RAW = np.arange(6, dtype=np.int32)

WRITABLE = {
    "bytearray": lambda: bytearray(RAW.tobytes()),
    "array.array": lambda: array.array("i", RAW.tolist()),
    "memoryview": lambda: memoryview(RAW.copy()),
    "strided memoryview": lambda: memoryview(np.repeat(RAW, 2))[::2],
    "ctypes": lambda: (ctypes.c_int * 6)(*RAW.tolist()),
    "DLPack": lambda: ByDLPack(RAW.copy()),
    "strided DLPack": lambda: ByDLPack(np.repeat(RAW, 3)[::3]),
    "array interface": lambda: ByInterface(RAW.copy()),
    "__array__": lambda: ByArray(RAW.copy()),
    "field by __array__": lambda: ByArray(np.array([(k, 0.5) for k in RAW], [("a", "i4"), ("b", "f4")])["a"]),
}


def elements_of(source: Any) -> list[int]:
    if isinstance(source, bytearray):
        return np.frombuffer(source, np.int32).tolist()
    if isinstance(source, (ByDLPack, ByInterface, ByArray)):
        return source.elements.tolist()
    return list(source)


@pytest.mark.parametrize("kind", WRITABLE)
def test_a_view_of_memory_that_may_be_written(accelerator_view: amp.accelerator_view, kind: str) -> None:
    source = WRITABLE[kind]()
    view = array_view(source)
    assert not view.readonly
    if kind == "bytearray":
        assert view.dtype == np.uint8
        view = view.reinterpret_as(np.int32)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(idx):
        view[idx] += 10

    view.synchronize()
    assert elements_of(source) == (RAW + 10).tolist()
    view[2] = 77
    assert elements_of(source)[2] == 77


def read_only() -> dict[str, Any]:
    frozen = RAW.copy()
    frozen.flags.writeable = False
    return {
        "bytes": RAW.tobytes(),
        "memoryview": memoryview(RAW).toreadonly(),
        "__array__": ByArray(frozen),
        "interface": ByInterface(frozen),
    }


@pytest.mark.parametrize("kind", read_only())
def test_a_view_of_memory_that_is_read_only(accelerator_view: amp.accelerator_view, kind: str) -> None:
    view = array_view(read_only()[kind])
    assert view.readonly
    view = view.reinterpret_as(np.int32)
    total = array_view(np.zeros(1, np.int32))

    @amp.parallel_for_each(accelerator_view, 6)
    def _(idx):
        amp.atomic_fetch_add(total[0], view[idx])

    assert total[0] == 15
    assert array_view(read_only()[kind], readonly=True).readonly


def test_extents_and_vectors() -> None:
    source = array.array("f", range(6))
    assert array_view(source, (2, 2)).extent == (2, 2)
    table = memoryview(np.zeros((4, 3), np.float32))
    assert array_view(table, dtype=amp.float3).extent == (4,)
    assert array_view(ByDLPack(np.zeros((4, 3), np.float32))).extent == (4, 3)


def test_memory_of_a_file(tmp_path: Any) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(RAW.tobytes())
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
        view = array_view(memory).reinterpret_as(np.int32)
        assert [*view] == RAW.tolist()
        view[1] = 9
        memory.flush()
    assert np.frombuffer(path.read_bytes(), np.int32).tolist() == [0, 9, 2, 3, 4, 5]


def test_what_has_only_copies() -> None:
    source = ByArray(RAW, copies=True)
    with pytest.raises(TypeError, match=r"ByArray provides a copy .*write np.array\(...\) of it and keep"):
        array_view(source)
    view = array_view(source, readonly=True)
    assert view.readonly and [*view] == RAW.tolist()
    picture = Image.new("1", (3, 2))  # bits, which have other values in memory
    with pytest.raises(TypeError, match="Image provides a copy of its elements"):
        array_view(picture)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "CMYK", "F", "I", "P", "YCbCr"])
def test_images_of_pillow(mode: str) -> None:
    """Images give views of their pixels' memory, which are not copied."""
    picture = Image.new(mode, (5, 7))
    channels = len(picture.getbands())
    view = array_view(picture)
    assert view.readonly and tuple(view.extent) == ((7, 5, channels) if channels > 1 else (7, 5))
    values = [(9 + x * y + 3) % 200 for y in range(7) for x in range(5)]
    for number, value in enumerate(values):
        picture.putpixel((number % 5, number // 5), (value,) * channels if channels > 1 else value)
    seen, expected = np.asarray(view), np.asarray(picture)
    assert seen.dtype == expected.dtype
    np.testing.assert_array_equal(seen, expected)
    del picture
    np.testing.assert_array_equal(np.asarray(view), expected)


def test_images_of_pillow_in_memory_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = np.arange(6, dtype=np.uint8).reshape(2, 3)
    if int(PIL.__version__.partition(".")[0]) >= 13:
        assert np.shares_memory(np.asarray(array_view(Image.fromarray(raw))), raw)
    monkeypatch.setattr(PIL, "__version__", "12.3.0")  # which ends the process when it exports such an image
    monkeypatch.setattr(Image.Image, "__arrow_c_array__", lambda _: pytest.fail("was exported"))
    with pytest.raises(TypeError, match="provides a copy of its elements"):
        array_view(Image.fromarray(raw))
    assert np.asarray(amp.array(Image.fromarray(raw))).tolist() == raw.tolist()


def test_images_that_pillow_copies() -> None:
    picture = Image.new("RGB", (3000, 2000), (1, 2, 3))  # in several blocks of memory
    with pytest.raises(TypeError, match="Image provides a copy of its elements"):
        array_view(picture)
    assert array_view(picture, readonly=True)[1999, 2999, 2] == 3
    assert np.asarray(amp.array(Image.new("LA", (3, 2), (4, 5)))).tolist() == [[[4, 5]] * 3] * 2


def test_columns_of_pandas(accelerator_view: amp.accelerator_view) -> None:
    pandas = pytest.importorskip("pandas")
    raw = np.arange(6, dtype=np.int32)
    column = pandas.Series(raw, copy=False)
    view = array_view(column)
    assert np.shares_memory(np.asarray(view), raw)
    assert view.readonly == (not np.asarray(column).flags.writeable)  # pandas 3 shares its memory as read-only
    total = array_view(np.zeros(1, np.int32))

    @amp.parallel_for_each(accelerator_view, 6)
    def _(idx):
        amp.atomic_fetch_add(total[0], view[idx])

    assert total[0] == 15
    with pytest.raises(TypeError, match="copy of its elements|missing or not numbers"):
        array_view(pandas.Series([1, None, 3], dtype="Int32"))
    with pytest.raises(TypeError, match="copy of its elements|missing or not numbers"):
        array_view(pandas.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}))


def test_arrays_of_pyarrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array(RAW)
    view = array_view(column)
    assert view.readonly and [*view] == RAW.tolist()
    assert np.asarray(view).ctypes.data == column.buffers()[1].address
    part = array_view(column.slice(2, 3))
    assert [*part] == [2, 3, 4] and np.asarray(part).ctypes.data == column.buffers()[1].address + 8
    assert amp.from_dlpack(column)[5] == 5
    buffer = pyarrow.py_buffer(bytearray(RAW.tobytes()))
    writable = array_view(buffer).reinterpret_as(np.int32)
    writable[1] = 9
    assert np.frombuffer(buffer, np.int32)[1] == 9
    with pytest.raises(TypeError, match="copy of its elements|no nulls"):
        array_view(pyarrow.array([1, None, 3], pyarrow.int32()))
    with pytest.raises(TypeError, match="no nulls"):  # pyarrow raises it itself in some versions
        amp.from_dlpack(pyarrow.array([1, None, 3], pyarrow.int32()))


WRONG: dict[str, tuple[Any, str]] = {
    "objects": (ByArray(np.array([1, None], object)), "has elements that are missing or not numbers"),
    "another device": (ByDLPack(RAW, device=2), r"is in the memory of a device \(DLPack 2, 0\).*\.cpu\(\)"),
    "masked": (ByArray(np.ma.masked_array([1, 2], [0, 1])), "would lose the mask|masked"),
    "text": ("abc", "got str: write np.array"),
    "a number": (5, "got int: write np.array"),
    "a list": ([1, 2], "got list: write np.array"),
    "a struct without export": (ByDLPack(np.zeros(2, [("a", "i4")])), "does not export its elements through DLPack"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_source(kind: str) -> None:
    source, message = WRONG[kind]
    with pytest.raises(TypeError, match=message):
        array_view(source)


def test_other_types_of_elements_are_refused_as_of_ndarrays() -> None:
    for source in (memoryview(np.zeros(3, bool)), ByArray(np.zeros(3, bool))):
        with pytest.raises(amp.AmpError, match="use int32 or int8"):
            array_view(source)


@pytest.mark.parametrize("kind", WRITABLE)
def test_an_array_of_it(accelerator_view: amp.accelerator_view, kind: str) -> None:
    source = WRITABLE[kind]()
    made = amp.array(source, accelerator_view)
    assert made.accelerator_view == accelerator_view
    if kind != "bytearray":
        assert np.asarray(made).tolist() == RAW.tolist()
        assert np.asarray(amp.array((2, 3), amp.float32, source, accelerator_view)).tolist() == [[0, 1, 2], [3, 4, 5]]

    @amp.parallel_for_each(accelerator_view, made.extent)
    def _(idx):
        made[idx] = 1

    assert elements_of(source) == RAW.tolist()


def test_an_array_of_an_ndarray(accelerator_view: amp.accelerator_view) -> None:
    raw = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = amp.array(raw[:, ::2], accelerator_view)
    raw[:] = 0
    assert (made.extent, made.dtype) == ((3, 2), np.float32)
    assert np.asarray(made).tolist() == [[0, 2], [4, 6], [8, 10]]
    assert amp.array(np.arange(5), amp.int32, accelerator_view).dtype == np.int32
    assert amp.array(np.zeros((4, 3), np.float32), amp.float3, accelerator_view).extent == (4,)
    assert amp.array(np.zeros(3, [("a", "f4"), ("b", "i4")])).dtype.names == ("a", "b")
    with pytest.raises(TypeError, match="does not convert to int32"):
        amp.array(np.zeros(3), amp.int32)
    with pytest.raises(TypeError, match=r"array takes its extent first: write array\(extent\(...\), dtype, data\)"):
        amp.array(raw, amp.float32, raw)
    with pytest.raises(TypeError, match="array takes its extent first"):
        amp.array([[1, 2], [3, 4]], amp.float32)
    with pytest.raises(amp.AmpError, match="a 0-dimensional ndarray has no extent"):
        amp.array(np.array(1.0))
    with pytest.raises(TypeError, match="masked"):
        amp.array(np.ma.masked_array([1, 2], [0, 1]))


def test_places_without_names(accelerator: amp.accelerator) -> None:
    view, host = accelerator.default_view, amp.accelerator("cpu").default_view
    assert amp.array((2, 3), amp.int32, view).accelerator_view == view
    assert amp.array((2, 3), amp.int32, accelerator).accelerator_view == view
    assert amp.array(6, amp.int32, range(6), view).accelerator_view == view
    staging = amp.array(amp.extent(6), amp.int32, host, view)
    assert (staging.accelerator_view, staging.associated_accelerator_view) == (host, view)
    assert amp.array(amp.extent(6), amp.int32, view, amp.access_type_none).cpu_access_type == amp.access_type_none
    assert amp.array(staging, view).accelerator_view == view
    assert amp.array(amp.array_view(np.zeros(3, np.float32)), view).accelerator_view == view
    with pytest.raises(TypeError, match="got two values for accelerator_view"):
        amp.array(6, amp.int32, view, accelerator_view=view)
    with pytest.raises(TypeError, match="an accelerator_view and an associated one, got 3"):
        amp.array(6, amp.int32, host, view, view)
    with pytest.raises(TypeError, match="got list after an accelerator_view"):
        amp.array(2, amp.int32, view, [1, 2])
    with pytest.raises(TypeError, match="accelerator_view after its data, got int"):
        amp.array(2, amp.int32, [1, 2], 5)
