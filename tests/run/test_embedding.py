"""vkamp in programs with an event loop, with pools of threads, and with other processes (docs/embedding.md)."""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import vkamp as amp


@amp.func
def shifted(x, by):
    return x + by


@amp.kernel
def squares(idx, a, offset):
    a[idx] = shifted(a[idx] * a[idx], offset)


def work(view: amp.accelerator_view, n: int) -> int:
    a = amp.array_view(np.arange(n, dtype=np.int32))
    amp.parallel_for_each(view, a.extent, squares, a, n)
    return int(np.asarray(a).sum())


def expected(n: int) -> int:
    return sum(i * i + n for i in range(n))


def test_a_pool_of_threads(accelerator: amp.accelerator) -> None:
    sizes = [1, 2, 3, 50, 64, 65] * 4
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: work(accelerator.default_view, n), sizes))
        assert found == [expected(n) for n in sizes]
        # A view of its own for each thread.
        own = threading.local()

        def start() -> None:
            own.view = accelerator.create_view()

        with ThreadPoolExecutor(3, initializer=start) as others:
            assert list(others.map(lambda n: work(own.view, n), sizes)) == found


def test_an_error_in_a_pool_of_threads_is_the_callers(accelerator: amp.accelerator) -> None:
    def wrong(n: int) -> None:
        a = amp.array_view(np.zeros(n, np.int32))
        amp.parallel_for_each(accelerator.default_view, amp.extent(n).tile(7), squares, a, 1)

    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(amp.InvalidComputeDomainError, match="not a multiple"):
            pool.submit(wrong, 8).result()
        assert pool.submit(work, accelerator.default_view, 5).result() == expected(5)


def test_a_server(accelerator: amp.accelerator) -> None:
    """Requests in an event loop: a launch returns at once, and a copy is awaited."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        n = int(await reader.readline())
        a = amp.array(amp.array_view(np.arange(n, dtype=np.int32)), accelerator_view=accelerator.default_view)
        amp.parallel_for_each(a.extent, squares, a, n)
        out = np.empty(n, np.int32)
        await amp.copy_async(a, out)
        writer.write(f"{out.sum()}\n".encode())
        await writer.drain()
        writer.close()

    async def ask(port: int, n: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{n}\n".encode())
        line = await reader.readline()
        writer.close()
        return int(line)

    async def main() -> list[int]:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await asyncio.gather(*(ask(port, n) for n in range(1, 13)))

    assert asyncio.run(main()) == [expected(n) for n in range(1, 13)]


def test_the_loop_runs_while_a_copy_waits(accelerator: amp.accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy waits for an event that only the loop sets."""
    go = threading.Event()
    a = amp.array(4, amp.int32, [1, 2, 3, 4], accelerator_view=accelerator.default_view)
    out = np.zeros(4, np.int32)
    whole = amp.lang.transfer.copy

    def late(src: object, dest: object) -> None:
        assert go.wait(60)
        whole(src, dest)

    monkeypatch.setattr(amp.lang.transfer, "copy", late)

    async def main() -> None:
        asyncio.get_running_loop().call_soon(go.set)
        await amp.copy_async(a, out)

    asyncio.run(main())
    assert out.tolist() == [1, 2, 3, 4]


def test_what_is_sent_to_other_processes(accelerator: amp.accelerator) -> None:
    for value in (squares, shifted, accelerator, amp.extent(3, 4).tile(1, 2), amp.float3(1, 2, 3)):
        found = pickle.loads(pickle.dumps(value))
        assert found is value if value in (squares, shifted) else found == value

    @amp.kernel
    def inner(idx):
        pass

    with pytest.raises((AttributeError, pickle.PicklingError), match="inner"):
        pickle.dumps(inner)
    for container in (amp.array_view(np.zeros(3, np.float32)), amp.array(3, amp.float32)):
        with pytest.raises(TypeError, match=r"cannot be pickled: send np\.array\(\.\.\.\) of it"):
            pickle.dumps(container)
    for error in (amp.AmpError("a"), amp.CompileError("b", error_code="VKA201"), amp.OutOfMemoryError("c")):
        found = pickle.loads(pickle.dumps(error))
        assert (type(found), str(found), found.error_code) == (type(error), str(error), error.error_code)


PROCESSES = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import vkamp as amp

@amp.kernel
def squares(idx, a, offset):
    a[idx] = a[idx] * a[idx] + offset

def work(n, kernel=squares):
    a = amp.array_view(np.arange(n, dtype=np.int32))
    amp.parallel_for_each(a.extent, kernel, a, n)
    return int(np.asarray(a).sum())

def wrong(n):
    a = amp.array_view(np.arange(n, dtype=np.int32))
    @amp.parallel_for_each(a.extent)
    def _(idx):
        a[idx] = nothing

def pool(method):
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method))

def told(future):
    try:
        return future.result()
    except amp.AmpError as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"

if __name__ == "__main__":
    with pool("fork") as before, pool("spawn") as spawned, pool("forkserver") as served:
        for each in before, spawned, served:
            print(told(each.submit(work, 3)), told(each.submit(work, 4, squares)), told(each.submit(wrong, 3)))
    print(work(5))
    with pool("fork") as after:
        print(told(after.submit(work, 3)))
    with pool("spawn") as spawned:
        print(told(spawned.submit(work, 6)))
    print(work(7))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork here")
@pytest.mark.accelerators("swiftshader")
def test_processes(script) -> None:
    done = script(PROCESSES, VKAMP_ACCELERATOR="swiftshader", PYTHONWARNINGS="ignore::DeprecationWarning")
    one = f"{expected(3)} {expected(4)} CompileError: VKA201: the name `nothing` is not defined"
    assert done.stdout.splitlines() == [
        one,
        one,
        one,
        str(expected(5)),
        "AmpError: this process was forked from one that uses a Vulkan device, and drivers do not survive a fork: "
        'start processes with multiprocessing.get_context("spawn"), or fork before the first use',
        str(expected(6)),
        str(expected(7)),
    ]
