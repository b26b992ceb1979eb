"""Element types and conversions to them."""

from __future__ import annotations

import numpy as np
import pytest

from vkamp.errors import AmpError
from vkamp.lang.dtypes import convert, convert_scalar, dtype_name, element_dtype

F, I, U = np.float32, np.int32, np.uint32  # noqa: E741
POSSIBLE = (
    "elements are real numbers of 8 to 64 bits, complex64, complex128 and structured dtypes of these; use .astype(...)"
)
NESTED = np.dtype([("p", [("x", F), ("y", F)]), ("m", I, (2, 3)), ("n", U)])


@pytest.mark.parametrize(
    "given",
    [
        F, I, U, "f4", "<i4", np.dtype("u4"), np.intc, np.uintc, float, np.int64, np.uint64, np.longlong, np.float16,
        np.int16, np.uint16, np.int8, np.uint8,
    ],
)  # fmt: skip
def test_scalars(given):
    assert element_dtype(given) == np.dtype(given)


def test_structs_keep_their_layout():
    assert element_dtype(NESTED) == NESTED
    holes = np.dtype({"names": ["a", "b"], "formats": [F, I], "offsets": [4, 12], "itemsize": 20})
    assert element_dtype(holes).fields == holes.fields
    assert element_dtype(holes).itemsize == 20
    record = np.dtype((np.record, [("a", F)]))
    assert element_dtype(record).type is np.void
    assert dtype_name(NESTED) == "{p: {x: float32, y: float32}, m: int32[2, 3], n: uint32}"


def test_structs_of_other_sizes():
    aligned = np.dtype([("a", np.int8), ("b", np.uint16), ("c", F), ("d", np.float64), ("e", np.float16)], align=True)
    assert element_dtype(aligned) == aligned
    assert [aligned.fields[n][1] for n in "abcde"] == [0, 2, 4, 8, 16]


def test_bool(refused):
    advice = "is not an element type: use int32 or int8, such as a.astype(np.int8)"
    with refused(AmpError, f"bool {advice}"):
        element_dtype(bool)
    with refused(AmpError, f"member 'b': bool {advice}"):
        element_dtype([("a", F), ("b", np.bool_)])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (object, "object"),
        ("U3", "str96"),
        ("S4", "bytes32"),
        (np.clongdouble, np.dtype(np.clongdouble).name),
        ("V8", "void64"),
    ],
)
def test_no_element_types(refused, given, name):
    with refused(TypeError, f"{name} is not an element type: {POSSIBLE}"):
        element_dtype(given)


@pytest.mark.parametrize(("given", "name"), [("M8[s]", "datetime64[s]"), ("m8[ns]", "timedelta64[ns]")])
def test_times(refused, given, name):
    with refused(TypeError, f"{name} is not an element type: use its int64 numbers, .astype(np.int64)"):
        element_dtype(given)


def test_nonsense(refused):
    with refused(TypeError, f"'no such type' is not an element type: {POSSIBLE}"):
        element_dtype("no such type")
    with refused(TypeError, "float32[3] is not an element type: put the extra dimensions in the extent"):
        element_dtype((F, (3,)))


def test_byte_order(refused):
    order = ">" if np.little_endian else "<"
    with refused(
        TypeError,
        f"float32 elements of type '{order}f4' are not in native byte order: write a.astype(a.dtype.newbyteorder('='))",
    ):
        element_dtype(order + "f4")


