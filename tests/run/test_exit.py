"""The end of a process whose threads still use a device by the direct engine."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import vkamp as amp
from vkamp.errors import AmpError
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.queue import VulkanQueue

PROGRAM = """
    import sys, threading, time
    import numpy as np
    import vkamp as amp

    name, how = sys.argv[1:]
    view = amp.accelerator(name).default_view

    @amp.kernel
    def work(i, a, n):
        x = a[i]
        for _ in range(n):
            x = x * 0.5 + 1.0
        a[i] = x

    def launches(a):
        for _ in range(5):
            amp.parallel_for_each(view, a.extent, work, a, 300)

    def forever(wait):
        a = amp.array_view(np.zeros(4096, np.float32))
        while True:
            launches(a)
            wait(a)

    mine = amp.array_view(np.zeros(4096, np.float32))
    launches(mine)
    waits = {"launch": lambda a: None, "wait": lambda a: view.wait(), "read": lambda a: a.synchronize()}
    for word in how.split("+"):
        if word in waits:
            threading.Thread(target=forever, args=(waits[word],), daemon=True).start()
    time.sleep(0.05)
    launches(mine)
    if "raise" in how:
        raise RuntimeError("on purpose")
    """


@pytest.mark.parametrize("name", ["swiftshader@vulkan", "llvmpipe@vulkan"])
@pytest.mark.parametrize("how", ["pending", "raise", "wait+wait", "read+wait+launch", "read+read+raise"])
def test_a_process_ends_with_work_and_threads_left(name, how, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [sys.executable, str(program), name, how], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == int("raise" in how), done.stderr


@pytest.fixture
def device():
    made = VulkanDevice(amp.accelerator("swiftshader@vulkan")._info, staged=False)
    yield made
    made.close()


def test_a_device_is_not_destroyed_under_a_thread_that_waits(device):
    frames = VulkanQueue(device).frames
    frame = frames.begin()
    frame.waiters = 1
    closing = threading.Thread(target=device.close)
    closing.start()
    time.sleep(0.1)
    assert closing.is_alive() and device.closed and device.api.device is not None
    frame.waiters = 0
    closing.join(30)
    assert device.api.device is None


def test_a_device_stays_where_a_thread_does_not_leave(device, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.device._LEAVING", 0.01)
    frame = VulkanQueue(device).frames.begin()
    frame.waiters = 1
    device.close()
    assert device.closed and device.api.device is not None


def test_what_comes_after_the_end_is_an_error(device):
    queue = VulkanQueue(device)
    buffer = queue.allocate(64)
    buffer.upload(0, np.zeros(64, np.uint8))
    device.close()
    # As a thread would that was past its first check when the device was closed.
    queue._check = lambda: None
    queue._state.pending.append(None)
    for use in (queue.flush, queue.wait, queue._submit):
        with pytest.raises(AmpError, match="is closed: the interpreter is shutting down"):
            use()
    queue.retire()
