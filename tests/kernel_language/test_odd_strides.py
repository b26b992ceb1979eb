"""Views whose elements are not a whole number of elements apart: each launch works on a copy of them."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

SAMPLE = np.dtype({"names": ["tag", "value"], "formats": [np.uint8, np.float32], "offsets": [0, 1], "itemsize": 7})


@amp.kernel
def scale(idx, values, factor):
    values[idx] = values[idx] * factor


@amp.kernel
def add(idx, left, right, total):
    total[idx] = left[idx] + right[idx]


@amp.kernel
def swap(idx, colours):
    colours[idx] = amp.float3(colours[idx].z, colours[idx].y, colours[idx].x)


def records(n):
    made = np.zeros(n, SAMPLE)
    made["tag"] = np.arange(n) % 251
    made["value"] = np.linspace(-3, 9, n)
    return made


def test_a_field_of_packed_records(accelerator):
    data = records(301)
    want = data.copy()
    want["value"] *= np.float32(2.5)
    view = amp.array_view(data["value"])
    amp.parallel_for_each(accelerator.default_view, view.extent, scale, view, 2.5)
    view.synchronize()
    np.testing.assert_array_equal(data, want)


def test_every_other_record_backwards(accelerator):
    data = records(64)
    want = data.copy()
    want["value"][::-2] *= np.float32(-4)
    view = amp.array_view(data["value"][::-2])
    for _ in range(2):
        amp.parallel_for_each(accelerator.default_view, view.extent, scale, view, 2.0)
        amp.parallel_for_each(accelerator.default_view, view.extent, scale, view, -2.0)
        amp.parallel_for_each(accelerator.default_view, view.extent, scale, view, 1.0)
        data["value"][::-2] /= 4  # the host's turn: what launches wrote is home already
        view.refresh()
    want["value"][::-2] /= np.float32(-4)
    np.testing.assert_array_equal(data, want)


def test_three_of_four_colour_channels(accelerator):
    picture = np.random.default_rng(3).random((5, 7, 4), np.float32)
    want = picture.copy()
    want[..., :3] = picture[..., 2::-1]
    view = amp.array_view(picture[..., :3], dtype=amp.float3)
    amp.parallel_for_each(accelerator.default_view, view.extent, swap, view)
    np.testing.assert_array_equal(np.asarray(view), want[..., :3])
    np.testing.assert_array_equal(picture, want)


def test_what_another_view_wrote_on_the_device_is_seen(accelerator):
    words = np.arange(24, dtype=np.int32)
    before = words.copy()
    rows = words.reshape(4, 6)[:, 1:5].view(
        np.dtype([("a", np.int32), ("b", np.int32), ("c", np.int32), ("d", np.int32)])
    )
    whole = amp.array_view(words)
    amp.parallel_for_each(accelerator.default_view, whole.extent, scale, whole, 10)
    seen = amp.array_view(rows[:, 0])
    first = amp.array_view(np.zeros(4, np.int32))

    @amp.parallel_for_each(accelerator.default_view, seen.extent)
    def _(idx):
        first[idx] = seen[idx].a + seen[idx].d

    np.testing.assert_array_equal(np.asarray(first), 10 * (before[1::6] + before[4::6]))


def test_reading_two_overlapping_ones(accelerator):
    data = records(40)
    left, right = amp.array_view(data["value"][:-1]), amp.array_view(data["value"][1:])
    total = amp.array(left.extent, amp.float32, accelerator_view=accelerator.default_view)
    amp.parallel_for_each(left.extent, add, left, right, total)
    np.testing.assert_array_equal(np.asarray(total), data["value"][:-1] + data["value"][1:])


def test_overlap_with_what_is_written_is_refused(accelerator):
    data = records(40)
    before = data.copy()
    left, right = amp.array_view(data["value"][:-1]), amp.array_view(data["value"][1:])
    with pytest.raises(amp.AmpError) as caught:
        amp.parallel_for_each(accelerator.default_view, left.extent, add, left, left, right)
    assert str(caught.value) == (
        "`left` and `total` overlap, the kernel writes, and the elements of one are not a whole number of elements "
        "apart, so that the launch would work on a copy of them: copy it to an array first"
    )
    np.testing.assert_array_equal(np.asarray(left), before["value"][:-1])


def test_announced_writes(accelerator):
    data = records(12)
    view = amp.array_view(data["value"])
    view.synchronize_to(accelerator.default_view)
    view.synchronize_to(accelerator.default_view, amp.access_type_read_write)
    np.testing.assert_array_equal(np.asarray(view), records(12)["value"])
