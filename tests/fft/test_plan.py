"""C++ AMP's class, and properties of the transforms."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vkamp as amp
from tests.fft.compare import close, error, numbers, wide
from vkamp import fft
from vkamp.run.accelerators import queue_of


def test_complex_plans(accelerator_view):
    x = numbers(4, 6)
    p = fft.plan(amp.extent(4, 6), accelerator_view=accelerator_view)
    assert p.extent == amp.extent(4, 6) and p.inverse_scale == 1 / 24 and p.forward_scale == 1
    a, out = (amp.array(x, accelerator_view=accelerator_view) for _ in range(2))
    assert p.forward_transform(a, out) is out
    close(out, np.fft.fft2(wide(x)))
    close(p.inverse_transform(out), wide(x))
    p.forward_scale = 0.5
    close(p.forward_transform(a, a), np.fft.fft2(wide(x)) / 2)


def test_real_plans(accelerator_view):
    x = numbers(3, 4, dtype=np.float32)
    p = fft.plan((3, 4), np.float32, (1, 0), inverse_scale=1.0, accelerator_view=accelerator_view)
    assert p.transformed_extent == amp.extent(2, 4)
    y = p.forward_transform(x)
    close(y, np.fft.rfftn(wide(x), axes=(1, 0)))
    close(p.inverse_transform(y), wide(x) * 12)


def test_copies_of_plans(accelerator_view):
    x = numbers(3, 4)
    p = fft.plan((3, 4), accelerator_view=accelerator_view)
    close(p.forward_transform(x), np.fft.fft2(wide(x)))
    other = copy.copy(p)
    other.forward_scale = 3.0
    close(other.forward_transform(x), 3 * np.fft.fft2(wide(x)))
    close(p.forward_transform(x), np.fft.fft2(wide(x)))
    again = pickle.loads(pickle.dumps(fft.plan((3, 4), np.float32, forward_scale=2.0)))
    assert (again.forward_scale, again.transformed_extent) == (2.0, amp.extent(3, 3))


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("dtype", [np.complex64, np.float32])
def test_repeated_plans_allocate_nothing(accelerator_view, monkeypatch, dtype):
    """Neither calls nor replays, nor those whose results nobody keeps."""
    x = numbers(6, 40, dtype=dtype)
    p = fft.plan((6, 40), dtype, accelerator_view=accelerator_view)
    a, back = (amp.array(x, accelerator_view=accelerator_view) for _ in range(2))
    spectrum = amp.array(p.transformed_extent, np.complex64, accelerator_view=accelerator_view)
    with amp.capture() as graph:
        p.inverse_transform(p.forward_transform(a), back)

    def repeat():
        for _ in range(4):
            p.forward_transform(a, spectrum)
            p.inverse_transform(spectrum, back)
            p.inverse_transform(p.forward_transform(a))
            graph.replay()
        accelerator_view.wait()

    def refuse(*_):
        raise AssertionError("memory is allocated")

    repeat()
    with monkeypatch.context() as patched:
        patched.setattr(type(queue_of(accelerator_view)), "allocate", refuse)
        repeat()
        with pytest.raises(AssertionError, match="memory is allocated"):
            fft.fft(a, 41)
    close(back, wide(x))


@pytest.mark.accelerators("drivers")
def test_the_second_call_repeats_the_first(accelerator_view, monkeypatch):
    x, y = numbers(2, 30), numbers(2, 30, seed=2)
    p = fft.plan((2, 30), accelerator_view=accelerator_view)
    a, out = (amp.array(x, accelerator_view=accelerator_view) for _ in range(2))
    p.forward_transform(a, out)
    close(out, np.fft.fft2(x))

    def refuse(*_, **__):
        raise AssertionError("it is computed anew")

    monkeypatch.setattr(sys.modules["vkamp.fft.plan"], "transform_axes", refuse)
    amp.copy(y, a)
    p.forward_transform(a, out)
    close(out, np.fft.fft2(y))
    with pytest.raises(AssertionError, match="computed anew"):
        p.forward_transform(out, a)


@pytest.mark.accelerators("drivers")
def test_the_second_call_without_an_output_is_prepared(accelerator_view, monkeypatch):
    """The first call prepares memory for the second one, because its own result is still in use."""
    x, y = numbers(2, 30), numbers(2, 30, seed=2)
    p = fft.plan((2, 30), accelerator_view=accelerator_view)
    a = amp.array(x, accelerator_view=accelerator_view)
    first = p.forward_transform(a)

    def refuse(*_, **__):
        raise AssertionError("it is computed anew")

    monkeypatch.setattr(sys.modules["vkamp.fft.plan"], "transform_axes", refuse)
    amp.copy(y, a)
    second = p.forward_transform(a)
    close(first, np.fft.fft2(x))
    close(second, np.fft.fft2(y))
    amp.copy(x, a)
    del second
    second = p.forward_transform(a)
    close(second, np.fft.fft2(x))
    with pytest.raises(AssertionError, match="computed anew"):
        p.forward_transform(a)


@pytest.mark.accelerators("drivers")
def test_the_first_call_runs_once(accelerator_view):
    """Neither the copy for the second call nor the rehearsals of it transform in place once more."""
    x = numbers(64)
    p = fft.plan(64, accelerator_view=accelerator_view)
    a = amp.array(x, accelerator_view=accelerator_view)
    p.forward_transform(a, a)
    close(a, np.fft.fft(x))
    p.forward_transform(a, a)
    close(a, np.fft.fft(np.fft.fft(x)))


def test_errors():
    with pytest.raises(TypeError, match="a plan is for"):
        fft.plan(4, np.int32)
    with pytest.raises(ValueError, match="each of them once"):
        fft.plan((4, 4), axes=(0, -2))
    p = fft.plan((4, 4), np.float32)
    with pytest.raises(amp.AmpError, match="the plan takes"):
        p.forward_transform(np.zeros((4, 5), np.float32))
    with pytest.raises(amp.AmpError, match="the plan takes"):
        p.inverse_transform(np.zeros((4, 4), np.complex64))


@pytest.mark.sample("llvmpipe")
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    n=st.sampled_from((1, 2, 5, 12, 31, 45, 60)),  # a few, since each has its own kernels
    rows=st.integers(1, 3),
    by=st.integers(0, 60),
    seed=st.integers(0, 100),
    real=st.booleans(),
)
def test_properties(accelerator_view, n, rows, by, seed, real):
    """Back and forth, Parseval's theorem, the shift theorem, and linearity."""
    where = {"accelerator_view": accelerator_view}
    x, y = (numbers(rows, n, seed=seed + k) for k in (0, 1))
    if real:
        x = x.real.copy()
        close(fft.irfft(fft.rfft(x, **where), n, **where), wide(x))
    spectrum = np.asarray(fft.fft(x, **where))
    close(fft.ifft(spectrum, **where), wide(x))
    assert np.linalg.norm(spectrum) == pytest.approx(np.sqrt(n) * np.linalg.norm(wide(x)), rel=1e-6)
    moved = np.asarray(fft.fft(np.roll(x, by, axis=1), **where))
    close(moved, wide(spectrum) * np.exp(-2j * np.pi * by * np.arange(n) / n))
    both = np.asarray(fft.fft(x + 2 * y, **where))
    assert error(both, wide(spectrum) + 2 * wide(fft.fft(y, **where))) < 1e-6
