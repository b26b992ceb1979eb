"""Pipelines of the direct engine: how they are shared and given up, and their cache on disk."""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import pytest

from tests.run.conftest import Runner, device
from tests.run.direct_engine import ENGINES, difference
from vkamp.run.engine import Dispatch
from vkamp.run.vulkan.api import VulkanError
from vkamp.run.vulkan.engine import VulkanEngine
from vkamp.run.vulkan.pipelines import PipelineCache

#: Most of these count submissions or barriers, which the driver makes when it likes.
pytestmark = pytest.mark.usefixtures("gathering")


@pytest.fixture(params=ENGINES.values(), ids=ENGINES.keys())
def expression(request):
    return request.param


# -- pipelines and descriptor sets --------------------------------------------------------------


def test_a_pipeline_serves_every_buffer_and_grid(runner):
    buffers = [runner.buffer(np.arange(100 * i)) for i in range(1, 6)]
    runner.launch("add", [buffers[0]], [1])

    def work():
        for buffer in buffers:
            runner.launch("add", [buffer], [1])

    assert difference(runner, work)["pipelines"] == 0


def test_descriptor_sets_are_recycled(runner, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.pipelines._SETS", 8)
    device = runner.queue.device
    buffers = [runner.buffer(np.full(70, i)) for i in range(40)]
    for _ in range(5):
        for buffer in buffers:
            runner.launch("add", [buffer], [1])
        runner.queue.wait()
    gc.collect()
    pools = len(device.sets._pools)
    for buffer in buffers:
        runner.launch("add", [buffer], [1])
    for i, buffer in enumerate(buffers):
        assert set(runner.read(buffer).tolist()) == {i + 6}
    assert len(device.sets._pools) == pools


def test_many_programs_give_up_old_pipelines(runner, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.pipelines._PIPELINES", 3)
    pipelines = runner.queue.device.pipelines
    # Other queues of the process share the device, and may hold programs.
    before = set(pipelines._handles)
    a = runner.buffer(np.zeros(200))
    base = runner.executable("add")
    for number in range(12):
        made = dataclasses.replace(base, spirv=base.spirv[:8] + bytes([number]) + base.spirv[9:])
        push = np.array([200, number], np.uint32).tobytes()
        runner.queue.enqueue(Dispatch(runner.queue.program(made), (a,), push, (4, 1, 1), (True,)))
    assert set(runner.read(a).tolist()) == {sum(range(12))}
    runner.queue.program(runner.executable("scale"))
    runner.queue.program(runner.executable("word"))
    gc.collect()
    runner.queue.program(dataclasses.replace(base, spirv=base.spirv[:8] + b"\x77" + base.spirv[9:]))
    assert len(pipelines._programs) == 3
    assert len(pipelines._handles - before) <= 3


PIPELINE_CACHE = """
    from conftest import *
    engine = VulkanEngine()
    runner = runner_on(engine, {driver!r})
    a = runner.buffer([1, 2])
    runner.launch("add", [a], [1])
    assert runner.read(a).tolist() == [2, 3]
    print(len(runner.queue.device.pipelines.cache._kept) > 0)
    """


@pytest.fixture
def found_cache(tmp_path, script, driver):
    """Runs a program that keeps the driver's pipeline cache; whether it found one, and the file."""

    def run():
        output = script(PIPELINE_CACHE.format(driver=driver), VKAMP_CACHE_DIR=str(tmp_path))
        assert output.stderr == ""
        (path,) = (tmp_path / "pipelines").glob("*.bin")
        return output.stdout == "True\n", path

    return run


def test_the_pipeline_cache_is_kept_on_disk(found_cache):
    assert not found_cache()[0]
    assert found_cache()[0]


@pytest.mark.accelerators("swiftshader")
def test_a_damaged_pipeline_cache_is_ignored(found_cache):
    _, path = found_cache()
    good = path.read_bytes()
    for damaged in (b"", good[:20], good[:-1], good[:60] + bytes([good[60] ^ 1]) + good[61:], b"x" * len(good)):
        path.write_bytes(damaged)
        assert not found_cache()[0]
        assert path.read_bytes() == good


def test_another_drivers_pipeline_cache_is_ignored(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    info = dataclasses.replace(device(driver, engine), uuid="a device of its own")
    cache = engine.open(info).device.pipelines.cache
    header = bytearray(cache.header)
    header[-1] ^= 1
    cache.store.put(cache.key, bytes(header) + b"data")
    assert cache._read() == b""
    cache.store.put(cache.key, cache.header + b"data")
    assert cache._read() == cache.header + b"data"


def test_a_pipeline_cache_that_the_driver_refuses_is_replaced(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    make = PipelineCache._make

    def refusing(cache, data):
        if data.endswith(b"bad"):
            raise VulkanError("making a VkPipelineCache", -13, "VK_ERROR_UNKNOWN")
        return make(cache, data)

    monkeypatch.setattr(PipelineCache, "_make", refusing)
    engine = VulkanEngine()
    first, second = (
        engine.open(dataclasses.replace(device(driver, engine), uuid=f"refusing device {n}")).device.pipelines.cache
        for n in range(2)
    )
    bad = first.header + b"bad"
    first.store.put(first.key, bad)
    third = dataclasses.replace(device(driver, engine), uuid="refusing device 2")
    assert engine.open(third).device.pipelines.cache._kept == b""
    second.note_new()
    second.save()
    assert second._read() == second._kept != bad


def test_what_the_driver_would_refuse_is_not_kept(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    runner = Runner(engine.open(dataclasses.replace(device(driver, engine), uuid="choosy device")))
    cache = runner.queue.device.pipelines.cache
    runner.launch("add", [runner.buffer([1])], [1])
    runner.queue.wait()
    with monkeypatch.context() as patch:
        patch.setattr(runner.queue.device.api, "CreatePipelineCache", lambda *_: -13)
        cache.save()
    assert cache._read() == b""
    cache.note_new()
    cache.save()
    assert cache._read() == cache._kept != b""


def test_a_pipeline_cache_that_grows_is_read_again(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    cache = engine.open(dataclasses.replace(device(driver, engine), uuid="growing device")).device.pipelines.cache
    whole, sizes = cache._data(), []
    get = cache._api.GetPipelineCacheData

    def growing(handle, made, size, data):
        result = get(handle, made, size, data)
        if data == cache._api.null:
            sizes.append(size[0])
            size[0] -= 4 * (len(sizes) == 1)  # another thread makes a pipeline after the first look
        return result

    monkeypatch.setattr(cache._api, "GetPipelineCacheData", growing)
    assert cache._data() == whole
    assert len(sizes) == 2


def test_a_pipeline_cache_takes_in_what_others_wrote(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    made = []
    for number in range(2):
        info = dataclasses.replace(device(driver, engine), uuid=f"device {number} of its own")
        runner = Runner(engine.open(info))
        made.append(runner)
    for runner, name in zip(made, ("add", "scale"), strict=True):
        buffers = [runner.buffer([1, 2])] * (2 if name == "scale" else 1)
        runner.launch(name, buffers, [3])
        runner.read(buffers[0])
    first, second = (runner.queue.device.pipelines.cache for runner in made)
    assert first.key == second.key
    first.save()
    merged = []
    monkeypatch.setattr(second, "_merge", lambda data, real=second._merge: (merged.append(data), real(data)))
    second.save()
    assert merged == [first._kept]
    assert second._read() == second._kept
