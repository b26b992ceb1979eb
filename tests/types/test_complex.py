"""complex64 and complex128 elements against numpy."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

import vkamp as amp

C64 = np.complex64
N = 77
CELL = np.dtype([("k", np.float32), ("z", C64), ("m", C64, (2,)), ("v", C64)])
OFFSET = 2 - 1j


def random(*shape, dtype=C64):
    r = np.random.default_rng(N)
    return (r.standard_normal(shape) + 1j * r.standard_normal(shape)).astype(dtype)


def launch(view, extent, kernel, *args):
    """A launch after which the arrays of its views have the results."""
    views = [amp.array_view(a) if isinstance(a, np.ndarray) else a for a in args]
    amp.parallel_for_each(view, extent, kernel, *views)
    for each in views:
        if isinstance(each, amp.array_view):
            each.synchronize()


@amp.kernel
def arithmetic(idx, a, b, out, s, w):
    z = a[idx] * b[idx] + 1j
    z -= a[idx] / b[idx]
    z = z * 2.0 + s * w
    z.imag += a[idx].real
    out[idx] = z
    out[idx].real = abs(z)


def expected(a, b, s, w):
    z = (a * b + 1j - a / b) * 2 + s * w
    z.imag += a.real
    return np.abs(z) + 1j * z.imag


def test_arithmetic(accelerator_view):
    a, b, out = random(N), random(N)[::-1].copy(), random(N)
    launch(accelerator_view, amp.extent(N), arithmetic, a, b, out, np.float32(3), 1 + 2j)
    np.testing.assert_allclose(out, expected(a, b, 3, 1 + 2j), rtol=1e-5, atol=1e-5)


def test_double_precision(accelerator_view):
    a, b, out = random(N, dtype=complex), random(N, dtype=complex)[::-1].copy(), random(N, dtype=complex)
    args = (accelerator_view, amp.extent(N), arithmetic, a, b, out, 0.1, np.complex128(0.1 + 0.2j))
    if not accelerator_view.accelerator.supports_double_precision:
        with pytest.raises(amp.UnsupportedFeatureError, match="VKA304.*float64"):
            launch(*args)
        return
    launch(*args)
    np.testing.assert_allclose(out, expected(a, b, 0.1, 0.1 + 0.2j), rtol=1e-13, atol=1e-13)


@amp.kernel
def functions(idx, a, b, out):
    z, w, i = a[idx], b[idx], idx[0]
    out[i, 0] = np.exp(z)
    out[i, 1] = cmath.log(z)
    out[i, 2] = np.sqrt(z)
    out[i, 3] = cmath.sin(z)
    out[i, 4] = np.cos(z)
    out[i, 5] = z**w
    out[i, 6] = z**3
    out[i, 7] = z.conjugate() + np.conj(w)
    out[i, 8] = complex(abs(z), np.angle(z))
    out[i, 9] = -z if z == w else +w
    out[i, 10] = amp.complex64(w.imag, 1)
    out[i, 11] = 1 / z
    out[i, 12] = 1 - z


def test_functions(accelerator_view):
    z, w = random(N), random(N)[::-1].copy()
    out = np.zeros((N, 13), C64)
    launch(accelerator_view, amp.extent(N), functions, z, w, out)
    columns = [
        np.exp(z), np.log(z), np.sqrt(z), np.sin(z), np.cos(z), z**w, z**3, z.conj() + w.conj(),
        np.abs(z) + 1j * np.angle(z), np.where(z == w, -z, w), w.imag + 1j, 1 / z, 1 - z,
    ]  # fmt: skip
    np.testing.assert_allclose(out, np.stack(columns, 1), rtol=1e-3, atol=1e-4)


@amp.kernel
def of_structs(idx, cells, out):
    cells[idx].v = cells[idx].z * cells[idx].m[1]
    cells[idx].z.real = 3.0
    cells[idx].m[0] = 2j
    copy = cells[idx].copy()
    copy.z.imag += 1
    out[idx] = copy.z


def test_structs(accelerator_view):
    cells, out = np.zeros(N, CELL), random(N)
    cells["z"], cells["m"] = random(N), random(N, 2)
    before = cells.copy()
    launch(accelerator_view, amp.extent(N), of_structs, cells, out)
    np.testing.assert_allclose(cells["v"], before["z"] * before["m"][:, 1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out, 3 + 1j * (before["z"].imag + 1), rtol=1e-6)
    assert (cells["m"][:, 0] == 2j).all()


@amp.kernel
def in_tiles(t_idx, a, out):
    shared = amp.tile_static((16,), C64)
    own = amp.private((2,), amp.complex64)
    shared[t_idx.local[0]] = a[t_idx.global_]
    own[0] = a[t_idx.global_]
    own[1] = own[0] * 1j
    t_idx.barrier.wait()
    total = amp.complex64(0)
    for i in range(16):
        total += shared[i] * shared[15 - i]
    part = own[1]
    old = part
    part.real = 5.0
    old *= 2
    out[t_idx.global_] = total + old + part.real


@amp.kernel(precise=True)
def beside_vectors(idx, a, b, out):
    out[idx] = (a[idx] + a[idx]).real + (b[idx] + b[idx]).y


def test_precise_arithmetic_beside_vectors_of_two(accelerator_view):
    a, b, out = random(N), np.zeros(N, amp.float2.dtype), np.zeros(N, np.float32)
    b["y"] = np.arange(N)
    launch(accelerator_view, amp.extent(N), beside_vectors, a, b, out)
    assert np.array_equal(out, (a + a).real + (b["y"] + b["y"]))


def test_tiles_and_values(accelerator_view):
    a, out = random(48), random(48)
    launch(accelerator_view, amp.extent(48).tile(16), in_tiles, a, out)
    rows = a.reshape(-1, 16)
    wanted = (rows * rows[:, ::-1]).sum(1, keepdims=True) + 2j * rows + 5
    np.testing.assert_allclose(out, wanted.ravel(), rtol=1e-5, atol=1e-5)


def test_captures_constants_and_repeated_launches(accelerator_view):
    a, out, factor = random(N), random(N), C64(1 + 1j)
    one, other = amp.array_view(a), amp.array_view(out)
    rotated = lambda z: z * factor + OFFSET  # noqa: E731

    @amp.parallel_for_each(accelerator_view, other.extent)
    def _(i):
        other[i] = rotated(one[i]) * factor

    other.synchronize()
    np.testing.assert_allclose(out, (a * factor + OFFSET) * factor, rtol=1e-5, atol=1e-5)

    @amp.kernel
    def scaled(idx, a, out, w, *, c: amp.constant):
        out[idx] = a[idx] * w * c

    for w in (1j, 2.0 + 0j, 3j):
        amp.parallel_for_each(accelerator_view, other.extent, scaled, one, other, w, c=2j)
        other.synchronize()
        np.testing.assert_allclose(out, a * w * 2j, rtol=1e-6)


@amp.kernel
def branches(idx, a, out):
    z = a[idx]
    pair = (z, z * 1j)
    w = z if z.real > 0 else 1.0
    if z == w and z != 1j:
        out[idx] = pair[1] + complex(z.real, z.imag)
    else:
        out[idx] = sum((z, z), 0) + w - z.real * w


def test_choices_and_check_mode(accelerator_view):
    a, out = random(N), random(N)
    one, other = amp.array_view(a), amp.array_view(out)
    assert amp.check(accelerator_view, amp.extent(N), branches, one, other).ok
    launch(accelerator_view, amp.extent(N), branches, one, other)
    np.testing.assert_allclose(out, np.where(a.real > 0, a * 1j + a, 2 * a + 1 - a.real), rtol=1e-5, atol=1e-6)


@amp.kernel
def overlapping(idx, out):
    out[idx[0] // 2] = amp.complex64(idx[0], 1)


def test_races_are_found(accelerator_view):
    assert not amp.check(accelerator_view, amp.extent(8), overlapping, amp.array_view(random(8))).ok


@amp.kernel
def summed(t_idx, a, out):
    out[t_idx.global_] = amp.subgroup.add(a[t_idx.global_]) - amp.subgroup.add(a[t_idx.global_].real)


def test_subgroup_sums(accelerator_view):
    a, out = np.full(64, 1 + 2j, C64), random(64)
    launch(accelerator_view, amp.extent(64).tile(64), summed, a, out)
    assert (out.real == 0).all() and (out.imag > 0).all() and (out.imag % 2 == 0).all()


@amp.kernel
def edges(idx, a, out):
    out[idx[0], 0] = abs(a[idx])
    out[idx[0], 1] = (1 + 1j) / a[idx]


def test_no_needless_overflow(accelerator_view):
    a = np.array([3e38, 1e30 + 1e30j, 1e-30 + 1e-30j, -3e-30j, 3 - 4j], C64)
    out = np.zeros((5, 2), C64)
    launch(accelerator_view, amp.extent(5), edges, a, out)
    np.testing.assert_allclose(out[:, 0], np.abs(a), rtol=1e-6)
    np.testing.assert_allclose(out[1:, 1], C64(1 + 1j) / a[1:], rtol=1e-6)


def test_views_of_parts(accelerator_view):
    a = random(N)
    view = amp.array_view(a)
    numbers = view.reinterpret_as(np.float32)
    numbers[1] = 7.0
    view[2], view[3] = 3, 1j
    view.real[4] = 9.0
    assert (view[0].imag, view[2], view[3], view[4].real) == (7.0, 3, 1j, 9.0)
    assert numbers.reinterpret_as(amp.complex64)[3] == 1j
    with pytest.raises(TypeError, match="only complex elements have parts"):
        _ = numbers.real
    real, imag = view.real, view.imag

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        real[i] += 1.0
        imag[i] = real[i] * 2.0

    view.synchronize()
    np.testing.assert_allclose(a.imag, a.real * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("out[idx] = 1.0 if out[idx] < 2j else 0.0", "VKA332: complex numbers cannot be ordered"),
        ("amp.atomic_fetch_add(out[idx], 1j)", "VKA406.*\n(.*\n)*.*out.idx..real"),
        ("out[idx] = out[idx].x", "VKA206.*"),
        ("out[idx] = out[idx] // 2", "VKA302"),
        ("out[idx] = out[idx] + amp.float2(1, 2)", "VKA302"),
        ("out[idx].real = out[idx]", "VKA311"),
        ("out[idx] = min(out[idx], 1)", "VKA311"),
    ],
)
def test_refusals(statement, message, kernel_of):
    with pytest.raises(amp.CompileError, match=message):
        kernel_of(statement).inspect(amp.extent(4), amp.array_view(np.zeros(4, C64)))


@pytest.fixture
def kernel_of(tmp_path, monkeypatch):
    def make(statement):
        path = tmp_path / "refused_kernel.py"
        path.write_text(f"import vkamp as amp\n\n\n@amp.kernel\ndef refused(idx, out):\n    {statement}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(__import__("sys").modules, "refused_kernel", raising=False)
        return __import__("refused_kernel").refused

    return make
