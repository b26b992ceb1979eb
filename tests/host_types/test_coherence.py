"""Where copies happen, and where they must not."""

from __future__ import annotations

import numpy as np
import pytest

from vkamp import (
    access_type_auto,
    access_type_read,
    access_type_read_write,
    access_type_write,
    array,
    array_view,
    copy,
    extent,
    float32,
    index,
    int32,
)
from vkamp.errors import OutOfMemoryError
from vkamp.lang.container import bindable, use_of


def fill(value):
    return lambda d, *_: d.fill(value)


def add(value):
    return lambda d, *_: np.add(d, value, out=d)


@pytest.fixture
def raw():
    return np.arange(70, dtype=np.float32).reshape(7, 10)


class TestOneView:
    def test_copies_happen_once(self, raw, location, launch):
        v = array_view(raw)
        launch(location, add(1), v)
        launch(location, add(1), v)
        assert location.moved() == (280, 0)
        assert raw[0, 0] == 0
        assert v[0, 0] == 2
        assert v[6, 9] == 71
        assert raw[6, 9] == 71
        assert location.moved() == (0, 280)
        launch(location, add(1), v)
        assert location.moved() == (0, 0)

    def test_reading_makes_nothing_stale(self, raw, location, launch):
        r = array_view(raw, readonly=True)
        seen = []
        for _ in range(3):
            launch(location, lambda d: seen.append(d.sum()), reads=(r,))
            _ = r[0, 0], np.asarray(r)
        location.run()
        assert seen == [raw.sum()] * 3
        assert location.moved() == (280, 0)

    def test_host_writes_go_up(self, raw, location, launch):
        v = array_view(raw)
        launch(location, add(1), v)
        v[1, 1] = 100
        location.moved()
        launch(location, add(1), v)
        assert v[1, 1] == 101
        assert v[0, 0] == 2

    def test_reads_of_the_host_do_not_go_up(self, raw, location, launch):
        v = array_view(raw)
        launch(location, add(1), v)
        _ = v[0, 0]
        location.moved()
        launch(location, add(1), v)
        assert location.moved() == (0, 0)

    def test_written_kernels_of_a_read_only_view(self, raw, location, refused):
        v = array_view(raw, readonly=True)
        with refused(
            TypeError,
            "array_view(extent(7, 10), float32, readonly=True) is read-only and cannot be written in a kernel",
        ):
            use_of(v, location, reads=True, writes=True)

    def test_is_current(self, raw, location, launch):
        v = array_view(raw)
        assert location not in bindable(v).current_at()
        launch(location, add(1), v)
        assert location in bindable(v).current_at()
        v[0, 0] = 1
        assert location not in bindable(v).current_at()


class TestPrecision:
    def test_interleaved_columns(self, raw, location, launch):
        v = array_view(raw)
        even, odd = array_view(raw[:, ::2]), array_view(raw[:, 1::2])
        launch(location, fill(-1), even)
        launch(location, fill(-2), odd)
        assert even[3, 3] == -1
        assert (raw[:, ::2] == -1).all()
        assert (raw[:, 1::2] >= 0).all()
        assert v[0, 1] == -2
        assert (raw[:, 1::2] == -2).all()

    def test_column_blocks_by_section(self, raw, location, launch):
        v = array_view(raw)
        left, right = v.section(0, 0, 7, 4), v.section(0, 4, 7, 6)
        launch(location, fill(-1), left)
        launch(location, fill(-2), right)
        right.synchronize()
        assert (raw[:, 4:] == -2).all()
        assert (raw[:, :4] >= 0).all()

    def test_synchronize_writes_this_view_only(self, raw, location, launch):
        v = array_view(raw)
        launch(location, fill(-1), v)
        v.section(2, 3, 2, 4).synchronize()
        inside = np.zeros(raw.shape, bool)
        inside[2:4, 3:7] = True
        assert (raw[inside] == -1).all()
        assert (raw[~inside] >= 0).all()

    def test_overlap_through_another_type(self, raw, location, launch):
        flat = array_view(raw.ravel())
        bits = flat.reinterpret_as(np.uint32)
        other_half = flat.section(40, 30).reinterpret_as(np.int32)
        launch(location, fill(0x3F800000), bits.section(0, 40))
        assert other_half[0] == np.float32(40).view(np.int32)
        assert raw[0, 0] == 0
        assert flat.section(39, 1)[0] == 1.0
        assert raw[3, 9] == 1
        assert raw[0, 0] == 0  # only that element
        assert flat[0] == 1.0

    def test_neighbours_of_a_section_are_never_written(self, raw, location, launch):
        v = array_view(raw[:, 2:5])
        launch(location, fill(-1), v)
        raw[:, 5:] = 1000  # not the view's
        raw[:, :2] = 1000
        v.synchronize()
        assert (raw[:, 2:5] == -1).all()
        assert (raw[:, 5:] == 1000).all()
        assert (raw[:, :2] == 1000).all()

    def test_host_writes_beside_device_writes(self, raw, location, launch):
        # Both interleaved in one image, both must survive the next launch.
        even, odd = array_view(raw[:, ::2]), array_view(raw[:, 1::2])
        whole = array_view(raw)
        launch(location, fill(-1), even)
        odd[0, 0] = -2
        odd[6, 4] = -3
        launch(location, add(10), whole)
        location.run()
        assert whole[0, 0] == 9
        assert whole[0, 1] == 8
        assert whole[6, 9] == 7
        assert whole[3, 3] == 43


