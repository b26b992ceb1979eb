"""What only the direct engine does: barriers where hazards ask for them, features, times, and what can go wrong."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict

import numpy as np
import pytest

from tests.run.conftest import Executable, Runner, device, spirv
from tests.run.direct_engine import ENGINES, MIB, N, difference
from vkamp.errors import AcceleratorRemovedError, AmpError, OutOfMemoryError, UnsupportedFeatureError
from vkamp.run.engine import Dispatch, Heap
from vkamp.run.features import FEATURES
from vkamp.run.vulkan.api import computing_family
from vkamp.run.vulkan.engine import VulkanEngine, _open

#: Most of these count submissions or barriers, which the driver makes when it likes.
pytestmark = pytest.mark.usefixtures("gathering")


@pytest.fixture(params=ENGINES.values(), ids=ENGINES.keys())
def expression(request):
    return request.param


# -- barriers -----------------------------------------------------------------------------------


def filled(runner, count):
    """Buffers that hold numbers, which nothing has touched since the last barrier."""
    buffers = [runner.buffer(np.arange(N)) for _ in range(count)]
    other = runner.buffer([1])
    for _ in range(2):
        runner.launch("add", [other], [1])
    runner.queue.wait()
    return buffers


def test_independent_launches_need_no_barrier(runner):
    buffers = filled(runner, 6)

    def work():
        for buffer in buffers:
            runner.launch("add", [buffer], [1])

    assert difference(runner, work)["barriers"] == 0
    assert difference(runner, work)["barriers"] == 1


def test_readers_of_one_buffer_need_no_barrier(runner):
    source, *targets = filled(runner, 5)
    runner.launch("add", [source], [1])
    runner.queue.wait()

    def work():
        for target in targets:
            runner.launch("scale", [source, target], [2])

    # One after the write of the source, none among the readers.
    found = difference(runner, work)
    assert (found["barriers"], found["submissions"], found["dispatches"]) == (1, 1, 4)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, 1), (1, 2)),  # read after write
        ((0, 1), (2, 0)),  # write after read
        ((0, 2), (1, 2)),  # write after write
    ],
)
def test_each_hazard_needs_a_barrier(runner, first, second):
    buffers = filled(runner, 3)
    for again in range(3):  # also across submissions

        def work():
            runner.launch("scale", [buffers[i] for i in first], [3])
            runner.launch("scale", [buffers[i] for i in second], [5])

        found = difference(runner, work)
        assert found["submissions"] == 1
        assert found["barriers"] == (1 if again == 0 else 2)


def test_a_chain_takes_one_submission_and_a_barrier_per_step(runner):
    (a,) = filled(runner, 1)

    def work():
        for _ in range(40):
            runner.launch("add", [a], [1])

    found = difference(runner, work)
    assert found["submissions"] == 1
    assert found["barriers"] == 39
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 40)


def test_chains_side_by_side_share_barriers(runner):
    a, b = filled(runner, 2)

    def work():
        for buffer in (a, b):
            for _ in range(10):
                runner.launch("add", [buffer], [1])

    assert difference(runner, work)["barriers"] == 9
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 10)


def test_nothing_is_waited_for_between_dependent_submissions(runner, monkeypatch):
    a = runner.buffer(np.arange(N))
    waits = []
    real = runner.queue.frames.wait
    monkeypatch.setattr(runner.queue.frames, "wait", lambda *args: (waits.append(args), real(*args)))
    for _ in range(130):
        runner.launch("add", [a], [1])
    assert waits == []
    assert runner.queue.statistics.submissions >= 2
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 130)
    assert len(waits) <= 1


def test_what_runs_is_bounded(runner):
    a = runner.buffer(np.arange(N))
    for _ in range(1000):
        runner.launch("add", [a], [1])
        assert sum(each.pieces for each in runner.queue._state.running) <= 256 + 64
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 1000)


def test_memory_that_running_work_holds_is_bounded(engine, info):
    """Launches on separate memory, which is dropped immediately, faster than the device runs them."""
    heap = Heap(40 * MIB, 40 * MIB, True)
    types = tuple(dataclasses.replace(t, heap=0) for t in info.memory_types)
    queue = engine.open(dataclasses.replace(info, heaps=(heap,), memory_types=types))
    queue.immediate = True
    own = Runner(queue)
    for number in range(100):
        a = queue.allocate(2 * MIB)
        own.launch("word", [a], [number], groups=(3, 1, 1))
        assert sum({k: v for each in queue._state.running for k, v in each.slots.items()}.values()) <= 12 * MIB
    assert set(a.download(0, 400).view(np.uint32).tolist()) == {99}
    assert queue.statistics.allocations <= 10
    queue.close()


def test_heavy_launches_gather_a_few_at_a_time(runner, gathering, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.commands._HEAVY", 5000)
    light, heavy = runner.buffer(np.arange(N)), runner.buffer(np.arange(2 * N))
    queue = runner.queue
    queue.wait()
    before = queue.statistics.submissions
    runner.launch("add", [light], [1])
    assert queue.statistics.submissions == before
    runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before  # behind the other one
    queue.wait()
    runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before + 2, "the device had nothing to do"
    monkeypatch.setattr(queue, "_is_busy", lambda: True)
    for _ in range(31):
        runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before + 2
    runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before + 3
    monkeypatch.setattr(queue, "_most_held", lambda: 5 * 8 * N)
    runner.launch("add", [heavy], [1])
    runner.launch("add", [light], [1])
    assert queue.statistics.submissions == before + 3
    other = queue.allocate(8 * N)
    runner.launch("scale", [heavy, other], [1])
    assert queue.statistics.submissions == before + 4, "they use much memory together"
    np.testing.assert_array_equal(runner.read(heavy), np.arange(2 * N) + 35)


def test_frames_are_used_again(runner):
    a = runner.buffer(np.arange(N))
    runner.queue.wait()
    before = len(runner.queue.frames._made)
    for step in range(50):
        runner.launch("add", [a], [1])
        assert runner.read(a)[0] == step + 1
    assert len(runner.queue.frames._made) <= before + 1


@pytest.mark.accelerators("llvmpipe")
def test_the_validation_layers_see_a_barrier_left_out(validated):
    output = validated(
        """
        from conftest import *
        from vkamp.run.vulkan.commands import CommandRecorder
        CommandRecorder._barrier = lambda *_: None
        # The layers see hazards within one submission.
        Driver.call, DispatchWork.is_short = lambda self: None, True
        runner = runner_on(VulkanEngine(staged=False), "llvmpipe")
        a, b = runner.buffer([1] * 99), runner.buffer([2] * 99)
        runner.launch("scale", [a, b], [3])
        runner.launch("scale", [b, a], [3])
        runner.queue.wait()
        print("end")
        """
    )
    assert "SYNC-HAZARD" in output


@pytest.mark.accelerators("llvmpipe")
def test_the_validation_layers_are_silent_about_all_of_it(validated):
    output = validated(
        """
        from conftest import *
        from vkamp.lang.region import ByteSet
        from vkamp.run.engine import Timing
        for staged in (False, True):
            engine = VulkanEngine(staged=staged)
            runner = runner_on(engine, "llvmpipe")
            queue = runner.queue
            times = []
            queue.profile(times.append)
            large = queue.allocate(20_000_001)
            large.upload(3, np.ones(19_000_000, np.uint8))
            large.upload(0, np.full(100, 7, np.uint8), ByteSet.interval(3, 5) | ByteSet.interval(50, 77))
            a = runner.buffer(range(500))
            for _ in range(3):
                runner.launch("add", [a], [1])
                a.upload(8, np.zeros(12, np.uint8))
            runner.launch_words("double", [queue.allocate(8)], (), groups=(1, 1, 1))
            assert large.download(0, 60, ByteSet.interval(2, 55)).tolist()[50:55] == [7] * 5
            assert runner.read(a)[:6].tolist() == [3, 4, 0, 0, 0, 8]
            queue.wait()
            queue.profile(None)
            assert sum(isinstance(each, Timing) for each in times) == 4
            del large
            for _ in range(20):
                queue.allocate(90_000_000)
            queue.close()
        print("end")
        """
    )
    assert output == "end\n"


# -- features, times, and what can go wrong -----------------------------------------------------


def test_the_features_of_the_engine(driver):
    engine = VulkanEngine()
    info = device(driver, engine)
    assert info.engine_features == FEATURES
    assert info.usable_features == info.features <= FEATURES
    assert {"float64", "int64", "int16", "int8", "float16"} <= info.features or driver != "llvmpipe"


def test_only_the_features_that_are_used_are_enabled(driver):
    engine = VulkanEngine()
    api = engine.open(device(driver, engine)).device.api
    plain = api.features.head.features
    enabled = {name for name in dir(plain) if getattr(plain, name)}
    assert enabled <= {"shaderFloat64", "shaderInt64", "shaderInt16", "robustBufferAccess"}
    # Where an access out of bounds would change the host's own memory, and the SPIR-V does not limit subscripts.
    assert ("robustBufferAccess" in enabled) == (driver == "llvmpipe")


def test_float_atomics_run_where_the_device_has_them(runner, info):
    made = executable_of(
        """#version 450
        #extension GL_EXT_shader_atomic_float : require
        layout(local_size_x = 64) in;
        layout(std430, binding = 0) buffer A { float a[]; };
        void main() { atomicAdd(a[0], 0.5); }"""
    )
    a = runner.buffer([0])
    if "float_atomics" not in info.usable_features:
        with pytest.raises(UnsupportedFeatureError, match="the device lacks float_atomics"):
            runner.queue.program(made)
        return
    program = runner.queue.program(made)
    runner.queue.enqueue(Dispatch(program, (a,), b"", (10, 1, 1), (True,)))
    assert runner.read(a).view(np.float32).tolist() == [320.0]


def executable_of(source):
    """A program with one buffer."""
    return Executable(spirv(source), 1, 0, (64, 1, 1))


@pytest.fixture
def lost(card, request):
    """A queue whose device can be lost, and forgotten afterwards."""
    yield card
    for key in [k for k, d in _open.devices.items() if d is card.queue.device]:
        _open.devices.pop(key).close()


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
@pytest.mark.parametrize("call", ["QueueSubmit", "GetFenceStatus", "WaitForFences", "BeginCommandBuffer"])
def test_a_lost_device_is_noticed(lost, call, monkeypatch):
    queue, device = lost.queue, lost.queue.device
    monkeypatch.setattr(queue, "_poll", 0.0)
    a = lost.buffer([1, 2])
    lost.read(a)
    program = queue.program(lost.executable("add"))
    lost.launch("long", [a], [20, 50_000], groups=(1, 1, 1))
    with monkeypatch.context() as patch:
        # However long this took to come here, the work is not over.
        patch.setattr(device.api, "GetFenceStatus", lambda *_: 1)
        patch.setattr(device.api, call, lambda *_: -4)
        with pytest.raises(AcceleratorRemovedError, match="was lost") as caught:
            queue.wait()
    assert "VK_ERROR_DEVICE_LOST" in caught.value.reason
    for use in (
        lambda: lost.read(a),
        lambda: queue.allocate(4),
        lambda: queue.program(lost.executable("word")),
        lambda: queue.enqueue((program, a)),
        queue.flush,
        queue.wait,
    ):
        with pytest.raises(AcceleratorRemovedError, match="its data are lost"):
            use()
    device.api.DeviceWaitIdle(device.api.device)


def test_a_submission_that_failed_is_tried_again(runner, monkeypatch):
    a = runner.buffer([1, 2])
    runner.launch("add", [a], [1])
    with monkeypatch.context() as patch:
        patch.setattr(runner.queue.device.api, "QueueSubmit", lambda *_: -1)
        with pytest.raises(OutOfMemoryError, match="VK_ERROR_OUT_OF_HOST_MEMORY"):
            runner.queue.flush()
    assert runner.read(a).tolist() == [2, 3]


def test_a_program_that_the_driver_refuses(runner, monkeypatch):
    a, b = runner.buffer([1, 2]), runner.buffer([1, 2])
    monkeypatch.setattr(runner.queue.device.pipelines, "_programs", OrderedDict())
    with monkeypatch.context() as patch:
        patch.setattr(runner.queue.device.api, "CreateComputePipelines", lambda *_: -13)
        with pytest.raises(AmpError, match="can't compile the program: vkCreateComputePipelines gave VK_ERROR_UNKNOWN"):
            runner.launch("scale", [a, b], [5])
    runner.launch("scale", [a, b], [5])
    assert runner.read(b).tolist() == [5, 10]


@pytest.mark.parametrize("at", range(0, 60, 3))
def test_an_interruption_anywhere_loses_nothing(runner, at, monkeypatch):
    """Ctrl-C between any two calls of the driver: the work is done once, later."""
    api = runner.queue.device.api
    a, b = runner.buffer(np.arange(N)), runner.buffer(np.arange(N))
    runner.launch("add", [a], [1])
    runner.queue.wait()
    calls = 0

    def interrupted(function):
        def call(*arguments):
            nonlocal calls
            calls += 1
            if calls == at:
                raise KeyboardInterrupt
            return function(*arguments)

        return call

    enqueued = 0
    with monkeypatch.context() as patch:
        for name in list(vars(api)):
            if name.startswith("Cmd") or name in ("BeginCommandBuffer", "EndCommandBuffer", "WaitForFences"):
                patch.setattr(api, name, interrupted(getattr(api, name)))
        try:
            for step in range(6):
                runner.launch("add", [a], [1])
                enqueued += 1
                runner.launch("scale", [a, b], [2])
                if step % 2:
                    runner.queue.flush()
                    runner.queue.wait()
        except KeyboardInterrupt:
            pass
    runner.launch("scale", [a, b], [2])
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 1 + enqueued)
    np.testing.assert_array_equal(runner.read(b), 2 * (np.arange(N) + 1 + enqueued))


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ([0b1111, 0b1100, 0b1110, 0b101100, 0b100001100], 2),  # an NVIDIA H200's
        ([0b111], 0),
        ([0b1100, 0b111, 0b1111], 1),
        ([0b100, 0b1], None),
        ([], None),
    ],
)
def test_family_of_queues(flags, wanted):
    assert computing_family(flags) == wanted
