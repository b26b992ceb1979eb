"""array: construction, properties, host access."""

from __future__ import annotations

import copy
import operator
import pickle
import weakref

import numpy as np
import pytest

from vkamp import (
    access_type_auto,
    access_type_none,
    access_type_read,
    access_type_read_write,
    array,
    array_view,
    extent,
    float32,
    int32,
    struct,
    uint32,
)
from vkamp.errors import AmpError, OutOfMemoryError, UnsupportedFeatureError
from vkamp.lang.container import bindable, use_of

RAW = np.arange(15, dtype=np.float32).reshape(3, 5)


class TestConstruction:
    def test_without_data(self, location):
        a = array(extent(3, 5), float32)
        assert a.extent == (3, 5)
        assert (a.rank, a.dtype, len(a)) == (2, np.dtype(np.float32), 3)
        assert a.accelerator_view is location
        assert a.associated_accelerator_view is location
        assert a.cpu_access_type == access_type_none
        assert np.asarray(a).shape == (3, 5)
        assert repr(a) == "array(extent(3, 5), float32)"
        assert location.moved() == (0, 60)

    @pytest.mark.parametrize(
        "data",
        [
            RAW,
            RAW.ravel(),
            RAW.tolist(),
            RAW.ravel().tolist(),
            range(15),
            iter(range(15)),
            RAW.astype(np.float64),
            RAW.astype(np.int64),
            RAW[:, ::-1][:, ::-1],
            np.asfortranarray(RAW),
        ],
    )
    def test_data(self, data):
        a = array(extent(3, 5), float32, data)
        np.testing.assert_array_equal(np.asarray(a), RAW)
        assert np.asarray(a).dtype == np.float32

    def test_type_of_the_data(self):
        assert array(extent(3, 5), data=RAW).dtype == np.float32
        assert array(extent(3), data=[1, 2, 3]).dtype == np.int32
        assert array(extent(3), data=[1, 2.5, 3]).dtype == np.float32

    def test_other_spellings_of_the_extent(self):
        assert array((3, 5), int32).extent == (3, 5)
        assert array(7, int32).extent == (7,)
        assert array(extent(3, 5).tile(1, 5), int32).extent == (3, 5)

    def test_from_containers(self, location, other):
        a = array(extent(3, 5), data=RAW, accelerator_view=other)
        b = array(a)
        assert b.accelerator_view is other
        assert array(a, accelerator_view=location).accelerator_view is location
        array_view(a)[0, 0] = 50
        assert np.asarray(b)[0, 0] == 0
        c = array(array_view(a).section(1, 2, 2, 3))
        assert c.accelerator_view is location
        np.testing.assert_array_equal(np.asarray(c), RAW[1:, 2:])
        for d in (copy.copy(a), copy.deepcopy(a)):
            assert d.accelerator_view is other
            assert np.asarray(d)[0, 0] == 50
        np.testing.assert_array_equal(np.asarray(array(extent(15), float32, b.view_as(15))), RAW.ravel())

    def test_data_without_the_class_of_its_structs(self):
        @struct
        class Pair:
            a: int32
            b: float32

        plain = np.ones(5, [("a", np.int32), ("b", np.float32)])
        for made in (
            array(extent(5), Pair, plain),
            array(extent(5), Pair, array(plain)),
            array(plain, Pair),
        ):
            assert made.dtype.type is Pair.dtype.type
            assert np.asarray(made).tolist() == plain.tolist()

    def test_structs(self):
        point = np.dtype([("x", np.float32), ("n", np.int32, (2,))])
        a = array(extent(2), point, [(1.5, (2, 3)), (4, (5, 6))])
        assert np.asarray(a)["n"].tolist() == [[2, 3], [5, 6]]
        assert repr(a) == f"array(extent(2), {point})"
        record = np.zeros(3, point).view(np.recarray)
        assert array(extent(3), data=record).dtype == point

    def test_extents(self, refused):
        for shape, dimension, size in (((0,), 0, 0), ((3, -1), 1, -1), ((-2, 0), 0, -2)):
            with refused(
                AmpError,
                f"{extent(shape)!r}: component {dimension} is {size}, but a container has at least 1 element "
                "in every dimension: skip the launch if there is no data",
            ):
                array(extent(shape), float32)
        with pytest.raises(AmpError):
            array(extent(2**31 - 1).tile(4).pad(), float32)
        with pytest.raises(UnsupportedFeatureError, match="containers have rank 1 to"):
            array(extent([1] * 128), float32)

    def test_sizes(self, refused, new_location):
        for data, given in ((range(16), "16 elements"), ([1], "1 element"), ([], "0 elements")):
            with refused(AmpError, f"data has {given}, but extent(3, 5) needs 15"):
                array(extent(3, 5), float32, data)
        with refused(AmpError, "data has shape (5, 3), not (3, 5); a flat array also works"):
            array(extent(3, 5), float32, RAW.T)
        with refused(OutOfMemoryError, "60 bytes wanted, 59 there"):
            array(extent(3, 5), float32, accelerator_view=new_location(capacity=59))
        huge = 2**31 - 1
        with refused(
            OutOfMemoryError,
            f"extent({huge}, {huge}, {huge}) of 4-byte elements needs {4 * huge**3} bytes",
        ):
            array(extent(huge, huge, huge), float32)

    def test_arguments(self, refused):
        with refused(TypeError, "array(extent) needs a dtype or data"):
            array(extent(3))
        begins = "array takes its extent first: write array(extent(...), dtype, data)"
        with refused(TypeError, begins):
            array(RAW, int32, RAW)
        with refused(TypeError, f"{begins}, or array(np.array(...)) for an array of given elements"):
            array([1.5, 2.5])
        with refused(
            TypeError, "array(extent) needs a dtype or data; an array of given elements is array(np.array(...))"
        ):
            array([1, 2, 3])
        with refused(TypeError, "array(array_or_view) copies type and contents: pass neither dtype nor data"):
            array(array(extent(3), float32), int32)
        with refused(OverflowError, "-1 does not fit uint32"):
            array(extent(2), uint32, [1, -1])

    def test_cpu_access_type(self, refused, cpu):
        assert array(extent(3), int32, cpu_access_type=access_type_none).cpu_access_type == 0
        assert array(extent(3), int32, accelerator_view=cpu).cpu_access_type == (access_type_read_write)
        for wanted, name in ((access_type_read, "read"), (access_type_read_write, "read_write")):
            with refused(
                AmpError,
                f"cpu_access_type {name}: the accelerator shares no memory with the host",
            ):
                array(extent(3), int32, cpu_access_type=wanted)
        with refused(TypeError, "cpu_access_type must be an access_type, got 1"):
            array(extent(3), int32, cpu_access_type=1)
        assert access_type_auto != access_type_read_write

    def test_staging(self, location, other, cpu):
        a = array(extent(3), int32, accelerator_view=cpu, associated_accelerator_view=location)
        assert a.accelerator_view is cpu
        assert a.associated_accelerator_view is location
        b = array(extent(3), int32, accelerator_view=location, associated_accelerator_view=other)
        assert b.associated_accelerator_view is location


