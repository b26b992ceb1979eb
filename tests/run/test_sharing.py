"""Memory that CUDA uses, too, on SwiftShader: its file descriptors are real, and a fake of CUDA's driver maps them."""

from __future__ import annotations

import gc
import mmap
import os
import sys
import types

import numpy as np
import pytest

import vkamp as amp
from tests.run.conftest import Runner, device, dispatch
from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.run import cuda
from vkamp.run.vulkan import api, sharing
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.engine import VulkanEngine
from vkamp.run.vulkan.queue import VulkanQueue

N = 5003
_SWIFTSHADER = 0x1AE0


class Mapped:
    """An allocation of Vulkan as the fake maps it."""

    def __init__(self, descriptor, nbytes):
        self.pages = mmap.mmap(descriptor, nbytes)
        os.close(descriptor)
        self.bytes = np.frombuffer(self.pages, np.uint8)
        self.address = self.bytes.ctypes.data
        self.freed = False

    def free(self):
        self.freed = True


class Cuda:
    """CUDA's device as :mod:`vkamp.run.cuda` describes it; it records who waits for its streams."""

    number = 0

    def __init__(self):
        self.mapped = []
        self.waits = []
        self.broken = None
        self.busy = set()

    def is_idle(self, stream):
        return stream not in self.busy

    def import_memory(self, descriptor, nbytes):
        self.mapped.append(Mapped(descriptor, nbytes))
        return self.mapped[-1]

    def synchronize(self, stream):
        if stream == self.broken:
            raise cuda.CudaError("cuStreamSynchronize gave CUDA_ERROR_INVALID_HANDLE")
        self.waits.append(stream)

    def synchronize_all(self):
        self.waits.append("all")

    def words(self, buffer):
        """The words of a buffer at the address that it has for CUDA."""
        address = buffer.external().address
        found = next(m for m in self.mapped if m.address <= address < m.address + m.bytes.size)
        start = address - found.address
        return found.bytes[start : start + buffer.nbytes].view(np.uint32)


@pytest.fixture
def fake(monkeypatch):
    """A fake CUDA that knows SwiftShader."""
    made = Cuda()
    monkeypatch.setattr(api, "_CUDA_VENDORS", (_SWIFTSHADER,))
    monkeypatch.setattr(sharing, "cuda_device", lambda uuid: made)
    return made


@pytest.fixture
def shared(fake):
    """A queue of a fresh device, whose memory is exported."""
    made = VulkanDevice(device("swiftshader", VulkanEngine()), staged=True)
    yield Runner(VulkanQueue(made))
    made.close()


@pytest.fixture
def visible(fake):
    """A queue of a fresh device, whose memory is exported, but for small buffers, which the host sees."""
    made = VulkanDevice(device("swiftshader", VulkanEngine()), staged=True, visible=True)
    yield Runner(VulkanQueue(made))
    made.close()


def add(runner, buffer, word):
    """Launches ``buffer[:] += word``."""
    runner.launch("add", [buffer], [word])


def test_both_sides_work_on_the_same_memory(shared, fake):
    assert shared.queue.device.api.exports_memory
    values = np.arange(N, dtype=np.uint32)
    buffer = shared.buffer(values)
    outside = buffer.external()
    assert (outside.device, outside.order) == (
        (2, 0),
        "by waits of the host, since the device exports no timeline semaphores",
    )
    before = shared.queue.statistics
    lent = outside.lend(7)
    seen = fake.words(buffer)
    np.testing.assert_array_equal(seen, values)
    for n in range(5):
        # A launch on shared memory has ended when the call returns, since the stream could use the memory now.
        add(shared, buffer, n)
        values += np.uint32(n)
        np.testing.assert_array_equal(seen, values)
        seen *= 3
        values *= 3
    assert fake.waits == [7] * 5
    moved = ("uploaded_bytes", "downloaded_bytes", "synced_bytes")
    assert all(getattr(shared.queue.statistics, name) == getattr(before, name) for name in moved)
    np.testing.assert_array_equal(buffer.download(0, 4 * N).view(np.uint32), values)
    buffer.upload(4, np.zeros(8, np.uint8))
    assert (seen[1:3] == 0).all()
    assert lent.buffer is buffer


