"""``amp.target``: what a kernel knows of its device while it is compiled."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32
from vkamp.lang.target import FEATURES
from vkamp.run import features as run_features
from vkamp.run.engine import SUBGROUP_OPERATIONS


@pytest.fixture
def device(accelerator_view):
    return accelerator_view.accelerator


@amp.func
def halved_sum(a, b):
    """The mean of two uint32: in 64 bits, or without."""
    if not amp.target.has("int64"):
        return (a >> 1) + (b >> 1) + (a & b & 1)
    return amp.uint32((amp.uint64(a) + amp.uint64(b)) >> 1)


@amp.kernel
def traits(t_idx, a, out):
    k = t_idx[0]
    out[0, k] = amp.target.cpu
    out[1, k] = amp.target.subgroup_size
    out[2, k] = amp.target.has("int64") * 1 + (2 if amp.target.has(amp.uint64) else 0)
    out[3, k] = halved_sum(a[k], amp.uint32(2**32 - 1))
    out[4, k] = amp.target.has(a.dtype) and not amp.target.has("float64")
    lanes = amp.private(amp.target.subgroup_size, np.uint32)
    for lane in amp.static_range(amp.target.subgroup_size):
        lanes[lane] = lane
    out[5, k] = lanes[amp.target.subgroup_size - 1]


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_traits(device, lowering):
    view = device.default_view
    a = np.array([0, 1, 2**31, 2**32 - 1, 12345, 7, 8, 9], U32)
    out = amp.array_view(np.zeros((6, 8), U32))
    amp.parallel_for_each(view, amp.extent(8).tile(4), amp.kernel(lowering=lowering)(traits.function),
                          amp.array_view(a), out)  # fmt: skip
    got, size = np.asarray(out), device.limits.subgroup_size
    is_cpu = device.device_path != "reference" and device.is_emulated
    long = "int64" in device.features
    expected = [
        is_cpu,
        size,
        3 * long,
        (a.astype(np.uint64) + 2**32 - 1) >> 1,
        "float64" not in device.features,
        size - 1,
    ]
    for row, numbers in zip(got, expected, strict=True):
        np.testing.assert_array_equal(row, np.broadcast_to(np.array(numbers, np.uint64), 8))


@amp.kernel
def by_class(idx, out):
    if amp.target.has("float64"):
        wide = amp.float64(out[idx]) / 3
        out[idx] = amp.float32(wide)
        return
    if amp.target.cpu:
        out[idx] = out[idx] / 3.0
    else:
        out[idx] = -1.0


def test_the_other_branch_needs_nothing(device):
    out = amp.array_view(np.arange(10, dtype=F32))
    amp.parallel_for_each(device.default_view, out.extent, by_class, out)
    np.testing.assert_allclose(np.asarray(out), np.arange(10, dtype=F32) / 3, rtol=1e-6)


@amp.kernel
def leaves(idx, out):
    for k in range(3):
        if k == 1:
            out[idx] += 10
            if amp.target.subgroup_size > 0:
                continue
            out[idx] = "text"  # not reached
        out[idx] += k + 1
    if amp.target.subgroup_size > 0:
        return
    out[idx] = amp.float64(1)  # not reached


def test_what_is_not_reached_is_not_compiled(accelerator_view):
    out = amp.array_view(np.zeros(5, I32))
    amp.parallel_for_each(accelerator_view, out.extent, leaves, out)
    assert np.asarray(out).tolist() == [14] * 5


@amp.func
def mirrored(t_idx, x):
    """The mirrored thread's value."""
    stage = amp.tile_static(t_idx.tile_dim0, np.int32)
    stage[t_idx.local[0]] = x
    t_idx.barrier.wait()
    return stage[t_idx.tile_dim0 - 1 - t_idx.local[0]]


@amp.kernel
def either_way(t_idx, out):
    out[t_idx] = mirrored(t_idx, t_idx.local[0]) + (100 if amp.target.lowered else 200)


@amp.func
def waiting(t_idx, n):
    for k in range(n):
        t_idx.barrier.wait()
        if k == 1:
            return 7
    return 5


@amp.kernel
def never_both(t_idx, out):
    """Where its threads are loops, it calls a function that loops cannot have."""
    out[t_idx] = mirrored(t_idx, t_idx.local[0]) + 200
    if amp.target.lowered:
        out[t_idx] = waiting(t_idx, 3)


