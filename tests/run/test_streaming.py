"""``vkamp.stream``: a launch by blocks of rows, compared with numpy; what it refuses; threads that fail."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import vkamp as amp
from vkamp import AmpError
from vkamp.dispatch import launch, streaming

N = 1003


@amp.kernel
def scaled(idx, factor, values, out):
    out[idx] = factor * values[idx]


@amp.kernel
def neighbours(idx, values, out):
    total = 0.0
    for k in range(3):
        total += values[idx[0] + k]
    i = idx[0]
    out[i] = total - values[i + 1]


@amp.kernel
def counted(idx, values, bins, table):
    amp.atomic_fetch_add(bins[table[values[idx] & 7]], 1)


@amp.kernel
def numbered(idx, out, weights, first):
    row = first + idx[0]
    out[idx] = row * 10 + idx[1] + weights[first + idx[0]]


@amp.kernel
def odd_ones(idx, values, out):
    if values[idx] % 2 == 1:
        out[idx] = values[idx]


@amp.kernel
def turned(t_idx, values, out):
    tile = amp.tile_static(t_idx.tile_extent, amp.float32)
    tile[t_idx.local] = values[t_idx]
    t_idx.barrier.wait()
    out[t_idx.global_] = tile[t_idx.tile_dim0 - 1 - t_idx.local[0], t_idx.local[1]]


@amp.kernel
def plain(idx, a, b):
    b[idx] = a[idx]


@pytest.fixture
def view(accelerator):
    """A separate accelerator view, so that its transfer counters start at zero."""
    return accelerator.create_view()


@pytest.mark.parametrize("block", [1, 100, 1003, 5000])
def test_blocks_of_any_size(view, block):
    rows = N if block > 1 else 7
    values, out = np.arange(rows, dtype=np.float32), np.zeros(rows, np.float32)
    amp.stream(scaled, rows, [3.0, values, out], block=block, accelerator_view=view)
    np.testing.assert_array_equal(out, 3 * values)


@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_launches_of_later_blocks_repeat(view, monkeypatch):
    """Each block on the device is a launch of its own, and so is the last one, which has fewer rows."""
    first = []
    real = launch.launch_cache.launch_alike
    monkeypatch.setattr(launch.launch_cache, "launch_alike", lambda *args: (first.append(args), real(*args))[1])
    values, out = np.arange(403, dtype=np.float32), np.zeros(403, np.float32)
    amp.stream(plain, amp.extent(403), [values, out], block=20, accelerator_view=view)
    np.testing.assert_array_equal(out, values)
    assert len(first) <= streaming._DEPTH + 1


def test_rows_after_the_threads_own(view):
    values = np.random.default_rng(1).integers(-9, 9, N).astype(np.float32)
    out = np.zeros(N - 2, np.float32)
    amp.stream(neighbours, N - 2, [values, out], halo=2, block=77, accelerator_view=view)
    np.testing.assert_array_equal(out, values[:-2] + values[2:])


def test_results_that_all_blocks_add_to(view):
    values = np.random.default_rng(2).integers(0, 100, N).astype(np.int32)
    table = np.array([7, 6, 5, 4, 3, 2, 1, 0], np.int32)
    bins = np.ones(8, np.int32)
    whole = ["bins", "table"]
    amp.stream(counted, N, [values, bins, table], block=90, whole=whole, accelerator_view=view)
    np.testing.assert_array_equal(bins, 1 + np.bincount(7 - (values & 7), minlength=8))


def test_the_row_where_a_block_begins(view):
    out, weights = np.zeros((35, 4), np.int32), np.arange(35, dtype=np.int32)
    amp.stream(numbered, (35, 4), [out, weights], start="first", whole=["weights"], block=8, accelerator_view=view)
    np.testing.assert_array_equal(out, np.arange(35)[:, None] * 11 + np.arange(4))


def test_elements_that_are_not_written_keep_their_values(view):
    values = np.arange(N, dtype=np.int32)
    out = np.full(N, -1, np.int32)
    amp.stream(odd_ones, N, [values, out], block=100, accelerator_view=view)
    np.testing.assert_array_equal(out, np.where(values % 2, values, -1))


def test_tiles(view):
    values = np.random.default_rng(3).random((64, 24), np.float32)
    out = np.zeros_like(values)
    domain = amp.extent(64, 24).tile(4, 8)
    amp.stream(turned, domain, [values, out], block=12, accelerator_view=view)
    np.testing.assert_array_equal(out, values.reshape(16, 4, 24)[:, ::-1].reshape(64, 24))
    with pytest.raises(AmpError, match="block must be a number of rows, 1 or more, a multiple of the tile's 4, not 6"):
        amp.stream(turned, domain, [values, out], block=6, accelerator_view=view)
    with pytest.raises(amp.InvalidComputeDomainError, match=r"the domain \(0, 24\) has no elements"):
        amp.stream(turned, (0, 24), [values[:0], out[:0]], accelerator_view=view)
    with pytest.raises(AmpError, match=r"the tile \(4, 8\) does not divide the domain \(62, 24\): stream"):
        amp.stream(turned, amp.extent(62, 24).tile(4, 8), [values, out], accelerator_view=view)


def test_a_file_and_views(view, tmp_path):
    stored = np.memmap(tmp_path / "values", np.float32, "w+", shape=(N, 3))
    stored[:] = np.arange(3 * N, dtype=np.float32).reshape(N, 3)
    values = np.memmap(tmp_path / "values", np.float32, "r", shape=(N, 3))
    result = np.memmap(tmp_path / "result", np.float32, "w+", shape=(N, 3))
    amp.stream(scaled, (N, 3), [2.0, values, result], block=64, accelerator_view=view)
    result.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "result", np.float32).reshape(N, 3), 2 * stored)
    # Views with pending results, with strides, and an array on the device.
    raw = np.zeros((N, 4), np.float32)
    column, doubled = amp.array_view(raw)[:, 1], amp.array(amp.array_view(np.arange(N, dtype=np.float32)))
    amp.parallel_for_each(view, column.extent, plain, amp.array_view(doubled), column)
    amp.stream(scaled, N, [2.0, column, column], block=100, accelerator_view=view)
    column.synchronize()
    np.testing.assert_array_equal(raw[:, 1], 2 * np.arange(N))
    assert not raw[:, [0, 2, 3]].any()


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_what_moves(view):
    """The input goes to the device, the result comes back, and nothing else."""
    values, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    amp.stream(scaled, N, [3.0, values, out], block=100, accelerator_view=view)
    assert (view.statistics.uploaded_bytes, view.statistics.downloaded_bytes) == (4 * N, 4 * N)
    numbers, kept = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    amp.stream(odd_ones, N, [numbers, kept], block=100, accelerator_view=view)
    assert (view.statistics.uploaded_bytes, view.statistics.downloaded_bytes) == (12 * N, 8 * N)


def test_more_than_a_container_can_have():
    """lavapipe's buffers have at most 128 MiB."""
    accelerator = amp.accelerator("llvmpipe@vulkan")
    most = accelerator.limits.buffer_bytes
    assert most == 128 << 20
    count = most // 4 + 3
    with pytest.raises(amp.OutOfMemoryError) as caught:
        amp.array(amp.extent(count), amp.int32, accelerator_view=accelerator.default_view)
    assert str(caught.value) == (
        f"128.0 MiB ({4 * count} bytes) in one allocation is more than {accelerator.description} supports: 128.0 MiB "
        f"({most} bytes). Larger data run by blocks: amp.stream(kernel, domain, views)"
    )
    values, out = np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
    amp.stream(plain, count, [values, out], accelerator_view=accelerator.default_view)
    np.testing.assert_array_equal(out, values)


