"""Errors for types that a device or its engine lacks, with the way out; the shaders for the types that it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vkamp as amp
from tests.types import kernels

GOLDEN = Path(__file__).with_name("golden")


@amp.kernel
def average(idx, samples):
    samples[idx] = samples[idx] // 2


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint64])
def test_the_way_out_is_another_engine(accelerator, dtype):
    view = amp.accelerator("llvmpipe@kompute").default_view
    name, feature = np.dtype(dtype).name, {"f": "shaderFloat64", "i": "shaderInt64", "u": "shaderInt64"}
    with pytest.raises(amp.UnsupportedFeatureError) as caught:
        amp.parallel_for_each(view, amp.extent(3), average, amp.array_view(np.ones(3, dtype)))
    text = str(caught.value)
    first, last = text.splitlines()[0], text.splitlines()[-1]
    needs = f"{name} needs the device feature {feature[np.dtype(dtype).kind]}"
    assert first.startswith(f"VKA304: `samples` is {name}, and {needs}, which llvmpipe ")
    assert first.endswith(" has, but the engine 'kompute' does not enable")
    assert "run it by the engine that does, VKAMP_ENGINE=vulkan, or use " in last
    assert "test_refused.py:" in text and "def average(idx, samples):" in text
    by_the_other = amp.accelerator("llvmpipe@vulkan").default_view
    samples = amp.array_view(np.array([4, 6, 8], dtype))
    amp.parallel_for_each(by_the_other, samples.extent, average, samples)
    assert np.asarray(samples).tolist() == [2, 3, 4]


@pytest.mark.parametrize("engine", ["kompute", "vulkan"])
def test_no_engine_helps_where_the_device_has_no_such_types(engine):
    view = amp.accelerator("swiftshader", engine=engine).default_view
    samples = amp.array_view(np.ones(3))
    for run in (amp.parallel_for_each, amp.check):
        with pytest.raises(amp.UnsupportedFeatureError, match="which SwiftShader .* lacks"):
            run(view, samples.extent, average, samples)
    assert np.asarray(samples).tolist() == [1, 1, 1]


def test_containers_that_are_not_accessed_need_nothing():
    @amp.kernel
    def sizes(idx, wide, out):
        out[idx] = wide.extent[0]

    view = amp.accelerator("swiftshader").default_view
    out = amp.array_view(np.zeros(3, np.int32))
    amp.parallel_for_each(view, out.extent, sizes, amp.array_view(np.zeros(5)), out)
    assert np.asarray(out).tolist() == [5] * 3


def test_containers_lie_anywhere(accelerator):
    for view in (accelerator.default_view, amp.accelerator("cpu").default_view):
        made = amp.array(amp.extent(3), amp.float64, [0.1, 1e300, -1], accelerator_view=view)
        copied = amp.array(made)
        assert np.asarray(copied).tolist() == [0.1, 1e300, -1]


def _arrays(*shapes: tuple[tuple[int, ...], object]) -> list[amp.array_view]:
    return [amp.array_view(np.zeros(shape, dtype)) for shape, dtype in shapes]


PROGRAMS = {
    "double": (
        kernels.functions, amp.extent(8),
        _arrays(((8,), "f8"), ((8,), "f8"), ((15, 8), "f8")), "llvmpipe@vulkan",
    ),
    "double_tiles": (
        kernels.tiles, amp.extent(8).tile(4), _arrays(((8,), "f8"), ((8,), "f8")), "llvmpipe@vulkan",
    ),
    "long": (
        kernels.divisions, amp.extent(8),
        _arrays(((8,), "i8"), ((8,), "i8"), ((8, 8), "i8")), "llvmpipe@vulkan",
    ),
    "small": (
        kernels.views, amp.extent(8),
        _arrays(((8,), "u1"), ((2,), "u4"), ((8,), "f2"), ((8,), "u4")), "llvmpipe@vulkan",
    ),
    "small_in_words": (
        kernels.views, amp.extent(8),
        _arrays(((8,), "u1"), ((2,), "u4"), ((8,), "f2"), ((8,), "u4")), "swiftshader@kompute",
    ),
    "structs_in_words": (
        kernels.structs, amp.extent(8).tile(8),
        [*_arrays(((8,), kernels.PIXEL), ((8,), kernels.LOOSE), ((8,), kernels.PIXEL)),
         np.zeros(1, kernels.PIXEL)[0], *_arrays(((8,), "i4"))], "swiftshader@kompute",
    ),
    "structs": (
        kernels.structs, amp.extent(8).tile(8),
        [*_arrays(((8,), kernels.PIXEL), ((8,), kernels.LOOSE), ((8,), kernels.PIXEL)),
         np.zeros(1, kernels.PIXEL)[0], *_arrays(((8,), "i4"))], "llvmpipe@vulkan",
    ),
}  # fmt: skip


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(accelerator: amp.accelerator, name: str, request: pytest.FixtureRequest) -> None:
    kernel, domain, args, device = PROGRAMS[name]
    constants = {"size": 4} if name == "double_tiles" else {}
    plain = amp.kernel(lowering="threads", precise=kernel.precise)(kernel.function)
    glsl = plain.inspect(amp.accelerator(device).default_view, domain, *args, **constants).glsl
    path = GOLDEN / f"{name}.comp"
    if request.config.getoption("vkamp_accept"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(glsl, encoding="utf-8")
    assert glsl == path.read_text(encoding="utf-8")
