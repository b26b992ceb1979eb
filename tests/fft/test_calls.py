"""Inputs, results, targets and errors of the transforms, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import close, compare, numbers, wide
from vkamp import fft
from vkamp.algorithms import lazy
from vkamp.dispatch import call_cache


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, np.int64, np.bool_])
def test_real_inputs(accelerator_view, dtype):
    x = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]], dtype)
    for name in ("fft", "rfft"):
        found = compare(name, x, accelerator_view=accelerator_view)
        assert found.dtype == np.complex64


def test_views(accelerator_view):
    x = numbers(6, 10)
    wanted = np.fft.fft(wide(x))
    view = amp.array_view(x)
    every_other = amp.array_view(np.repeat(x, 2, axis=1))[:, ::2]
    transposed = amp.array_view(np.ascontiguousarray(x.T).T)
    for given in (view, every_other, transposed, amp.array(x, accelerator_view=accelerator_view)):
        close(fft.fft(given, accelerator_view=accelerator_view), wanted)
    squares = lazy.map(lambda z: z * z, view)
    close(fft.fft(squares, accelerator_view=accelerator_view), np.fft.fft(wide(x) ** 2))


@pytest.mark.accelerators("llvmpipe")
def test_views_of_real_numbers(accelerator_view):
    """Where neighbouring numbers can't be loaded or stored together."""
    where = {"accelerator_view": accelerator_view}
    x = numbers(3, 13).real.copy()
    a = amp.array(x, **where)
    for given, values in ((amp.array_view(a)[:, 1:], x[:, 1:]), (amp.array_view(a)[1:, :12:2], x[1:, :12:2])):
        spectrum = fft.rfft(given, **where)
        close(spectrum, np.fft.rfft(wide(values)))
        host = np.zeros((values.shape[0], 2 * values.shape[1] + 1), np.float32)
        out = amp.array_view(host)[:, 1::2]
        fft.irfft(spectrum, values.shape[1], out=out, **where)
        out.synchronize()
        close(host[:, 1::2], wide(values))


def test_targets(accelerator_view):
    x, where = numbers(6, 10), {"accelerator_view": accelerator_view}
    wanted = np.fft.fft(wide(x))
    out = amp.array(amp.extent(6, 10), np.complex64, **where)
    assert fft.fft(x, out=out, **where) is out
    close(out, wanted)
    host = np.zeros((6, 20), np.complex64)
    columns = amp.array_view(host)[:, ::2]
    fft.fft(x, out=columns, **where)
    columns.synchronize()
    close(host[:, ::2], wanted)
    assert (host[:, 1::2] == 0).all()
    own = np.zeros((6, 10), np.complex64)
    np.asarray(fft.fft(x, out=own, **where))
    close(own, wanted)


@pytest.mark.parametrize("n", [1, 4, 10, 17])
def test_in_place(accelerator_view, n):
    x = numbers(3, n)
    a = amp.array(x, accelerator_view=accelerator_view)
    fft.fft(a, out=a)
    close(a, np.fft.fft(wide(x)))
    fft.ifft(a, out=a)
    close(a, wide(x))


@pytest.mark.sample("llvmpipe", "reference")
def test_wrong_targets(accelerator_view):
    x, where = numbers(4, 8), {"accelerator_view": accelerator_view}
    a = amp.array(x, **where)
    with pytest.raises(amp.AmpError, match="out has extent"):
        fft.fft(a, out=amp.array(amp.extent(4, 9), np.complex64, **where))
    with pytest.raises(TypeError, match="out has float32 elements, but the result has complex64"):
        fft.fft(a, out=amp.array(amp.extent(4, 8), np.float32, **where))
    with pytest.raises(amp.AmpError, match="overlaps"):
        fft.fft(amp.array_view(a)[:, :4], 5, out=amp.array_view(a)[:, 3:])
    close(a, x)