def test_what_the_host_sees_moves(visible, fake):
    """No driver exports the memory that the host sees, too."""
    values = np.arange(1003, dtype=np.uint32)
    buffer = visible.buffer(values)
    add(visible, buffer, 7)
    outside = buffer.external()
    moved = outside.storage
    assert (buffer.slot.block.kind, moved.slot.block.kind, moved.nbytes) == ("visible", "device", buffer.nbytes)
    lent = outside.lend(7)
    np.testing.assert_array_equal(fake.words(moved), values + 7)
    add(visible, moved, 1)
    np.testing.assert_array_equal(fake.words(moved), values + 8)
    assert moved.external().storage is moved
    assert lent.buffer is moved


class Order:
    """What semaphores would order: it records the streams that launches wait for, and those that wait for launches."""

    def __init__(self):
        self.calls = []

    def before(self, streams):
        self.calls.append(("before", *streams))

    def after(self, streams):
        self.calls.append(("after", *streams))


def test_semaphores_order_only_what_is_under_way(shared, fake, monkeypatch):
    """A launch waits for a stream that has work, and the stream for a launch that has not ended after the call."""
    order = Order()
    buffer = shared.buffer(np.zeros(N, np.uint32))
    outside = buffer.external()
    shared.queue.device.sharing.host_waits = ""
    monkeypatch.setattr(sharing.Sharing, "_order_of", lambda self, queue: order)
    lent = outside.lend(7)
    assert order.calls == [("after", 7)]
    order.calls.clear()
    monkeypatch.setattr(sharing, "_PATIENCE", 60.0)
    add(shared, buffer, 1)
    assert order.calls == []
    np.testing.assert_array_equal(fake.words(buffer), np.ones(N))
    monkeypatch.setattr(sharing, "_PATIENCE", 0.0)
    shared.launch("long", [buffer], [20, 50_000], groups=(1, 1, 1))
    assert order.calls == [("after", 7)]
    order.calls.clear()
    fake.busy.add(7)
    add(shared, buffer, 1)
    assert order.calls == [("before", 7), ("after", 7)]
    shared.queue.wait()
    assert lent.buffer is buffer


def test_other_memory_is_not_ordered(shared, fake):
    one, other = shared.buffer(np.zeros(N)), shared.buffer(np.zeros(N))
    lent = [one.external().lend(stream) for stream in (1, None, -1, 9)]
    add(shared, other, 1)
    shared.queue.wait()
    assert fake.waits == []
    add(shared, one, 1)
    assert sorted(fake.waits) == [1, 9]
    assert len(lent) == 4
    with pytest.raises(BufferError, match="stream 0 is ambiguous: pass 1 for the legacy default stream"):
        one.external().lend(0)


def test_the_end_of_an_export_is_ordered_once(shared, fake):
    buffer = shared.buffer(np.zeros(N))
    outside = buffer.external()
    lent, other = outside.lend(1), outside.lend(33)
    del lent
    gc.collect()
    add(shared, buffer, 1)
    assert sorted(fake.waits) == [1, 33]
    del other
    gc.collect()
    add(shared, buffer, 1)
    assert fake.waits[2:] == ["all"]  # the stream may have been destroyed meanwhile
    add(shared, buffer, 1)
    assert len(fake.waits) == 3
    again = outside.lend(5)
    add(shared, buffer, 1)
    assert fake.waits[3:] == [5]
    del again


def test_memory_is_used_again_after_the_streams_work(shared, fake):
    buffer = shared.buffer(np.zeros(N))
    outside = buffer.external()
    lent = outside.lend(1)
    number = buffer.slot.id
    del buffer, outside
    gc.collect()
    shared.queue.device.tidy()
    assert fake.waits == []
    del lent
    gc.collect()
    shared.queue.device.tidy()
    assert fake.waits == [1]
    second = shared.buffer(np.ones(N))
    assert second.slot.id == number
    add(shared, second, 1)
    assert fake.waits == [1]
    lent = second.external().lend(2)
    add(shared, second, 1)
    assert fake.waits == [1, 2]
    assert (fake.words(second) == 3).all() and lent.buffer is second


