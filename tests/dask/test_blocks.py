"""Chunks, buffers, tokens and errors, in one process."""

from __future__ import annotations

import gc
import itertools
import linecache
import pickle
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize
from dask.sizeof import sizeof
from distributed.protocol import deserialize, deserialize_bytes, serialize, serialize_bytelist

import vkamp as amp
import vkamp.dask as vd
from tests.dask import cases
from tests.thinned import one_of
from vkamp.dask import containers, sending, spilling, workers
from vkamp.front.source import adopt, source_of_code
from vkamp.run.device import BaseDevice

F = cases.F


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def here(accelerator: amp.accelerator, monkeypatch: pytest.MonkeyPatch) -> amp.accelerator:
    """The default accelerator."""
    monkeypatch.setenv("VKAMP_ACCELERATOR", accelerator.device_path)
    return accelerator


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_ACCELERATOR", "llvmpipe@vulkan")


@pytest.fixture
def buffer(direct: None) -> Iterator[spilling.DeviceResults]:
    """A worker's results: 1,000 bytes on the device."""
    made = spilling.DeviceResults(1000, {})
    spilling.use(made)
    yield made
    spilling.use(None)


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("case", cases.KERNELS, ids=lambda case: case.name)
def test_kernels(case: cases.Case, here: amp.accelerator) -> None:
    assert cases.difference(case, case.make().compute()) is None