class TestTopLevelViews:
    def test_same_memory_is_one_home(self, raw, location, launch):
        a, b = array_view(raw), array_view(raw)
        launch(location, add(1), a)
        launch(location, add(1), b)
        assert location.moved() == (280, 0)
        assert a[0, 0] == b[0, 0] == 2

    def test_overlap_in_one_launch(self, raw, location, launch):
        a, b = array_view(raw[:5]), array_view(raw[3:])

        def kernel(x, y):
            x += 1
            y += 1

        launch(location, kernel, a, b)
        ids = {bindable(v).acquire(location, read=True, write=False).home_id for v in (a, b)}
        assert len(ids) == 1
        assert a[4, 0] == b[1, 0] == 42
        assert a[0, 0] == 1
        assert b[3, 0] == 61

    def test_joining_keeps_device_writes(self, raw, location, launch):
        a = array_view(raw[1:4])
        launch(location, fill(-1), a)
        b = array_view(raw[3:])
        c = array_view(raw[:2])
        launch(location, add(1), b)
        launch(location, add(1), c)
        assert b[0, 0] == 0
        assert c[1, 0] == 0
        assert a[1, 0] == -1
        assert c[0, 0] == 1

    def test_joining_between_acquire_and_written(self, raw, location):
        a = array_view(raw[:4])
        d = bindable(a).acquire(location, read=True, write=True)
        b = array_view(raw[2:])
        b[0, 0] = 500
        d.storage.memory.view(np.float32)[:] = 7
        bindable(a).written(location)
        assert a[0, 0] == 7
        assert b[0, 0] == 7
        assert b[4, 0] == 60

    def test_memory_that_is_not_aligned(self, location, launch):
        memory = np.zeros(45, np.uint8)
        a, b = array_view(memory[1:41].view(np.float32)), array_view(memory[3:43].view(np.float32))
        launch(location, fill(1), a)
        b.section(9, 1)[0] = 0
        assert a[8] == 1
        assert a[9] == 0
        launch(location, add(1), a)
        assert a[0] == 2

    def test_structs_and_members(self, location, launch):
        points = np.zeros(5, [("x", np.float32), ("y", np.float32)])
        xs, ys = array_view(points["x"]), array_view(points["y"])
        whole = array_view(points)
        launch(location, fill(1), xs)
        launch(location, fill(2), ys)
        ys.synchronize()
        assert points["x"].sum() == 0
        assert points["y"].sum() == 10
        assert whole[4].x == 1

    def test_adjacent_memory_stays_apart(self, raw, location, launch):
        a, b = array_view(raw[:3]), array_view(raw[3:])
        launch(location, fill(1), a)
        launch(location, fill(2), b)
        assert location.moved() == (280, 0)
        ids = {bindable(v).acquire(location, read=True, write=False).home_id for v in (a, b)}
        assert len(ids) == 2


