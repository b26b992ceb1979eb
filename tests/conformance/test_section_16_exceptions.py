"""Exceptions: which are raised when, and what they carry."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, add_one, fill, numbers, on
from tests.conformance.registry import row


@row("16", "runtime_exception is AmpError, with get_error_code", differs="error_code is None where no code is known")
def test_base():
    error = amp.AmpError("text")
    assert isinstance(error, RuntimeError) and error.error_code is None
    for kind in (
        amp.CompileError,
        amp.InvalidComputeDomainError,
        amp.OutOfMemoryError,
        amp.UnsupportedFeatureError,
        amp.AcceleratorRemovedError,
        amp.RaceError,
        amp.ShaderEditError,
    ):
        assert issubclass(kind, amp.AmpError)


def view(*shape):
    return amp.array_view(numbers(*shape))


BASE = {
    "bad section": lambda av: view(3, 4).section(1, 1, 3, 3),
    "projection outside": lambda av: view(3, 4)[3],
    "bad reinterpret_as": lambda av: view(5).reinterpret_as([("x", F32), ("y", F32)]),
    "bad view_as": lambda av: view(5).view_as(amp.extent(2, 3)),
    "copy extent mismatch": lambda av: amp.copy(view(3, 4), view(4, 3)),
    "non-positive array extent": lambda av: amp.array(amp.extent(3, 0), amp.int32),
    "host access to a device array": lambda av: amp.array(amp.extent(3), amp.int32, accelerator_view=av)[0],
    "mixed accelerator_views": lambda av: on(
        av.accelerator.create_view(), add_one, amp.extent(3), amp.array(amp.extent(3), amp.int32, accelerator_view=av)
    ),
    "unknown device": lambda av: amp.accelerator("no such device"),
}


@row("16", "runtime_exception: bad section, projection, reinterpret_as, view_as")
@row("16", "runtime_exception: copy extent mismatch, non-positive array extent")
@row("16", "runtime_exception: host access to a device array, mixed accelerator_views, unknown device")
@pytest.mark.parametrize("situation", BASE)
def test_runtime_exception(accelerator_view, situation):
    with pytest.raises(amp.AmpError) as caught:
        BASE[situation](accelerator_view)
    assert caught.type is amp.AmpError and len(str(caught.value)) > 20


@row("16", "invalid_compute_domain")
def test_invalid_compute_domain(accelerator_view):
    with pytest.raises(amp.InvalidComputeDomainError):
        on(accelerator_view, add_one, amp.extent(0), view(3))


@row("16", "out_of_memory")
def test_out_of_memory(accelerator_view):
    with pytest.raises(amp.OutOfMemoryError, match="bytes"):
        amp.array(amp.extent(2**31 - 1, 2), amp.int32, accelerator_view=accelerator_view)
    with pytest.raises(amp.OutOfMemoryError, match="bytes"):
        amp.array(amp.extent(2**30, 2**20), amp.int32, accelerator_view=amp.accelerator("cpu").default_view)


@row("16", "unsupported_feature: the target cannot execute; no double support")
def test_unsupported_feature():
    cpu = amp.accelerator("cpu").default_view
    with pytest.raises(amp.UnsupportedFeatureError):
        on(cpu, add_one, amp.extent(3), view(3))
    if not amp.accelerator("swiftshader").supports_double_precision:
        with pytest.raises(amp.UnsupportedFeatureError, match="float64"):
            on(amp.accelerator("swiftshader").default_view, add_one, amp.extent(3), amp.array_view(np.zeros(3)))


@row("16", "a device intrinsic on the host", differs="AmpError")
def test_intrinsics_on_the_host():
    with pytest.raises(amp.AmpError):
        amp.tile_static(4, amp.int32)


@row("16", "accelerator_view_removed carries the reason; its data are gone")
def test_removed():
    error = amp.AcceleratorRemovedError("lost", reason="timeout")
    assert error.reason == "timeout"


LOST = """
import numpy as np
import vkamp as amp

@amp.kernel
def add_one(i, values):
    values[i] += 1

