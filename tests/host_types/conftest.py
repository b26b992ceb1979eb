"""Device memory made of numpy, whose launches run only when someone waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from vkamp import access_type, access_type_auto, access_type_none, access_type_read_write
from vkamp.errors import AmpError, OutOfMemoryError
from vkamp.lang import storage
from vkamp.lang.container import Container, bindable
from vkamp.lang.region import ByteSet, scatter
from vkamp.lang.storage import Descriptor


class FakeStorage:
    """Counts the bytes that travel."""

    def __init__(self, location: FakeLocation, nbytes: int) -> None:
        self.location = location
        self.memory = np.full(nbytes, 0xCD, np.uint8)

    @property
    def nbytes(self) -> int:
        return self.memory.size

    def upload(self, offset: int, data: np.ndarray, where: ByteSet | None = None) -> None:
        self.location.run()
        assert data.dtype == np.uint8
        assert data.ndim == 1
        assert data.size > 0
        assert offset >= 0
        assert offset + data.size <= self.nbytes
        everything = ByteSet.interval(0, data.size)
        scatter(self.memory[offset : offset + data.size], data, everything if where is None else where, 0)
        self.location.uploads.append(data.size if where is None else where.nbytes)

    def download(
        self, offset: int, nbytes: int, where: ByteSet | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        self.location.run()
        assert offset >= 0
        assert nbytes > 0
        assert offset + nbytes <= self.nbytes
        self.location.downloads.append(nbytes if where is None else where.nbytes)
        if self.location.fails:
            raise RuntimeError("device lost")
        data = self.memory[offset : offset + nbytes]
        if out is not None:
            assert out.shape == (nbytes,)
            scatter(out, data, ByteSet.interval(0, nbytes) if where is None else where, 0)
            return out
        if where is not None:
            whole, data = data, np.full(nbytes, 0xEE, np.uint8)  # the others may be anything
            scatter(data, whole, where, 0)
        if self.location.copies_out:
            return data.copy()
        data = data.view()
        data.flags.writeable = False
        return data


class FakeLocation:
    """An accelerator_view."""

    def __init__(self, *, runs_kernels: bool = True, capacity: int = 1 << 30, copies_out: bool = False) -> None:
        self.runs_kernels = runs_kernels
        self.capacity = capacity
        self.copies_out = copies_out
        self.fails = False
        self.uploads: list[int] = []
        self.downloads: list[int] = []
        self.queue: list[Callable[[], None]] = []

    def allocate(self, nbytes: int) -> FakeStorage:
        assert nbytes >= 1
        assert nbytes % 4 == 0
        if nbytes > self.capacity:
            raise OutOfMemoryError(f"{nbytes} bytes wanted, {self.capacity} there")
        return FakeStorage(self, nbytes)

    def host_access(self, wanted: access_type) -> access_type:
        if not isinstance(wanted, access_type):
            raise TypeError(f"cpu_access_type must be an access_type, got {wanted!r}")
        if not self.runs_kernels:
            return access_type_read_write
        if wanted not in (access_type_auto, access_type_none):
            raise AmpError(f"cpu_access_type {wanted.name}: the accelerator shares no memory with the host")
        return access_type_none

    def run(self) -> None:
        while self.queue:
            self.queue.pop(0)()

    def moved(self) -> tuple[int, int]:
        """Bytes uploaded and downloaded since the last call."""
        counts = sum(self.uploads), sum(self.downloads)
        self.uploads, self.downloads = [], []
        return counts


def elements(descriptor: Descriptor) -> np.ndarray:
    """The device's elements of a descriptor, found as a kernel finds them."""
    dtype = descriptor.dtype
    memory = descriptor.storage.memory  # type: ignore[attr-defined]
    flat = memory[: memory.size // dtype.itemsize * dtype.itemsize].view(dtype)
    return np.ndarray(
        descriptor.shape,
        dtype,
        flat,
        descriptor.offset_elements * dtype.itemsize,
        tuple(s * dtype.itemsize for s in descriptor.strides_elements),
    )


def launch(
    location: FakeLocation,
    kernel: Callable[..., None],
    *containers: Container,
    reads: tuple[Container, ...] = (),
) -> None:
    """Enqueue ``kernel(*ndarrays)`` over read-write ``containers`` and read-only ``reads``."""
    descriptors = [bindable(c).acquire(location, read=True, write=True) for c in containers]
    descriptors += [bindable(c).acquire(location, read=True, write=False) for c in reads]

    def run() -> None:
        kernel(*[elements(d) for d in descriptors])

    location.queue.append(run)
    for container in containers:
        bindable(container).written(location)


@pytest.fixture
def location() -> FakeLocation:
    """A device."""
    return FakeLocation()


@pytest.fixture
def other() -> FakeLocation:
    """A second device, whose downloads are fresh memory."""
    return FakeLocation(copies_out=True)


@pytest.fixture
def cpu() -> FakeLocation:
    """The cpu accelerator's view."""
    return FakeLocation(runs_kernels=False)


@pytest.fixture(autouse=True)
def providers(location: FakeLocation, cpu: FakeLocation) -> Iterator[None]:
    """``location`` is the default, ``cpu`` the host's."""
    old: tuple[Any, Any] = storage._default_provider, storage._host_provider
    storage.set_location_provider(lambda: location)
    storage.set_host_location_provider(lambda: cpu)
    yield
    storage._default_provider, storage._host_provider = old


@pytest.fixture(name="launch")
def launch_fixture() -> Callable[..., None]:
    """:func:`launch`."""
    return launch


@pytest.fixture
def new_location() -> type[FakeLocation]:
    """:class:`FakeLocation`."""
    return FakeLocation


@pytest.fixture
def refused() -> Callable[[type[BaseException], str], Any]:
    """A context that expects an error of exactly this type with exactly this message."""

    @contextmanager
    def context(error: type[BaseException], message: str) -> Iterator[None]:
        with pytest.raises(error) as caught:
            yield
        assert str(caught.value) == message
        assert caught.type is error

    return context
