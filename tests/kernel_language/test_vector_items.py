"""Components of short vectors by their numbers, and functions of vectors: in kernels as on the host."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import defined
from tests.kernel_language.programs import F32, I32, same

N = 7
KINDS = {
    "float2": amp.float2, "float3": amp.float3, "float4": amp.float4,
    "int3": amp.int3, "uint4": amp.uint4,
}  # fmt: skip


def vectors_of(kind: type, seed: int) -> np.ndarray:
    low = 1 if kind.value_type is np.uint32 else -9
    return np.random.default_rng(seed).integers(low, 9, (N, kind.size)).astype(kind.value_type)


def components(elements: object) -> np.ndarray:
    found = np.asarray(elements)
    names = found.dtype.names
    return found if names is None else np.stack([found[name] for name in names], -1)


def read(v, w, k):
    return v[0] + v[-1] * 2 + v[k] * 3 + (v + w)[k] * 5 + v.yx[(k + 1) % 2] * 7


def in_loops(v, w, k):
    total = v[0] - v[0]
    for j in range(len(v)):
        total = total * 2 + v[j]
    for j in amp.static_range(2):
        total += w[j] * v[1 - j]
    return total


def assigned(v, w, k):
    a = v.copy()
    a[k] = w[0]
    a[(k + 1) % 2] += w[k]
    a[0] *= 3
    a[-1] -= 1
    a[k], a[0] = a[0], a[k]
    return a[0] + a[1] * 10 + a[k] * 100


def with_effects(v, w, k):
    a = v.copy()
    a[k] += (k := (k + 1) % 2)
    return a[0] + a[1] * 10 + k * 100


def in_functions(v, w, k):
    def at(j):
        return v[j] + w[-1]

    return at(k) * 2 + at(0)


FUNCTIONS = (read, in_loops, assigned, with_effects, in_functions)


@amp.kernel
def every_function(i, v, w, k, out):
    for n, function in enumerate(FUNCTIONS):
        out[n, i[0]] = function(v[i], w[i], k[i])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_components_by_number(accelerator_view, kind):
    v, w = vectors_of(kind, 1), vectors_of(kind, 2)
    k = (np.arange(N) % 2).astype(kind.value_type if kind.value_type is not F32 else I32)
    out = amp.array_view(np.zeros((len(FUNCTIONS), N), kind.value_type))
    views = [amp.array_view(x.copy(), dtype=kind) for x in (v, w)]
    amp.parallel_for_each(accelerator_view, N, every_function, *views, amp.array_view(k), out)
    for n, function in enumerate(FUNCTIONS):
        expected = [function(kind(*a.tolist()), kind(*b.tolist()), int(c)) for a, b, c in zip(v, w, k, strict=True)]
        same(np.asarray(out)[n], np.array(expected).astype(kind.value_type), function.__name__)


@amp.struct
class Body:
    place: amp.float3
    axis: amp.int32


@amp.kernel
def elements(t, bodies, cells, out):
    shared = amp.tile_static(2, amp.int4)
    own = amp.private(2, amp.float2)
    n, lane = t.global_[0], t.local[0]
    shared[lane // 4][lane % 4] = n
    own[0] = amp.float2(1, 2)
    own[1] = amp.float2(3, 4)
    own[n % 2][n // 2 % 2] += 10.0
    if n < 3:
        bodies[n].place[bodies[n].axis] += own[n % 2][1]
    cells[n // 4][n % 4] = n * 10
    amp.atomic_fetch_add(cells[6][1], 1)
    t.barrier.wait_with_tile_static_memory_fence()
    out[t] = shared[1 - lane // 4][lane % 4]


def test_components_of_elements(accelerator_view):
    raw = np.zeros(3, Body.dtype)
    raw["axis"] = [2, 0, 1]
    bodies, cells = amp.array_view(raw), amp.array_view(np.zeros((7, 4), I32), dtype=amp.int4)
    out = amp.array_view(np.zeros(24, I32))
    amp.parallel_for_each(accelerator_view, amp.extent(24).tile(8), elements, bodies, cells, out)
    # Threads store to components of one element: no store changes the other components.
    counted = np.append(np.arange(24).reshape(6, 4) * 10, [[0, 24, 0, 0]], axis=0)
    same(components(cells), counted)
    same(np.asarray(out), np.arange(24).reshape(3, 2, 4)[:, ::-1].ravel())
    same(components(np.asarray(bodies)["place"]), [[0, 0, 2], [4, 0, 0], [0, 12, 0]])


REFUSED = {
    "v[3]": "VKA325", "v[-4]": "VKA325", "v[0.5]": "VKA325", "v[0][0]": "VKA323", "v[0, 1]": "VKA311",
    "v[:2].x": "VKA101",
}  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED)
def test_subscripts_that_a_vector_lacks(expression):
    kernel = defined(f"def k(i, points, out):\n    v = points[i]\n    out[i] = {expression}\n")
    points, out = amp.array_view(np.zeros((2, 3), F32), dtype=amp.float3), amp.array_view(np.zeros(2, F32))
    with pytest.raises(amp.CompileError, match=REFUSED[expression]):
        kernel.inspect(2, points, out)


@pytest.mark.parametrize("at", ["0", "n"])
def test_a_change_of_another_name_is_refused(at):
    text = f"def k(i, points, out):\n    v = points[i]\n    w = v\n    n = i[0]\n    w[{at}] = 1.0\n    out[i] = v.x\n"
    points, out = amp.array_view(np.zeros((2, 3), F32), dtype=amp.float3), amp.array_view(np.zeros(2, F32))
    with pytest.raises(amp.CompileError, match="VKA353"):
        defined(text).inspect(2, points, out)


def test_subscripts_on_the_host():
    v = amp.int3(1, 2, 3)
    v[1] = 7
    v[-1] += 1
    assert v == amp.int3(1, 7, 4)
    assert v[np.int64(1)] == 7
    for wrong, error in ((3, IndexError), (-4, IndexError), (0.5, TypeError), ("x", TypeError)):
        with pytest.raises(error):
            v[wrong]
    view = amp.array_view(np.zeros((2, 3), F32), dtype=amp.float3)
    view[1][2] = 9
    copied = view[1]
    copied[0] = 5
    assert (view[1].x, view[1].z, copied.x) == (0, 9, 5)


# -- functions of vectors ------------------------------------------------------------------------------------------


def of_floats(x, y):
    fast, precise, hlsl = amp.fast_math, amp.precise_math, amp.direct3d
    rounded = fast.floor(y) + fast.fabs(x) + fast.fmin(x, 0.5) + fast.fmax(y, x.zyx)
    return rounded + precise.fma(x, 2, y + 1.0) + hlsl.saturate(x) + hlsl.clamp(y, -1, x) + hlsl.step(0.25, x)


def of_integers(x, y):
    hlsl = amp.direct3d
    return hlsl.abs(x) + hlsl.imax(x, y) * 10 + hlsl.imin(y, 3) * 100 + hlsl.sign(y) * 1000


@pytest.mark.parametrize(("function", "kind"), [(of_floats, amp.float3), (of_integers, amp.int4)])
def test_functions_of_vectors(accelerator_view, function, kind):
    x, y = vectors_of(kind, 3), vectors_of(kind, 4)

    @amp.kernel
    def by_components(i, x, y, out):
        out[i] = function(x[i], y[i])

    out = amp.array(amp.extent(N), kind, accelerator_view=accelerator_view)
    views = [amp.array_view(a.copy(), dtype=kind) for a in (x, y)]
    amp.parallel_for_each(accelerator_view, N, by_components, *views, out)
    expected = [function(kind(*a.tolist()), kind(*b.tolist())) for a, b in zip(x, y, strict=True)]
    assert all(type(v) is kind for v in expected)
    same(components(out), np.array([np.asarray(v) for v in expected]))


WRONG = {
    "lengths": (lambda x, y: amp.fast_math.fmin(x, y), "beside a float3"),
    "bools": (lambda x, y: amp.fast_math.isnan(x), "one component after the other"),
    "abs": (lambda x, y: abs(x), "amp.fast_math.fabs(x)"),
    "min": (lambda x, y: min(x, x), "amp.fast_math.fmin(x, x)"),
    "numpy": (lambda x, y: np.sqrt(x), "amp.fast_math.sqrt(x)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_functions_that_take_no_vectors(name):
    function, advice = WRONG[name]
    with pytest.raises(TypeError):
        function(amp.float3(1), amp.float2(1))

    @amp.kernel
    def wrong(i, x, y, out):
        out[i] = function(x[i], y[i])

    x, y = (amp.array_view(np.zeros((2, n), F32), dtype=kind) for n, kind in ((3, amp.float3), (2, amp.float2)))
    with pytest.raises(amp.CompileError, match="VKA311") as caught:
        wrong.inspect(2, x, y, amp.array(amp.extent(2), amp.float3))
    assert advice in str(caught.value)
