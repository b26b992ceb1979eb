"""One-dimensional sections of contiguous memory: an offset, and no stride."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vkamp as amp
from tests.edit.support import edit, exported

SIZE, TILE = 600, 24
PLACES = ((16, 500), (3, 483), (0, 600), (101, 150), (596, 600))


@amp.kernel
def combine(idx, a, b, out):
    out[idx] += a[idx] * 2 + b[len(b) - 1 - idx[0]]


@amp.kernel
def reverse_tiles(t, a, out):
    shared = amp.tile_static(TILE, amp.float32)
    shared[t.local] = a[t]
    t.barrier.wait()
    out[t] += shared[TILE - 1 - t.local[0]]


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_sections_of_any_place(accelerator_view, dtype):
    a, b = (np.arange(SIZE, dtype=np.int64) % 7).astype(dtype), (np.arange(SIZE, dtype=np.int64) % 5).astype(dtype)
    out = np.ones(SIZE + 1, dtype)
    one, two, result = amp.array_view(a), amp.array_view(b), amp.array_view(out)
    wanted = np.ones(SIZE + 1, np.int64)
    for first, last in PLACES:
        part = slice(first, last)
        target = slice(first + 1, last + 1)
        amp.parallel_for_each(accelerator_view, amp.extent(last - first), combine, one[part], two[part], result[target])
        wanted[target] += (a[part] * 2 + b[part][::-1]).astype(np.int64)
    np.testing.assert_array_equal(np.asarray(result), wanted.astype(dtype))


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_sections_in_tiles(accelerator_view, lowering):
    kernel = amp.kernel(lowering=lowering)(reverse_tiles.function)
    a, out = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE + 1, np.float32)
    one, result = amp.array_view(a), amp.array_view(out)
    wanted = np.zeros(SIZE + 1, np.float32)
    for first, last in PLACES[:4]:
        count = (last - first) // TILE * TILE
        part, target = slice(first, first + count), slice(first + 1, first + 1 + count)
        amp.parallel_for_each(accelerator_view, amp.extent(count).tile(TILE), kernel, one[part], result[target])
        wanted[target] += a[part].reshape(-1, TILE)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(np.asarray(result), wanted)


def test_one_offset_and_no_stride():
    a = amp.array_view(np.zeros(SIZE, np.float32))
    domain = amp.extent(48).tile(TILE)
    texts = {reverse_tiles.inspect(domain, a[k : k + 48], a[k + 100 : k + 150]).glsl for k in (1, 16, 301)}
    (text,) = texts
    assert "a_offset" in text and "stride" not in text, text
    assert "offset" not in reverse_tiles.inspect(domain, a[:48], amp.array_view(np.zeros(48, np.float32))).glsl
    assert "a_stride_0" in reverse_tiles.inspect(domain, a[::2], amp.array_view(np.zeros(48, np.float32))).glsl


@amp.kernel
def beyond(idx, a):
    a[idx] += 1.0


def test_check_mode_knows_the_section(accelerator_view):
    a = amp.array_view(np.zeros(SIZE, np.float32))
    report = amp.check(accelerator_view, amp.extent(11), beyond, a[20:30])
    assert [(f.kind, f.index) for f in report.findings] == [("bounds", (10,))]
    assert np.asarray(a).sum() == 10


@amp.kernel
def two_sections(idx, left, right):
    right[idx] = left[idx] + 1.0


def test_sections_of_one_container_share_its_memory(accelerator_view):
    a = amp.array_view(np.arange(100, dtype=np.float32))
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(accelerator_view, amp.extent(30), two_sections, a[10:40], a[50:80])
    graph.replay()
    wanted = np.arange(100, dtype=np.float32)
    wanted[50:80] = wanted[10:40] + 1
    np.testing.assert_array_equal(np.asarray(a), wanted)


@pytest.mark.accelerators("drivers")
def test_an_edited_shader_is_for_all_sections(accelerator_view, tmp_path: Path):
    a = amp.array_view(np.zeros(SIZE, np.float32))
    try:
        (path,) = exported(tmp_path, lambda: amp.parallel_for_each(accelerator_view, amp.extent(5), beyond, a[1:6]))
        assert path.name == "beyond.untiled1d.float32_1d_section.comp"
        edit(path, ("+= 1.0", "+= 3.0"))
        amp.parallel_for_each(accelerator_view, amp.extent(4), beyond, a[30:34])
    finally:
        amp.use_shaders(None)
    found = np.asarray(a)
    assert found[1:6].sum() == 5 and found[30:34].sum() == 12 and found.sum() == 17
