"""Threads as loops: the same results as the program as it was written, on every device; golden shaders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tools.kernels.lowered import copies, together
from tools.kernels.lowered.programs import PROGRAMS, Program
from vkamp.lower import lanes_for

GOLDEN = Path(__file__).with_name("golden")
SHOWN = ("product", "scan", "kept_array", "uniform_exits", "divergent_exits", "guarded", "barrier_in_function")
SHOWN += ("wide_product", "wide_stencil", "computed_from_one_value", "subgroup_scan", "subgroups_across_rows")


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    """The IR's verifier runs after every pass, and nothing but the kernels says how they are lowered."""
    monkeypatch.setenv("VKAMP_VERIFY", "1")
    monkeypatch.delenv("VKAMP_LOWERING", raising=False)


def _with(program: Program, lowering: str) -> Any:
    return amp.kernel(lowering=lowering)(program.kernel.function)


def _inspect(program: Program, lowering: str, view: amp.accelerator_view) -> Any:
    views = [amp.array_view(a) for a in program.arrays]
    domain = amp.extent(program.domain).tile(*program.tile)
    return _with(program, lowering).inspect(view, domain, *views, *program.args)


def _run(program: Program, lowering: str, view: amp.accelerator_view) -> list[np.ndarray[Any, Any]]:
    arrays = [a.copy() for a in program.arrays]
    views = [amp.array_view(a) for a in arrays]
    domain = amp.extent(program.domain).tile(*program.tile)
    amp.parallel_for_each(view, domain, _with(program, lowering), *views, *program.args)
    for each in views:
        each.synchronize()
    return arrays


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_results(name: str, accelerator_view: amp.accelerator_view) -> None:
    program = PROGRAMS[name]()
    with amp.reference_subgroups(accelerator_view.accelerator.limits.subgroup_size):
        expected = _run(program, "threads", amp.accelerator("reference").default_view)
    changed = [not np.array_equal(a, b) for a, b in zip(program.arrays, expected, strict=True)]
    assert any(changed)
    for lowering in ("threads", "loops"):
        found = _run(program, lowering, accelerator_view)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=lowering)


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_chosen(name: str, accelerator_view: amp.accelerator_view) -> None:
    program = PROGRAMS[name]()
    found = _inspect(program, "loops", accelerator_view)
    assert re.sub(r"\d+ bytes", "{bytes} bytes", found.lowering) == program.lowering
    # lavapipe would merge the branches on both sides of a subgroup's barrier.
    kept = name == "not_an_index" and "llvmpipe" in accelerator_view.accelerator.description
    assert ("barrier();" in found.glsl.replace("subgroupBarrier();", "")) == (program.lowering != "loops" or kept)
    plain = _inspect(program, "threads", accelerator_view)
    assert plain.lowering == "threads" and " barrier();" in plain.glsl
    assert found.ir == plain.ir


@pytest.mark.accelerators("swiftshader")
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith("copy_")])
def test_copies(name: str, accelerator_view: amp.accelerator_view) -> None:
    """Arrays that are copies of memory are gone, with the barriers that have no other work."""
    glsl = _inspect(PROGRAMS[name](), "loops", accelerator_view).glsl
    assert ("shared " in glsl) == (name in copies.KEPT)
    assert ("subgroupBarrier" in glsl) == (name in copies.KEPT or name in copies.ORDERED)


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("name", together.WIDE)
def test_neighbours(name: str, accelerator_view: amp.accelerator_view) -> None:
    """Four neighbouring elements are one access where they are certain to be neighbours."""
    glsl = _inspect(PROGRAMS[name](), "loops", accelerator_view).glsl
    assert ("vec4" in glsl) == together.WIDE[name]


@pytest.mark.accelerators("drivers")
def test_few_conditions_go_together(accelerator_view: amp.accelerator_view) -> None:
    assert _inspect(PROGRAMS["guarded_loads"](), "loops", accelerator_view).glsl.count(" ? ") <= 24


@pytest.mark.accelerators("swiftshader")
@pytest.mark.parametrize("name", SHOWN)
def test_golden(name: str, accelerator_view: amp.accelerator_view, request: pytest.FixtureRequest) -> None:
    glsl = _inspect(PROGRAMS[name](), "loops", accelerator_view).glsl
    path = GOLDEN / f"{name}.comp"
    if request.config.getoption("vkamp_accept"):
        path.write_text(glsl, encoding="utf-8")
    assert glsl == path.read_text(encoding="utf-8")


def test_every_golden_file_has_its_program() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.comp")) == sorted(SHOWN)


@pytest.mark.parametrize(
    ("tile", "most", "lanes"),
    [
        ((256,), 4, (4,)),
        ((16, 16), 8, (1, 8)),
        ((16, 2), 8, (4, 2)),
        ((4, 4), 8, (2, 4)),
        ((64, 1), 4, (4, 1)),
        ((7,), 4, (4,)),
        ((5,), 4, (2,)),
        ((3, 5), 4, (2, 2)),
        ((9,), 8, (4,)),
        ((2, 2, 2), 4, (1, 2, 2)),
        ((1, 1, 1), 8, (1, 1, 1)),
        ((16, 16), 1, (1, 1)),
    ],
)
def test_lanes(tile: tuple[int, ...], most: int, lanes: tuple[int, ...]) -> None:
    assert lanes_for(tile, most) == lanes


