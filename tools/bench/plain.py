"""Plain kernels that only move memory, beside PyTorch's functions and beside the same kernels written in float4s; and a
loop that only computes, beside hand-written forms of its shader.

Where PyTorch is installed and the device is NVIDIA's, each row has its time beside it, and a target from it.  The rows
"one element per thread" are vkamp's without its pass `pieces`.  A time is the slope between few and many launches.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench.measure import Measurement, Options, alternately, check, child_environment, child_json
from vkamp.dispatch.bound_launch import SingleLaunch
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import prepare

GROUP = "plain"
#: The minimum share of PyTorch's speed that a kernel should reach.
MIN = 0.98
TYPES = ("float32", "int32", "float16", "uint8")
WORKS = ("saxpy", "scaling", "a*b+c")
#: Seconds of the many launches of a slope.
_SECONDS = 0.06
#: Seconds of work before anything is timed.
_HEAT = 0.5
#: Elements at both ends whose values are compared with numpy's.
_CHECKED = 100_003


@amp.kernel
def saxpy(idx, a, x, y):
    y[idx] = a * x[idx] + y[idx]


@amp.kernel
def scale(idx, a, x, y):
    y[idx] = a * x[idx]


@amp.kernel
def multiply_add(idx, a, b, c, d):
    d[idx] = a[idx] * b[idx] + c[idx]


@amp.kernel
def saxpy_of_half(idx, a, x, y):
    y[idx] = amp.float16(a) * x[idx] + y[idx]


@amp.kernel
def scale_of_half(idx, a, x, y):
    y[idx] = amp.float16(a) * x[idx]


@amp.kernel
def stencil(idx, x, y):
    i, j = idx
    if 0 < i < y.extent[0] - 1 and 0 < j < y.extent[1] - 1:
        y[idx] = 0.2 * (x[idx] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@amp.kernel
def guarded(idx, a, b, c, count):
    i = idx[0]
    if i < count:
        c[i] = a[i] + b[i]


@amp.kernel
def mandelbrot(idx, out, width, height, most):
    cr = -2.1 + 3.1 * amp.float32(idx[1]) / width
    ci = -1.24 + 2.48 * amp.float32(idx[0]) / height
    zr = 0.0
    zi = 0.0
    n = 0
    while n < most:
        zr2 = zr * zr
        zi2 = zi * zi
        if zr2 + zi2 > 4.0:
            break
        zi = 2.0 * zr * zi + ci
        zr = zr2 - zi2 + cr
        n += 1
    out[idx] = n


def measure(options: Options) -> Iterator[Measurement]:
    """Two child processes per Vulkan device: with pieces and without."""
    for path in dict.fromkeys(path.partition("@")[0] for path in options.accelerators):
        if not path.startswith("vulkan:"):
            continue
        for name, suffix in (("", ""), ("pieces", ", one element per thread")):
            environment = child_environment(VKAMP_PASSES_OFF=name)
            rows = child_json("tools.bench.plain", path, str(options.runs), name, environment=environment)
            for row in rows:
                target = row["target"] if not name else None
                yield Measurement(GROUP, row["name"] + suffix, tuple(row["values"]), path, target, row["notes"])


#: A form's name, the first element that each container uses of its 2^bits elements, and the extent.
_Form = tuple[str, tuple[int, ...], tuple[int, ...]]


def _forms(bits: int) -> list[_Form]:
    count, side = 1 << bits, 1 << (bits // 2)
    return [
        ("1-D", (0, 0, 0, 0), (count,)),
        ("1-D, odd size", (0, 0, 0, 0), (count - 3,)),
        ("1-D, from element 1", (1, 1, 1, 1), (count,)),
        ("1-D, from elements 0 and 1", (1, 0, 1, 0), (count,)),
        ("2-D, odd sizes", (0, 0, 0, 0), (side - 3, side - 1)),
    ]


class _Device:
    """Memory of one type on the device, and PyTorch's where it is there."""

    def __init__(self, view: Any, kind: str, bits: int, torch: Any) -> None:
        self.view, self.kind, self.torch = view, kind, torch
        rng = np.random.default_rng(1)
        pattern = rng.integers(0, 5, 4099).astype(kind)
        self.values = [np.resize(np.roll(pattern, k), (1 << bits) + 8) for k in range(4)]
        self.arrays = [amp.array(v, accelerator_view=view) for v in self.values]
        self.tensors = [torch.from_numpy(v).cuda() for v in self.values] if torch is not None else []

    def views(self, form: _Form) -> list[Any]:
        _, starts, shape = form
        count = int(np.prod(shape))
        found = []
        for container, start in zip(self.arrays, starts, strict=True):
            part = amp.array_view(container).section(amp.index(start), amp.extent(count))
            found.append(part if len(shape) == 1 else part.view_as(amp.extent(*shape)))
        return found

    def parts(self, form: _Form) -> list[Any]:
        _, starts, shape = form
        count = int(np.prod(shape))
        return [t[s : s + count].view(shape) for t, s in zip(self.tensors, starts, strict=True)]

    def host(self, form: _Form) -> list[np.ndarray[Any, Any]]:
        _, starts, shape = form
        count = int(np.prod(shape))
        return [v[s : s + count] for v, s in zip(self.values, starts, strict=True)]