view = amp.accelerator("swiftshader").default_view
values, raw = amp.array(amp.extent(4), amp.int32, [0] * 4, accelerator_view=view), np.zeros(4, np.int32)
home = amp.array_view(raw)
amp.parallel_for_each(view, home.extent, add_one, home)
amp.parallel_for_each(view, values.extent, add_one, values)
view._queue.device.lose("timeout")  # as a driver says it
uses = {
    "launch": lambda: amp.parallel_for_each(view, values.extent, add_one, values),
    "copy": lambda: amp.copy(values, raw),
    "synchronize": home.synchronize,
    "host access": lambda: home[0],
    "wait": view.wait,
    "flush": view.flush,
    "marker": lambda: view.create_marker().get(),
    "future": lambda: amp.copy_async(values, np.zeros(4, np.int32)).get(),
    "array": lambda: amp.array(amp.extent(4), amp.int32, accelerator_view=view),
}
for name, use in uses.items():
    try:
        use()
        print(name, "works")
    except amp.AcceleratorRemovedError as error:
        print(name, error.reason)
del home, uses, use  # raises nothing
print(raw.tolist())
other = amp.array_view(raw)
amp.parallel_for_each(amp.accelerator("reference"), other.extent, add_one, other)
print(other[3])
"""


@row("16", "accelerator_view_removed: launch, copy, synchronize, wait; others go on")
@row("16", "asynchronous errors surface at the next synchronising call")
@pytest.mark.accelerators("swiftshader")
def test_lost_device(tmp_path, accelerator):
    path = tmp_path / "program.py"
    path.write_text(LOST.replace("swiftshader", accelerator.device_path), encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    names = ["launch", "copy", "synchronize", "host access", "wait", "flush", "marker", "future", "array"]
    assert done.stdout.splitlines() == [*(f"{name} timeout" for name in names), "[0, 0, 0, 0]", "1"]


@amp.kernel
def undefined_name(i, values):
    values[i] = no_such_name  # noqa: F821


@row("16", "compile errors come before any effect")
def test_compile_errors(accelerator_view):
    raw = numbers(4)
    values = amp.array_view(raw)
    on(accelerator_view, fill, values.extent, values, 9)
    before = accelerator_view.statistics
    with pytest.raises(amp.CompileError, match="no_such_name") as caught:
        on(accelerator_view, undefined_name, values.extent, values)
    assert "values[i] = no_such_name" in str(caught.value)
    assert accelerator_view.statistics.uploads == before.uploads
    assert np.asarray(values).tolist() == [9] * 4


@row("16", "asynchronous errors surface at get() of the future")
def test_asynchronous_errors(accelerator_view):
    def rows():
        yield from (1, 2)
        raise ValueError("broken source")

    future = amp.copy_async(rows(), amp.array(amp.extent(5), amp.int32, accelerator_view=accelerator_view))
    future.wait()
    with pytest.raises(ValueError, match="broken source"):
        future.get()


@row("16", "errors never come from destructors")
def test_destructors(accelerator_view):
    class Failing:
        """A device memory that is lost."""

        def __init__(self, nbytes):
            self.nbytes = nbytes

        def upload(self, offset, data, where=None):
            pass

        def download(self, offset, nbytes, where=None, out=None):
            raise amp.AcceleratorRemovedError("lost", reason="test")

    class Place:
        runs_kernels = True

        def allocate(self, nbytes):
            return Failing(nbytes)

        def host_access(self, wanted):
            return amp.access_type_none

    raw = numbers(4)
    values = amp.array_view(raw)
    values.synchronize_to(Place(), amp.access_type_write)
    with pytest.raises(amp.AcceleratorRemovedError):
        values.synchronize()
    del values
    assert raw.tolist() == [0, 1, 2, 3]


@row("16", "everything stays usable after an error")
def test_after_errors(accelerator_view):
    values = amp.array_view(np.zeros(4, I32))
    for domain in (amp.extent(0), amp.extent(2**31 - 1, 9), amp.extent(4).tile(3)):
        with pytest.raises(amp.InvalidComputeDomainError):
            on(accelerator_view, add_one, domain, values)
        on(accelerator_view, add_one, values.extent, values)
    assert np.asarray(values).tolist() == [3] * 4