def test_blocks_are_unmapped(shared, fake):
    memory = shared.buffer(np.zeros((40 << 20) // 4))
    memory.external()
    assert len(fake.mapped) == 1
    shared.queue.wait()
    del memory
    gc.collect()
    with shared.queue.device.lock:
        shared.queue.device.collect()
        shared.queue.device._empty_pool()
    assert fake.mapped[0].freed


def test_recordings_and_gathered_launches(shared, fake):
    buffer, other = shared.buffer(np.zeros(N)), shared.buffer(np.zeros(N))
    recording = shared.queue.record([dispatch(shared, "add", [each], [1]) for each in (buffer, other)])
    recording.replay()
    lent = buffer.external().lend(4)
    seen = fake.words(buffer)
    for n in range(2, 6):
        recording.replay()
        assert (seen == n).all()
    assert other.take_from(0, buffer, 0, 4 * N)
    assert buffer.take_from(0, other, 0, 4 * N)
    assert set(fake.waits) == {4} and lent.buffer is buffer


def test_a_stream_that_fails(shared, fake):
    buffer = shared.buffer(np.zeros(N))
    lent = [buffer.external().lend(stream) for stream in (3, 8)]
    fake.broken = 8
    with pytest.raises(AmpError, match=r"waiting for a CUDA stream failed: cuStreamSynchronize gave CUDA_ERROR"):
        buffer.download(0, 4)
    with pytest.raises(AmpError, match=r"CUDA's stream 0x8 can no longer be ordered with launches .*: keep a stream"):
        add(shared, buffer, 1)
    add(shared, buffer, 1)
    assert (buffer.download(0, 4 * N).view(np.uint32) == 2).all() and len(lent) == 2


def test_one_device_imports_what_another_has_exported(shared, fake):
    """The descriptor is Vulkan's own: a second logical device imports the memory."""
    buffer = shared.buffer(np.arange(N))
    shared.queue.wait()
    block = buffer.slot.block
    other = api.Api(shared.queue.info)
    try:
        vk, ffi = other.vk, other.ffi
        source = other.struct("VkImportMemoryFdInfoKHR")
        source.handleType = vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
        source.fd = sharing.memory_descriptor(shared.queue.device.api, block)
        create = other.struct("VkMemoryAllocateInfo")
        create.allocationSize = block.need[1]
        create.pNext = ffi.cast("void*", source)
        memory = ffi.new("VkDeviceMemory*")
        other.check("vkAllocateMemory", other.AllocateMemory(other.device, create, other.null, memory))
        address = ffi.new("void**")
        other.check("vkMapMemory", other.MapMemory(other.device, memory[0], 0, block.need[1], 0, address))
        seen = np.frombuffer(ffi.buffer(address[0], block.need[1]), np.uint8)
        start = buffer.slot.offset
        found = seen[start : start + 4 * N].view(np.uint32)
        np.testing.assert_array_equal(found, np.arange(N))
        found += 1
        np.testing.assert_array_equal(buffer.download(0, 4 * N).view(np.uint32), np.arange(N) + 1)
        other.FreeMemory(other.device, memory[0], other.null)
    finally:
        other.close()


# -- what is missing -------------------------------------------------------------------------------


class Driver(types.SimpleNamespace):
    """A fake of cuda.bindings.driver that fails in one function."""

    def __init__(self, **more):
        names = ("CUDA_EXTERNAL_MEMORY_HANDLE_DESC", "CUDA_EXTERNAL_MEMORY_BUFFER_DESC")
        made = {name: lambda: types.SimpleNamespace(handle=types.SimpleNamespace()) for name in names}
        made["CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC"] = made[names[0]]
        made["CUexternalMemoryHandleType"] = made["CUexternalSemaphoreHandleType"] = types.SimpleNamespace(
            CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD=1, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD=9
        )
        calls = {
            "cuInit": (0,), "cuDeviceGetCount": (0, 1), "cuDeviceGet": (0, 0), "cuCtxPopCurrent": (0, None),
            "cuDeviceGetUuid": (0, types.SimpleNamespace(bytes=bytes(16))), "cuDevicePrimaryCtxRetain": (0, 5),
            "cuCtxPushCurrent": (0,), "cuImportExternalMemory": (0, 6), "cuImportExternalSemaphore": (0, 6),
            "cuExternalMemoryGetMappedBuffer": (0, 4096), "cuDestroyExternalMemory": (0,), "cuMemFree": (0,),
        }  # fmt: skip
        self.called = []
        for name, result in {**calls, **more}.items():
            made[name] = self._function(name, result)
        super().__init__(**made, called=self.called)

    def _function(self, name, result):
        def call(*_):
            self.called.append(name)
            if isinstance(result, Exception):
                raise result
            return result

        return call


@pytest.fixture
def driver_of(monkeypatch):
    """Makes a fake of CUDA's driver the one that is installed."""
    monkeypatch.setattr(cuda, "_devices", {})

    def install(**more):
        made = Driver(**more)
        package, bindings = types.ModuleType("cuda"), types.ModuleType("cuda.bindings")
        bindings.driver = made
        for name, module in (("cuda", package), ("cuda.bindings", bindings), ("cuda.bindings.driver", made)):
            monkeypatch.setitem(sys.modules, name, module)
        return made

    return install


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(cuda, "_devices", {})
    monkeypatch.setitem(sys.modules, "cuda", None)
    with pytest.raises(UnsupportedFeatureError) as caught:
        cuda.cuda_device("00" * 16)
    assert str(caught.value).startswith(
        'the package cuda-bindings is missing: install it with: pip install "vkamp[cuda]" ('
    )


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"cuInit": (100,)}, "CUDA's driver does not start: cuInit gave the error 100"),
        ({"cuInit": RuntimeError("no libcuda")}, "CUDA's driver cannot be loaded: no libcuda"),
        ({"cuDeviceGetCount": (0, 0)}, f"CUDA has no device with the UUID {'00' * 16}"),
        ({"cuDeviceGetCount": (3, 0)}, "CUDA cannot use the device: cuDeviceGetCount gave the error 3"),
        ({"cuDevicePrimaryCtxRetain": (2, 0)}, "CUDA cannot use the device: cuDevicePrimaryCtxRetain gave the error 2"),
    ],
)
def test_a_driver_that_cannot(driver_of, fault, message):
    driver_of(**fault)
    with pytest.raises(UnsupportedFeatureError) as caught:
        cuda.cuda_device("00" * 16)
    assert str(caught.value) == message


