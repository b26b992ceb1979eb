"""Devices that work in numpy's memory itself: nothing moves, and every rule of views holds as with copies."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref

import numpy as np
import pytest

import vkamp as amp
from tests.run.conftest import device
from tools import coherence
from vkamp.run.vulkan import memory as vulkan_memory
from vkamp.run.vulkan.engine import VulkanEngine
from vkamp.run.work import BoundReady

pytestmark = pytest.mark.accelerators("swiftshader", "llvmpipe")

#: Not whole pages, and whole words.
SHAPE = (37, 61)


@amp.kernel
def scale(idx, source, target, factor):
    target[idx] = source[idx] * factor


@amp.kernel
def add(idx, values, number):
    values[idx] += number


@amp.kernel
def slowly(idx, source, target, rounds):
    x = source[idx]
    for _ in range(rounds):
        x = x * 1664525 + 1013904223 + (x >> 7)
    target[idx] = source[idx] if x != 12345 else 0


@amp.kernel
def count(idx, values, out):
    amp.atomic_fetch_add(out[0], values[idx])


@amp.kernel
def beyond(idx, values, at):
    if idx[0] == 0:
        values[at] = 7


@pytest.fixture
def view(driver):
    return amp.accelerator(f"{driver}@vulkan").create_view()


def placed(values, at=0):
    """`values` in memory that begins so many bytes into a page, in the middle of more."""
    whole = np.full(values.nbytes + 3 * 4096, 0x5A, np.uint8)
    start = 4096 - whole.ctypes.data % 4096 + at
    made = whole[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def around(made):
    """The bytes beside a `placed` array."""
    whole = made
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    first = made.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return whole[:first], whole[first + made.nbytes :]


def moved(view, work):
    """The bytes that go up and down for some work."""
    before = view.statistics
    work()
    after = view.statistics
    return after.uploaded_bytes - before.uploaded_bytes, after.downloaded_bytes - before.downloaded_bytes


def numbers(shape=SHAPE, dtype=np.int32):
    return np.random.default_rng(1).integers(0, 100, shape).astype(dtype)


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint32])
def test_nothing_moves_and_explain_says_so(view, dtype):
    x, y = placed(numbers(dtype=dtype)), placed(numbers(dtype=dtype))

    def work():
        source, target = amp.array_view(x, readonly=True), amp.array_view(y)
        for factor in (2, 3):
            amp.parallel_for_each(view, target.extent, scale, source, target, dtype(factor))
        target.synchronize()
        np.testing.assert_array_equal(y, 3 * x)
        for each in (source, target):
            assert "uses host memory directly, nothing is copied" in each.explain()
            assert " to <" not in each.explain()

    assert moved(view, work) == (0, 0)
    assert all((part == 0x5A).all() for each in (x, y) for part in around(each))


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize(
    ("at", "dtype", "size", "shares"),
    [
        (0, np.int32, 4096, True),
        (0, np.int32, 1023, False),  # copied sooner than taken
        (256, np.int32, 5003, True),
        (4, np.int32, 5003, False),
        (0, np.int8, 5002, False),  # ends in a word that others have a part of
        (1, np.int8, 8192, False),
    ],
)
def test_which_memory_is_taken(view, at, dtype, size, shares):
    raw = placed(numbers((size,), dtype), at)
    expected = raw + dtype(1)
    values = amp.array_view(raw)

    def work():
        amp.parallel_for_each(view, values.extent, add, values, 1)
        values.synchronize()

    found = moved(view, work)
    assert found == ((0, 0) if shares else (raw.nbytes, raw.nbytes))
    np.testing.assert_array_equal(raw, expected)
    assert all((part == 0x5A).all() for part in around(raw))


@pytest.mark.accelerators("llvmpipe")
def test_numpys_own_large_arrays_are_taken(view):
    raw = np.arange(1 << 22, dtype=np.int32)
    values = amp.array_view(raw)
    assert moved(view, lambda: amp.parallel_for_each(view, values.extent, add, values, 1)) == (0, 0)
    values.synchronize()
    np.testing.assert_array_equal(raw, np.arange(1, (1 << 22) + 1))


@pytest.mark.accelerators("llvmpipe")
def test_sections_and_strides_share_too(view):
    raw = placed(numbers((64, 96)))
    expected = raw.copy()
    whole = amp.array_view(raw)
    part, odd = whole.section(3, 5, 40, 50), whole[1::2, ::3]

    def work():
        amp.parallel_for_each(view, part.extent, add, part, 10)
        amp.parallel_for_each(view, odd.extent, add, odd, 100)
        whole.synchronize()

    assert moved(view, work) == (0, 0)
    expected[3:43, 5:55] += 10
    expected[1::2, ::3] += 100
    np.testing.assert_array_equal(raw, expected)


def test_the_host_waits_before_it_writes_what_a_launch_reads(view):
    """Each way to be about to write waits for the launch that reads, as copies would have it see the old values."""
    ways = {
        "subscript": lambda v: v.__setitem__((0, 0), -1),
        "copy": lambda v: amp.copy(np.full(SHAPE, -1, np.int32), v),
        "synchronize": lambda v: v.synchronize(amp.access_type_read_write),
        "synchronize to read, and refresh": lambda v: v.synchronize(),
        "section": lambda v: v.section(0, 0, 1, 1).__setitem__((0, 0), -1),
        "another view": lambda v: amp.array_view(raw).__setitem__((0, 0), -1),
    }
    for name, way in ways.items():
        raw = placed(numbers())
        before = raw.copy()
        source, target = amp.array_view(raw), amp.array(amp.extent(SHAPE), amp.int32, accelerator_view=view)
        amp.parallel_for_each(view, target.extent, slowly, source, target, 60_000 // SHAPE[0])
        way(source)
        raw[...] = -2
        source.refresh()
        np.testing.assert_array_equal(np.asarray(target), before, name)


def test_memory_is_its_owners_when_the_last_view_has_gone(view):
    raw = placed(numbers())
    before = raw.copy()
    target = amp.array(amp.extent(SHAPE), amp.int32, accelerator_view=view)
    amp.parallel_for_each(view, target.extent, slowly, amp.array_view(raw), target, 2000)
    raw[...] = 0
    np.testing.assert_array_equal(np.asarray(target), before)
    amp.parallel_for_each(view, target.extent, add, amp.array_view(raw), 3)
    assert (raw == 3).all()


def test_refresh_and_host_writes_are_seen(view):
    raw = placed(numbers())
    values = amp.array_view(raw)
    amp.parallel_for_each(view, values.extent, add, values, 1)
    values.synchronize(amp.access_type_read_write)
    raw[...] = 10
    amp.parallel_for_each(view, values.extent, add, values, 1)
    assert values[1, 2] == 11
    values[1, 2] = 20
    amp.parallel_for_each(view, values.extent, add, values, 1)
    values.synchronize()
    raw[0, 0] += 5
    values.refresh()
    amp.parallel_for_each(view, values.extent, add, values, 1)
    expected = np.full(SHAPE, 13)
    expected[1, 2], expected[0, 0] = 22, 18
    np.testing.assert_array_equal(np.asarray(values), expected)


def test_discarded_writes_are_over_when_discard_data_returns(view):
    raw = placed(numbers())
    values = amp.array_view(raw)
    amp.parallel_for_each(view, values.extent, slowly, values, values, 2000)
    values.discard_data()
    raw[...] = 4
    values.refresh()
    amp.parallel_for_each(view, values.extent, add, values, 1)
    assert (np.asarray(values) == 5).all()


def test_a_second_accelerator_view_ends_the_sharing(view, driver):
    other = amp.accelerator(f"{driver}@vulkan").create_view()
    raw = placed(numbers())
    expected = raw.copy()
    values = amp.array_view(raw)
    for number in range(4):
        amp.parallel_for_each(view if number % 2 == 0 else other, values.extent, add, values, number)
        expected += number
    values.synchronize()
    np.testing.assert_array_equal(raw, expected)
    assert "uses host memory directly" not in values.explain()


def test_a_launch_on_its_way_when_the_sharing_ends(view, driver, monkeypatch):
    """Another thread's launch elsewhere comes between the look that a repeated launch takes and the launch."""
    other = amp.accelerator(f"{driver}@vulkan").create_view()
    raw = placed(np.zeros((8, 4096), np.int32))
    whole = amp.array_view(raw)
    one, two = whole.section(0, 0, 4, 4096), whole.section(4, 0, 4, 4096)
    enqueue, between = BoundReady.enqueue, []

    def late(ready):
        if between:
            part = between.pop()
            amp.parallel_for_each(other, part.extent, add, part, 100)
        enqueue(ready)

    monkeypatch.setattr(BoundReady, "enqueue", late)
    for _ in range(5):
        amp.parallel_for_each(view, one.extent, add, one, 1)
    between.append(two)
    amp.parallel_for_each(view, one.extent, add, one, 1)
    assert not between
    assert "uses host memory directly" not in whole.explain()
    found = np.asarray(whole)
    assert (found[:4] == 6).all()
    assert (found[4:] == 100).all()