# -- what is refused -------------------------------------------------------------------------------


@amp.kernel
def reversed_(idx, values, out):
    out[values.extent[0] - 1 - idx[0]] = values[idx]


@amp.kernel
def before(idx, values, out):
    out[idx] = values[idx[0] - 1]


@amp.kernel
def gathered(idx, values, out):
    out[idx] = values[int(values[idx])]


@amp.kernel
def scattered(idx, values, out):
    amp.atomic_fetch_add(out[values[idx]], 1)


@amp.kernel
def by_a_view(idx, values, out):
    part = values.section(amp.index(0), amp.extent(1))
    out[idx] = part[0]


@amp.kernel
def shifting(idx, values, out):
    i = idx[0]
    if values[i] > 0:
        i = i + 1
    out[idx] = values[i]


OUTSIDE = {
    "a write of another row": (reversed_, np.float32, "writes `out`", "its own row"),
    "a row before": (before, np.float32, "reads `values`", "its own row and the 2 after it"),
    "a gather": (gathered, np.float32, "reads `values`", "its own row and the 2 after it"),
    "an atomic elsewhere": (scattered, np.int32, "writes `out`", "its own row"),
    "a view made in the kernel": (by_a_view, np.float32, "reads `values`", "its own row and the 2 after it"),
    "a variable that changes": (shifting, np.float32, "reads `values`", "its own row and the 2 after it"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_rows_of_other_blocks(case):
    kernel, dtype, does, allowed = OUTSIDE[case]
    values, out = np.zeros(12, dtype), np.zeros(10, dtype)
    with pytest.raises(AmpError) as caught:
        amp.stream(kernel, 10, [values, out], halo=2, block=4)
    assert does in str(caught.value)
    assert f"at an index that is not known to be in {allowed}, which is all that a block has" in str(caught.value)
    assert "test_streaming.py:" in str(caught.value)


@amp.kernel
def by_its_row(idx, out, weights):
    out[idx] = weights[idx]


def test_errors():
    values, out = np.zeros(10, np.float32), np.zeros(10, np.float32)
    message = (
        "by_its_row accesses `weights`, which is not cut into blocks, at .*: by the thread's row in its block: "
        "add the block's first row, the parameter that start= names"
    )
    with pytest.raises(AmpError, match=message.replace("at .*:", "at .*")):
        amp.stream(by_its_row, 10, [out, np.zeros(20, np.float32)], whole=["weights"])
    refused = {
        "`values` of scaled has 10 rows, and the domain 8: pass whole=['values'] to keep all of it on the device, or "
        "halo= for rows after the thread's": lambda: amp.stream(scaled, 8, [1.0, values, values[:8]]),
        "halo must be a number of rows, 0 or more, not -1": lambda: amp.stream(plain, 10, [values, out], halo=-1),
        "block must be a number of rows, 1 or more, not 0": lambda: amp.stream(plain, 10, [values, out], block=0),
        "whole='x': plain has the parameters a, b": lambda: amp.stream(plain, 10, [values, out], whole=["x"]),
        "start='x': plain has the parameters a, b": lambda: amp.stream(plain, 10, [values, out], start="x"),
        "no argument of plain is cut into blocks: whole= names all of them": lambda: amp.stream(
            plain, 10, [values, out], whole=["a", "b"]
        ),
        "`out` is written, and `values` is read with a halo in the same memory: a block would read what another one "
        "has written": lambda: amp.stream(neighbours, 8, [values, values[:8]], halo=2),
    }
    for text, call in refused.items():
        with pytest.raises(AmpError) as caught:
            call()
        assert str(caught.value) == text
    readonly = np.zeros(10, np.float32)
    readonly.flags.writeable = False
    with pytest.raises(TypeError, match="plain writes `b`, which is read-only"):
        amp.stream(plain, 10, [values, readonly])
    with pytest.raises(TypeError, match="`a` of plain is a list: pass a numpy array of its values"):
        amp.stream(plain, 10, [[1.0] * 10, out])
    with pytest.raises(TypeError, match=r"plain takes the arguments \(a, b\), but 1 were given"):
        amp.stream(plain, 10, [values])
    with pytest.raises(TypeError, match="stream takes a kernel first, got int"):
        amp.stream(10, plain, [values, out])
    assert threading.active_count() == len([t for t in threading.enumerate() if not t.name.startswith("vkamp-up")])


@pytest.mark.parametrize("number", [1, 2])
def test_a_copy_that_fails(monkeypatch, number):
    """An error in a thread ends all of them, and is the error of the call."""
    real, calls = streaming.copy, []

    def copy(source, target):
        calls.append(isinstance(target, np.ndarray))
        if calls.count(number == 2) == 3 and calls[-1] == (number == 2):
            raise RuntimeError("the disk is gone")
        real(source, target)

    monkeypatch.setattr(streaming, "copy", copy)
    values, out = np.zeros(N, np.float32), np.zeros(N, np.float32)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        amp.stream(plain, N, [values, out], block=10)
    assert not [each for each in threading.enumerate() if each.name in ("vkamp-upload", "vkamp-download")]