KEYS = [
    slice(None), 3, -2, slice(2, 9, 3), slice(9, None, -4), slice(-1, None, -1), slice(5, 5), ..., None,
    (slice(None), 4), (slice(1, 4), slice(2, 15, 5)), (..., 0), (0, ...), (None, slice(2, 4), None, 5),
    (slice(3, 400), slice(-300, 2)), (2, 3), [0, 2], (slice(None), [1, 1]), (slice(2), np.arange(17) > 3),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_subscripts_are_numpys(key: Any, direct: None) -> None:
    found, expected = vd.Block(amp.array(F))[key], F[key]
    assert np.asarray(found).shape == expected.shape
    assert np.array_equal(np.asarray(found), expected)


def test_a_block_behaves_as_numpys_array(direct: None) -> None:
    block = vd.Block(amp.array(F))
    assert (block.shape, block.ndim, block.size, block.nbytes, len(block)) == (F.shape, 2, F.size, F.nbytes, 13)
    assert np.array_equal(block.T, F.T) and np.array_equal(block.transpose(0, 1), F)
    assert np.array_equal(block.reshape(17, -1), F.reshape(17, -1))
    assert np.array_equal(2 - block, 2 - F) and np.array_equal(-block, -F) and np.array_equal(block > 0.5, F > 0.5)
    assert isinstance(block + block, vd.Block) and np.array_equal(block + block, F + F)
    assert isinstance(block @ block.T, vd.Block) and np.allclose(block @ block.T, F @ F.T, rtol=1e-5)
    assert isinstance(np.concatenate([block, block[:2]]), vd.Block)
    assert np.array_equal(np.concatenate([block, F], axis=1), np.concatenate([F, F], axis=1))
    assert np.array_equal(np.stack([block, block]), np.stack([F, F])) and block.max() == F.max()
    assert block.astype(np.float32) is block and block.astype(np.int32).dtype == np.int32
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'colour'"):
        _ = block.colour
    with pytest.raises(IndexError):
        _ = block[40]


def test_dasks_selections_stay_on_the_device(direct: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask asks a selection for its flags; other questions would download the block, too."""
    block = vd.Block(amp.array(F))

    def download(*_: Any, **__: Any) -> Any:
        raise AssertionError("the elements were downloaded")

    with monkeypatch.context() as patch:
        patch.setattr(vd.Block, "__array__", download)
        parts = dask.array.chunk.getitem(block, (slice(2, 5), slice(None))), block[None, 3:], block.squeeze()
    assert all(isinstance(each, vd.Block) for each in parts)
    assert np.array_equal(parts[0], F[2:5]) and block.flags.owndata and block.itemsize == 4


_KINDS = ["periodic", "reflect", "nearest", 2.5, -1]
_DEPTHS = [1, 3, "several"]


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [((13, 17), (5, 4)), ((13, 17), (13, 17)), ((13, 17), ((2, 2, 9), (17,))), ((40,), (7,)), ((6, 7, 8), (3, 4, 8))],
    ids=str,
)
@pytest.mark.parametrize("depth", _DEPTHS)
def test_halos_are_dasks(shape: tuple[int, ...], chunks: Any, depth: Any, direct: None) -> None:
    values = np.random.default_rng(len(shape)).random(shape, np.float32)
    x = da.from_array(values, chunks=chunks)
    depths = dict(enumerate(range(len(shape)) if depth == "several" else [depth] * len(shape)))
    for number, kinds in enumerate(itertools.product(_KINDS, repeat=len(shape))):
        if len(shape) == 3 and number % 5:
            continue
        # Of the three depths one runs, another one for the next kinds.
        if len(shape) > 1 and not one_of(3, number + _DEPTHS.index(depth)):
            continue
        boundary = dict(enumerate(kinds))
        expected = da.overlap.overlap(x, depths, boundary)
        on_device = number % 7 == 3
        found = vd.overlap(vd.to_device(x) if on_device else x, depth=depths, boundary=boundary)
        assert (found.chunks, found.dtype) == (expected.chunks, expected.dtype)
        assert np.array_equal(found.compute(), expected.compute()), (depths, kinds)
        if on_device and any(depths.values()):
            assert isinstance(found.blocks[(0,) * len(shape)].compute(), vd.Block)


def test_a_halo_takes_few_tasks(direct: None) -> None:
    x = vd.to_device(da.from_array(F, chunks=(4, 17)))
    found = vd.overlap(x, depth={0: 1}, boundary=0.0)
    assert len(found.dask.layers[found.name]) == 4 + 6  # The blocks, and two edges between each two of them.


def after_exchanges(count: int) -> da.Array:
    """An array of eight blocks after ``count`` exchanges of halos; a different function follows each exchange."""
    found = da.zeros((32, 4), chunks=(4, 4), dtype=np.float32).map_blocks(np.copy, name="exchanged-0", dtype=np.float32)
    for number in range(1, count + 1):
        padded = vd.overlap(found, depth={0: 1}, boundary=0.0)
        name = f"exchanged-{number}"
        found = da.map_blocks(lambda a: a[1:-1], padded, name=name, chunks=found.chunks, dtype=np.float32)
    return found


def test_blocks_advance_together(direct: None) -> None:
    """In Dask's own order a block is ahead of others by several exchanges."""
    result = after_exchanges(4)
    (ready,) = dask.optimize(result)
    priority = vd.earlier_exchanges_first(result)
    found: dict[int, set[int]] = {}
    for key in dict(ready.__dask_graph__()):
        name = key[0] if isinstance(key, tuple) else key
        if "exchanged-" in name:  # Also of a task into which Dask has joined several.
            found.setdefault(int(name.split("exchanged-")[1][0]), set()).add(priority(key))
    assert found == {number: {-number} for number in range(5)}
    assert priority("another task") == -4


def test_narrow_arrays_have_no_halo(direct: None) -> None:
    with pytest.raises(ValueError, match="The overlapping depth 14 is larger than your array 13"):
        vd.overlap(cases.f, depth={0: 14}, boundary=0)


def test_numpy_computes_what_blocks_cannot(direct: None) -> None:
    x = vd.to_device(cases.f)
    found = (np.sin(x) * 2 + x.T[:13, :13].mean()).compute()
    assert np.allclose(found, np.sin(F) * 2 + F.T[:13, :13].mean(), rtol=1e-5)
    assert np.allclose(da.linalg.norm(x).compute(), np.linalg.norm(F), rtol=1e-5)
    assert np.array_equal(x.rechunk((13, 4)).compute(), F)
    assert np.array_equal(da.where(x > 0.5, x, 0).compute(), np.where(F > 0.5, F, 0))
    low, high = (da.percentile(each.ravel(), [5, 95]).compute() for each in (cases.f, x))
    assert np.array_equal(low, high)


def test_assignments_change_one_array(direct: None) -> None:
    x = vd.to_device(cases.f)
    y = x.copy()
    y[2:9, 1] = 7
    y[y > 6] = -1
    expected = F.copy()
    expected[2:9, 1] = -1
    assert np.array_equal(y.compute(), expected)
    assert np.array_equal(x.compute(), F)
    block = vd.to_device(da.from_array(F, chunks=F.shape)).compute()
    other = block.copy()
    other[0] = block[1]
    assert np.array_equal(other[0], F[1]) and np.array_equal(block, F)


def test_other_libraries_take_the_elements_of_a_block(direct: None) -> None:
    block = vd.to_device(da.from_array(F, chunks=F.shape)).compute()
    assert np.array_equal(np.from_dlpack(block), F)
    assert block.__dlpack_device__() == block.container.__dlpack_device__()
    view = amp.array_view(block)
    assert view.readonly and view.source_accelerator_view is block.container.accelerator_view
    assert np.array_equal(np.asarray(view), F)


# -- serialisation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: amp.array(F),
        lambda: amp.array_view(F),
        lambda: amp.array_view(F, readonly=True),
        lambda: amp.array_view(F)[2:9:3, ::-2],
        lambda: amp.array(F, accelerator_view=amp.accelerator("cpu").default_view),
        lambda: amp.array(np.arange(3) + 2j * np.arange(3), np.complex64),
    ],
)
def test_containers_come_back(make: Any, direct: None) -> None:
    container = make()
    header, frames = serialize(container, on_error="raise")
    assert header["serializer"] == "dask" and sum(memoryview(f).nbytes for f in frames) == sizeof(container)
    for back in (deserialize(header, frames), pickle.loads(cloudpickle.dumps([container]))[0]):
        assert (type(back), back.extent, back.dtype, back.readonly) == (
            type(container), container.extent, container.dtype, container.readonly,
        )  # fmt: skip
        assert np.array_equal(np.asarray(back), np.asarray(container))
        if isinstance(container, amp.array):
            assert back.accelerator_view.runs_kernels == container.accelerator_view.runs_kernels
    assert tokenize(container) == tokenize(make()) != tokenize(amp.array(F + 1))