def test_a_slow_reader_keeps_its_values_from_another_view_that_writes(view, driver):
    other = amp.accelerator(f"{driver}@vulkan").create_view()
    raw = placed(numbers())
    before = raw.copy()
    values, target = amp.array_view(raw), amp.array(amp.extent(SHAPE), amp.int32, accelerator_view=view)
    amp.parallel_for_each(view, target.extent, slowly, values, target, 2000)
    amp.parallel_for_each(other, values.extent, add, values, 1)
    values.synchronize()
    np.testing.assert_array_equal(np.asarray(target), before)
    np.testing.assert_array_equal(raw, before + 1)


def test_joined_memory(view):
    raw = placed(numbers((4 * 4096,)))
    expected = raw.copy()
    one = amp.array_view(raw[: 2 * 4096])
    amp.parallel_for_each(view, one.extent, add, one, 1)
    two = amp.array_view(raw[4096:])
    amp.parallel_for_each(view, two.extent, add, two, 10)
    amp.parallel_for_each(view, one.extent, add, one, 100)
    expected[: 2 * 4096] += 101
    expected[4096:] += 10
    np.testing.assert_array_equal(np.asarray(one), expected[: 2 * 4096])
    np.testing.assert_array_equal(np.asarray(two), expected[4096:])


def test_copies_out_and_in(view):
    raw = placed(numbers())
    expected = raw + 1
    values, out = amp.array_view(raw), np.zeros(SHAPE, np.int32)
    amp.parallel_for_each(view, values.extent, add, values, 1)
    amp.copy(values, out)
    np.testing.assert_array_equal(out, expected)
    array = amp.array(values, accelerator_view=view)
    amp.parallel_for_each(view, values.extent, add, values, 1)
    np.testing.assert_array_equal(np.asarray(array), expected)
    amp.copy(array, values)
    np.testing.assert_array_equal(np.asarray(values), expected)


