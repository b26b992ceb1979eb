"""Copies from device to device, and from container to container, without an array of numpy in between."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

import vkamp as amp
from tests.run.conftest import Runner, device
from vkamp.errors import AmpError
from vkamp.lang import home
from vkamp.run.vulkan import relay as relaying
from vkamp.run.vulkan import staging
from vkamp.run.vulkan.engine import VulkanEngine

DRIVERS = ("swiftshader", "llvmpipe")
SIZE = 5 * 4096 + 1237


@amp.kernel
def add(idx, values, number):
    values[idx] += number


@pytest.fixture
def small_pieces(monkeypatch):
    """A relay of a few pages, for copies of any size."""
    monkeypatch.setattr(relaying, "_PIECES", 3)
    monkeypatch.setattr(relaying, "_PIECE", 4096)
    monkeypatch.setattr(relaying, "_MIN", 1)
    monkeypatch.setattr(staging, "_PIECE", 1000)


@pytest.fixture(params=[(True, True), (True, False), (False, True), (False, False)], ids=str)
def pair(request, small_pieces):
    """A queue on each of two devices, whose memory the host sees or not."""
    engines = [VulkanEngine(staged=staged) for staged in request.param]
    runners = [Runner(engine.open(device(name, engine))) for engine, name in zip(engines, DRIVERS, strict=True)]
    for one in runners:
        one.queue.device._relays.clear()
    yield runners
    for one in runners:
        one.queue.device._relays.clear()
        one.queue.close()


def bytes_of(size, seed=1):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize(("first", "to", "size"), [(0, 0, SIZE), (5, 12, SIZE - 20), (3, 0, 1), (0, 2, 4096)])
def test_every_byte_and_no_other(pair, first, to, size):
    one, other = pair
    values, old = bytes_of(SIZE + 3), bytes_of(SIZE + 3, 2)
    source, target = one.queue.allocate(SIZE + 3), other.queue.allocate(SIZE + 3)
    source.upload(0, values)
    target.upload(0, old)
    for into, out_of in ((target, source), (source, target)):
        expected = into.download(0, SIZE + 3)
        expected[to : to + size] = out_of.download(0, SIZE + 3)[first : first + size]
        assert into.take_from(to, out_of, first, size)
        np.testing.assert_array_equal(into.download(0, SIZE + 3), expected)


def test_copies_keep_their_place_among_launches(pair):
    one, other = pair
    count = SIZE // 4
    source, target = one.buffer(np.arange(count)), other.buffer(np.zeros(count))
    one.launch("add", [source], [1])
    other.launch("add", [target], [7])
    assert target.take_from(0, source, 0, 4 * count)
    one.launch("add", [source], [1])
    other.launch("add", [target], [10])
    np.testing.assert_array_equal(other.read(target), np.arange(count) + 11)
    np.testing.assert_array_equal(one.read(source), np.arange(count) + 2)


def test_one_queue_copies_on_the_device(pair):
    for runner in pair:
        source, target = runner.buffer(np.arange(1000)), runner.buffer(np.zeros(1000))
        before = runner.queue.statistics
        runner.launch("add", [source], [1])
        assert target.take_from(8, source, 4, 3000)
        runner.launch("add", [source], [1])
        after = runner.queue.statistics
        assert (after.uploaded_bytes, after.downloaded_bytes) == (before.uploaded_bytes, before.downloaded_bytes)
        found = runner.read(target)
        np.testing.assert_array_equal(found[2:752], np.arange(1, 751) + 1)
        assert not found[:2].any()
        assert not found[752:].any()


def test_devices_that_share_no_pages(pair, monkeypatch):
    one, other = pair
    monkeypatch.setattr(type(one.queue.device.memory), "_import", lambda *_: None)
    values = bytes_of(SIZE)
    source, target = one.queue.allocate(SIZE), other.queue.allocate(SIZE)
    source.upload(0, values)
    assert target.take_from(0, source, 0, SIZE)
    np.testing.assert_array_equal(target.download(0, SIZE), values)


@pytest.mark.parametrize("pair", [(True, True)], indirect=True)
def test_threads_take_turns(pair):
    one, other = pair
    rows = [bytes_of(SIZE, seed) for seed in range(6)]
    sources = [one.queue.allocate(SIZE) for _ in rows]
    targets = [other.queue.allocate(SIZE) for _ in rows]
    for source, values in zip(sources, rows, strict=True):
        source.upload(0, values)
    threads = [
        threading.Thread(target=target.take_from, args=(0, source, 0, SIZE))
        for source, target in zip(sources, targets, strict=True)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for target, values in zip(targets, rows, strict=True):
        np.testing.assert_array_equal(target.download(0, SIZE), values)


@pytest.mark.parametrize("pair", [(True, True)], indirect=True)
@pytest.mark.parametrize("error", [KeyboardInterrupt, AmpError])
def test_a_copy_that_ends_in_the_middle(pair, monkeypatch, error):
    one, other = pair
    values = bytes_of(SIZE)
    source, target = one.queue.allocate(SIZE), other.queue.allocate(SIZE)
    source.upload(0, values)
    wait, count = type(other.queue).wait_for, 0

    def failing(queue, submission):
        nonlocal count
        count += 1
        if count == 4:
            raise error("in the middle")
        wait(queue, submission)

    monkeypatch.setattr(type(other.queue), "wait_for", failing)
    with pytest.raises(error):
        target.take_from(0, source, 0, SIZE)
    assert target.take_from(0, source, 0, SIZE)
    np.testing.assert_array_equal(target.download(0, SIZE), values)


@pytest.mark.parametrize("staged", [True, False])
@pytest.mark.parametrize("uuid", ["the same", "a twin"])
def test_two_queues_of_one_driver(driver, small_pieces, staged, uuid):
    """On one device, and on two."""
    engine = VulkanEngine(staged=staged)
    info = device(driver, engine)
    infos = [info, info if uuid == "the same" else dataclasses.replace(info, uuid=uuid)]
    one, other = (Runner(engine.open(each)) for each in infos)
    source, target = one.buffer(np.arange(SIZE)), other.buffer(np.zeros(SIZE))
    for number in range(1, 4):
        one.launch("add", [source], [1])
        other.launch("add", [target], [7])
        assert target.take_from(4, source, 0, 4 * (SIZE - 1))
        one.launch("add", [source], [1])
        other.launch("add", [target], [10])
        found = other.read(target)
        np.testing.assert_array_equal(found[1:], np.arange(SIZE - 1) + 2 * number + 9)
        assert found[0] == 17 * number
    for runner in (one, other):
        runner.queue.device._relays.clear()
        runner.queue.close()


# -- containers -----------------------------------------------------------------------------------


@pytest.fixture
def views():
    return [amp.accelerator(f"{name}@vulkan").default_view for name in DRIVERS]


@pytest.fixture
def no_array_between(monkeypatch):
    """Whole values of containers are not read into arrays."""

    def refuse(*_):
        raise AssertionError("the elements go through an array")

    monkeypatch.setattr(home.Home, "read", refuse)


SHAPE = (33, 65)


def kinds(kind, view, values):
    """A container with `values`, which the device has changed last."""
    if kind == "array":
        made = amp.array(amp.extent(SHAPE), data=values - 1, accelerator_view=view)
    elif kind == "view":
        made = amp.array_view(values - 1)
    elif kind == "own":
        made = amp.array_view(amp.extent(SHAPE), amp.int32)
        amp.copy(values - 1, made)
    else:
        return amp.array_view(values.copy())
    amp.parallel_for_each(view, made.extent, add, made, 1)
    return made


@pytest.mark.parametrize("to", ["array", "view", "own", "host"])
@pytest.mark.parametrize("of", ["array", "view", "own", "host"])
@pytest.mark.parametrize("place", [0, 1])
def test_copies_between_containers(views, no_array_between, of, to, place):
    values = np.random.default_rng(1).integers(0, 100, SHAPE).astype(np.int32)
    source, target = kinds(of, views[0], values), kinds(to, views[place], np.zeros(SHAPE, np.int32))
    amp.copy(source, target)
    amp.parallel_for_each(views[place], target.extent, add, target, 5)
    out = np.zeros(SHAPE, np.int32)
    amp.copy(target, out)
    np.testing.assert_array_equal(out, values + 5)
    amp.copy(source, out)
    np.testing.assert_array_equal(out, values)


def test_copies_of_rows(views):
    values = np.random.default_rng(1).integers(0, 100, SHAPE).astype(np.int32)
    source, target = (amp.array(amp.extent(SHAPE), data=values * n, accelerator_view=views[n]) for n in (1, 0))
    rows = amp.array_view(source)[3:9], amp.array_view(target)[10:16]
    amp.copy(*rows)
    expected = np.zeros(SHAPE, np.int32)
    expected[10:16] = values[3:9]
    np.testing.assert_array_equal(np.asarray(target), expected)
    columns = amp.array_view(source)[:, 3:9], amp.array_view(target)[:, 30:36]
    amp.copy(*columns)
    expected[:, 30:36] = values[:, 3:9]
    np.testing.assert_array_equal(np.asarray(target), expected)


def test_a_view_goes_from_device_to_device(views):
    values = np.random.default_rng(1).integers(0, 100, SHAPE).astype(np.int32)
    raw = values.copy()
    seen = amp.array_view(raw)
    other = amp.accelerator("swiftshader@vulkan").create_view()
    places = [*views, other]
    expected = values.copy()
    for number in range(9):
        amp.parallel_for_each(places[number % 3], seen.extent, add, seen, number)
        expected += number
        part = seen[number : number + 4]
        amp.parallel_for_each(places[(number + 1) % 3], part.extent, add, part, 100)
        expected[number : number + 4] += 100
    seen.synchronize()
    np.testing.assert_array_equal(raw, expected)
    assert "takes them" in seen.explain()


def test_copies_in_both_directions_at_once(views):
    arrays = [amp.array(amp.extent(SHAPE), data=np.full(SHAPE, n, np.int32), accelerator_view=views[n]) for n in (0, 1)]

    def work(one, other):
        for _ in range(30):
            amp.copy(one, other)

    threads = [threading.Thread(target=work, args=pair) for pair in (arrays, arrays[::-1])]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
        assert not each.is_alive()
    assert all(len(set(np.asarray(each).ravel().tolist())) == 1 for each in arrays)


def test_a_launch_that_repeats_takes_values_back_from_the_other_device(views):
    """What another device took is old there when the first one writes again, however short the way of its launch."""
    seen = amp.array_view(np.zeros(SHAPE, np.int32))
    for number in range(6):
        for _ in range(3):
            amp.parallel_for_each(views[0], seen.extent, add, seen, 1)
        found = amp.array_view(np.zeros(1, np.int32))
        amp.parallel_for_each(views[1], found.extent, look, amp.array_view(seen, readonly=True), found)
        assert found[0] == 3 * (number + 1)


@amp.kernel
def look(idx, values, out):
    out[idx] = values[0, 0]