def test_the_frame_of_a_view_is_its_memory(direct: None) -> None:
    values = F.copy()
    _, frames = serialize(amp.array_view(values), on_error="raise")
    assert np.shares_memory(np.asarray(frames[0]), values)


def test_vectors_and_structs_come_back(direct: None) -> None:
    vectors = amp.array(amp.extent(5), amp.float3)
    amp.parallel_for_each(vectors.extent, fill_vectors, vectors)
    back = deserialize(*serialize(vectors, on_error="raise"))
    assert back.dtype == vectors.dtype and np.array_equal(np.asarray(back), np.asarray(vectors))


@amp.kernel
def fill_vectors(idx, out):
    out[idx] = amp.float3(idx[0], 2.0, 3.0)


# -- kernels -------------------------------------------------------------------------------------------------------


def _kernel(text: str, **names: Any) -> Any:
    """A kernel as a cell of a notebook defines it."""
    file = f"/tmp/cell_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope = {"amp": amp, "__name__": "__main__", **names}
    exec(compile(text, file, "exec"), scope)
    return scope["k"]


TEXT = "@amp.kernel\ndef k(idx, a, out):\n    out[idx] = N * a[idx]\n"


def test_tokens_of_kernels_say_what_they_use() -> None:
    assert tokenize(_kernel(TEXT, N=2)) == tokenize(_kernel(TEXT, N=2)) != tokenize(_kernel(TEXT, N=3))
    assert tokenize(_kernel(TEXT, N=2)) != tokenize(_kernel(TEXT.replace("*", "+"), N=2))
    assert tokenize(cases.affine) != tokenize(cases.joined)
    assert pickle.loads(cloudpickle.dumps(cases.affine)) is cases.affine