def test_struct_rules(refused):
    def struct(names, formats, offsets, itemsize):
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize})

    with refused(TypeError, "the structured dtype has no members"):
        element_dtype(np.dtype([]))
    with refused(TypeError, "member 'b' is at byte 5: members are 4-byte aligned: write align=True"):
        element_dtype(struct(["a", "b"], [F, F], [0, 5], 12))
    with refused(TypeError, "the structured dtype has 10 bytes: the size must be a multiple of 4"):
        element_dtype(struct(["a", "b"], [F, F], [0, 4], 10))
    with refused(TypeError, "member 'b' is at byte 4: float64 members are 8-byte aligned: write align=True"):
        element_dtype([("a", F), ("b", np.float64)])
    with refused(TypeError, "member 'b' is at byte 1: uint16 members are 2-byte aligned: write align=True"):
        element_dtype(struct(["a", "b"], [np.int8, np.uint16], [0, 1], 4))
    with refused(TypeError, "the structured dtype has 12 bytes: the size must be a multiple of 8"):
        element_dtype(struct(["a", "b"], [np.int64, F], [0, 8], 12))
    with refused(TypeError, "the structured dtype has 3 bytes: the size must be a multiple of 4"):
        element_dtype([("r", np.uint8), ("g", np.uint8), ("b", np.uint8)])
    apart = "members must be in ascending order and must not overlap"
    with refused(TypeError, f"member 'b' at byte 0 overlaps or precedes 'a': {apart}"):
        element_dtype(struct(["a", "b"], [F, I], [0, 0], 4))
    with refused(TypeError, f"member 'b' at byte 0 overlaps or precedes 'a': {apart}"):
        element_dtype(struct(["a", "b"], [F, I], [4, 0], 8))


class TestConvert:
    def test_an_array_of_the_type_is_not_copied(self):
        a = np.arange(6, dtype=F)
        assert convert(a, np.dtype(F)) is a
        assert convert(a, None).dtype == F

    def test_same_kind(self, refused):
        assert convert(np.array([1.5, 2.5]), np.dtype(F)).dtype == F
        assert convert(np.arange(3), np.dtype(I)).tolist() == [0, 1, 2]
        assert convert(np.arange(3), np.dtype(F)).dtype == F
        assert convert(np.array([True]), np.dtype(I)).tolist() == [1]
        with refused(
            TypeError,
            "data of type float64 does not convert to int32: write .astype(np.int32)",
        ):
            convert(np.array([1.5]), np.dtype(I))
        with refused(
            TypeError,
            "data of type int64 does not convert to uint32: write .astype(np.uint32)",
        ):
            convert(np.arange(3, dtype=np.int64), np.dtype(U))
        with refused(TypeError, "data of type {x: float32} does not convert to {x: int32}"):
            convert(np.zeros(1, [("x", F)]), np.dtype([("x", I)]))

    def test_range(self, refused):
        with refused(OverflowError, "5000000000 does not fit int32"):
            convert(np.array([1, 5_000_000_000]), np.dtype(I))
        with refused(OverflowError, "-1 does not fit uint32"):
            convert([1, -1], np.dtype(U))
        with refused(OverflowError, "2147483648 does not fit int32"):
            convert([2**31], None)

    def test_plain_numbers_are_weak(self, refused):
        assert convert([1, 2], None).dtype == I
        assert convert([[1, 2.5]], None).dtype == F
        assert convert([1, 2**32 - 1], np.dtype(U)).tolist() == [1, 2**32 - 1]
        assert convert([1, 2], np.dtype(F)).dtype == F
        assert convert(iter([1, 2]), np.dtype(I)).tolist() == [1, 2]
        with refused(TypeError, "data of type float64 does not convert to int32: write .astype(np.int32)"):
            convert([1.5], np.dtype(I))
        with refused(TypeError, f"str96 is not an element type: {POSSIBLE}"):
            convert(["abc"], None)
        with refused(AmpError, "bool is not an element type: use int32 or int8, such as a.astype(np.int8)"):
            convert([True], None)

    def test_structs(self):
        wanted = np.dtype([("x", F), ("n", I)])
        assert convert([(1.5, 2), (3, 4)], wanted).tolist() == [(1.5, 2), (3.0, 4)]

    def test_masked(self, refused):
        with refused(TypeError, "data is a masked array: write .filled(value)"):
            convert(np.ma.zeros(3, F), np.dtype(F))


def test_convert_scalar(refused):
    assert convert_scalar(3, np.dtype(F)) == 3.0
    assert convert_scalar(np.int64(3), np.dtype(U)).dtype == U
    with refused(TypeError, "a value of type float64 does not convert to int32"):
        convert_scalar(1.5, np.dtype(I))
    with refused(OverflowError, "-1 does not fit uint32"):
        convert_scalar(-1, np.dtype(U))
    with refused(TypeError, "an element takes one value, got an array of shape (2,)"):
        convert_scalar([1, 2], np.dtype(I))