class TestHostAccess:
    def test_asarray_is_a_copy(self, location):
        a = array(extent(3, 5), data=RAW)
        seen = np.asarray(a)
        seen[0, 0] = 99
        assert np.asarray(a)[0, 0] == 0
        assert seen.flags.c_contiguous
        assert np.asarray(a, dtype=np.float64).dtype == np.float64
        assert np.array(a).flags.writeable
        assert location.moved() == (60, 60 * 4)

    def test_no_copy_is_refused(self, refused):
        a = array(extent(3, 5), data=RAW)
        with refused(ValueError, "an array's elements are on a device: access needs a copy"):
            a.__array__(copy=False)

    def test_subscripts_on_a_device(self, refused):
        a = array(extent(3, 5), data=RAW)
        message = (
            "array(extent(3, 5), float32) is on a device and has no host subscripts: "
            "use np.asarray(a), copy(a, dest) or array_view(a)"
        )
        for use in (lambda: a[0, 0], lambda: a[0], lambda: a.__setitem__((0, 0), 1)):
            with refused(AmpError, message):
                use()
        with refused(
            TypeError,
            "array(extent(3, 5), float32) is not iterable: iterate over np.asarray(a)",
        ):
            iter(a)

    def test_subscripts_on_the_cpu(self, cpu):
        a = array(extent(3, 5), data=RAW, accelerator_view=cpu)
        a[1, 2] = 70
        assert a[1, 2] == 70
        assert a[1][2] == 70
        assert np.asarray(a)[1, 2] == 70

    def test_data(self, refused, cpu):
        assert array(extent(3), int32).data() is None
        with refused(TypeError, "data() needs rank 1, but array(extent(3, 5), int32) has rank 2"):
            array(extent(3, 5), int32).data()
        a = array(extent(3), data=[1, 2, 3], accelerator_view=cpu)
        a.data()[1] = 20
        assert np.asarray(a).tolist() == [1, 20, 3]

    def test_pickle(self, refused):
        a = array(extent(3), int32)
        for it, name in ((a, "array"), (array_view(a), "array_view")):
            with refused(
                TypeError,
                f"{name} cannot be pickled: send np.array(...) of it and make a new one",
            ):
                pickle.dumps(it)