def test_equal_bytes_are_one_kernel() -> None:
    data = cloudpickle.dumps(_kernel(TEXT, N=5))
    first, second = pickle.loads(data), pickle.loads(data)
    assert first is second
    assert cloudpickle.dumps(first) == data


def test_device_functions_keep_their_forms() -> None:
    text = (
        "@amp.func\ndef k(x: amp.int32):\n    return x + 1\n"
        "@k.register\ndef other(x: amp.float32):\n    return x - 1\n"
        "@k.host\ndef on_host(x):\n    return 'host'\n"
    )
    made = _kernel(text)
    back = pickle.loads(cloudpickle.dumps(made))
    assert (back.overloads, [str(form) for form in back.forms]) == (1, [str(form) for form in made.forms])
    assert back(1) == "host"


def test_annotations_that_are_texts_keep_their_meaning() -> None:
    """As with ``from __future__ import annotations``; the body does not use the names."""
    made = _kernel("@amp.kernel\ndef k(idx, out, *, n: amp.constant):\n    out[idx] = n\n")
    assert made.function.__annotations__ == {"n": "amp.constant"}
    back = pickle.loads(cloudpickle.dumps(made))
    out = amp.array(amp.extent(3), amp.int32, accelerator_view=amp.accelerator("reference").default_view)
    amp.parallel_for_each(out.extent, back, out, n=7)
    assert np.asarray(out).tolist() == [7, 7, 7]


def test_texts_of_one_name_are_kept_apart() -> None:
    codes = [compile(f"def f():\n    return {k}\n", "/nowhere/cell.py", "exec").co_consts[0] for k in (1, 2)]
    texts = [f"def f():\n    return {k}\n" for k in (1, 2)]
    first, second, again = (adopt(codes[k], texts[k]) for k in (0, 1, 0))
    assert first.co_filename == again.co_filename == "/nowhere/cell.py"
    assert second.co_filename.startswith("/nowhere/cell.py#")
    assert [source_of_code(each).node.body[0].value.value for each in (first, second)] == [1, 2]  # type: ignore[attr-defined]


# -- results on the device -----------------------------------------------------------------------------------------


def _array(n: int) -> amp.array:
    return amp.array(np.full(100, n, np.float32))


def test_the_least_recently_used_result_leaves_the_device(buffer: spilling.DeviceResults) -> None:
    buffer["a"] = _array(1)
    buffer["b"] = [_array(2), {"more": "text"}]
    assert (buffer.device_memory, buffer.spills) == (800, 0)
    assert np.asarray(buffer["a"])[0] == 1
    buffer["c"] = vd.Block(_array(3))
    assert (list(buffer.device), list(buffer.host), buffer.spills, buffer.spilled_bytes) == (["a", "c"], ["b"], 1, 400)
    assert isinstance(buffer.host["b"], spilling.HostForm) and 400 <= sizeof(buffer.host["b"]) < 600
    back = buffer["b"]
    assert np.array_equal(np.asarray(back[0]), np.full(100, 2)) and back[1] == {"more": "text"}
    assert sorted(buffer.device) == ["b", "c"] and sorted(buffer) == ["a", "b", "c"] and len(buffer) == 3
    buffer["text"] = "no device memory"
    del buffer["b"], buffer["a"]
    assert sorted(buffer) == ["c", "text"] and buffer.device_memory == 400
    assert buffer.spill(1) == 400 and buffer.spill() == 0 and vd.worker_info()["device_memory"] == 0
    assert np.asarray(buffer["c"])[0] == 3