@pytest.mark.accelerators("swiftshader")
def test_errors(accelerator_view):
    x = numbers(4, 8)
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        fft.fft(x, 0)
    for call in (lambda: fft.fft(x, 2.5), lambda: fft.rfft(x, axis=None), lambda: fft.fftn(x, axes=(0.5,))):
        with pytest.raises(TypeError, match="integer"):
            call()
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        fft.irfft(x[:, :1])
    with pytest.raises(ValueError, match="Invalid norm value ortogonal"):
        fft.fft(x, norm="ortogonal")
    with pytest.raises((ValueError, IndexError), match="axis 2 is out of bounds"):
        fft.fft(x, axis=2)
    with pytest.raises(TypeError, match="the transform of real numbers does not take complex64"):
        fft.rfft(x)
    with pytest.raises(TypeError, match="not list"):
        fft.fft([1, 2, 3])
    with pytest.raises(TypeError, match="takes numbers"):
        fft.fft(np.zeros(3, [("a", np.float32)]))
    with pytest.raises(amp.UnsupportedFeatureError, match="needs double precision.*astype"):
        fft.fft(np.zeros(3), accelerator_view=accelerator_view)


def test_empty_inputs():
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        fft.fft(np.zeros(0, np.float32))
    assert fft.fft(np.zeros((0, 4), np.float32)).shape == (0, 4)
    assert fft.irfft(np.zeros((0, 4), np.complex64)).dtype == np.float32
    np.testing.assert_array_equal(fft.fft(np.zeros(0, np.float32), 3), np.zeros(3, np.complex64))


def test_captured_calls(accelerator_view):
    x, y = numbers(4, 12), numbers(4, 12, seed=1)
    a = amp.array(x, accelerator_view=accelerator_view)
    with amp.capture() as graph:
        spectrum = fft.fft(a, 17)
        back = fft.ifft(spectrum)
    for values in (x, y):
        amp.copy(values, a)
        graph.replay()
        close(spectrum, np.fft.fft(wide(values), 17))
        close(back, np.pad(wide(values), ((0, 0), (0, 5))))


@pytest.mark.accelerators("drivers")
def test_repeated_calls(accelerator_view):
    call_cache.trim()
    x = numbers(4, 60)
    a = amp.array(x, accelerator_view=accelerator_view)
    for k in range(5):
        amp.copy(x * np.float32(k), a)
        close(fft.fft(a), np.fft.fft(wide(x) * k))
        close(fft.fft(a, axis=0, norm="ortho"), np.fft.fft(wide(x) * k, axis=0, norm="ortho"))
    assert [len(each.copies) for each in call_cache._calls.values()] == [1, 1]
    call_cache.trim()


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize(("name", "n", "axis"), [("fft", 6, 0), ("irfft", 8, 1)])
def test_check_mode_finds_nothing(accelerator_view, monkeypatch, name, n, axis):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    compare(name, numbers(2, 4), n, axis, accelerator_view=accelerator_view)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_frequencies(accelerator_view, n):
    where = {"accelerator_view": accelerator_view}
    np.testing.assert_array_equal(np.asarray(fft.fftfreq(n, 0.1, **where)), np.fft.fftfreq(n, 0.1).astype(np.float32))
    np.testing.assert_array_equal(np.asarray(fft.rfftfreq(n, **where)), np.fft.rfftfreq(n).astype(np.float32))


@pytest.mark.parametrize("axes", [None, 0, (1,), (0, -1)])
def test_shifts(accelerator_view, axes):
    x = numbers(5, 4)
    for name in ("fftshift", "ifftshift"):
        found = getattr(fft, name)(x, axes, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(found), getattr(np.fft, name)(x, axes))


def test_wrong_frequencies():
    with pytest.raises(ValueError, match="integer"):
        fft.fftfreq(2.5)
    with pytest.raises(TypeError, match="frequencies must be floats"):
        fft.fftfreq(2, dtype=np.int32)