@pytest.mark.accelerators("swiftshader")
def test_swiftshader_works_in_its_own_memory(view):
    """Accesses out of bounds go to the bytes behind a buffer, which numpy's memory does not have."""
    source, target = (amp.array_view(placed(numbers())) for _ in range(2))
    amp.parallel_for_each(view, target.extent, scale, source, target, 2)
    for each in (source, target):
        assert "uses host memory directly" not in each.explain()
    np.testing.assert_array_equal(np.asarray(target), 2 * numbers())


@pytest.mark.accelerators("llvmpipe")
def test_small_elements_stay_in_their_words(view):
    raw = placed(numbers((8192,), np.int8))
    expected = raw + np.int8(1)
    values = amp.array_view(raw)
    amp.parallel_for_each(view, values.extent, add, values, 1)
    assert "uses host memory directly" in values.explain()
    values.synchronize()
    np.testing.assert_array_equal(raw, expected)
    assert all((part == 0x5A).all() for part in around(raw))


@pytest.mark.parametrize("at", [-1, SHAPE[0] * SHAPE[1], 5000])
def test_stores_out_of_bounds_leave_what_is_beside(view, at):
    raw = placed(numbers().ravel())
    before = raw.copy()
    values = amp.array_view(raw)
    amp.parallel_for_each(view, amp.extent(1), beyond, values, at)
    values.synchronize()
    np.testing.assert_array_equal(raw, before)
    assert all((part == 0x5A).all() for part in around(raw))


@pytest.mark.accelerators("llvmpipe")
def test_read_only_memory(view, tmp_path):
    path = tmp_path / "numbers"
    numbers().tofile(path)
    mapped = np.memmap(path, np.int32, "r", shape=SHAPE)
    target = amp.array(amp.extent(SHAPE), amp.int32, accelerator_view=view)
    values = amp.array_view(mapped, readonly=True)
    work = lambda: amp.parallel_for_each(view, target.extent, scale, values, target, 2)  # noqa: E731
    assert moved(view, work) == (0, 0)
    np.testing.assert_array_equal(np.asarray(target), 2 * numbers())
    with pytest.raises(amp.CompileError, match="VKA405"):
        amp.parallel_for_each(view, values.extent, add, values, 1)


def test_a_file_in_memory(view, tmp_path):
    path = tmp_path / "numbers"
    numbers().tofile(path)
    mapped = np.memmap(path, np.int32, "r+", shape=SHAPE)
    values = amp.array_view(mapped)
    amp.parallel_for_each(view, values.extent, add, values, 1)
    del values
    mapped.flush()
    np.testing.assert_array_equal(np.fromfile(path, np.int32).reshape(SHAPE), numbers() + 1)


@pytest.mark.accelerators("llvmpipe")
def test_memory_goes_with_its_last_user(view):
    device = view._queue.device
    raw = placed(numbers())
    owner = raw
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    gone = weakref.ref(owner)
    before = set(device.memory.blocks)
    values = amp.array_view(raw)
    for _ in range(5):
        amp.parallel_for_each(view, values.extent, slowly, values, values, 500)
    # Other tests' blocks may be freed meanwhile, so only the new one is counted.
    imported = set(device.memory.blocks) - before
    assert len(imported) == 1
    del raw, owner
    assert gone() is not None
    del values
    gc.collect()
    assert gone() is None
    assert not imported & set(device.memory.blocks)