def test_what_left_the_device_can_be_written_to_disk(buffer: spilling.DeviceResults) -> None:
    """As Dask writes it where main memory is full, too."""
    buffer["a"] = {"values": _array(4), "name": "a"}
    buffer.spill()
    written = b"".join(bytes(frame) for frame in serialize_bytelist(buffer.host["a"], on_error="raise"))
    assert len(written) < 2000
    buffer.host["a"] = deserialize_bytes(written)
    assert np.asarray(buffer["a"]["values"])[0] == 4 and buffer["a"]["name"] == "a"


def test_a_result_larger_than_the_budget_goes_to_the_host(buffer: spilling.DeviceResults) -> None:
    buffer["small"] = _array(1)
    buffer["big"] = amp.array(np.zeros(600, np.float32))
    assert "big" in buffer.host and np.asarray(buffer["big"]).shape == (600,)


def test_a_task_without_memory_runs_again_when_the_results_have_left(buffer: spilling.DeviceResults) -> None:
    buffer["a"], buffer["b"] = _array(1), _array(2)
    tries = []

    def task() -> str:
        tries.append(buffer.device_memory)
        if buffer.device_memory:
            raise amp.OutOfMemoryError("full")
        return "done"

    assert spilling.with_room(task) == "done" and tries == [800, 0]
    assert np.asarray(buffer["b"])[0] == 2

    def hopeless() -> None:
        raise amp.OutOfMemoryError("always")

    with pytest.raises(amp.OutOfMemoryError, match="always"):
        spilling.with_room(hopeless)