@pytest.mark.parametrize("lowering", ["auto", "loops", "threads"])
def test_lowered(device, lowering):
    view = device.default_view
    asked = lowering == "loops" or (lowering == "auto" and device.is_emulated)
    for kernel in (either_way, never_both):
        program = amp.kernel(lowering=lowering)(kernel.function)
        out = amp.array_view(np.zeros(16, I32))
        for _ in range(2):
            amp.parallel_for_each(view, out.extent.tile(8), program, out)
            as_loops = asked and device.device_path != "reference" and kernel is either_way
            expected = np.tile(7 - np.arange(8), 2) + (100 if as_loops else 200)
            np.testing.assert_array_equal(np.asarray(out), expected)
        assert program.inspect(view, out.extent.tile(8), out).lowering == ("loops" if as_loops else "threads")


@amp.kernel
def sized(t_idx, out):
    shared = amp.tile_static(amp.target.subgroup_size, np.int32)
    lane = amp.subgroup.lane()
    if amp.subgroup.id() == 0:
        shared[lane] = lane
    t_idx.barrier.wait()
    if t_idx.local[0] == 0:
        total = 0
        for k in range(amp.target.subgroup_size):
            total += shared[k]
        out[t_idx.tile] = total * 1000 + amp.subgroup.size()


def test_sizes_of_the_reference_accelerator():
    view = amp.accelerator("reference").default_view
    for size in (4, 32, 4, 8):
        with amp.reference_subgroups(size):
            out = amp.array_view(np.zeros(3, I32))
            amp.parallel_for_each(view, amp.extent(96).tile(32), sized, out)
            assert np.asarray(out).tolist() == [size * (size - 1) // 2 * 1000 + size] * 3


def test_a_graph_keeps_the_size_that_it_was_captured_with():
    view = amp.accelerator("reference").default_view
    out = amp.array(amp.extent(3), np.int32, accelerator_view=view)
    with amp.reference_subgroups(8), amp.capture() as graph:
        amp.parallel_for_each(amp.extent(96).tile(32), sized, out)
    with amp.reference_subgroups(4):
        graph.replay()
    assert np.asarray(out).tolist() == [28008] * 3


def test_check_mode(accelerator_view):
    out = amp.array_view(np.zeros(2, I32))
    report = amp.check(accelerator_view, amp.extent(64).tile(32), sized, out)
    assert report.ok, report


def test_one_kernel_on_several_devices(tmp_path, monkeypatch):
    """Kept on disk or in memory, each device gets its own."""
    for _ in range(2):
        for name in ("swiftshader", "reference", "llvmpipe", "llvmpipe@vulkan"):
            device = amp.accelerator(name)
            out = amp.array_view(np.arange(10, dtype=F32))
            amp.parallel_for_each(device.default_view, out.extent, by_class, out)
            text = by_class.inspect(device.default_view, out.extent, out).ir
            assert ("float64" in text) == ("float64" in device.features or "has('float64')" in text)
            np.testing.assert_allclose(np.asarray(out), np.arange(10, dtype=F32) / 3, rtol=1e-6)


def test_a_constant_of_the_kernel(accelerator_view):
    out = amp.array_view(np.zeros(4, F32))
    text = by_class.inspect(accelerator_view, out.extent, out).glsl
    assert "amp.target.has('float64')" in text
    assert ("amp.target.cpu" in text) == ("constant True" not in text.split("amp.target.has('float64')")[1][:20])


def test_plain_python():
    for name in ("cpu", "lowered", "subgroup_size"):
        with pytest.raises(amp.AmpError, match=rf"amp\.target\.{name} is known in kernels .* on the host read"):
            getattr(amp.target, name)
    with pytest.raises(amp.AmpError, match=r"amp\.target\.has is known in kernels"):
        amp.target.has("int64")
    with pytest.raises(AttributeError):
        amp.target.gpu  # noqa: B018


def test_names():
    assert set(FEATURES) == run_features.FEATURES | {f"subgroup_{each}" for each in SUBGROUP_OPERATIONS[:6]}
    assert "subgroup_shuffle" in amp.accelerator("reference").features


@amp.kernel
def unknown_feature(idx, out):
    out[idx] = amp.target.has("int46")


@amp.kernel
def no_name(idx, out):
    out[idx] = amp.target.has(out[idx])


@amp.kernel
def unknown_trait(idx, out):
    out[idx] = amp.target.gpu


@amp.kernel
def no_number(idx, out):
    out[idx] = amp.target


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (unknown_feature, 'did you mean `"int64"`'),
        (no_name, "write one of float16"),
        (unknown_trait, "it has `cpu`, `has`, `lowered`, `subgroup_size`"),
        (no_number, "a group of traits of the device"),
    ],
)
def test_refused(kernel, words):
    with pytest.raises(amp.CompileError, match=words):
        amp.parallel_for_each(amp.extent(4), kernel, amp.array_view(np.zeros(4, I32)))
