"""Convolutions and correlations against numpy's sums, and the convolution theorem."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import close, numbers, wide
from tests.library_views import name_of
from vkamp import fft
from vkamp.algorithms import _choose

MODES = ("full", "same", "valid")


def kept(full, mode, shape, other):
    """What a mode keeps of a full convolution."""
    if mode == "same":
        return full[tuple(slice((m - 1) // 2, (m - 1) // 2 + n) for n, m in zip(shape, other, strict=True))]
    if mode == "valid":
        return full[tuple(slice(min(n, m) - 1, max(n, m)) for n, m in zip(shape, other, strict=True))]
    return full


def convolved(a, b):
    """A full convolution as a sum of shifted inputs."""
    found = np.zeros([n + m - 1 for n, m in zip(a.shape, b.shape, strict=True)], np.result_type(a, b))
    for at in np.ndindex(b.shape):
        found[tuple(slice(i, i + n) for i, n in zip(at, a.shape, strict=True))] += b[at] * a
    return found


def test_rows(accelerator_view):
    where = {"accelerator_view": accelerator_view}
    a, b = numbers(11).real.copy(), numbers(4).real.copy()
    for mode in ("same",) if name_of(accelerator_view) in ("reference", "swiftshader") else MODES:
        close(fft.convolve(a, b, mode, **where), kept(np.convolve(wide(a), wide(b)), mode, (11,), (4,)))
        close(fft.correlate(a, b, mode, **where), kept(np.correlate(wide(a), wide(b), "full"), mode, (11,), (4,)))


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("mode", MODES)
def test_images(accelerator_view, mode):
    where = {"accelerator_view": accelerator_view}
    a, b = numbers(7, 10), numbers(3, 4, seed=1)
    full = convolved(wide(a), wide(b))
    close(fft.convolve(a, b, mode, **where), kept(full, mode, a.shape, b.shape))
    if mode != "same":
        close(fft.convolve(b, a, mode, **where), kept(full, mode, a.shape, b.shape))
    crossed = convolved(wide(a), wide(b)[::-1, ::-1].conj())
    out = amp.array(amp.extent(kept(full, mode, a.shape, b.shape).shape), np.complex64, **where)
    assert fft.correlate(a, b, mode, out=out, **where) is out
    close(out, kept(crossed, mode, a.shape, b.shape))


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize(("n", "m"), [(2000, 3), (2047, 150), (600, 1), (20, 30)])
def test_long_inputs_in_blocks(accelerator_view, n, m):
    where = {"accelerator_view": accelerator_view}
    a, b = numbers(n).real.copy(), numbers(m).real.copy()
    full = np.convolve(wide(a), wide(b))
    for mode in MODES:
        close(fft.oaconvolve(a, b, mode, **where), kept(full, mode, (n,), (m,)))


@pytest.mark.parametrize(("accelerator", "form"), [("llvmpipe@vulkan", "tiles"), ("swiftshader@vulkan", "runs")])
def test_blocks_of_complex_numbers_and_integers(accelerator, form):
    """Also as GPUs compute them, in one launch; into every other element of a target."""
    view = amp.accelerator(accelerator).default_view
    a, b = numbers(1300), numbers(9, seed=1)
    integers = np.arange(1100, dtype=np.int32) % 23
    host = np.zeros(2600 + 16, np.complex64)
    with _choose.forced(form):
        out = amp.array_view(host)[::2]
        fft.oaconvolve(a, b, out=out, accelerator_view=view)
        out.synchronize()
        close(host[::2], np.convolve(wide(a), wide(b)))
        found = fft.oaconvolve(integers, b.real.copy(), "same", accelerator_view=view)
        close(found, kept(np.convolve(wide(integers), wide(b.real)), "same", (1100,), (9,)))
        with amp.profile() as profile:
            fft.oaconvolve(a, b, accelerator_view=view)
    assert (host[1::2] == 0).all()
    names = [launch.kernel for launch in profile.launches]
    assert names == ["tile_pass"] * 2 if form == "tiles" else len(names) > 2


@pytest.mark.sample("llvmpipe")
def test_convolution_theorem(accelerator_view):
    view = accelerator_view
    a, b = numbers(30), numbers(30, seed=2)
    product = np.asarray(fft.fft(a, accelerator_view=view)) * np.asarray(fft.fft(b, accelerator_view=view))
    circular = [sum(complex(a[j]) * complex(b[k - j]) for j in range(30)) for k in range(30)]
    found = np.asarray(fft.ifft(product, accelerator_view=view))
    np.testing.assert_allclose(found, circular, rtol=1e-5, atol=1e-5)


@pytest.mark.accelerators("llvmpipe")
def test_errors(accelerator_view):
    a, b = numbers(4, 5), numbers(3, 6)
    with pytest.raises(ValueError, match="valid"):
        fft.convolve(a, b, "valid")
    with pytest.raises(ValueError, match="mode must be 'full', 'same' or 'valid', not 'all'"):
        fft.convolve(a, b, "all")
    with pytest.raises(ValueError, match="needs one element or more"):
        fft.convolve(np.ones(3, np.float32), np.ones(0, np.float32))
    with pytest.raises(TypeError, match="different ranks"):
        fft.convolve(a, b[0])
    with pytest.raises(TypeError, match="different precision"):
        fft.convolve(a, b.astype(complex))
    with pytest.raises(TypeError, match="rank 1"):
        fft.oaconvolve(a, b)
    with pytest.raises(amp.AmpError, match="out has"):
        fft.convolve(a[0], b[0], out=np.zeros(3, np.complex64))