def test_memory_that_is_not_there_is_found_by_spilling(
    buffer: spilling.DeviceResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device itself refuses an allocation while a result is on it."""
    buffer["kept"] = _array(7)
    n = 1_234_567
    take = BaseDevice.take

    def refusing(self: Any, nbytes: int, *more: Any) -> Any:
        if nbytes >= 4 * n and buffer.device_memory:
            raise amp.OutOfMemoryError("out of memory, but it is full")
        return take(self, nbytes, *more)

    monkeypatch.setattr(BaseDevice, "take", refusing)
    x = da.from_array(np.ones(n, np.float32), chunks=n)
    with pytest.raises(amp.OutOfMemoryError, match="but it is full"):
        amp.array(np.ones(n, np.float32))
    assert vd.sum(x).compute() == n
    assert "kept" in buffer.host and np.asarray(buffer.host["kept"].frames[0]).nbytes == 400


# -- errors --------------------------------------------------------------------------------------------------------


def plain(idx, out):  # type: ignore[no-untyped-def]
    pass


ERRORS = [
    (lambda: vd.map_blocks(plain, cases.f, dtype="f4"),
     "plain is not a kernel: decorate the function with @amp.kernel"),
    (lambda: vd.map_blocks(cases.affine, 2, dtype="f4"),
     "map_blocks without a Dask array among its arguments needs chunks="),
    (lambda: vd.map_overlap(cases.five_point, F, depth=1, boundary=0),
     "map_overlap takes a Dask array first, got ndarray"),
    (lambda: vd.map_overlap(cases.five_point, cases.f, depth=1, boundary="none"),
     "boundary='none' of dimension 0: it must be 'periodic', 'reflect', 'nearest' or a number, which the kernel reads "
     "beyond the array's edge"),
    (lambda: vd.map_overlap(cases.five_point, cases.f, depth={0: (1, 2)}, boundary=0),
     "depth=(1, 2): the halo must have the same width on both sides of a dimension"),
    (lambda: vd.sum(F), "vkamp.dask.sum takes a Dask array, got ndarray: use da.from_array"),
    (lambda: vd.scan(cases.f, axis=2), "axis=2 is out of range for an array of 2 dimensions"),
    (lambda: vd.topk(cases.f, 3),
     "topk of 3 elements needs one dimension with at least as many, not the shape (13, 17)"),
    (lambda: vd.bincount(cases.f, 3), "bincount takes integers, not float32"),
    (lambda: vd.bincount(cases.counts, 3).compute(),
     "bincount: the elements are from 1 to 11, but minlength=3 counts 0 to 2"),
    (lambda: vd.matmul(cases.f, cases.g.astype("f8")),
     "matmul takes matrices of one type, not float32 and float64: use astype"),
    (lambda: vd.worker_spec("llvmpipe"), "accelerators must be a list of names, not the name 'llvmpipe'"),
    (lambda: vd.worker_spec(["llvmpipe", "llvmpipe"]), "vulkan:1 is named twice: an accelerator has one worker"),
    (lambda: vd.default_rng(1).random(()), "size must be a number of elements, or one for each dimension"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), ERRORS, ids=[message[:40] for _, message in ERRORS])
def test_errors(call: Any, message: str, direct: None) -> None:
    with pytest.raises((TypeError, ValueError, amp.AmpError)) as raised:
        call()
    assert str(raised.value) == message


def test_elements_that_were_copied_early_are_sent(direct: None, monkeypatch: pytest.MonkeyPatch) -> None:
    array, other = amp.array(F), amp.array(F + 1)
    results = spilling.DeviceResults(10_000, {"host": 3})
    results["a"], results["b"] = (2, {"mean": array}), vd.Block(other)
    sending._copy(results, ["a", "b", "host", "missing"])
    with monkeypatch.context() as patch:
        patch.setattr(containers, "_values", None)  # which copies
        frames = [containers.serialize(each)[1][0] for each in (array, other)]
    for frame, expected in zip(frames, (F, F + 1), strict=True):
        assert np.array_equal(frame.view(np.float32).reshape(F.shape), expected)
    assert np.array_equal(containers.serialize(array)[1][0].view(np.float32).reshape(F.shape), F), "a copy is sent once"
    containers.copy_early([array])
    before = len(containers._early)
    del array, results
    gc.collect()
    assert len(containers._early) == before - 1, "copies outlive their arrays"


@pytest.mark.parametrize(
    ("limit", "found"), [(None, 700), ("auto", 700), (0.5, 500), ("0.25", 250), ("2 kB", 2000), (4096, 4096), (1, 1000)]
)
def test_device_memory_limits(limit: Any, found: int) -> None:
    assert workers._bytes_of(limit, 1000, 0.7) == found


@pytest.mark.parametrize("limit", ["much", 0, -1, "-2 GB", [1]])
def test_wrong_device_memory_limits(limit: Any) -> None:
    with pytest.raises(amp.AmpError) as raised:
        workers._bytes_of(limit, 1000, 0.7)
    assert str(raised.value) == (
        f"the device memory limit {limit!r} is neither a size (bytes, '4 GiB'), a fraction (0.5) nor 'auto'"
    )


def test_workers_of_one_command_have_accelerators_of_their_own() -> None:
    assert workers._chosen(SimpleNamespace(name="gpu-1"), "vulkan:0, vulkan:1") == "vulkan:1"
    assert workers._chosen(SimpleNamespace(name=None), "nvidia") == "nvidia"
    with pytest.raises(amp.AmpError) as raised:
        workers._chosen(SimpleNamespace(name="gpu-2"), "vulkan:0,vulkan:1")
    assert str(raised.value) == (
        "--accelerator vulkan:0,vulkan:1 lists 2 accelerators, and the worker's name, 'gpu-2', has no number from 0 to "
        "1 after a '-': write --nworkers 2 --name NAME"
    )


def test_import_vkamp_loads_no_dask() -> None:
    program = "import sys, vkamp; print([m for m in sys.modules if m.partition('.')[0] in ('dask', 'distributed')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