def test_imports_that_fail_leave_nothing_behind(driver_of):
    driver_of(cuImportExternalMemory=(999,), cuImportExternalSemaphore=(999,))
    device = cuda.cuda_device("00" * 16)
    for take, name in (
        (lambda fd: device.import_memory(fd, 64), "cuImportExternalMemory"),
        (device.import_semaphore, "cuImportExternalSemaphore"),
    ):
        descriptor = os.dup(0)
        with pytest.raises(cuda.CudaError, match=f"{name} gave the error 999"):
            take(descriptor)
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(descriptor)
    made = driver_of(cuExternalMemoryGetMappedBuffer=(999, 0))
    cuda._devices.clear()
    with pytest.raises(cuda.CudaError, match="cuExternalMemoryGetMappedBuffer gave the error 999"):
        cuda.cuda_device("00" * 16).import_memory(77, 64)
    assert made.called[-2:] == ["cuDestroyExternalMemory", "cuCtxPopCurrent"]


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_devices_that_export_nothing(accelerator_view):
    """CPU drivers: host memory is exported, and the error says why."""
    a = amp.array(np.arange(4, dtype=np.float32), accelerator_view=accelerator_view)
    assert a.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match=r"to the device \(2, 0\): .* has no memory that CUDA can import"):
        a.__dlpack__(dl_device=(2, 0))
    np.testing.assert_array_equal(np.from_dlpack(a), [0, 1, 2, 3])
