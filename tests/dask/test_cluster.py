"""Two workers, on SwiftShader and on lavapipe."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, wait

import vkamp as amp
import vkamp.dask as vd
from tests.dask import cases, tasks
from tests.dask.conftest import LIMIT, WORKERS

HERE = Path(__file__).parent


def descriptions() -> list[str]:
    return [amp.accelerator(name).description for name in WORKERS]


def test_every_function_equals_numpys(client: Any) -> None:
    found = dask.compute(*(case.make() for case in cases.ALL))
    wrong = [cases.difference(case, each) for case, each in zip(cases.ALL, found, strict=True)]
    assert [each for each in wrong if each is not None] == []
    used = client.run(lambda: amp.accelerator().default_view.statistics.dispatches)
    assert len(used) == 2 and all(count > 0 for count in used.values())


def test_a_worker_says_its_accelerator(client: Any) -> None:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    assert sorted(info["name"] for info in workers) == sorted(descriptions())
    for info in workers:
        assert info["resources"] == {"accelerator": 1.0, info["name"]: 1.0}
        assert info["metrics"]["accelerator"] == info["name"]
        assert info["metrics"]["device_memory_limit"] == LIMIT
    for name in descriptions():
        chosen = client.submit(lambda: vd.worker_info()["accelerator"], resources={name: 1}, pure=False)
        assert chosen.result() == name


def test_containers_travel(client: Any) -> None:
    first, second = descriptions()
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = client.submit(amp.array, values, resources={first: 1})
    moved = vd.copy(made, second)
    where = client.submit(lambda a: (type(a).__name__, a.accelerator_view.accelerator.description), moved)
    assert where.result() == ("array", second)
    assert np.array_equal(np.asarray(moved.result()), values)
    view = amp.array_view(values, readonly=True)
    back = client.submit(lambda v: (v, [v, {"twice": amp.array(2 * np.asarray(v))}]), view).result()
    assert back[0].readonly and np.array_equal(np.asarray(back[1][0]), values)
    assert np.array_equal(np.asarray(back[1][1]["twice"]), 2 * values)
    vectors = amp.array_view(np.arange(6, dtype=np.float32), dtype=None).reinterpret_as(amp.float3)
    same = client.submit(lambda v: v, amp.array(vectors)).result()
    assert same.dtype == vectors.dtype and np.array_equal(np.asarray(same), np.asarray(vectors))
    with pytest.raises(ValueError, match=r"^there is no worker 'nobody'; the workers are '"):
        vd.copy(made, "nobody")


def test_results_stay_on_the_device(client: Any) -> None:
    """A chain of kernels on one worker uploads its input once, and downloads nothing before the result is asked for."""
    name = descriptions()[1]
    x = da.from_array(np.arange(50, dtype=np.float32), chunks=50)
    count = client.submit(_moves, resources={name: 1}, pure=False).result()
    with dask.annotate(resources={name: 1}):
        y = x
        for _ in range(4):
            y = vd.map_blocks(cases.affine, y, 2, dtype="f4", shift=1)
        (kept,) = dask.persist(y, optimize_graph=False)
    wait(kept)
    later = client.submit(_moves, resources={name: 1}, pure=False).result()
    assert later[0] - count[0] <= 1 and later[1] == count[1]
    assert np.array_equal(kept.compute(), 16 * np.arange(50, dtype=np.float32) + 15)


def _moves() -> tuple[int, int]:
    statistics = amp.accelerator().default_view.statistics
    return statistics.uploads, statistics.downloads


def test_a_full_device_spills_to_host_memory(client: Any) -> None:
    before = sum(info["spills"] for info in client.run(vd.worker_info).values())
    values = np.random.default_rng(5).random((40, 4096), dtype=np.float32)  # 16 KiB a block, 640 KiB in all
    x = vd.to_device(da.from_array(values, chunks=(1, 4096))).persist()
    big = vd.to_device(da.from_array(values, chunks=(20, 4096))).persist()  # a block is larger than the budget
    wait([x, big])
    infos = client.run(vd.worker_info).values()
    assert sum(info["spills"] for info in infos) - before >= 8
    assert all(info["device_memory"] <= LIMIT for info in infos)
    y = vd.map_blocks(cases.affine, x, 2, dtype="f4", shift=1)
    assert np.array_equal(y.compute(), 2 * values + 1)
    assert np.array_equal(big.compute(), values)


def test_a_task_waits_for_the_block_before_its_own(client: Any) -> None:
    """Otherwise a worker would seem idle, whose device has many blocks to run."""
    (address, *_) = client.scheduler_info(n_workers=-1)["workers"]
    found = client.submit(_order_of_waits, workers=[address], allow_other_workers=False, pure=False).result()
    assert found == ["mark 0", "mark 1", "wait 0", "mark 2", "wait 1", "mark 3", "wait 2"]


def _order_of_waits() -> list[str]:
    """What a worker does with the markers of four blocks."""
    from vkamp.dask import blocks, turns

    class Marker:
        def __init__(self, real: Any) -> None:
            self.real, self.number = real, len([each for each in order if each.startswith("mark")])
            order.append(f"mark {self.number}")

        def wait(self) -> None:
            self.real.wait()
            order.append(f"wait {self.number}")

    order: list[str] = []
    real = amp.accelerator_view.create_marker
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(amp.accelerator_view, "create_marker", lambda view: Marker(real(view)))
        patch.setattr(turns, "_last", None)
        for _ in range(4):
            blocks.chunk_of(amp.array(amp.extent(7), amp.float32))
    return order


def test_a_worker_listens_while_a_result_is_copied(client: Any) -> None:
    """Dask serializes small results in the worker's event loop, which would wait for the device."""
    first, second = sorted(client.scheduler_info(n_workers=-1)["workers"])
    x = client.submit(_on_device, np.arange(12.0, dtype=np.float32), workers=[first], pure=False)
    wait(x)
    client.run(_copy_slowly, workers=[first])
    try:
        copy = client.submit(np.asarray, x, workers=[second], allow_other_workers=False, pure=False)
        time.sleep(0.3)
        began = time.monotonic()
        assert client.run(lambda: 7, workers=[first]) == {first: 7}
        assert time.monotonic() - began < 1.5, "the worker answered only after the copy"
        assert np.array_equal(copy.result(), np.arange(12.0))
    finally:
        client.run(_copy_as_usual, workers=[first])