class TestSeveralLocations:
    def test_moves_through_home(self, raw, location, other, launch):
        v = array_view(raw)
        launch(location, add(1), v)
        launch(other, add(1), v)
        launch(location, add(1), v)
        assert v[0, 0] == 3
        assert v[6, 9] == 72

    def test_disjoint_sections_all_come_home(self, raw, location, other, launch):
        v = array_view(raw)
        left, right = v.section(0, 0, 7, 5), v.section(0, 5, 7, 5)
        launch(location, fill(-1), left)
        launch(other, fill(-2), right)
        np.testing.assert_array_equal(np.asarray(array(v)), [[-1] * 5 + [-2] * 5] * 7)
        assert raw[0, 0] == 0
        launch(location, add(1), v)
        v.synchronize()
        np.testing.assert_array_equal(raw, [[0] * 5 + [-1] * 5] * 7)

    def test_array_elsewhere(self, raw, location, other, launch):
        a = array(extent(7, 10), data=raw)
        v = array_view(a)
        launch(other, add(1), v)
        launch(location, add(1), a)
        np.testing.assert_array_equal(np.asarray(a), raw + 2)
        v[0, 0] = 100
        launch(other, add(1), v)
        assert np.asarray(a)[0, 0] == 101
        assert v[6, 9] == 72


class TestArrayBacked:
    def test_on_its_device_a_view_is_the_array(self, raw, location, launch):
        a = array(extent(7, 10), data=raw)
        location.moved()
        launch(location, add(1), array_view(a).section(1, 1, 2, 2))
        launch(location, add(1), a)
        assert location.moved() == (0, 0)
        expected = raw + 1
        expected[1:3, 1:3] += 1
        np.testing.assert_array_equal(np.asarray(a), expected)

    def test_the_host_fetches_and_writes_back(self, raw, location, launch):
        a = array(extent(7, 10), data=raw)
        v = array_view(a)
        v[2, 2] = -5
        launch(location, add(1), a)
        assert v[2, 2] == -4
        assert np.asarray(a)[2, 2] == -4
        v.section(3, 3, 1, 1)[0, 0] = 11
        assert np.asarray(a)[3, 3] == 11
        assert np.asarray(a)[0, 0] == 1

    def test_view_outlives_the_name(self, raw):
        v = array_view(array(extent(7, 10), data=raw))
        assert v[6, 9] == 69

    def test_refresh_loses_nothing(self, raw, location, launch):
        a = array(extent(7, 10), data=raw)
        v = array_view(a)
        _ = v[0, 0]
        launch(location, add(1), v)
        v.refresh()
        assert v[0, 0] == 1
        assert np.asarray(a)[6, 9] == 70


class TestWithoutSource:
    def test_first_use_moves_nothing(self, location, launch):
        v = array_view(extent(7, 10), float32)
        launch(location, fill(3), v)
        assert location.moved() == (0, 0)
        v.refresh()
        assert v[6, 9] == 3
        launch(location, add(1), v)
        assert v[6, 9] == 4

    def test_every_member_works_before_use(self, location, other):
        v = array_view(extent(7), int32)
        v.synchronize()
        v.refresh()
        v.discard_data()
        v.synchronize_to(location)
        assert v.section(2, 3).extent == (3,)
        assert v.data().shape == (7,)
        assert np.asarray(v).shape == (7,)
        copy(v, np.zeros(7, np.int32))
        copy(range(7), v)
        bindable(v).acquire(other, read=True, write=False)
        assert v[6] == 6


class TestSynchronize:
    def test_read(self, raw, location, launch):
        v = array_view(raw)
        launch(location, fill(4), v)
        v.synchronize()
        assert (raw == 4).all()
        location.moved()
        v.synchronize(access_type_read)
        launch(location, add(1), v)
        assert location.moved() == (0, 0)

    @pytest.mark.parametrize("access", [access_type_read_write, access_type_write])
    def test_write(self, raw, location, launch, access):
        v = array_view(raw)
        launch(location, fill(4), v)
        v.synchronize(access)
        raw[:] = 8
        launch(location, add(1), v)
        assert v[3, 3] == 9

    def test_async(self, raw, location, launch):
        v = array_view(raw)
        launch(location, fill(4), v)
        assert v.synchronize_async().get() is None
        assert (raw == 4).all()

    def test_to(self, raw, location, other, launch):
        v = array_view(raw)
        v.synchronize_to(location)
        assert location.moved() == (280, 0)
        launch(location, add(1), v)
        v.synchronize_to(other, access_type_read_write)
        assert other.moved() == (280, 0)
        assert v[0, 0] == 1
        assert other.moved() == (0, 280)

    def test_arguments(self, raw, refused):
        v = array_view(raw)
        for wrong in (access_type_auto, 1, None):
            with refused(
                TypeError,
                f"access must be access_type_read, access_type_write or access_type_read_write, got {wrong!r}",
            ):
                v.synchronize(wrong)
        r = array_view(raw, readonly=True)
        r.synchronize()
        with refused(
            TypeError,
            "array_view(extent(7, 10), float32, readonly=True) is read-only and is synchronized for reading only",
        ):
            r.synchronize_async(access_type_write)


