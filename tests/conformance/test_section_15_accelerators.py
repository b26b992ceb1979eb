"""Accelerators, views, queues, threads and processes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import I32, add_one, fill, numbers, on
from tests.conformance.registry import row


def program(text, **environment):
    """The output of a program in a separate process."""
    settings = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", "import vkamp as amp\n" + textwrap.dedent(text)],
        env=settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


@row("15", 'accelerator() is accelerator("default")')
def test_default():
    assert amp.accelerator() == amp.accelerator("default")
    assert amp.accelerator(amp.accelerator()) == amp.accelerator()


@row("15", "accelerator() never raises for lack of a GPU")
def test_no_gpu():
    text = 'print(amp.accelerator().device_path, amp.accelerator("cpu").is_emulated)'
    assert program(text, VK_DRIVER_FILES="none.json", VK_ADD_DRIVER_FILES="", VKAMP_ACCELERATOR="") == ["cpu True"]


@row("15", "accelerator(path): unknown is an error")
@pytest.mark.parametrize("path", ["nonsense", "77", "", "vulkan:99"])
def test_unknown(path):
    with pytest.raises(amp.AmpError, match="names no accelerator"):
        amp.accelerator(path)


@row("15", "accelerator(path) finds by device_path")
def test_paths(accelerator):
    assert amp.accelerator(accelerator.device_path) == accelerator


@row("15", '"cpu" stores, never runs kernels')
def test_cpu():
    cpu = amp.accelerator("cpu")
    view = cpu.default_view
    a = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=view)
    assert np.asarray(a).tolist() == [1, 2, 3]
    with pytest.raises(amp.UnsupportedFeatureError, match="runs no kernel"):
        amp.parallel_for_each(a.extent, add_one, a)
    view.flush()
    view.wait()
    view.create_marker().get()


@row("15", "get_all() includes cpu")
def test_get_all(accelerator):
    found = amp.accelerator.get_all()
    here = amp.accelerator(accelerator.device_path.partition("@")[0])  # It lists each device with its default engine.
    assert amp.accelerator("cpu") in found and here in found
    assert len(set(found)) == len(found)


@row("15", "set_default: once per process")
def test_set_default():
    text = """
        print(amp.accelerator.set_default("reference"), amp.accelerator().device_path)
        print(amp.accelerator.set_default("cpu"), amp.accelerator().device_path)
        """
    assert program(text, VKAMP_ACCELERATOR="") == ["True reference", "False reference"]


@row("15", "the environment variable overrides the default", differs="VKAMP_ACCELERATOR; C++ AMP's own is not read")
def test_variable():
    text = 'amp.accelerator.set_default("cpu"); print(amp.accelerator().device_path)'
    assert program(text, VKAMP_ACCELERATOR="reference", CPPAMP_DEFAULT_ACCELERATOR="cpu") == ["reference"]


@row("15", "get_auto_selection_view()")
def test_auto_selection(accelerator_view):
    auto = amp.accelerator.get_auto_selection_view()
    assert auto.is_auto_selection and not accelerator_view.is_auto_selection
    assert auto == amp.accelerator().default_view
    a = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator_view)
    amp.parallel_for_each(auto, a.extent, add_one, a)  # runs where the array is
    assert np.asarray(a).tolist() == [2, 3, 4]
    assert amp.array(amp.extent(2), amp.int32, accelerator_view=auto).accelerator_view == auto


@row("15", "device_path, description, version, is_debug, is_emulated, has_display, dedicated_memory")
def test_properties(accelerator):
    assert accelerator.description and accelerator.device_path
    assert accelerator.version >> 16 >= 1
    assert accelerator.is_emulated == (accelerator.limits is None or "NVIDIA" not in accelerator.description)
    assert not accelerator.has_display and isinstance(accelerator.is_debug, bool)
    assert accelerator.dedicated_memory >= 0


@row("15", "supports_double_precision, supports_limited_double_precision")
def test_doubles(accelerator):
    # Full double precision implies limited.
    assert accelerator.supports_limited_double_precision or not accelerator.supports_double_precision
    assert amp.accelerator("reference").supports_double_precision
    assert not amp.accelerator("cpu").supports_double_precision


@row("15", "supports_cpu_shared_memory, default_cpu_access_type")
def test_shared_memory(accelerator):
    assert accelerator.default_cpu_access_type == amp.access_type_none
    assert amp.accelerator("cpu").supports_cpu_shared_memory
    assert amp.accelerator("cpu").default_cpu_access_type == amp.access_type_read_write


@row("15", "set_default_cpu_access_type: True once, and before an allocation used it")
def test_default_access():
    text = """
        a = amp.accelerator("reference")
        print(a.set_default_cpu_access_type(amp.access_type_read_write), a.default_cpu_access_type.name)
        print(a.set_default_cpu_access_type(amp.access_type_none), a.default_cpu_access_type.name)
        values = amp.array(amp.extent(2), amp.int32, [5, 6], accelerator_view=a.default_view)
        print(values[1], values.cpu_access_type.name)
        """
    assert program(text) == ["True read_write", "False read_write", "6 read_write"]
    text = """
        a = amp.accelerator("reference")
        amp.array(amp.extent(2), amp.int32, accelerator_view=a.default_view)
        print(a.set_default_cpu_access_type(amp.access_type_read), a.default_cpu_access_type.name)
        """
    assert program(text) == ["False none"]


@row("15", "create_view(mode): a new view, not equal to the default one, also on cpu")
@pytest.mark.parametrize("mode", [amp.queuing_mode_automatic, amp.queuing_mode_immediate])
def test_create_view(accelerator, mode):
    for each in (accelerator, amp.accelerator("cpu")):
        made = each.create_view(mode)
        assert made != each.default_view and made != each.create_view(mode)
        assert made.queuing_mode == mode and made.accelerator == each
    assert accelerator.create_view().queuing_mode == amp.queuing_mode_automatic
    assert accelerator.default_view.queuing_mode == amp.queuing_mode_automatic


@row("15", "== and != of accelerators and views; copies are shallow")
def test_equality(accelerator):
    view = accelerator.create_view()
    assert amp.accelerator_view(view) == view and hash(amp.accelerator_view(view)) == hash(view)
    assert accelerator.default_view == amp.accelerator(accelerator).default_view
    assert accelerator != amp.accelerator("cpu") and view != 3


@row("15", "no default accelerator_view")
def test_no_default_view():
    with pytest.raises(TypeError):
        amp.accelerator_view()


@row("15", "view: accelerator, is_debug, version, queuing_mode, is_auto_selection")
def test_view_properties(accelerator):
    view = accelerator.default_view
    assert (view.accelerator, view.version, view.is_debug) == (accelerator, accelerator.version, accelerator.is_debug)


@row(
    "15",
    "queuing_mode_immediate: submitted before returning; automatic: at once where the device is idle, else collected",
)
@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_queuing(accelerator):
    for mode in (amp.queuing_mode_immediate, amp.queuing_mode_automatic):
        view = accelerator.create_view(mode)
        a = amp.array(amp.extent(5), amp.int32, numbers(5), accelerator_view=view)
        on(view, add_one, a.extent, a)
        if mode == amp.queuing_mode_immediate:
            assert view.statistics.dispatches == 1
        until = time.monotonic() + 60
        while not view.statistics.dispatches and time.monotonic() < until:
            time.sleep(0.001)  # nobody asks for it
        assert view.statistics.dispatches == 1
        view.flush()
        assert view.statistics.dispatches == 1
        assert np.asarray(a).tolist() == [1, 2, 3, 4, 5]


@row("15", "flush() and wait()")
def test_flush_and_wait(accelerator_view):
    view = amp.array_view(numbers(5))
    on(accelerator_view, add_one, view.extent, view)
    accelerator_view.flush()
    on(accelerator_view, add_one, view.extent, view)
    accelerator_view.wait()
    assert view[0] == 2


@row("15", "create_marker(): ready when all work submitted before it is done")
def test_marker(accelerator):
    view = accelerator.create_view()
    a = amp.array(amp.extent(5), amp.int32, numbers(5), accelerator_view=view)
    on(view, add_one, a.extent, a)
    marker, called = view.create_marker(), threading.Event()
    marker.then(called.set)
    marker.get()
    assert marker.valid() and marker.wait_for(0) and called.wait(30)
    assert view.statistics.dispatches == 1 and np.asarray(a).tolist() == [1, 2, 3, 4, 5]


@row("15", "access_type: flags, read_write = read | write")
def test_access_types():
    assert amp.access_type_read | amp.access_type_write == amp.access_type_read_write
    assert amp.access_type_none == 0 and amp.access_type_auto not in (0, 1, 2, 3)


@row("15", "several devices in one process")
def test_several_devices():
    raw = numbers(6, 8)
    whole = amp.array_view(raw)
    places = [each.default_view for each in amp.accelerator.get_all() if each.limits]
    assert len(places) >= 2
    for turn in range(4):
        for k, place in enumerate(places):
            part = whole.section(0, 2 * ((k + turn) % 4), 6, 2)
            on(place, add_one, part.extent, part)
    expected = numbers(6, 8) + len(places)
    assert np.array_equal(np.asarray(whole), expected)


@row("15", "8 threads launch on one view and on eight")
@pytest.mark.parametrize("views", [1, 8])
def test_threads(accelerator, views):
    places = [accelerator.create_view() for _ in range(views)]
    shared = [amp.array(amp.extent(64), amp.int32, [0] * 64, accelerator_view=place) for place in places]
    errors, rounds = [], 10

    @amp.kernel
    def count(i, totals, own, step):
        amp.atomic_fetch_add(totals[i], step)
        own[i] += step

    def work(k):
        try:
            mine = amp.array_view(np.zeros(64, I32))
            for step in range(rounds):
                on(places[k % views], count, mine.extent, shared[k % views], mine, step)
                if step % 4 == 3:
                    assert mine[k] == sum(range(step + 1))
            assert np.all(np.asarray(mine) == sum(range(rounds)))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sum(int(np.asarray(a).sum()) for a in shared) == 8 * 64 * sum(range(rounds))


@row("15", "1,000 launches with fresh arrays keep device memory flat", differs="beyond C++ AMP")
@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_memory_is_flat(accelerator):
    view = accelerator.create_view()
    for k in range(1000):
        a = amp.array(amp.extent(1 << 18), amp.int32, accelerator_view=view)  # 1 MiB
        on(view, fill, amp.extent(7), a, k)
        if k % 100 == 99:
            assert np.asarray(a.section(0, 7)).tolist() == [k] * 7
    del a
    gc.collect()
    # Launches that have not run yet hold their arrays; what went out of scope otherwise is used again.
    assert view.statistics.allocations <= 200


@row("15", "1,000 launches with fresh arrays that nobody reads keep device memory flat", differs="beyond C++ AMP")
@pytest.mark.accelerators("drivers")
def test_memory_is_flat_without_reading(accelerator):
    view = accelerator.create_view()
    for k in range(1000):
        a = amp.array(amp.extent(1 << 18), amp.int32, accelerator_view=view)  # 1 MiB
        on(view, fill, amp.extent(7), a, k)
    # At most one list of launches waits, and one runs.
    assert view.statistics.allocations <= 130
    assert np.asarray(a.section(0, 7)).tolist() == [999] * 7


@row("15", "a container too large for the device: OutOfMemoryError with sizes, all else stays usable")
def test_out_of_memory(accelerator_view):
    kept = amp.array(amp.extent(5), amp.int32, numbers(5), accelerator_view=accelerator_view)
    huge = amp.extent(2**30, 4)
    for make in (
        lambda: amp.array(huge, amp.float32, accelerator_view=accelerator_view),
        lambda: on(accelerator_view, fill, amp.extent(1, 1), amp.array_view(huge, amp.float32), 1.0),
    ):
        with pytest.raises(amp.OutOfMemoryError, match=r"17179869184 bytes"):
            make()
    on(accelerator_view, add_one, kept.extent, kept)
    assert np.asarray(kept).tolist() == [1, 2, 3, 4, 5]


@row("15", "a fork after use: a clear error in the child", differs="beyond C++ AMP")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.accelerators("drivers")
def test_fork(tmp_path, accelerator):
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent(
            f"""
            import os
            import warnings
            import numpy as np
            import vkamp as amp

            @amp.kernel
            def add_one(i, values):
                values[i] += 1

            device = amp.accelerator({accelerator.device_path!r}).default_view
            view = amp.array_view(np.zeros(5, np.int32))
            amp.parallel_for_each(device, view.extent, add_one, view)
            warnings.simplefilter("ignore", DeprecationWarning)  # Python's own advice against fork
            child = os.fork()
            if child == 0:
                try:
                    amp.parallel_for_each(device, view.extent, add_one, view)
                except amp.AmpError as error:
                    print("child:", str(error).split(",")[0], flush=True)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            print("parent:", view[4], flush=True)
            """
        ),
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    expected = "child: this process was forked from one that uses a Vulkan device"
    assert done.stdout.splitlines() == [expected, "parent: 1"]
