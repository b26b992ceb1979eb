"""`amp.indirect`: launches whose number of threads is in device memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vkamp as amp
from tests.edit.support import edit, exported
from vkamp import algorithms as alg
from vkamp.dispatch.indirect_launches import steps_of

SIZE, TILE = 900, 48
COUNTS = (0, 1, 47, 48, 49, 700, 900, 1000, -3)


@pytest.fixture(params=["default", "vulkan"])
def view(request: pytest.FixtureRequest, accelerator_view: amp.accelerator_view) -> amp.accelerator_view:
    """Both engines of a driver; the reference accelerator has one."""
    path = accelerator_view.accelerator.device_path.partition("@")[0]
    if request.param == "default" or path == "reference":
        return accelerator_view
    return amp.accelerator(path, engine="vulkan").default_view


@amp.kernel
def add_one(idx, out, bias):
    out[idx] += bias + idx[0]


@amp.kernel
def add_reversed(t, out, a):
    shared = amp.tile_static(TILE, amp.float32)
    i = t.global_[0]
    shared[t.local] = a[i] if i < a.extent[0] else 0.0
    t.barrier.wait()
    if i < out.extent[0]:
        out[i] += shared[TILE - 1 - t.local[0]]


@amp.kernel
def count_down(idx, count, by):
    count[idx] = count[idx] - by


def reversed_tiles(a: np.ndarray, count: int) -> np.ndarray:
    whole = np.zeros(-(-SIZE // TILE) * TILE, np.float32)
    whole[:SIZE] = a
    whole = whole.reshape(-1, TILE)[:, ::-1].reshape(-1)
    whole[-(-count // TILE) * TILE :] = 0
    return whole[:SIZE]


@pytest.mark.parametrize("at_most", [None, SIZE])
def test_as_many_threads_as_the_number_says(view: amp.accelerator_view, at_most: int | None) -> None:
    """Without ``at_most`` the tiles may not fit the grid in one dimension; with it, threads have several elements."""
    a = np.random.default_rng(3).random(SIZE, np.float32)
    first, second = (amp.array(amp.extent(SIZE), np.float32, np.zeros(SIZE), accelerator_view=view) for _ in range(2))
    source = amp.array(amp.extent(SIZE), np.float32, a, accelerator_view=view)
    wanted = np.zeros((2, SIZE), np.float32)
    for dtype, counts in ((np.int32, COUNTS), (np.uint32, (5, 2**32 - 1) if at_most else (5,))):
        for n in counts:
            if at_most is None and n > SIZE:
                continue
            count = amp.array(amp.extent(1), dtype, [n], accelerator_view=view)
            domain = amp.indirect(count, at_most=at_most)
            amp.parallel_for_each(view, domain, add_one, first, 0.5)
            amp.parallel_for_each(view, domain.tile(TILE), add_reversed, second, source)
            threads = min(max(n, 0), SIZE)
            wanted[0, :threads] += np.float32(0.5) + np.arange(threads, dtype=np.float32)
            wanted[1] += reversed_tiles(a, threads)
    np.testing.assert_array_equal(np.asarray(first), wanted[0])
    np.testing.assert_allclose(np.asarray(second), wanted[1], rtol=1e-5)


def test_counts_of_algorithms(view: amp.accelerator_view) -> None:
    a = np.random.default_rng(4).integers(0, 100, SIZE, np.int32)
    source = amp.array(amp.extent(SIZE), np.int32, a, accelerator_view=view)
    found = alg.select(source, lambda x: x < 30)
    out = amp.array(amp.extent(SIZE), np.float32, np.zeros(SIZE), accelerator_view=view)
    amp.parallel_for_each(amp.indirect(found), add_one, out, 1.0)
    amp.parallel_for_each(amp.indirect(found.count, at_most=SIZE), add_one, out, 1.0)
    few = amp.indirect(found, at_most=10)
    amp.parallel_for_each(few, add_one, out, 1.0)
    n = int((a < 30).sum())
    i = np.arange(SIZE)
    np.testing.assert_array_equal(np.asarray(out), np.where(i < n, 2 * (i + 1), 0) + np.where(i < 10, i + 1, 0))
    assert amp.indirect(found).at_most == SIZE


def test_captures_take_the_number_of_each_replay(view: amp.accelerator_view) -> None:
    a = np.ones(SIZE, np.float32)
    out, tiled = (amp.array(amp.extent(SIZE), np.float32, np.zeros(SIZE), accelerator_view=view) for _ in range(2))
    source = amp.array(amp.extent(SIZE), np.float32, a, accelerator_view=view)
    count = amp.array(amp.extent(1), np.int32, [500], accelerator_view=view)
    with amp.capture(view) as graph:
        amp.parallel_for_each(amp.indirect(count), add_one, out, 0.0)
        amp.parallel_for_each(amp.indirect(count, at_most=SIZE).tile(TILE), add_reversed, tiled, source)
        amp.parallel_for_each(amp.extent(1), count_down, count, 200)
    wanted, tiles = np.zeros((2, SIZE), np.float32)
    for n in (500, 300, 100, 0):
        graph.replay()
        wanted[:n] += np.arange(n)
        tiles += reversed_tiles(a, n)
    np.testing.assert_array_equal(np.asarray(out), wanted)
    np.testing.assert_array_equal(np.asarray(tiled), tiles)
    assert int(np.asarray(count)[0]) == -300


def test_the_direct_engine_does_not_wait(view: amp.accelerator_view) -> None:
    count = amp.array(amp.extent(1), np.int32, [7], accelerator_view=view)
    out = amp.array(amp.extent(SIZE), np.float32, np.zeros(SIZE), accelerator_view=view)
    steps = steps_of(view, amp.indirect(count), add_one, (out, 1.0), {})
    is_direct = view.accelerator.device_path.endswith("@vulkan") or view.accelerator.engine == "vulkan"
    assert [step.waits for step in steps] == ([False, False] if is_direct else [True])
    before = view.statistics.downloads
    amp.parallel_for_each(amp.indirect(count), add_one, out, 1.0)
    assert view.statistics.downloads == before if is_direct else view.statistics.downloads >= before


def test_checked(view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch) -> None:
    out = amp.array(amp.extent(50), np.float32, np.zeros(50), accelerator_view=view)
    count = amp.array(amp.extent(1), np.int32, [51], accelerator_view=view)
    report = amp.check(view, amp.indirect(count), add_one, out, 1.0)
    assert [(f.kind, f.index) for f in report.findings] == [("bounds", (50,))]
    none = amp.array(amp.extent(1), np.int32, [0], accelerator_view=view)
    assert amp.check(view, amp.indirect(none), add_one, out, 1.0).ok
    monkeypatch.setenv("VKAMP_CHECK", "1")
    with pytest.raises(amp.AmpError, match="index 50 of out is out of bounds"):
        amp.parallel_for_each(view, amp.indirect(count), add_one, out, 1.0)


@pytest.mark.accelerators("drivers")
def test_edited_shaders_run(view: amp.accelerator_view, tmp_path: Path) -> None:
    count = amp.array(amp.extent(1), np.int32, [9], accelerator_view=view)
    out, tiled = (amp.array(amp.extent(50), np.float32, np.zeros(50), accelerator_view=view) for _ in range(2))
    source = amp.array(amp.extent(50), np.float32, np.ones(50), accelerator_view=view)

    def run() -> None:
        amp.parallel_for_each(view, amp.indirect(count, at_most=50), add_one, out, 1.0)
        amp.parallel_for_each(view, amp.indirect(count, at_most=50).tile(TILE), add_reversed, tiled, source)

    files = exported(tmp_path, run)
    try:
        for name, change in (
            ("add_one", ("bias +", "100.0 + bias +")),
            ("add_reversed", ("+= shared_", "+= 5.0 + shared_")),
        ):
            (path,) = [each for each in files if each.name.startswith(name)]
            edit(path, change)
        amp.copy(np.zeros(50, np.float32), out)
        amp.copy(np.zeros(50, np.float32), tiled)
        run()
        np.testing.assert_array_equal(np.asarray(out)[:10], [*(101.0 + np.arange(9)), 0])
        assert np.asarray(tiled)[0] == 6.0
    finally:
        amp.use_shaders(None)


@pytest.mark.accelerators("reference")
def test_decorators_and_mistakes(accelerator_view: amp.accelerator_view) -> None:
    count = amp.array_view(np.array([3], np.int32))
    out = amp.array_view(np.zeros(5, np.float32))

    @amp.parallel_for_each(accelerator_view, amp.indirect(count))
    def _(idx):
        out[idx] = 2.0

    np.testing.assert_array_equal(np.asarray(out), [2, 2, 2, 0, 0])
    assert "float32" in add_one.inspect(accelerator_view, amp.indirect(count), out, 1.0).glsl
    assert repr(amp.indirect(count, at_most=9).tile(4)).endswith("at_most=9).tile(4)")
    for wrong in (7, np.zeros(1, np.int32), out, amp.array_view(np.zeros(2, np.int32)), alg.sum(count)):
        with pytest.raises(TypeError, match="one int32 or uint32 element, not"):
            amp.indirect(wrong)
    with pytest.raises(ValueError, match="at_most is 0"):
        amp.indirect(count, at_most=0)
    with pytest.raises(ValueError, match="a tile of an indirect launch"):
        amp.indirect(count).tile(0)


def test_repeated_launches_follow_the_number(view: amp.accelerator_view) -> None:
    """The same launch with other numbers in memory and as arguments, and of a kernel that captures a container."""
    count, given, out, other = (
        amp.array(amp.extent(n), np.int32, accelerator_view=view) for n in (1, SIZE, SIZE, SIZE)
    )
    amp.copy(np.arange(SIZE, dtype=np.int32), given)

    @amp.kernel
    def captured(idx, target):
        target[idx] = given[idx] + 1

    for k in range(8):
        n = (k * 237) % SIZE
        for target in (out, other):
            amp.copy(np.zeros(SIZE, np.int32), target)
        amp.copy(np.array([n], np.int32), count)
        threads = amp.indirect(count, at_most=SIZE)
        amp.parallel_for_each(view, threads, add_one, out, k // 2)
        amp.parallel_for_each(view, threads, captured, other)
        is_there = np.arange(SIZE) < n
        np.testing.assert_array_equal(np.asarray(out), np.where(is_there, np.arange(SIZE) + k // 2, 0))
        np.testing.assert_array_equal(np.asarray(other), np.where(is_there, np.arange(SIZE) + 1, 0))