@pytest.mark.accelerators("llvmpipe")
def test_a_graph_and_repeated_launches(view):
    raw = placed(numbers())
    expected = raw.copy()
    values = amp.array_view(raw)
    with amp.capture() as graph:
        for number in (1, 2):
            amp.parallel_for_each(view, values.extent, add, values, number)

    def work():
        for _ in range(4):
            graph.replay()
            amp.parallel_for_each(view, values.extent, add, values, 5)
        values.synchronize()

    assert moved(view, work) == (0, 0)
    expected += 4 * 8
    np.testing.assert_array_equal(raw, expected)
    values.synchronize(amp.access_type_read_write)
    raw[...] = 0
    graph.replay()
    assert (np.asarray(values) == 3).all()


def test_check_mode_works_apart(view, monkeypatch):
    raw = placed(numbers())
    expected = raw + 2
    values = amp.array_view(raw)
    amp.parallel_for_each(view, values.extent, add, values, 1)
    monkeypatch.setenv("VKAMP_CHECK", "1")
    amp.parallel_for_each(view, values.extent, add, values, 1)
    values.synchronize()
    np.testing.assert_array_equal(raw, expected)
    raw[3, 4] += 1
    with pytest.raises(amp.CheckError):
        amp.parallel_for_each(view, values.extent, add, values, 1)


def test_threads_use_parts_of_one_memory(view):
    raw = placed(np.zeros((8, 4096), np.int32))
    whole = amp.array_view(raw)

    def work(row):
        for number in range(20):
            amp.parallel_for_each(view, row.extent, add, row, 1)
            if number % 7 == 0:
                row.synchronize()

    threads = [threading.Thread(target=work, args=(whole[number],)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (np.asarray(whole) == 20).all()


def test_memory_that_the_driver_refuses_is_copied(view, monkeypatch):
    monkeypatch.setattr(vulkan_memory.BlockMemory, "_import", lambda *_: None)
    raw = placed(numbers())
    expected = raw + 1
    values = amp.array_view(raw)
    work = lambda: amp.parallel_for_each(view, values.extent, add, values, 1)  # noqa: E731
    assert moved(view, work)[0] == raw.nbytes
    values.synchronize()
    np.testing.assert_array_equal(raw, expected)


@pytest.mark.accelerators("llvmpipe")
def test_a_gpu_takes_whole_pages_only(driver):
    """Nothing checks bounds there: what is beside an array is not to be within a kernel's reach."""
    engine = VulkanEngine()
    made_up = dataclasses.replace(device(driver, engine), kind="integrated", uuid="a chip")
    queue = engine.open(made_up)
    whole = placed(numbers((4096,))).view(np.uint8)
    for memory, taken in ((whole, True), (whole[:-4], False), (whole[4096:8192], True), (whole[256:], False)):
        found = queue.share(memory)
        assert (found is not None) is taken
        if found is not None:
            np.testing.assert_array_equal(found.download(0, memory.size), memory)
    del found
    queue.close()


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.spread(2)
def test_random_sequences(view, driver, seed, monkeypatch):
    monkeypatch.setattr(vulkan_memory, "_MIN_IMPORT", 4)
    taken, take = [], vulkan_memory.BlockMemory.import_host

    def noted(*arguments):
        taken.append(take(*arguments))
        return taken[-1]

    monkeypatch.setattr(vulkan_memory.BlockMemory, "import_host", noted)
    other = amp.accelerator(f"{driver}@vulkan").create_view()
    kinds = set()
    for each in range(20 * seed, 20 * seed + 20):
        # Views of a second place end the sharing for a memory, sooner or later.
        coherence.run(each, [view] if each % 2 else [*[view] * 12, other], 60)
        kinds.add(coherence.Sequence(each, [view]).kind)
    assert "host" in kinds
    assert any(found is not None for found in taken)


def test_the_process_ends_in_the_middle(script, driver):
    text = f"""
        import numpy as np, vkamp as amp
        sys.path.insert(0, {str(coherence.__file__.rpartition("/tools/")[0])!r})
        from tests.run.test_host_memory import numbers, placed, slowly
        view = amp.accelerator("{driver}@vulkan").default_view
        raw = placed(numbers())
        values = amp.array_view(raw)
        for _ in range(20):
            amp.parallel_for_each(view, values.extent, slowly, values, values, 1000)
        print("end", flush=True)
    """
    assert script(text).stdout == "end\n"