def test_wrong_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'loop': it must be one of 'auto', 'threads', 'loops'"):
        amp.kernel(lowering="loop")
    monkeypatch.setenv("VKAMP_LOWERING", "vectors")
    program = PROGRAMS["scan"]()
    with pytest.raises(amp.AmpError, match="VKAMP_LOWERING is 'vectors'; it can be auto, threads, loops"):
        _inspect(program, "auto", amp.accelerator("swiftshader").default_view)


@amp.kernel
def no_barrier(t_idx, out):
    out[t_idx] = t_idx.local[0]


@amp.kernel
def short(t_idx, out):
    slots = amp.tile_static(64, amp.int32)
    slots[t_idx.local[0]] = t_idx.global_[0]
    t_idx.barrier.wait()
    distance = 32
    while distance > 0:
        if t_idx.local[0] < distance:
            slots[t_idx.local[0]] += slots[t_idx.local[0] + distance]
        t_idx.barrier.wait()
        distance //= 2
    out[t_idx] = slots[0]


@amp.kernel
def long(t_idx, out):
    slots = amp.tile_static(64, amp.int32)
    total = 0
    for i in range(4000):
        slots[t_idx.local[0]] = i
        t_idx.barrier.wait()
        for j in range(20):
            total += slots[(t_idx.local[0] + j) % 64]
        t_idx.barrier.wait()
    out[t_idx] = total


@amp.kernel
def wide(t_idx, out):
    slots = amp.tile_static(64, amp.int32)
    for k in amp.static_range(90):
        slots[t_idx.local[0]] = k
        t_idx.barrier.wait()
    out[t_idx] = slots[63 - t_idx.local[0]]


@amp.kernel
def known(t_idx, out):
    slots = amp.tile_static(64, amp.int32)
    total = 0
    for _ in range(out.extent[0]):
        slots[t_idx.local[0]] = total
        t_idx.barrier.wait()
        total += slots[63 - t_idx.local[0]] + 1
        t_idx.barrier.wait()
    out[t_idx] = total


def test_automatic_choice(accelerator: amp.accelerator) -> None:
    """Loops on CPU devices, where there is a barrier and the driver does not end the loops too early."""
    count = 3

    @amp.kernel
    def unknown(t_idx, out):
        slots = amp.tile_static(64, amp.int32)
        total = 0
        for _ in range(count):
            slots[t_idx.local[0]] = total
            t_idx.barrier.wait()
            total += slots[63 - t_idx.local[0]] + 1
            t_idx.barrier.wait()
        out[t_idx] = total

    ends = "threads: the driver ends all loops after 65535 iterations, and this kernel may need more"
    early = ends if "llvmpipe" in accelerator.description else "loops"
    expected = {no_barrier: "threads: it has no barrier", short: "loops", long: early, wide: "loops"}
    expected |= {known: "loops", unknown: early}
    if not accelerator.is_emulated or accelerator.device_path == "reference":
        expected = dict.fromkeys(expected, "threads")
    out = amp.array_view(np.zeros(128, np.int32))
    view = accelerator.default_view
    found = {kernel: kernel.inspect(view, out.extent.tile(64), out).lowering for kernel in expected}
    assert found == expected
    # Of the same kernel with more to do, there may be too many.
    expected = {known: early if expected[known] == "loops" else "threads"}
    out = amp.array_view(np.zeros(64 * 500, np.int32))
    found = {known: known.inspect(view, out.extent.tile(64), out).lowering}
    assert found == expected


@amp.kernel(lowering="loops")
def divided_by_a_number(t, a, n):
    s = amp.tile_static(16, amp.int32)
    k = t.global_[0]
    x = amp.tdiv(amp.tdiv(amp.tdiv(k, n), n), n)
    s[t.local[0]] = x
    t.barrier.wait()
    a[k] = s[15 - t.local[0]] + x


@amp.kernel(lowering="loops")
def divided_by_constants(t, a, n):
    s = amp.tile_static(16, amp.int32)
    k = t.global_[0]
    x = amp.tdiv(amp.tdiv(amp.tdiv(k, 3), 5), 7)
    s[t.local[0]] = x
    t.barrier.wait()
    a[k] = s[15 - t.local[0]] + x


@pytest.mark.accelerators("swiftshader")
def test_slow_values_are_kept_and_quick_ones_computed_again(accelerator_view: amp.accelerator_view) -> None:
    """By the cost of divisions: those by constants are multiplications."""
    a = amp.array_view(np.zeros(64, np.int32))
    for kernel, kept in ((divided_by_a_number, True), (divided_by_constants, False)):
        shader = kernel.inspect(accelerator_view, a.extent.tile(16), a, 2).glsl
        assert ("x_kept" in shader) == kept
        assert shader.count("// x = ") == (1 if kept else 2)