class TestViews:
    def test_section(self):
        a = array(extent(3, 5), data=RAW)
        s = a.section(1, 1, 2, 3)
        np.testing.assert_array_equal(np.asarray(s), RAW[1:, 1:4])
        s[0, 0] = -1
        assert np.asarray(a)[1, 1] == -1

    def test_reinterpret_and_view_as_at_any_rank(self, refused):
        a = array(extent(3, 5), data=RAW)
        assert a.reinterpret_as(np.uint32).extent == (15,)
        np.testing.assert_array_equal(np.asarray(a.view_as(extent(2, 7))), RAW.ravel()[:14].reshape(2, 7))
        with refused(AmpError, "extent(4, 4) has 16 elements, the source only 15"):
            a.view_as(extent(4, 4))
        with refused(AmpError, "60 bytes are not a whole number of 8-byte elements"):
            a.reinterpret_as([("x", np.float32), ("y", np.float32)])


class TestLaunch:
    def test_a_kernel_sees_and_writes_it(self, location, launch):
        a = array(extent(3, 5), data=RAW)
        location.moved()

        def double(v):
            v *= 2

        launch(location, double, a)
        launch(location, double, a)
        assert location.moved() == (0, 0)
        np.testing.assert_array_equal(np.asarray(a), RAW * 4)

    def test_another_accelerator_view(self, refused, other):
        a = array(extent(3, 5), float32)
        with refused(
            AmpError,
            "array(extent(3, 5), float32) is on another accelerator_view than the launch: capture array_view(a)",
        ):
            use_of(a, other, reads=True, writes=False)

    def test_descriptor(self, location):
        a = array(extent(3, 5), float32)
        d = bindable(a).acquire(location, read=True, write=False)
        assert (d.offset_elements, d.shape, d.strides_elements) == (0, (3, 5), (5, 1))
        assert bindable(a).acquire(location, read=True, write=True) is d
        assert bindable(array_view(a)).acquire(location, read=True, write=False).home_id == d.home_id
        assert bindable(array(a)).acquire(location, read=True, write=False).home_id != d.home_id

    def test_dropped_while_in_use(self, location, launch):
        a = array(extent(3, 5), data=RAW)
        seen = []
        launch(location, lambda v: seen.append(v.copy()), a)
        del a
        location.run()
        np.testing.assert_array_equal(seen[0], RAW)

    def test_equality(self):
        a, view = array(extent(3, 5), data=RAW), array_view(RAW.copy())
        for other in (array(a), view, 3, 2.5, [1]):
            for compare in (operator.eq, operator.ne):
                with pytest.raises(TypeError, match=r"does not compare the elements of arrays: write np.asarray\(a\)"):
                    compare(a, other)
        assert a != "text" and weakref.WeakKeyDictionary({a: 1})[a] == 1
        assert {a: 1, view: 2}[a] == 1 and a in [view, a][1:]
        np.testing.assert_array_equal(a == RAW, RAW == RAW)
        np.testing.assert_array_equal(RAW != a, RAW != RAW)

    def test_transposed(self, location, launch):
        a, view = array(extent(3, 5), data=RAW), array_view(RAW.copy())[:, 1:4:2]
        assert a.T.extent == (5, 3) and a.T.T[2, 4] == RAW[2, 4]
        np.testing.assert_array_equal(a.T, RAW.T)
        np.testing.assert_array_equal(view.T, RAW[:, 1:4:2].T)
        a.T[4, 1] = 99
        assert np.asarray(a)[1, 4] == 99
        three = array(extent(2, 3, 4), data=np.arange(24, dtype=np.float32).reshape(2, 3, 4))
        np.testing.assert_array_equal(three.T, np.asarray(three).T)