def _work(name: str, kind: str) -> tuple[Any, Callable[[list[Any]], tuple[Any, ...]], Callable[..., Any]]:
    """The kernel, its four containers, and a function that computes the last container with numpy."""
    half, a = kind == "float16", 3.0 if kind.startswith("float") else 3
    if name == "saxpy":
        return (saxpy_of_half if half else saxpy), lambda v: (a, v[0], v[3]), lambda v: v[0] * v[0].dtype.type(3) + v[3]
    if name == "scaling":
        return (scale_of_half if half else scale), lambda v: (a, v[0], v[3]), lambda v: v[0] * v[0].dtype.type(3)
    return multiply_add, lambda v: tuple(v), lambda v: v[0] * v[1] + v[2]


def _by_torch(torch: Any, name: str, parts: list[Any]) -> Callable[[], Any]:
    x, b, c, y = parts
    if name == "saxpy":
        return lambda: y.add_(x, alpha=3)
    if name == "scaling":
        return lambda: torch.mul(x, 3, out=y)
    return lambda: torch.addcmul(c, x, b, out=y)


def _slope(work: Callable[[], Any], finish: Callable[[], Any]) -> Callable[[], float]:
    """Seconds of one."""

    def times(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            work()
        finish()
        return time.perf_counter() - started

    times(2)
    many = max(1, min(400, round(_SECONDS / max(times(4) / 4, 1e-6))))
    return lambda: (times(1 + many) - times(1)) / many


def _measure_here(path: str, runs: int, off: str) -> list[dict[str, Any]]:
    accelerator = amp.accelerator(path, engine="vulkan")
    gpu = not accelerator.is_emulated and "llvmpipe" not in accelerator.description
    view = accelerator.default_view
    torch = None
    if gpu and not off and "nvidia" in accelerator.description.lower() and importlib.util.find_spec("torch"):
        torch = importlib.import_module("torch")
    bits = 28 if gpu else 20
    rows = []
    for kind in TYPES:
        device = _Device(view, kind, bits, torch)
        for form in _forms(bits):
            if off and form[0] != "1-D":
                continue
            for name in WORKS:
                rows += _rows(device, name, form, runs)
        if kind == "float32" and not off:
            rows += _by_hand(device, bits, runs)
        if kind == "float32":
            rows += _others(device, bits, runs)
    return rows if off else rows + _loops(view, runs, gpu)


def _rows(device: _Device, name: str, form: _Form, runs: int) -> list[dict[str, Any]]:
    """A work by vkamp, and by PyTorch."""
    kernel, arguments, expected = _work(name, device.kind)
    views, view = device.views(form), device.view
    domain, args = views[0].extent, arguments(views)
    amp.copy(device.values[3], device.arrays[3])
    amp.parallel_for_each(view, domain, kernel, *args)
    given, count = device.host(form), int(np.prod(form[2]))
    for start in (0, count - _CHECKED):
        part = amp.array_view(device.arrays[3]).section(amp.index(form[1][3] + start), amp.extent(_CHECKED))
        wanted = expected([v[start : start + _CHECKED] for v in given])
        check(np.array_equal(np.asarray(part), wanted), f"{name} of {device.kind}, {form[0]}, from {start}")
    sides = [_slope(lambda: amp.parallel_for_each(view, domain, kernel, *args), view.wait)]
    if device.torch is not None:
        sides.append(_slope(_by_torch(device.torch, name, device.parts(form)), device.torch.cuda.synchronize))
    moved = {"saxpy": 3, "scaling": 2, "a*b+c": 4}[name] * given[3].nbytes
    return _pair(f"{name} of {device.kind}, {form[0]}", sides, runs, moved)


def _pair(title: str, sides: list[Callable[[], float]], runs: int, moved: int) -> list[dict[str, Any]]:
    """The rows of vkamp and of PyTorch, which are measured alternately."""
    # GPUs lower their clocks while the host prepares.
    started = time.perf_counter()
    while time.perf_counter() - started < _HEAT:
        sides[0]()
    values = alternately(runs, *sides)
    peer = statistics.median(values[1]) if len(values) > 1 else None
    rows = []
    for who, seconds in zip(("vkamp", "PyTorch"), values, strict=False):
        notes: dict[str, Any] = {"GB/s": round(moved / statistics.median(seconds) / 1e9, 1)}
        target = None
        if who == "vkamp" and peer is not None:
            target = peer / MIN
            notes["of PyTorch's speed"] = round(peer / statistics.median(seconds), 3)
        rows.append({"name": f"{title}, {who}", "values": seconds, "target": target, "notes": notes})
    return rows


def _by_hand(device: _Device, bits: int, runs: int) -> list[dict[str, Any]]:
    """Saxpy of float32 as its author could write it in float4s."""
    x, y = (
        amp.array_view(device.arrays[k]).section(amp.index(0), amp.extent(1 << bits)).reinterpret_as(amp.float4)
        for k in (0, 3)
    )
    work = lambda: amp.parallel_for_each(device.view, x.extent, saxpy, 3.0, x, y)  # noqa: E731
    return [{**row, "name": "saxpy of float32, 1-D, in float4s by hand"}
            for row in _pair("", [_slope(work, device.view.wait)], runs, 12 << bits)]  # fmt: skip


def _others(device: _Device, bits: int, runs: int) -> list[dict[str, Any]]:
    """Kernels with a test for the border, and with neighbours."""
    view, side = device.view, 1 << (bits // 2)
    flat = device.views(("", (0, 0, 0, 0), (1 << bits,)))
    square = device.views(("", (0, 0, 0, 0), (side, side)))
    works: list[tuple[str, Callable[[], Any], int]] = [
        (
            "a+b behind a test, float32",
            lambda: amp.parallel_for_each(view, flat[0].extent, guarded, *flat[:3], (1 << bits) - 5),
            12 << bits,
        ),
        (
            "stencil of five points, float32",
            lambda: amp.parallel_for_each(view, square[0].extent, stencil, square[0], square[3]),
            8 << bits,
        ),
    ]
    return [row for name, work, moved in works for row in _pair(name, [_slope(work, view.wait)], runs, moved)]


# -- a loop that only computes ------------------------------------------------------------------------------------


#: The loop as the printer writes it, and other forms of it.
_LOOP_HEAD, _LOOP_END = "    float zr = 0.0;", "    out_["


def _loop_forms() -> dict[str, str]:
    step = "zi = 2.0 * zr * zi + ci; zr = zr2 - zi2 + cr;"
    start = "float zr = 0.0; float zi = 0.0; int n = 0;"
    four = " ".join("zr2 = zr * zr; zi2 = zi * zi; if (zr2 + zi2 > 4.0) { break; } " + step + " ++n;" for _ in range(4))
    one = "float zr2 = zr * zr; float zi2 = zi * zi; if (zr2 + zi2 > 4.0) { break; } " + step
    return {
        "for": f"{start} for (; n < most; ++n) {{ {one} }}",
        "squares kept": (
            f"{start} float zr2 = 0.0; float zi2 = 0.0; "
            "while (n < most && zr2 + zi2 <= 4.0) "
            f"{{ {step} zr2 = zr * zr; zi2 = zi * zi; ++n; }}"
        ),
        "fused": (
            f"{start} while (n < most) {{ float zi2 = zi * zi; if (fma(zr, zr, zi2) > 4.0) {{ break; }} "
            "float next = fma(zr, zr, cr - zi2); zi = fma(zr + zr, zi, ci); zr = next; ++n; }"
        ),
        "four at once": (
            f"{start} float zr2; float zi2; int most_4 = most - 3; while (n < most_4) {{ {four} }} "
            f"if (n >= most_4) {{ while (n < most) {{ {one} ++n; }} }}"
        ),
        "do": (
            f"{start} float zr2 = 0.0; float zi2 = 0.0; "
            f"if (most > 0) {{ do {{ {step} zr2 = zr * zr; zi2 = zi * zi; ++n; }} "
            "while (n < most && zr2 + zi2 <= 4.0); }"
        ),
    }


def _loops(view: Any, runs: int, gpu: bool) -> list[dict[str, Any]]:
    """The Mandelbrot set: as generated, with other shapes of a group, and with other forms of the loop."""
    rows, columns, most = (4096, 6144, 1000) if gpu else (200, 300, 100)
    out = amp.array(amp.extent(rows, columns), amp.int32, accelerator_view=view)
    prepared = prepare(view, domain_of(out.extent), mandelbrot, (out, float(columns), float(rows), most), {})
    text = prepared.executable.shader.glsl
    head, end = text.index(_LOOP_HEAD), text.index(_LOOP_END)
    # The comment before the store.
    end = text.rindex("\n", 0, text.rindex("//", 0, end))
    x, y, _ = prepared.executable.shader.local_size
    forms: dict[str, tuple[str, tuple[int, int, int]]] = {"as generated": (text, (x, y, 1))}
    for name, loop in _loop_forms().items():
        forms[name] = f"{text[:head]}    {loop}\n{text[end:]}", (x, y, 1)
    layout = f"layout(local_size_x = {x}, local_size_y = {y}) in;"
    for width, height in ((16, 16), (8, 8), (8, 4), (32, 1), (64, 1), (256, 1)):
        own = f"layout(local_size_x = {width}, local_size_y = {height}) in;"
        forms[f"groups of {width} x {height}"] = text.replace(layout, own), (width, height, 1)
        check(layout in text, "the shader's layout")
    made, sides = [], []
    expected: Any = None
    for name, (glsl, size) in forms.items():
        make_shader = partial(replace, prepared.executable.shader, glsl=glsl, local_size=size)
        executable = replace(prepared.executable, make_shader=make_shader)
        form = replace(prepared, executable=executable, target=replace(prepared.target, group=size))
        bound = SingleLaunch(form)
        bound.submit()
        dispatch = bound.dispatch
        found = np.asarray(out).copy()
        expected = found if expected is None else expected
        # Sums that are rounded otherwise leave a few points near the border with other counts.
        check(np.mean(found != expected) < 0.02, f"the Mandelbrot set, {name}")
        made.append(name)
        sides.append(_slope(lambda d=dispatch: view._queue.enqueue(d), view.wait))  # type: ignore[misc]
    values = alternately(runs, *sides)
    title = f"Mandelbrot set, {columns} x {rows}, {most} iterations"
    return [
        {"name": f"{title}, {name}", "values": seconds, "target": None, "notes": {}}
        for name, seconds in zip(made, values, strict=True)
    ]


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
