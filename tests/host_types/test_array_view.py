"""array_view: construction, host subscripts, sections and the like."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

from vkamp import access_type, array, array_view, extent, float2, float32, index, int32, tiled_index, uint32
from vkamp.errors import AmpError
from vkamp.lang.container import bindable

POINT = np.dtype([("x", np.float32), ("n", np.int32), ("m", np.float32, (2, 3)), ("q", [("z", np.uint32)])])


@pytest.fixture
def raw():
    return np.arange(15, dtype=np.float32).reshape(3, 5)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("shape", ": write .extent"),
        ("size", ": write .extent.size()"),
        ("sum", ": write vkamp.algorithms.sum(a), or on the host np.asarray(...).sum"),
        ("byteswap", ": write np.asarray(...).byteswap"),
        ("fill", ": write vkamp.algorithms.fill(a, value)"),
        ("sort", ": write vkamp.algorithms.sort(a), or on the host np.sort(...)"),
        ("put", ": write b = np.array(...), b.put(...) and amp.copy(b, a)"),
        ("numpy", ": write np.asarray(...)"),
        ("nothing", ""),
        ("__array_interface__", ": write np.asarray(...)"),
    ],
)
def test_attributes_of_numpy_are_named(raw, name, instead):
    with pytest.raises(AttributeError) as caught:
        getattr(array_view(raw), name)
    assert str(caught.value) == f"'array_view' object has no attribute {name!r}{instead}"
    assert not hasattr(array(extent(3), float32), name)


def test_whole_containers_are_not_changed_by_operators(raw):
    for container in (array_view(raw), array(extent(3, 5), float32)):
        kept = container
        for other in (raw, np.float32(1), 1, kept):
            with pytest.raises(TypeError, match=r"`\+=` does not change the elements of an array.*: write amp.copy"):
                container += other
            with pytest.raises(TypeError, match=r"`@=` does not change"):
                container @= other
        assert container is kept
        with pytest.raises(TypeError, match="`-` does not work on a whole array"):
            operator.neg(container)
        with pytest.raises(
            TypeError, match=r"np.add does not store in an array.*: write amp.copy\(np.add\(...\), out\)"
        ):
            np.add(raw, raw, out=container)


class TestConstruction:
    def test_whole(self, raw, cpu):
        v = array_view(raw)
        assert v.extent == (3, 5)
        assert (v.rank, v.dtype, len(v), v.readonly) == (2, np.dtype(np.float32), 3, False)
        assert v.source_accelerator_view is cpu
        assert repr(v) == "array_view(extent(3, 5), float32)"
        assert repr(array_view(raw, readonly=True)) == ("array_view(extent(3, 5), float32, readonly=True)")

    def test_with_an_extent(self, raw, refused):
        np.testing.assert_array_equal(np.asarray(array_view(raw, extent(2, 7))), raw.ravel()[:14].reshape(2, 7))
        assert array_view(raw, extent(3, 5)).extent == (3, 5)
        assert array_view(raw.ravel(), 4).extent == (4,)
        assert array_view(raw.T, (5, 3)).extent == (5, 3)
        with refused(AmpError, "extent(4, 4) has 16 elements, the source only 15"):
            array_view(raw, extent(4, 4))
        with refused(
            TypeError,
            "a view of a prefix needs a contiguous ndarray: write array_view(a) and .section(...)",
        ):
            array_view(raw.T, extent(14))

    def test_strided(self, raw):
        for source in (raw[:, ::2], raw.T, raw[::-1, ::-1], raw[1:, 1], raw[:1]):
            v = array_view(source)
            np.testing.assert_array_equal(np.asarray(v), source)
            v[(0,) * v.rank] = -5
            assert source[(0,) * source.ndim] == -5

    def test_prefix_of_a_strided_row(self, raw):
        v = array_view(raw[:, 1], extent(2))
        np.testing.assert_array_equal(np.asarray(v), [1, 6])
        np.testing.assert_array_equal(np.asarray(array_view(raw[0, ::2]).view_as((1, 3))), [[0, 2, 4]])

    def test_over_containers(self, raw, location, refused):
        a = array(extent(3, 5), data=raw)
        v = array_view(a)
        assert v.source_accelerator_view is location
        assert array_view(v).extent == (3, 5)
        assert array_view(a, extent(7, 2)).extent == (7, 2)
        r = array_view(v, readonly=True)
        assert r.readonly
        assert r.section(0, 0, 1, 1).readonly
        assert r[0].readonly
        with refused(
            TypeError,
            "array_view(extent(3, 5), float32, readonly=True) is read-only: write array_view(..., readonly=True)",
        ):
            array_view(r)
        with refused(TypeError, "view_as needs rank 1, but array_view(extent(3, 5), float32) has rank 2"):
            v.view_as(15)

    def test_without_a_source(self, cpu, refused):
        v = array_view(extent(3, 5), float32)
        assert v.source_accelerator_view is cpu
        v[2, 4] = 7
        assert v[2, 4] == 7
        assert array_view(extent(3), dtype=int32).dtype == np.int32
        with refused(TypeError, "array_view(extent(3), ...) without a source needs a dtype"):
            array_view(extent(3))
        with refused(TypeError, "a read-only view without a source would never hold a value"):
            array_view(extent(3), int32, readonly=True)
        with refused(
            AmpError,
            "extent(3, 0): component 1 is 0, but a container has at least 1 element in every dimension: "
            "skip the launch if there is no data",
        ):
            array_view(extent(3, 0), int32)

    def test_read_only_sources(self, raw, refused):
        raw.flags.writeable = False
        with refused(TypeError, "the ndarray is read-only: write array_view(a, readonly=True)"):
            array_view(raw)
        v = array_view(raw, readonly=True)
        assert v[1, 1] == 6
        with refused(TypeError, "array_view(extent(3, 5), float32, readonly=True) is read-only"):
            v[1, 1] = 0

    def test_overlapping_elements(self, raw, refused):
        wide = np.broadcast_to(raw[0], (4, 5))
        assert array_view(wide, readonly=True)[3, 4] == 4
        sliding = np.lib.stride_tricks.sliding_window_view(raw.ravel(), 4, writeable=True)
        assert array_view(sliding, readonly=True)[11, 3] == 14
        with refused(TypeError, "elements of the ndarray overlap: write array_view(a, readonly=True)"):
            array_view(sliding)

    def test_wrong_sources(self, raw, refused):
        with refused(
            TypeError,
            "array_view takes an ndarray, array, array_view or extent, got list: "
            "write np.array(...) and keep the result",
        ):
            array_view([1, 2, 3])
        with refused(TypeError, "dtype is for an extent only; elements keep the source's type"):
            array_view(raw, dtype=int32)
        with refused(AmpError, "a 0-dimensional ndarray has no extent: write array_view(a.reshape(1))"):
            array_view(np.array(1.5, np.float32))
        with refused(
            AmpError,
            "extent(0, 4): component 0 is 0, but a container has at least 1 element in every dimension: "
            "skip the launch if there is no data",
        ):
            array_view(np.zeros((0, 4), np.float32))
        with refused(AmpError, "bool is not an element type: use int32 or int8, such as a.astype(np.int8)"):
            array_view(np.zeros(3, bool))
        with refused(
            TypeError,
            "array_view of a masked array would lose the mask: write .filled(value)",
        ):
            array_view(np.ma.zeros(3, np.float32))
        with refused(TypeError, "member 'b' is at byte 1: float64 members are 8-byte aligned: write align=True"):
            array_view(np.zeros(3, [("a", np.int8), ("b", np.float64)]))

    def test_odd_strides(self):
        record = np.zeros(4, [("pad", np.float32), ("pair", [("x", np.float32), ("y", np.float32)])])
        pairs = array_view(record["pair"])
        record["pair"]["y"][2] = 7
        assert pairs[2].y == 7
        record["pad"][2] = 5
        assert array_view(record["pad"])[2] == 5

    def test_unaligned_memory(self):
        memory = np.zeros(41, np.uint8)
        odd = memory[1:].view(np.float32)
        odd[:] = range(10)
        assert array_view(odd)[9] == 9

    def test_subclasses(self, raw):
        assert array_view(raw.view(type("Grid", (np.ndarray,), {}))).extent == (3, 5)
        assert array_view(np.zeros(3, POINT).view(np.recarray)).dtype == POINT


OUTSIDE = [
    ((0, -1), "(0, -1) is outside extent(3, 5): negative subscripts do not count from the end in dimension 1"),
    ((3, 0), "(3, 0) is outside extent(3, 5): the last position is 2 in dimension 0"),
    (index(0, 5), "(0, 5) is outside extent(3, 5): the last position is 4 in dimension 1"),
]


class TestSubscripts:
    def test_reading_and_writing(self, raw):
        v = array_view(raw)
        assert v[1, 2] == v[index(1, 2)] == v[1][2] == 7
        assert isinstance(v[1, 2], np.float32)
        v[1, 2] = 70
        v[index(0, 0)] = np.float64(1.5)
        v[2][4] = 9
        v[tiled_index((2, 0), (0, 0), (0, 0), (0, 0), (1, 1))] = -3
        assert raw[1, 2] == 70
        assert raw[0, 0] == 1.5
        assert raw[2, 4] == 9
        assert raw[2, 0] == -3
        v[np.int64(0), np.uint8(1)] = 4
        assert raw[0, 1] == 4

    def test_rank_1(self, raw):
        v = array_view(raw[0])
        assert v[4] == v[index(4)] == v[(4,)] == 4
        v[0] += 2
        assert raw[0, 0] == 2
        assert list(v) == [2, 1, 2, 3, 4]
        assert [row.extent for row in array_view(raw)] == [(5,)] * 3

    @pytest.mark.parametrize(("key", "shown"), OUTSIDE)
    def test_outside(self, raw, refused, key, shown):
        v = array_view(raw)
        with refused(IndexError, f"index {shown}"):
            v[key]
        with refused(IndexError, f"index {shown}"):
            v[key] = 1

    def test_outside_rank_1(self, raw, refused):
        with refused(IndexError, "index -1 is outside extent(5): negative subscripts do not count from the end"):
            array_view(raw[0])[-1]

    def test_slices(self, raw, refused):
        v = array_view(raw)
        for key in (
            np.s_[1:],
            np.s_[:, 1],
            np.s_[0:3:2, 1:5:3],
            np.s_[2, 2:4],
            np.s_[:],
            np.s_[np.int64(1) :, 4:5],
            np.s_[::-1, 4:1:-2],
            np.s_[:-1, -3:],
            np.s_[-1:, -4:-1:2],
            np.s_[-1:-3:-1, -1::-2],
        ):
            assert isinstance(v[key], array_view)
            np.testing.assert_array_equal(np.asarray(v[key]), raw[key])
        v[1:, 2:][1, 2] = 99
        assert raw[2, 4] == 99
        for key, shown in ((np.s_[-4:], "-4:3"), (np.s_[:-4], "0:-4"), (np.s_[0:4], "0:4"), (np.s_[3:], "3:3")):
            with refused(AmpError, f"slice of extent(3, 5), dimension 0: {shown} is not inside 0:3"):
                v[key]
        with refused(AmpError, "slice of extent(3, 5), dimension 1: 2:2 is empty"):
            v[:, 2:2]
        with refused(AmpError, "slice of extent(3, 5), dimension 1: -1:-3 is empty"):
            v[:, -1:-3]
        with refused(AmpError, "slice of extent(3, 5), dimension 0: step 0"):
            v[::0]
        with refused(AmpError, "slice of extent(3, 5), dimension 0: 0:2 is empty"):
            v[0:2:-1]
        with refused(IndexError, "index 5 is outside dimension 1 of extent(3, 5)"):
            v[1:, 5]
        with refused(
            IndexError, "index -1 is outside dimension 1 of extent(3, 5): negative subscripts do not count from the end"
        ):
            v[1:, -1]
        with refused(TypeError, "subscripts next to a slice must be integers or slices, got float"):
            v[1:, 1.0]
        with refused(TypeError, "extent(3, 5) has rank 2, got 3 subscripts"):
            v[:, :, :]

    @pytest.mark.parametrize("row", [-1, 3])
    def test_projection_outside(self, raw, refused, row):
        hint = ": negative subscripts do not count from the end" if row < 0 else ""
        with refused(AmpError, f"projection {row} is outside dimension 0 of extent(3, 5){hint}"):
            array_view(raw)[row]

    def test_wrong_subscripts(self, raw, refused):
        v = array_view(raw)
        name = "array_view(extent(3, 5), float32)"
        with refused(TypeError, f"{name} has rank 2 and takes 2 subscripts, got 3"):
            v[0, 0, 0]
        with refused(TypeError, f"{name} has rank 2 and takes 2 subscripts, got 1"):
            v[index(1)]
        for value, instead in ((0, "vkamp.algorithms.fill({}, value)"), (raw[0], "copy(values, {})")):
            for key, part in ((np.s_[1:], "v[1:]"), (np.s_[:, 2::-1], "v[:, 2::-1]"), (1, "v[1]")):
                with refused(TypeError, f"{name} assigns single elements: write {instead.format(part)}"):
                    v[key] = value
        for key, kind in ((..., "ellipsis"), ((0, 1.0), "float"), (raw > 1, "ndarray")):
            with refused(
                TypeError,
                f"subscripts of {name} are integers or an index, not {kind}: "
                "use np.asarray(...), an ndarray, for numpy's subscripts",
            ):
                v[key]

    def test_values_that_do_not_fit(self, refused):
        v = array_view(np.zeros(3, np.int32))
        with refused(TypeError, "a value of type float64 does not convert to int32"):
            v[0] = 1.5
        with refused(OverflowError, "2147483648 does not fit int32"):
            v[0] = 2**31
        with refused(TypeError, "an element takes one value, got an array of shape (2,)"):
            v[0] = [1, 2]
        v[0] = True
        assert v[0] == 1


class TestStructElements:
    @pytest.fixture
    def points(self):
        return np.zeros((2, 3), POINT)

    def test_members(self, points, refused):
        v = array_view(points)
        e = v[1, 2]
        e.x = 1.5
        e["n"] = 3
        e.m[1, 2] = 4
        e.q.z = 5
        assert points[1, 2]["x"] == 1.5
        assert points[1, 2]["n"] == 3
        assert points[1, 2]["m"].tolist() == [[0, 0, 0], [0, 0, 4]]
        assert points[1, 2]["q"]["z"] == 5
        assert (e.x, e["n"], e.m[1, 2], e.q.z) == (1.5, 3, 4, 5)
        v[1, 2].m = np.ones((2, 3))
        assert points[1, 2]["m"].sum() == 6
        with refused(AttributeError, "no member 'y' in " + str_of(POINT)):
            _ = e.y
        with refused(AttributeError, "no member 'y' in " + str_of(POINT)):
            e.y = 1
        with pytest.raises(KeyError):
            e["y"]
        with refused(TypeError, "a value of type float64 does not convert to int32"):
            e.n = 1.5
        with refused(IndexError, "(2, 0) is outside float32[2, 3]"):
            e.m[2, 0]
        with refused(TypeError, "float32[2, 3] takes 2 subscripts"):
            e.m[1]
        with refused(TypeError, "subscripts of float32[2, 3] are integers"):
            e.m[1, 1.0]
        with refused(TypeError, f"{str_of(POINT)} takes no subscripts"):
            e[0]

    def test_whole_elements(self, points):
        v = array_view(points)
        v[0, 0] = (1.5, 2, np.ones((2, 3)), (7,))
        v[1, 1] = v[0, 0]
        v[1, 2] = points[0, 0]
        assert points[1, 1] == points[0, 0] == points[1, 2]
        assert v[1, 1] == v[0, 0]
        assert v[1, 1] != v[0, 1]
        assert v[1, 1] == points[0, 0]
        assert np.asarray(v[1, 1].m).shape == (2, 3)
        assert len(v[1, 1]) == 4
        assert len(v[1, 1].m) == 2
        assert repr(v[1, 1]) == repr(points[1, 1])
        copied = v[1, 1].item()
        v[1, 1].x = 9
        assert copied["x"] == 1.5

    def test_read_only(self, points, refused):
        v = array_view(points, readonly=True)
        with refused(TypeError, f"{v!r} is read-only"):
            v[0, 0].x = 1

    def test_writes_reach_the_device(self, points, location, launch):
        v = array_view(points)
        launch(location, lambda d: d["x"].fill(2), v)
        v[0, 1].n = 8
        launch(location, lambda d: np.add(d["x"], d["n"], out=d["x"]), v)
        assert v[0, 1].x == 10
        assert v[1, 1].x == 2


def str_of(dtype):
    from vkamp.lang.dtypes import dtype_name

    return dtype_name(dtype)


class TestSection:
    def test_forms(self, raw):
        v = array_view(raw)
        for s in (
            v.section(index(1, 2), extent(2, 3)),
            v.section((1, 2), (2, 3)),
            v.section(index(1, 2)),
            v.section(1, 2, 2, 3),
        ):
            np.testing.assert_array_equal(np.asarray(s), raw[1:, 2:])
        np.testing.assert_array_equal(np.asarray(v.section(extent(2, 2))), raw[:2, :2])
        np.testing.assert_array_equal(np.asarray(array_view(raw[0]).section(1, 2)), [1, 2])

    def test_nesting_is_parent_relative(self, raw):
        s = array_view(raw).section(index(1, 1)).section(1, 1, 1, 2)
        np.testing.assert_array_equal(np.asarray(s), raw[2:, 2:4])
        s[0][1] = 77
        assert raw[2, 3] == 77

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            ((0, 0, 0, 1), "dimension 0: length 0 is below 1"),
            ((0, 0, 1, -1), "dimension 1: length -1 is below 1"),
            ((-1, 0, 1, 1), "dimension 0: origin -1 is outside"),
            ((0, 5, 1, 1), "dimension 1: origin 5 is outside"),
            ((1, 0, 3, 1), "dimension 0: 1 + 3 is past the end"),
            ((index(3, 0),), "dimension 0: origin 3 is outside"),
            ((extent(3, 6),), "dimension 1: 0 + 6 is past the end"),
            ((0, 1, 1, 2**31 - 1), "dimension 1: 1 + 2147483647 is past the end"),
        ],
    )
    def test_outside(self, raw, refused, args, message):
        with refused(AmpError, f"section of extent(3, 5), {message}"):
            array_view(raw).section(*args)

    def test_wrong_arguments(self, raw, refused):
        v = array_view(raw)
        with refused(TypeError, "section of rank 2 takes 4 integers, got 2"):
            v.section(1, 2)
        with refused(TypeError, "section of extent(3, 5) needs an index and an extent of rank 2"):
            v.section(index(1))
        for args, kinds in (((), ""), ((1, extent(2)), "int, extent"), (("a",), "str")):
            with refused(
                TypeError,
                f"section takes (index, extent), (index), (extent) or origin and lengths as integers, got ({kinds})",
            ):
                v.section(*args)


class TestReinterpret:
    def test_types(self, raw):
        v = array_view(raw[0])
        np.testing.assert_array_equal(np.asarray(v.reinterpret_as(uint32)), raw[0].view(np.uint32))
        pair = v.section(1, 4).reinterpret_as([("x", np.float32), ("y", np.float32)])
        assert pair.extent == (2,)
        pair[1].y = 60
        assert raw[0, 4] == 60
        assert array_view(raw[0], readonly=True).reinterpret_as(int32).readonly

    def test_errors(self, raw, refused):
        pair = [("x", np.float32), ("y", np.float32)]
        with refused(AmpError, "20 bytes are not a whole number of 8-byte elements"):
            array_view(raw[0]).reinterpret_as(pair)
        with refused(TypeError, "reinterpret_as needs rank 1, but array_view(extent(3, 5), float32) has rank 2"):
            array_view(raw).reinterpret_as(pair)
        with refused(AmpError, "reinterpret_as needs elements without gaps: copy them to an array"):
            array_view(raw[:, 0]).reinterpret_as(int32)

    def test_not_on_an_element_boundary(self, raw, location):
        v = array_view(raw[0]).section(1, 4).reinterpret_as([("x", np.float32), ("y", np.float32)])
        array_view(raw[0])  # the home begins at the row
        found = bindable(v).acquire(location, read=True, write=True)
        assert (found.packed, found.offset_elements) == (True, 0)
        np.testing.assert_array_equal(found.storage.download(0, 16).view(np.float32), [1, 2, 3, 4])
        found.storage.upload(0, np.arange(20, 24, dtype=np.float32).view(np.uint8))
        bindable(v).written(location)
        np.testing.assert_array_equal(raw[0], [0, 20, 21, 22, 23])

    def test_reshape(self, raw, refused):
        v = array_view(raw)
        for shape in ((15,), (5, 3), (1, -1), (extent(3, 1, 5),), ((-1, 5),)):
            np.testing.assert_array_equal(np.asarray(v.reshape(*shape)), raw.reshape(tuple(v.reshape(*shape).extent)))
        v.reshape(-1)[7] = 99
        assert raw[1, 2] == 99
        assert np.asarray(array(raw).reshape(5, 3)).tolist() == raw.reshape(5, 3).tolist()
        for shape in ((16,), (4, -1), (-1, -1)):
            with pytest.raises(AmpError):
                v.reshape(*shape)
        with refused(AmpError, "the strides do not allow the shape (9,) without a copy: use amp.array(view)"):
            v[:, ::2].reshape(9)

    def test_reshape_of_any_strides(self):
        """As numpy, which makes a copy where ours raises an error."""
        random = np.random.default_rng(5)
        for _ in range(400):
            shape = random.choice([1, 2, 3, 4], random.integers(1, 5))
            whole = np.arange(np.prod(2 * shape), dtype=np.int32).reshape(2 * shape)
            steps = random.choice([1, 2, -1, -2], shape.size)
            parts = (slice(0, n, s) if s == 1 else slice(None, None, s) for n, s in zip(shape, steps, strict=True))
            source = whole[tuple(parts)].transpose(random.permutation(shape.size))
            shape = []
            left = source.size
            while left > 1:
                shape.append(int(random.choice([d for d in range(2, left + 1) if left % d == 0])))
                left //= shape[-1]
            expected = source.reshape(shape or [1])
            if np.shares_memory(expected, whole):
                np.testing.assert_array_equal(np.asarray(array_view(source).reshape(shape or 1)), expected)
            else:
                with pytest.raises(AmpError, match="the strides do not allow"):
                    array_view(source).reshape(shape)

    def test_view_as(self, raw, refused):
        v = array_view(raw.ravel())
        np.testing.assert_array_equal(np.asarray(v.view_as(extent(5, 3))), raw.reshape(5, 3))
        np.testing.assert_array_equal(np.asarray(v.view_as(extent(2, 2))), [[0, 1], [2, 3]])
        with refused(AmpError, "extent(16) has 16 elements, the source only 15"):
            v.view_as(16)


class TestWholeValues:
    def test_asarray_looks_at_home(self, raw):
        v = array_view(raw)
        seen = np.asarray(v)
        assert np.shares_memory(seen, raw)
        assert not seen.flags.writeable
        assert raw.flags.writeable
        mine = np.array(v)
        mine[0, 0] = 50
        assert raw[0, 0] == 0
        assert np.asarray(v, dtype=np.float64).dtype == np.float64
        assert v.__array__(copy=False) is not None

    def test_no_copy_in_another_type(self, raw, refused):
        with refused(ValueError, "an array_view cannot be converted to float64 without a copy"):
            array_view(raw).__array__(np.float64, copy=False)

    def test_numpy_functions(self, raw):
        v = array_view(raw)
        assert np.sum(v) == raw.sum()
        np.testing.assert_array_equal(np.add(v, 1), raw + 1)

    def test_data(self, raw, refused):
        with refused(TypeError, "data() needs rank 1, but array_view(extent(3, 5), float32) has rank 2"):
            array_view(raw).data()
        v = array_view(raw)[1].section(1, 3)
        v.data()[0] = 60
        assert raw[1, 1] == 60
        assert not array_view(raw[0], readonly=True).data().flags.writeable

    def test_data_is_stable(self, location, launch):
        v = array_view(extent(7), int32)
        first = v.data()
        first[:] = 5
        launch(location, lambda d: np.add(d, 1, out=d), v)
        assert v.data().__array_interface__["data"] == first.__array_interface__["data"]
        assert first.tolist() == [6] * 7

    def test_get_ref(self, raw, location, launch):
        v = array_view(raw)
        launch(location, lambda d: d.fill(9), v)
        assert v.get_ref(index(1, 1))[()] == 6
        v.synchronize(access_type.read_write)
        ref = v.get_ref((1, 1))
        assert ref[()] == 9
        ref[...] = 4
        launch(location, lambda d: np.add(d, 1, out=d), v)
        assert v[1, 1] == 5
        assert v[0, 0] == 10
        assert not array_view(raw, readonly=True).get_ref((0, 0)).flags.writeable


def test_copies_of_struct_elements():
    """Copies of an element, and what another process gets, are its value."""
    element = array_view(np.zeros(5, POINT))[1]
    copies = [copy.copy(element), copy.deepcopy(element), pickle.loads(pickle.dumps(element))]
    element.x = 9.0
    assert [made["x"] for made in copies] == [0.0] * 3 and element.x == 9.0


def test_copies_by_the_module_copy():
    """A shallow copy of a view shares its elements; a deep copy has copies of them."""
    views = (
        array_view(np.arange(12, dtype=np.int16).reshape(3, 4)),
        array_view(np.zeros((3, 2), np.float32), dtype=float2),
        array_view(np.zeros(5, POINT)),
        array_view(np.arange(12).astype(np.int32).reshape(3, 4))[::-1, 1::2],
        array_view(np.zeros(3, np.float32), readonly=True),
    )
    for view in views:
        same, own = copy.copy(view), copy.deepcopy(view)
        for made in (same, own):
            assert isinstance(made, array_view) and (made.extent, made.dtype) == (view.extent, view.dtype)
            assert made.readonly == view.readonly
            np.testing.assert_array_equal(np.asarray(made), np.asarray(view))
        assert same.overlaps(view) and not own.overlaps(view)
