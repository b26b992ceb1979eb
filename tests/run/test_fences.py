"""When the direct engine resets fences: while the host waits anyway, and not when it submits."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp.run.accelerators import queue_of
from vkamp.run.vulkan.queue import VulkanQueue

#: More launches than those that wait for others on a CPU driver: each replay is a submission.
LAUNCHES = 5


@amp.kernel
def increment(idx, numbers):
    numbers[idx] += 1


@amp.kernel
def spin(idx, numbers):
    x = numbers[idx]
    for _ in range(20_000):
        x = x * 1664525 + 1013904223
    numbers[idx] = x


def test_replays_after_a_wait_reset_no_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each replay is a submission.
    view = amp.accelerator("llvmpipe@vulkan").create_view(amp.queuing_mode_immediate)
    queue = queue_of(view)
    assert isinstance(queue, VulkanQueue)
    monkeypatch.setattr(queue, "_poll", 1e-4)  # as on a GPU
    arrays = [amp.array(np.zeros(37, np.int32), accelerator_view=view) for _ in range(LAUNCHES)]
    with amp.capture(view) as graph:
        for each in arrays:
            amp.parallel_for_each(view, each.extent, increment, each)
    long = amp.array(np.zeros(4096, np.int32), accelerator_view=view)
    for _ in range(3):
        # The replays wait for this launch, so that all seven are in flight at once, on a slow host, too.
        amp.parallel_for_each(view, long.extent, spin, long)
        for _ in range(7):
            graph.replay()
        view.wait()
    resets: list[int] = []
    reset = queue.frames._reset
    monkeypatch.setattr(queue.frames, "_reset", lambda *frames: (resets.append(len(frames)), reset(*frames)))
    for _ in range(7):
        graph.replay()
    assert not resets
    view.wait()
    # Those of the last round: the launch and seven replays.
    assert resets == [8]
    for each in arrays:
        assert (np.asarray(each) == 28).all()


def test_more_replays_than_may_run_at_a_time_without_a_wait() -> None:
    view = amp.accelerator("llvmpipe@vulkan").create_view()
    arrays = [amp.array(np.zeros(37, np.int32), accelerator_view=view) for _ in range(LAUNCHES)]
    with amp.capture(view) as graph:
        for each in arrays:
            amp.parallel_for_each(view, each.extent, increment, each)
    queue = queue_of(view)
    assert isinstance(queue, VulkanQueue)
    most = 0
    for _ in range(700):
        graph.replay()
        most = max(most, len(queue._state.running))
    assert 1 < most <= 257
    for each in arrays:
        assert (np.asarray(each) == 700).all()


def test_frames_are_made_ahead() -> None:
    """As a thread of a GPU's queue does, since one driver takes long to create a fence."""
    view = amp.accelerator("llvmpipe@vulkan").create_view()
    queue = queue_of(view)
    assert isinstance(queue, VulkanQueue)
    frames, device = queue.device.take_frames(), queue.device
    frames.make_ahead(device.lock, device.visit)
    made = len(frames._spare)
    assert made > 1
    taken = [frames._take() for _ in range(made)]
    assert len({id(each) for each in taken}) == made
    assert not frames.has_spare
    frames.make_ahead(device.lock, device.visit)
    assert not frames.has_spare
    for each in taken:
        frames.give_back(each)
    device.give_back_frames(frames)
