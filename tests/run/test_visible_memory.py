"""Small containers of a graphics card in memory that the host sees, by the direct engine."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import vkamp as amp
from tests.run.conftest import Runner, device
from tests.run.direct_engine import difference
from vkamp import algorithms as alg
from vkamp.run.queue import DeviceBuffer
from vkamp.run.vulkan.engine import VulkanEngine

pytestmark = pytest.mark.usefixtures("gathering")

WORDS = 200
#: More than the host reads itself, and more than it sees.
MANY, MORE = 1000, 20_000


@pytest.fixture
def visible(driver):
    """A fresh queue of which the host sees little memory."""
    engine = VulkanEngine(staged=True, visible=True)
    queue = engine.open(device(driver, engine))
    yield Runner(queue)
    queue.close()


def test_a_result_is_read_without_a_copy(visible):
    buffer = visible.buffer(np.arange(WORDS))
    visible.launch("add", [buffer], [5])
    visible.queue.wait()
    found = difference(visible, lambda: visible.read(buffer))
    assert (found["submissions"], found["synced_bytes"], found["downloads"]) == (0, 0, 1)
    np.testing.assert_array_equal(visible.read(buffer), np.arange(WORDS) + 5)


def test_reading_waits_for_what_is_enqueued(visible):
    buffer = visible.buffer(np.arange(WORDS))
    for _ in range(3):
        visible.launch("add", [buffer], [5])
        visible.launch("add", [buffer], [1])
        part = buffer.download(40, 8).view(np.uint32)
    np.testing.assert_array_equal(part, np.arange(10, 12) + 18)


def test_an_upload_to_unused_memory_needs_no_copy(visible):
    buffer = visible.buffer(np.arange(WORDS))
    found = difference(visible, lambda: buffer.upload(8, np.full(4, 255, np.uint8)))
    assert (found["submissions"], found["synced_bytes"], found["uploads"]) == (0, 0, 1)
    visible.launch("add", [buffer], [1])
    expected = np.arange(WORDS, dtype=np.uint32) + 1
    expected[2] = 0
    np.testing.assert_array_equal(visible.read(buffer), expected)


def test_an_upload_follows_the_work_that_uses_the_memory(visible):
    source, target = visible.buffer(np.arange(WORDS)), visible.buffer(np.zeros(WORDS))
    visible.launch("scale", [source, target], [3])
    source.upload(0, np.full(WORDS, 7, np.uint32).view(np.uint8))
    np.testing.assert_array_equal(visible.read(target), 3 * np.arange(WORDS))
    np.testing.assert_array_equal(visible.read(source), np.full(WORDS, 7))


@pytest.mark.parametrize("count", [MANY, MORE])
def test_many_bytes_are_copied(visible, count):
    buffer = visible.buffer(np.arange(count))
    assert (buffer.slot.mapped is None) == (count == MORE)
    visible.launch("add", [buffer], [5])
    visible.queue.wait()
    found = difference(visible, lambda: visible.read(buffer))
    assert (found["submissions"], found["synced_bytes"]) == (1, 4 * count)
    np.testing.assert_array_equal(visible.read(buffer), np.arange(count) + 5)


def test_where_the_host_sees_too_little(driver, monkeypatch):
    engine = VulkanEngine(staged=True, visible=True)
    queue = engine.open(device(driver, engine))
    own = queue.device
    reserve = own.memory.reserve
    monkeypatch.setattr(own.pool, "capacity", 0)
    own._empty_pool()
    monkeypatch.setattr(own, "_has_visible", True)
    monkeypatch.setattr(
        own.memory, "reserve", lambda size, kind, more: "full" if kind == "visible" else reserve(size, kind, more)
    )
    small = Runner(queue)
    buffers = [small.buffer(np.arange(WORDS)) for _ in range(2)]
    assert [each.slot.mapped for each in buffers] == [None, None]
    small.launch("scale", buffers, [2])
    np.testing.assert_array_equal(small.read(buffers[1]), 2 * np.arange(WORDS))
    queue.close()


def test_graphics_cards_have_it_by_default(driver):
    engine = VulkanEngine()
    info = device(driver, engine)
    queue = engine.open(info)
    is_staged = queue.device.staged
    assert Runner(queue).buffer([1]).slot.block.kind == ("visible" if is_staged else "shared")
    queue.close()


@amp.kernel
def add_one(idx, a):
    a[idx] += 1.0


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_a_container_moves_for_another_library(accelerator_view, monkeypatch):
    """Launches, calls and graphs that used its old memory use the new one."""
    a = amp.array(np.arange(100, dtype=np.float32), accelerator_view=accelerator_view)
    expected = np.arange(100, dtype=np.float32)

    def step():
        amp.parallel_for_each(accelerator_view, a.extent, add_one, a)

    def check():
        nonlocal expected
        step()
        graph.replay()
        expected = expected + 2
        assert float(alg.sum(a)) == expected.sum()
        np.testing.assert_array_equal(a, expected)

    with amp.capture(accelerator_view) as graph:
        step()
    for _ in range(3):
        check()
    moved = []

    def external(buffer):
        step()  # It is enqueued, and the copy follows it.
        made = buffer.queue.allocate(buffer.nbytes)
        assert made.take_from(0, buffer, 0, buffer.nbytes)
        moved.append(made)
        return SimpleNamespace(storage=made, device=(2, 0))

    with monkeypatch.context() as patch:
        patch.setattr(DeviceBuffer, "external", external)
        assert a.__dlpack_device__() == (2, 0)
    expected = expected + 1
    for _ in range(3):
        check()
    assert moved[0].download(0, 400).view(np.float32).tolist() == expected.tolist()
