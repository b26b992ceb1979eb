"""Which objects keep others alive, and what happens when the last view is deleted."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

from vkamp import array, array_view, extent
from vkamp.lang.container import bindable
from vkamp.lang.host_memory import _registry


class Owner(bytearray):
    """Memory that can be watched."""


@pytest.fixture
def raw():
    return np.zeros((5, 7), np.float32)


@pytest.fixture(autouse=True)
def registry_is_left_empty():
    gc.collect()
    before = list(_registry.homes)
    yield
    gc.collect()
    assert [home for home in _registry.homes if home not in before] == []


def add_one(d):
    d += 1


def test_the_last_view_brings_its_data_home(raw, location, launch):
    v = array_view(raw)
    s = v.section(1, 1, 2, 2)
    launch(location, add_one, v)
    del v
    assert raw.sum() == 0
    w = array_view(raw)
    del s
    assert raw.sum() == 0
    del w
    assert raw.sum() == 35


def test_a_temporary_view(raw, location, launch):
    launch(location, add_one, array_view(raw))
    assert raw.sum() == 35
    launch(location, add_one, array_view(raw))
    assert raw.sum() == 70


def test_joined_views_come_home_together(raw, location, launch):
    a = array_view(raw[:3])
    launch(location, add_one, a)
    b = array_view(raw[2:])
    del a
    launch(location, add_one, b)
    assert raw[0, 0] == 1
    assert raw[4, 0] == 0
    del b
    assert raw[2, 0] == 2
    assert raw[4, 0] == 1


def test_errors_are_swallowed(raw, location, launch):
    v = array_view(raw)
    launch(location, add_one, v)
    location.fails = True
    del v
    assert raw.sum() == 0


def test_a_discarded_view_writes_nothing(raw, location, launch):
    v = array_view(raw)
    launch(location, add_one, v)
    v.discard_data()
    del v
    assert raw.sum() == 0


def test_memory_lives_as_long_as_a_view(location, launch):
    owner = Owner(4 * 35)
    gone = weakref.ref(owner)
    v = array_view(np.frombuffer(owner, np.float32).reshape(5, 7))[2]
    del owner
    gc.collect()
    launch(location, add_one, v)
    assert v[3] == 1
    seen = np.asarray(v)
    assert gone() is not None
    del v
    assert gone() is not None
    assert seen[3] == 1
    del seen
    gc.collect()
    assert gone() is None


def test_memory_is_let_go_with_the_last_view():
    owner = Owner(4 * 35)
    gone = weakref.ref(owner)
    v = array_view(np.frombuffer(owner, np.float32))
    del owner
    assert gone() is not None
    del v
    gc.collect()
    assert gone() is None


def test_storage_is_let_go_with_the_array(location):
    a = array(extent(5, 7), data=np.zeros((5, 7), np.float32))
    gone = weakref.ref(bindable(a).acquire(location, read=True, write=False).storage)
    v = array_view(a)
    del a
    assert gone() is not None
    assert v[0, 0] == 0
    del v
    gc.collect()
    assert gone() is None


def test_in_a_cycle(raw, location, launch):
    v = array_view(raw)
    launch(location, add_one, v)
    cycle = [v]
    cycle.append(cycle)
    del v, cycle
    gc.collect()
    assert raw.sum() == 35


def test_death_inside_device_code_waits(raw, location, launch):
    holder = [array_view(raw)]
    launch(location, add_one, holder[0])
    room = {"__name__": "vkamp.run.kompute", "holder": holder}
    exec("def allocate():\n    holder.clear()\n    return list(seen)", room)
    room["seen"] = raw.ravel()
    assert sum(room["allocate"]()) == 0
    _ = array_view(np.zeros(3, np.float32))  # the next use of any container
    assert raw.sum() == 35


def test_death_while_a_home_is_locked_waits(raw, location, launch):
    holder = [array_view(raw)]
    launch(location, add_one, holder[0])
    v = array_view(np.zeros(3, np.float32))
    with v._lease:
        holder.clear()
        assert raw.sum() == 0
    _ = v[0]
    assert raw.sum() == 35


def test_threads(location):
    # Views over overlapping memory come and go while others use it; every thread owns one column.
    memory = np.zeros((6, 8), np.float32)
    lock = threading.Lock()
    failures = []

    def work(column):
        try:
            for n in range(60):
                v = array_view(memory[:, column] if n % 2 else memory[:, column : column + 1])
                d = bindable(v).acquire(location, read=True, write=True)
                with lock:
                    flat = d.storage.memory.view(np.float32)
                    for i in range(6):
                        flat[d.offset_elements + i * d.strides_elements[0]] += 1
                bindable(v).written(location)
                assert v[(3, 0)[: v.rank]] == n + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(c,)) for c in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (memory == 60).all()


def test_exit_brings_data_home_before_devices_close(tmp_path):
    file = tmp_path / "data"
    file.write_bytes(bytes(4 * 35))
    script = textwrap.dedent(
        f"""
        import atexit
        import numpy as np
        from vkamp import array_view
        from vkamp.lang.container import bindable

        class Place:
            runs_kernels = True
            open = False
            def allocate(self, nbytes):
                if not self.open:
                    self.open = True
                    atexit.register(self.close)
                return Memory(self, nbytes)
            def close(self):
                self.open = False

        class Memory:
            def __init__(self, place, nbytes):
                self.place, self.nbytes = place, nbytes
                self.memory = np.zeros(nbytes, np.uint8)
            def upload(self, offset, data):
                self.memory[offset:offset + data.size] = data
            def download(self, offset, nbytes, where=None, out=None):
                assert self.place.open
                if out is None:
                    return self.memory[offset:offset + nbytes]
                out[:] = self.memory[offset:offset + nbytes]

        raw = np.memmap({str(file)!r}, np.float32, "r+", shape=(5, 7))
        v = array_view(raw)
        w = array_view(np.zeros(3, np.float32))
        for place in (Place(), Place()):
            bindable(w).acquire(place, read=True, write=True)
            bindable(w).written(place)
            d = bindable(v).acquire(place, read=True, write=True)
            d.storage.memory.view(np.float32)[:] += 1
            bindable(v).written(place)
        """
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert np.fromfile(file, np.float32).tolist() == [2] * 35