class TestRefresh:
    def test_every_view_sees_the_new_data(self, raw, location, other, launch):
        v, w = array_view(raw), array_view(raw).section(index(3, 3))
        launch(location, add(1), v)
        launch(other, add(1), w)
        v.synchronize()
        raw[:] = 50
        w.refresh()
        launch(location, add(1), v)
        assert v[0, 0] == 51
        launch(other, add(1), w)
        assert w[0, 0] == 52

    def test_pending_writes_elsewhere_stay(self, raw, location, launch):
        v = array_view(raw)
        left, right = v.section(0, 0, 7, 5), v.section(0, 5, 7, 5)
        launch(location, fill(-1), v)
        raw[:, :5] = 50
        left.refresh()
        assert left[0, 0] == 50
        assert right[0, 0] == -1


class TestDiscard:
    def test_saves_the_upload(self, raw, location, launch):
        v = array_view(raw)
        v.discard_data()
        launch(location, fill(3), v)
        assert location.moved() == (0, 0)
        assert v[6, 9] == 3

    def test_is_transient(self, raw, location, other, launch):
        v = array_view(raw)
        v.discard_data()
        v[0, 0] = 5
        launch(location, add(1), v)
        assert v[0, 0] == 6
        launch(other, add(1), v)
        assert v[0, 0] == 7

    def test_cancels_device_writes(self, raw, location, launch):
        before = raw.copy()
        v = array_view(raw)
        launch(location, fill(-1), v)
        v.section(0, 0, 7, 4).discard_data()
        v.synchronize()
        np.testing.assert_array_equal(raw[:, :4], before[:, :4])
        assert (raw[:, 4:] == -1).all()

    def test_saves_the_upload_of_host_writes(self, raw, location, launch):
        v = array_view(raw)
        launch(location, fill(3), v)
        v[0, 0] = 5
        v.discard_data()
        location.moved()
        launch(location, fill(4), v)
        assert location.moved() == (0, 0)
        assert v[0, 0] == 4

    def test_an_array_keeps_what_it_has(self, raw):
        a = array(extent(7, 10), data=raw)
        array_view(a).discard_data()
        np.testing.assert_array_equal(np.asarray(a), raw)

    def test_refresh_makes_it_valid(self, raw, location, launch):
        v = array_view(raw)
        v.discard_data()
        raw[:] = 8
        v.refresh()
        launch(location, add(1), v)
        assert v[3, 3] == 9

    def test_a_part(self, raw, location, launch):
        v = array_view(raw)
        v.section(0, 0, 3, 10).discard_data()
        launch(location, fill(1), v)
        assert location.moved() == (160, 0)
        assert v[0, 0] == 1

    def test_read_only(self, raw, refused):
        with refused(
            TypeError,
            "array_view(extent(7, 10), float32, readonly=True) is read-only and has no discard_data()",
        ):
            array_view(raw, readonly=True).discard_data()


class TestFailures:
    def test_out_of_memory_changes_nothing(self, raw, location, new_location, launch):
        v = array_view(raw)
        launch(location, add(1), v)
        with pytest.raises(OutOfMemoryError):
            bindable(v).acquire(new_location(capacity=10), read=True, write=True)
        assert raw[0, 0] == 0
        launch(location, add(1), v)
        assert v[0, 0] == 2

    def test_a_lost_device_shows_when_data_are_asked_for(self, raw, location, launch):
        v = array_view(raw)
        launch(location, add(1), v)
        location.fails = True
        for use in (v.synchronize, lambda: v[0, 0], v.synchronize_async().get):
            with pytest.raises(RuntimeError, match="device lost"):
                use()
        location.fails = False
        assert v[0, 0] == 1
