"""Launches that are enqueued before their programs exist, which threads make at the same time."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.run.conftest import Executable, spirv
from vkamp.errors import AmpError
from vkamp.run.engine import Dispatch
from vkamp.run.late_programs import late_programs
from vkamp.run.vulkan.pipelines import Pipelines

N = 1003
_numbers = itertools.count(1)


@pytest.fixture(params=["VulkanEngine(staged=False)", "VulkanEngine(staged=True)"], ids=["shared", "staged"])
def expression(request):
    return request.param


def new_program(text):
    """A program that no other test has: the device keeps them."""
    source = f"""#version 450
        layout(local_size_x = 64) in;
        layout(std430, binding = 0) buffer A {{ uint a[]; }};
        const uint odd = {2 * next(_numbers) + 1}u;
        void main() {{ uint i = gl_GlobalInvocationID.x; if (i < a.length()) a[i] = {text}; }}"""
    return Executable(spirv(source), 1, 0, (64, 1, 1), text)


def launch(runner, executable, buffer):
    program = runner.queue.program(executable)
    runner.queue.enqueue(Dispatch(program, (buffer,), b"", (-(-N // 64), 1, 1), (True,)))


class Held:
    """The driver compiles programs when it may, and refuses some."""

    def __init__(self, monkeypatch):
        self.may = threading.Event()
        self.refused = set()
        self.threads = set()
        create = Pipelines._create

        def late(pipelines, program, layout):
            assert self.may.wait(30)
            self.threads.add(threading.current_thread())
            if program.name in self.refused:
                raise AmpError(f"the driver refuses {program.name}")
            return create(pipelines, program, layout)

        monkeypatch.setattr(Pipelines, "_create", late)


@pytest.fixture
def held(monkeypatch):
    return Held(monkeypatch)


def test_launches_are_enqueued_while_threads_make_their_programs(runner, held):
    buffer = runner.buffer(np.arange(N))
    first, second = new_program("a[i] + odd - odd + 5"), new_program("a[i] * 3 * odd / odd")
    before = runner.queue.statistics
    with late_programs():
        launch(runner, first, buffer)
        launch(runner, second, buffer)
        launch(runner, first, buffer)
        assert not held.threads
        held.may.set()
    assert np.array_equal(runner.read(buffer), (np.arange(N) + 5) * 3 + 5)
    assert len(held.threads) == 2
    assert threading.current_thread() not in held.threads
    after = runner.queue.statistics
    assert (after.pipelines - before.pipelines, after.dispatches - before.dispatches) == (2, 3)


def test_elements_that_are_read_inside_wait_for_the_programs(runner, held):
    buffer = runner.buffer(np.arange(N))
    with late_programs():
        launch(runner, new_program("a[i] + odd - odd + 5"), buffer)
        held.may.set()
        assert np.array_equal(runner.read(buffer), np.arange(N) + 5)
        buffer.upload(0, np.zeros(4 * N, np.uint8))
        launch(runner, new_program("a[i] + odd - odd + 7"), buffer)
    assert np.array_equal(runner.read(buffer), np.full(N, 7))


def test_another_thread_may_use_the_queue(runner, held):
    buffer = runner.buffer(np.arange(N))
    shared = new_program("a[i] + odd - odd + 5")
    found = []
    with late_programs():
        launch(runner, shared, buffer)
        other = threading.Thread(target=lambda: (launch(runner, shared, buffer), found.append(runner.read(buffer))))
        other.start()
        held.may.set()
        other.join(60)
    assert np.array_equal(found[0], np.arange(N) + 10)


@pytest.mark.parametrize("count", [1, 2])
def test_another_thread_may_submit_between_the_binding_and_the_enqueuing(runner, held, count):
    buffer, queue = runner.buffer(np.arange(N)), runner.queue
    programs = [new_program(f"a[i] + odd - odd + {7 + k}") for k in range(count)]
    with late_programs():
        made = [queue.ready(Dispatch(queue.program(p), (buffer,), b"", (-(-N // 64), 1, 1), (True,))) for p in programs]
        held.may.set()
        other = threading.Thread(target=lambda: runner.read(buffer))
        other.start()
        other.join(60)
        enqueue = made[0].enqueue if count == 1 else queue.together(made)
        enqueue()
    assert np.array_equal(runner.read(buffer), np.arange(N) + sum(range(7, 7 + count)))


def test_what_depends_on_a_program_that_cannot_be_made_does_not_run(runner, held):
    first, other = runner.buffer(np.arange(N)), runner.buffer(np.arange(N))
    good, bad = new_program("a[i] + odd - odd + 5"), new_program("a[i] * odd / odd + 9")
    held.refused.add(bad.name)
    held.may.set()

    def launches():
        with late_programs():
            launch(runner, good, first)
            launch(runner, bad, first)
            launch(runner, good, first)
            launch(runner, good, other)

    with pytest.raises(AmpError, match="the driver refuses"):
        launches()
    assert np.array_equal(runner.read(first), np.arange(N) + 5)
    assert np.array_equal(runner.read(other), np.arange(N) + 5)
    held.refused.clear()
    with late_programs():
        launch(runner, bad, first)
    assert np.array_equal(runner.read(first), np.arange(N) + 14)


def test_a_block_in_a_block_ends_with_the_outer_one(runner, held):
    buffer = runner.buffer(np.arange(N))
    with late_programs():
        with late_programs():
            launch(runner, new_program("a[i] + odd - odd + 5"), buffer)
        assert not held.threads
        held.may.set()
    assert np.array_equal(runner.read(buffer), np.arange(N) + 5)


def test_launches_outside_know_at_once_that_a_program_cannot_be_made(runner, held):
    buffer, bad = runner.buffer(np.arange(N)), new_program("a[i] * odd / odd + 9")
    held.refused.add(bad.name)
    held.may.set()
    program = runner.queue.program(bad)
    with pytest.raises(AmpError, match="the driver refuses"):
        runner.queue.enqueue(Dispatch(program, (buffer,), b"", (1, 1, 1), (True,)))
    assert np.array_equal(runner.read(buffer), np.arange(N))


def test_a_program_that_nothing_launches_is_freed_at_the_end(validated):
    found = validated(
        f"""
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from tests.run.conftest import device
        from tests.run.test_late_programs import new_program
        from vkamp.run.late_programs import late_programs
        from vkamp.run.vulkan.engine import VulkanEngine
        engine = VulkanEngine()
        queue = engine.open(device("llvmpipe", engine))
        with late_programs():
            queue.program(new_program("a[i] + odd"))
        print("end")
        """
    )
    assert found == "end\n"