def _copy_slowly() -> None:
    from vkamp.dask import containers

    copied = containers._values

    def slowly(container: Any) -> Any:
        time.sleep(2.5)
        return copied(container)

    containers._values, containers._copied = slowly, copied  # type: ignore[attr-defined]


def _copy_as_usual() -> None:
    from vkamp.dask import containers

    containers._values = containers._copied  # type: ignore[attr-defined]


def test_replicas_stay_without_the_memory_manager() -> None:
    """As docs/dask.md says: a product with a factor that every worker has does not send it again."""
    values = np.random.default_rng(3).integers(-4, 5, (256, 256)).astype(np.float32)
    with (
        dask.config.set({"distributed.scheduler.active-memory-manager.start": False}),
        vd.LocalCluster(WORKERS, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        right = vd.to_device(da.from_array(values, chunks=256)).persist()
        wait(right)
        client.replicate([*right.dask.values()])
        parts = [
            da.from_delayed(client.submit(_on_device, values[k * 8 :][:8], workers=[workers[k // 2]]), (8, 256), "f4")
            for k in range(4)
        ]
        left = da.concatenate(parts).persist()
        wait(left)
        time.sleep(2.5)  # longer than the memory manager waits
        before = sum(client.run(_bytes_sent).values())
        product = vd.matmul(left, right).persist()
        wait(product)
        # Dask may send some of the left factor's rows, 32 KiB in all.
        assert sum(client.run(_bytes_sent).values()) - before < values.nbytes
        assert np.array_equal(product.compute(), values[:32] @ values)


def _on_device(values: Any) -> Any:
    return vd.Block(amp.array(values))


def _bytes_sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def test_kernels_of_main_and_of_cells(client: Any, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    shutil.copy(HERE / "travellers.py", program)
    command = [sys.executable, str(program), client.scheduler.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    line = 1 + (HERE / "travellers.py").read_text(encoding="utf-8").splitlines().index("def wrong(idx, a, out):") + 1
    locked = 3 + line
    assert done.stdout.splitlines() == [
        "main [1.0, 9.0, 17.0, 25.0, 33.0]",
        "cell [0.5, -0.5, -1.5, -2.5, -3.5]",
        "other [0.5, 1.5, 2.5, 3.5, 4.5]",
        "task [0.0, 3.0, 6.0, 9.0]",
        "captures [11.0, 22.0, 13.0, 24.0, 15.0]",
        "method [0.0, 2.5, 5.0, 7.5, 10.0]",
        "lambda [0.0, 1.0, 2.0, 3.0, 4.0]",
        "wrong CompileError VKA201: the name `undefined_name` is not defined",
        f"  --> {program}:{line}, in wrong",
        "   |",
        f"{line} | out[idx] = undefined_name + a[idx]  # noqa: F821",
        "   |            ^^^^^^^^^^^^^^",
        "   = help: define it before the kernel is launched, or pass it",
        f"locked AmpError locked ({program}:{locked}) cannot be sent to workers, because LOCK, which it uses, cannot "
        "be: cannot pickle '_thread.lock' object. Pass what it needs of LOCK as an argument",
    ], done.stderr[-3000:]


def test_kernels_are_compiled_once(client: Any) -> None:
    """A worker unpickles equal kernels as one object, and later loads the compiled kernel from disk."""
    x = da.from_array(np.arange(40, dtype=np.float32), chunks=2)

    @amp.kernel
    def quadrupled(idx, a, out):  # type: ignore[no-untyped-def]
        out[idx] = 4 * a[idx]

    for _ in range(2):
        y = vd.map_blocks(quadrupled, x, dtype="f4")
        assert np.array_equal(y.compute(), 4 * np.arange(40, dtype=np.float32))
    assert list(client.run(_launched, "quadrupled").values()) == [1, 1]
    # A new process in place of a worker's finds on disk what that one compiled.
    (address, *_) = client.scheduler_info(n_workers=-1)["workers"]
    name = client.scheduler_info(n_workers=-1)["workers"][address]["name"]
    client.restart_workers([address], timeout=120)
    client.wait_for_workers(2, timeout=120)
    with dask.annotate(resources={name: 1}):
        again = vd.map_blocks(quadrupled, da.from_array(np.ones(2, np.float32), chunks=2), dtype="f4")
        assert np.array_equal(again.compute(optimize_graph=False), [4, 4])
    loaded = client.submit(lambda: "vkamp.pipeline.compiler" in sys.modules, resources={name: 1}, pure=False)
    assert loaded.result() is False


def _launched(name: str) -> int:
    from vkamp.dask import kernels

    return sum(kernel.__name__ == name for kernel in kernels._kernels.values())


def test_small_tasks_leave_nothing(client: Any) -> None:
    """A slice of ``python -m tests.dask``."""
    tasks.run(client, 50)
    before = tasks.settled(client)
    tasks.run(client, 150, 50)
    after = tasks.settled(client)
    for worker, held in after.items():
        early = before[worker]
        assert (held["arrays"], held["device_memory"]) <= (early["arrays"], early["device_memory"])
        assert held["kernels"] == early["kernels"]


def test_the_command_dask_worker(client: Any, tmp_path: Path) -> None:
    options = ["--preload", "vkamp.dask", "--accelerator", "llvmpipe@vulkan", "--device-memory-limit", "1 MB"]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, "--name", "by hand"]
    plain = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--local-directory", str(tmp_path)]
    with (tmp_path / "log").open("w") as log, subprocess.Popen([*command, *plain, *options], stderr=log) as worker:
        try:
            client.wait_for_workers(3, timeout=120)
            (info,) = (each for each in client.run(vd.worker_info).values() if each["device_memory_limit"] == 1_000_000)
            assert info["accelerator"] == descriptions()[1]
            made = client.submit(amp.array, np.arange(3, dtype=np.float32), workers=["by hand"])
            assert np.asarray(made.result()).tolist() == [0, 1, 2]
        finally:
            worker.terminate()
            worker.wait(60)
    while len(client.scheduler_info(n_workers=-1)["workers"]) > 2:
        time.sleep(0.05)


def test_workers_run_earlier_exchanges_first(client: Any) -> None:
    """The priorities are those of the scheduler, also of tasks into which Dask has joined others."""
    found, expected = da.from_array(cases.F, chunks=(2, 17)), cases.F
    for _ in range(3):
        found = vd.map_overlap(cases.five_point, found, depth=1, boundary="periodic")
        p = np.pad(expected, 1, mode="wrap")
        expected = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    with dask.annotate(priority=vd.earlier_exchanges_first(found)):
        made = found.persist()
    wait(made)

    def priorities(dask_scheduler: Any) -> dict[str, int]:
        return {str(key): ts.priority[0] for key, ts in dask_scheduler.tasks.items()}

    assert {value for key, value in client.run_on_scheduler(priorities).items() if found.name in key} == {3}
    assert np.allclose(made.compute(), expected, rtol=1e-5)


def test_a_worker_is_killed_in_the_middle(client: Any) -> None:
    values = np.random.default_rng(7).random((30, 500), dtype=np.float32)
    x = vd.map_blocks(cases.affine, da.from_array(values, chunks=(1, 500)), 2, dtype="f4", shift=1).persist()
    wait(x)
    held = client.has_what()
    address, pid = next((at, pid) for at, pid in client.run(os.getpid).items() if len(held[at]) > 0)
    result = client.compute(vd.map_overlap(cases.five_point, x, depth=1, boundary="periodic"))
    os.kill(pid, signal.SIGKILL)
    y = 2 * values + 1
    p = np.pad(y, 1, mode="wrap")
    expected = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    assert np.allclose(result.result(timeout=120), expected, rtol=1e-6)
    # The nanny starts another process in its place, with the same accelerator.
    client.wait_for_workers(2, timeout=120)
    assert sorted(info["accelerator"] for info in client.run(vd.worker_info).values()) == sorted(descriptions())
    assert address  # the killed worker held results
